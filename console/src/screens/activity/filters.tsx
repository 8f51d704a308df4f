import { type FeedKind, feedResourceTypes, hookKinds } from '../../../../packages/sdk/src/api-types.ts';
import { client } from '../../app/client.ts';
import { updateQueryParams } from '../../app/router.ts';
import { isAdmin } from '../../app/session.ts';
import { useQuery } from '../../app/use-query.ts';
import { Badge } from '../../components/badge.tsx';
import { RadioGroup, Select } from '../../components/field.tsx';
import { NEVER_READ_TEXT } from '../../delivery/delivery-badges.tsx';
import { formatKindTitle, hostOf } from '../../delivery/delivery-text.ts';
import type { ActivityFeedFilters } from './live-updates.ts';

const kindPrefixes = ['new', 'changed', 'deleted'] as const;
const feedKinds: readonly FeedKind[] = [
  ...new Set<FeedKind>([
    ...hookKinds,
    ...kindPrefixes.flatMap((kindPrefix) =>
      feedResourceTypes.map((resourceType) => `${kindPrefix}_${resourceType}` as const),
    ),
  ]),
];

/** Reads the filters of the feed from the query of the route. */
export function readFeedFilters(query: URLSearchParams): ActivityFeedFilters {
  const kind = feedKinds.find((feedKind) => feedKind === query.get('kind'));
  return {
    scope: isAdmin() && query.get('scope') !== 'own' ? 'account' : 'own',
    ...(kind && { kind }),
    ...(query.has('hook') && { hookId: query.get('hook') ?? '' }),
    ...(query.has('before') && { before: query.get('before') ?? '' }),
  };
}

/** Filter controls of the feed: event kind and hook. Admins also choose between everybody's activity and their own. */
export function FeedFilterControls({ filters }: { readonly filters: ActivityFeedFilters }) {
  const { data } = useQuery((signal) => client.hooks.list({}, { signal }), []);
  const hookOptions = (data?.data ?? []).map((hook) => ({
    value: hook.id,
    text: `${formatKindTitle(hook.event)} → ${hostOf(hook.target_url)}${hook.state === 'ended' ? ' (ended)' : ''}`,
  }));
  const isHookUnlisted = filters.hookId !== undefined && !hookOptions.some(({ value }) => value === filters.hookId);
  const updateFilters = (changes: Record<string, string | undefined>) =>
    updateQueryParams({ ...changes, before: undefined });
  return (
    <search class="row">
      <Select<string>
        label="Kind"
        isLabelHidden
        value={filters.kind ?? ''}
        options={[
          { value: '', text: 'Every kind' },
          ...feedKinds.map((value) => ({ value, text: formatKindTitle(value) })),
        ]}
        onChange={(kind) => updateFilters({ kind })}
      />
      <Select<string>
        label="Hook"
        isLabelHidden
        value={filters.hookId ?? ''}
        options={[
          { value: '', text: 'Every hook, and none' },
          ...(isHookUnlisted ? [{ value: filters.hookId ?? '', text: `Hook ${filters.hookId}` }] : []),
          ...hookOptions,
        ]}
        onChange={(hookId) => updateFilters({ hook: hookId })}
      />
      {isAdmin() && (
        <RadioGroup
          label="Whose"
          value={filters.scope}
          options={[
            { value: 'account', text: 'Everybody' },
            { value: 'own', text: 'You' },
          ]}
          onChange={(scope) => updateFilters({ scope: scope === 'own' ? 'own' : undefined })}
        />
      )}
    </search>
  );
}

/** Explains the delivery states to the user. */
export function DeliveryStateLegend() {
  return (
    <details class="legend small">
      <summary>What the states mean</summary>
      <dl>
        <dt>
          <Badge tone="info">pending</Badge>
        </dt>
        <dd>Written down with the record itself, in one transaction. It will be told, through any crash.</dd>
        <dt>
          <Badge tone="good">delivered in 12 ms</Badge>
        </dt>
        <dd>The target answered 200, so long after the attempt began.</dd>
        <dt>
          <span class="mark read">read</span>
        </dt>
        <dd>A key of the hook’s user has fetched the record since it became pending.</dd>
        <dt>
          <span class="mark unread">told, never read</span>
        </dt>
        <dd>{NEVER_READ_TEXT}</dd>
        <dt>
          <Badge tone="warn">failing</Badge>
        </dt>
        <dd>Anything but 200. The same notification is tried again; the third failure in a row ends the hook.</dd>
        <dt>
          <Badge tone="bad">undelivered</Badge>
        </dt>
        <dd>The hook ended before it could be told. Restoring the hook sends it.</dd>
        <dt class="soft">in the feed alone</dt>
        <dd>Changes and deletions: no hook can ask for them; the feed at /v2/notifications has them.</dd>
      </dl>
    </details>
  );
}
