import { type FeedKind, feedResourceTypes, kinds } from '../../../../packages/sdk/src/api-types.ts';
import { client } from '../../app/client.ts';
import { setQuery } from '../../app/router.ts';
import { isAdmin } from '../../app/session.ts';
import { useLoaded } from '../../app/use-query.ts';
import { Choice, Select } from '../../components/field.tsx';
import { hostOf, kindTitle } from '../../delivery/delivery-text.ts';
import type { Wanted } from './live-updates.ts';

const verbs = ['new', 'changed', 'deleted'] as const;
const feedKinds: readonly FeedKind[] = [
  ...new Set<FeedKind>([
    ...kinds,
    ...verbs.flatMap((verb) => feedResourceTypes.map((noun) => `${verb}_${noun}` as const)),
  ]),
];

/** Filters of the feed from the query of the route. */
export function wantedIn(query: URLSearchParams): Wanted {
  const kind = feedKinds.find((one) => one === query.get('kind'));
  return {
    scope: isAdmin() && query.get('scope') !== 'own' ? 'account' : 'own',
    ...(kind && { kind }),
    ...(query.has('hook') && { hookId: query.get('hook') ?? '' }),
    ...(query.has('before') && { before: query.get('before') ?? '' }),
  };
}

/** Filters by kind and hook; for admins also by user: everybody or only themselves. */
export function Filters({ wanted }: { readonly wanted: Wanted }) {
  const { data } = useLoaded((signal) => client.hooks.list({}, { signal }), []);
  const hooks = (data?.data ?? []).map((hook) => ({
    value: hook.id,
    text: `${kindTitle(hook.event)} → ${hostOf(hook.target_url)}${hook.state === 'ended' ? ' (ended)' : ''}`,
  }));
  const isUnlistedHook = wanted.hookId !== undefined && !hooks.some(({ value }) => value === wanted.hookId);
  const set = (changes: Record<string, string | undefined>) => setQuery({ ...changes, before: undefined });
  return (
    <search class="row">
      <Select<string>
        label="Kind"
        hideLabel
        value={wanted.kind ?? ''}
        options={[{ value: '', text: 'Every kind' }, ...feedKinds.map((value) => ({ value, text: kindTitle(value) }))]}
        onChange={(kind) => set({ kind })}
      />
      <Select<string>
        label="Hook"
        hideLabel
        value={wanted.hookId ?? ''}
        options={[
          { value: '', text: 'Every hook, and none' },
          ...(isUnlistedHook ? [{ value: wanted.hookId ?? '', text: `Hook ${wanted.hookId}` }] : []),
          ...hooks,
        ]}
        onChange={(hook) => set({ hook })}
      />
      {isAdmin() && (
        <Choice
          label="Whose"
          value={wanted.scope}
          options={[
            { value: 'account', text: 'Everybody' },
            { value: 'own', text: 'You' },
          ]}
          onChange={(scope) => set({ scope: scope === 'own' ? 'own' : undefined })}
        />
      )}
    </search>
  );
}
