import { useState } from 'preact/hooks';
import type { FeedKind } from '../../../../packages/sdk/src/api-types.ts';
import { client } from '../../app/client.ts';
import { updateQueryParams } from '../../app/router.ts';
import { isAdmin } from '../../app/session.ts';
import { useQuery } from '../../app/use-query.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { RadioGroup, Select } from '../../components/field.tsx';
import { NEVER_READ_TEXT } from '../../delivery/delivery-badges.tsx';
import {
  allEventTypes,
  type EventTypes,
  formatEventTypes,
  formatKindTitle,
  hookTitleOf,
} from '../../delivery/delivery-text.ts';
import { EventTypePicker } from '../../delivery/event-type-picker.tsx';
import { useProjects } from '../../records/records.ts';
import type { ActivityFeedFilters } from './live-updates.ts';

/** Reads the filters of the feed from the query of the route. */
export function readFeedFilters(query: URLSearchParams): ActivityFeedFilters {
  const kindNames = query.get('kind')?.split(',') ?? [];
  const kinds = allEventTypes.filter((eventType) => kindNames.includes(eventType));
  const projectId = query.get('project') ?? '';
  return {
    scope: isAdmin() && query.get('scope') !== 'own' ? 'account' : 'own',
    ...(kinds.length > 0 && { kinds }),
    ...(/^\d+$/.test(projectId) && { projectId }),
    ...(query.has('hook') && { hookId: query.get('hook') ?? '' }),
    ...(query.has('before') && { before: query.get('before') ?? '' }),
  };
}

/** Value of the option that opens a dialog to select several event types. */
const SEVERAL = 'several';

/** Filter controls of the feed: event types, hook and project. Admins also choose between everybody's activity and their own. */
export function FeedFilterControls({ filters }: { readonly filters: ActivityFeedFilters }) {
  const { data } = useQuery((signal) => client.hooks.list({}, { signal }), []);
  const hookOptions = (data?.data ?? []).map((hook) => ({
    value: hook.id,
    text: `${hookTitleOf(hook)}${hook.state === 'ended' ? ' (ended)' : ''}`,
  }));
  const isHookUnlisted = filters.hookId !== undefined && !hookOptions.some(({ value }) => value === filters.hookId);
  const updateFilters = (changes: Record<string, string | undefined>) =>
    updateQueryParams({ ...changes, before: undefined });
  return (
    <search class="row">
      <EventTypeFilter kinds={filters.kinds ?? []} onChange={(kinds) => updateFilters({ kind: kinds.join() })} />
      <Select<string>
        label="Webhook"
        isLabelHidden
        value={filters.hookId ?? ''}
        options={[
          { value: '', text: 'All webhooks' },
          ...(isHookUnlisted ? [{ value: filters.hookId ?? '', text: `Webhook ${filters.hookId}` }] : []),
          ...hookOptions,
        ]}
        onChange={(hookId) => updateFilters({ hook: hookId })}
      />
      <ProjectFilter
        projectId={filters.projectId ?? ''}
        onChange={(projectId) => updateFilters({ project: projectId })}
      />
      {isAdmin() && (
        <RadioGroup
          label="User"
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

type EventTypeFilterProps = {
  readonly kinds: readonly FeedKind[];
  readonly onChange: (kinds: readonly FeedKind[]) => void;
};

/** Select for one event type; its last option opens a dialog for several. */
function EventTypeFilter({ kinds, onChange }: EventTypeFilterProps) {
  const [isDialogOpen, setDialogOpen] = useState(false);
  const selected = kinds.length > 1 ? kinds.join() : (kinds[0] ?? '');
  return (
    <>
      <Select<string>
        label="Event type"
        isLabelHidden
        value={selected}
        options={[
          { value: '', text: 'All event types' },
          ...(kinds.length > 1 ? [{ value: selected, text: formatEventTypes(kinds) }] : []),
          { value: SEVERAL, text: 'Several…' },
          ...allEventTypes.map((value) => ({ value, text: formatKindTitle(value) })),
        ]}
        onChange={(value) => {
          if (value === SEVERAL) setDialogOpen(true);
          else onChange(kinds.length > 1 && value === selected ? kinds : allEventTypes.filter((one) => one === value));
        }}
      />
      {isDialogOpen && <EventTypeDialog kinds={kinds} onApply={onChange} onClose={() => setDialogOpen(false)} />}
    </>
  );
}

type EventTypeDialogProps = {
  readonly kinds: readonly FeedKind[];
  readonly onApply: (kinds: readonly FeedKind[]) => void;
  readonly onClose: () => void;
};

function EventTypeDialog({ kinds, onApply, onClose }: EventTypeDialogProps) {
  const [eventTypes, setEventTypes] = useState<EventTypes>(kinds);
  const apply = (event: Event) => {
    event.preventDefault();
    onClose();
    onApply(allEventTypes.filter((eventType) => eventTypes.includes(eventType)));
  };
  return (
    <Dialog title="Filter by event type" isWide onClose={onClose}>
      <form class="stack" onSubmit={apply}>
        <EventTypePicker label="Event types" allLabel="All" eventTypes={eventTypes} onChange={setEventTypes} />
        <div class="ends">
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit">
            Apply
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

type ProjectFilterProps = { readonly projectId: string; readonly onChange: (projectId: string) => void };

function ProjectFilter({ projectId, onChange }: ProjectFilterProps) {
  const { data: projects = [] } = useProjects();
  const isUnlisted = projectId !== '' && !projects.some(({ project_id }) => project_id === projectId);
  return (
    <Select<string>
      label="Project"
      isLabelHidden
      value={projectId}
      options={[
        { value: '', text: 'All projects' },
        ...(isUnlisted ? [{ value: projectId, text: `Project ${projectId}` }] : []),
        ...projects.map(({ project_id, project_name }) => ({ value: project_id, text: project_name })),
      ]}
      onChange={onChange}
    />
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
        <dd>
          Recorded in one transaction with the record. It will be sent, also after a crash or while the webhook is
          disabled.
        </dd>
        <dt>
          <Badge tone="good">delivered in 12 ms</Badge>
        </dt>
        <dd>The target answered 200 within this time.</dd>
        <dt>
          <span class="mark read">read</span>
        </dt>
        <dd>A key of the hook’s user has fetched the record since it became pending.</dd>
        <dt>
          <span class="mark unread">not fetched</span>
        </dt>
        <dd>{NEVER_READ_TEXT}</dd>
        <dt>
          <Badge tone="warn">failing</Badge>
        </dt>
        <dd>Anything but 200. The same notification is retried; the third failure in a row ends the webhook.</dd>
        <dt>
          <Badge tone="bad">undelivered</Badge>
        </dt>
        <dd>The webhook ended before the delivery. Restoring the webhook sends it.</dd>
        <dt class="soft">no webhook</dt>
        <dd>No webhook is subscribed to it. The feed at /v2/notifications contains it.</dd>
      </dl>
    </details>
  );
}
