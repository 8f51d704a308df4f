import './hooks.css';
import type { Hook } from '../../../../packages/sdk/src/hooks.ts';
import type { HourCounts } from '../../../../packages/sdk/src/stats.ts';
import { client } from '../../app/client.ts';
import { listFullPage } from '../../app/full-page-navigation.ts';
import { currentRoute, hrefTo, navigate, type ScreenProps, updateQueryParams } from '../../app/router.ts';
import { displayNameOf, isAdmin, requireSession } from '../../app/session.ts';
import { usePolling, useQuery } from '../../app/use-query.ts';
import { LoadingSkeleton, Note } from '../../components/badge.tsx';
import { ButtonLink } from '../../components/button.tsx';
import { RadioGroup, Select } from '../../components/field.tsx';
import { Menu } from '../../components/menu.tsx';
import { EmptyState, Page } from '../../components/page.tsx';
import { RelativeTime } from '../../components/timestamp.tsx';
import { HookStateBadge, HookStateDetails, LastDaySparkline, TargetUrl } from '../../delivery/delivery-badges.tsx';
import {
  formatCountWithNoun,
  formatEventTypes,
  listEventTypes,
  type ShownHookState,
  scopeTexts,
  shownStateOf,
} from '../../delivery/delivery-text.ts';
import { EditHook, NewHook } from './edit-hook.tsx';
import { canRestore, useHookActions } from './hook-actions.tsx';
import { HookPage } from './hook-detail.tsx';

/** Screen of hooks: the list, the page or form of one hook, or the form for a new hook, depending on the path. */
export default function HooksScreen({ remainingPath: [id, action] }: ScreenProps) {
  if (id === undefined) return <HookList />;
  if (action === 'edit') return <EditHook key={id} id={id} />;
  return id === 'new' ? <NewHook /> : <HookPage key={id} id={id} />;
}

const HOOKS_POLL_INTERVAL_MS = 5_000;

const hookStates = ['live', 'failing', 'disabled', 'ended'] as const satisfies readonly ShownHookState[];

/** Sort order of hooks by state: failing hooks first, ended hooks last. */
const HOOK_STATE_ORDER: Readonly<Record<ShownHookState, number>> = { failing: 0, live: 1, disabled: 2, ended: 3 };

async function loadHooks(userId: string, signal: AbortSignal) {
  const [{ data, paging }, hourlyCountsPage] = await Promise.all([
    client.hooks.list({ user_id: userId }, { signal }),
    client.hours.list({ user_id: userId }, { signal }),
  ]);
  const hooks = data.toSorted(
    (a, b) => HOOK_STATE_ORDER[shownStateOf(a)] - HOOK_STATE_ORDER[shownStateOf(b)] || Number(b.id) - Number(a.id),
  );
  return {
    hooks,
    hasAllHooks: paging.total_records <= data.length,
    hourlyCountsByHookId: Map.groupBy(hourlyCountsPage.data, ({ hook_id }) => hook_id),
  };
}

/** Loads the names of projects by id, if they are needed: at most 1,000. */
async function loadProjectNames(areNeeded: boolean, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
  if (!areNeeded) return new Map();
  const { data } = await listFullPage(client.projects, { order: 'projectname' }, signal);
  return new Map(data.map(({ project_id, project_name }) => [project_id, project_name]));
}

/** List of a user's hooks, each with its state and the attempts of the last 24 hours. */
function HookList() {
  const { query } = currentRoute.value;
  const userId = query.get('user') ?? requireSession().user.user_id;
  const stateFilter = hookStates.find((hookState) => hookState === query.get('state')) ?? '';
  const { data, errorText, reload } = useQuery((signal) => loadHooks(userId, signal), [userId]);
  const hasProjects = data?.hooks.some(({ project_id }) => project_id !== '0') ?? false;
  const { data: projectNames } = useQuery((signal) => loadProjectNames(hasProjects, signal), [hasProjects]);
  const hookActions = useHookActions(reload);
  usePolling(HOOKS_POLL_INTERVAL_MS, reload);
  const isOwnList = userId === requireSession().user.user_id;
  const visibleHooks = data?.hooks.filter((hook) => stateFilter === '' || shownStateOf(hook) === stateFilter) ?? [];
  // The API has no filter for disabled hooks.
  const apiState = stateFilter === 'disabled' ? '' : stateFilter;
  const sdkFilterTexts = [apiState !== '' && `state: '${apiState}'`, !isOwnList && `user_id: '${userId}'`].filter(
    Boolean,
  );
  const searchParams = new URLSearchParams({
    ...(apiState !== '' && { state: apiState }),
    ...(!isOwnList && { user_id: userId }),
  });
  return (
    <Page
      title="Webhooks"
      intro="Your webhooks and their status."
      calls={[
        {
          description: 'These webhooks',
          method: 'GET',
          path: `/hooks${searchParams.size === 0 ? '' : `?${searchParams}`}`,
          sdk: `hooks.list(${sdkFilterTexts.length === 0 ? '' : `{ ${sdkFilterTexts.join(', ')} }`})`,
        },
      ]}
      actions={
        <ButtonLink variant="primary" icon="plus" href={hrefTo('hooks', 'new')}>
          New webhook
        </ButtonLink>
      }
    >
      <div class="row spread">
        <RadioGroup
          label="State"
          value={stateFilter}
          options={buildStateOptions(data?.hooks ?? [])}
          onChange={(value) => updateQueryParams({ state: value })}
        />
        {isAdmin() && <UserSelect userId={userId} />}
      </div>
      {errorText !== undefined && <Note tone="bad">{errorText}</Note>}
      {data === undefined && errorText === undefined && <LoadingSkeleton />}
      {data?.hooks.length === 0 && <NoHooks isOwnList={isOwnList} />}
      {data !== undefined && data.hooks.length > 0 && visibleHooks.length === 0 && (
        <EmptyState icon="check" title={`No webhook is ${stateFilter}`}>
          <p>The others are under All.</p>
        </EmptyState>
      )}
      {visibleHooks.length > 0 && (
        <ul class="card lines" aria-label="Webhooks">
          {visibleHooks.map((hook) => (
            <HookRow
              key={hook.id}
              hook={hook}
              hourlyCounts={data?.hourlyCountsByHookId.get(hook.id) ?? []}
              projectName={projectNames?.get(hook.project_id)}
              hookActions={hookActions}
            />
          ))}
        </ul>
      )}
      {data?.hasAllHooks === false && (
        <p class="soft small">The first {formatCountWithNoun(data.hooks.length, 'webhook')} are shown.</p>
      )}
      {hookActions.confirmDialog}
    </Page>
  );
}

function buildStateOptions(hooks: readonly Hook[]) {
  const countHooksInState = (state: ShownHookState) => hooks.filter((hook) => shownStateOf(hook) === state).length;
  return [
    { value: '', text: `All ${hooks.length}` },
    ...hookStates.map((value) => ({ value, text: `${countHooksInState(value)} ${value}` })),
  ];
}

/** Select with which an admin chooses the user whose hooks are shown. */
function UserSelect({ userId }: { readonly userId: string }) {
  const { data } = useQuery((signal) => client.users.list({}, { signal }), []);
  const ownUserId = requireSession().user.user_id;
  const otherUsers = (data?.data ?? []).filter(({ user_id }) => user_id !== ownUserId);
  return (
    <Select
      label="Owner"
      isLabelHidden
      value={userId}
      options={[
        { value: ownUserId, text: 'Your webhooks' },
        ...otherUsers.map((user) => ({ value: user.user_id, text: `Webhooks of ${displayNameOf(user)}` })),
      ]}
      onChange={(value) => updateQueryParams({ user: value === ownUserId ? undefined : value })}
    />
  );
}

type HookRowProps = {
  readonly hook: Hook;
  readonly hourlyCounts: readonly HourCounts[];
  /** Name of the project of the hook, if it has one and the name is loaded. */
  readonly projectName: string | undefined;
  readonly hookActions: ReturnType<typeof useHookActions>;
};

/** Line with the event types, unless they are the title, and with the scope and the headers, if they are not the default. */
function HookSummary({ hook, projectName }: Pick<HookRowProps, 'hook' | 'projectName'>) {
  const { name, events, scope, project_id, headers } = hook;
  const parts = [
    name !== '' && formatEventTypes(events),
    scope === 'project' && `Project ${projectName ?? project_id}`,
    scope === 'account' && scopeTexts.account,
    headers.length > 0 && `Headers: ${headers.join(', ')}`,
  ].filter(Boolean);
  if (parts.length === 0) return null;
  return (
    <span class="small soft says" title={listEventTypes(events)}>
      {parts.join(' · ')}
    </span>
  );
}

function HookRow({ hook, hourlyCounts, projectName, hookActions }: HookRowProps) {
  const isEnded = hook.state === 'ended';
  const isDisabled = hook.enabled === '0';
  const menuItems = [
    { text: 'Open', icon: 'chevron', onPick: () => navigate(hrefTo('hooks', hook.id)) },
    ...(isEnded
      ? []
      : [{ text: 'Edit', icon: 'pencil', onPick: () => navigate(hrefTo('hooks', hook.id, 'edit')) } as const]),
    ...(isEnded || isDisabled
      ? []
      : [{ text: 'Send a test', icon: 'send', onPick: () => void hookActions.sendTest(hook) } as const]),
    ...(isEnded
      ? []
      : [
          {
            text: isDisabled ? 'Enable' : 'Disable',
            icon: isDisabled ? 'play' : 'pause',
            onPick: () => void hookActions.setEnabled(hook, isDisabled),
          } as const,
        ]),
    ...(canRestore(hook)
      ? [{ text: 'Restore…', icon: 'undo', onPick: () => hookActions.openRestoreDialog(hook) } as const]
      : []),
    ...(isEnded
      ? []
      : [
          {
            text: 'Delete…',
            icon: 'trash',
            isDestructive: true,
            onPick: () => hookActions.openDeleteDialog(hook),
          } as const,
        ]),
  ] as const;
  return (
    <li class="line hook-line">
      <div class="what">
        <a class="title" href={hrefTo('hooks', hook.id)} title={listEventTypes(hook.events)}>
          {hook.name || formatEventTypes(hook.events)}
        </a>
        <HookSummary hook={hook} projectName={projectName} />
        <TargetUrl url={hook.target_url} />
      </div>
      <div class="how">
        <HookStateBadge hook={hook} />
        <span class="small soft">
          <HookStateDetails hook={hook} />
          {isEnded && (
            <>
              , <RelativeTime timestamp={hook.date_ended} />
            </>
          )}
        </span>
      </div>
      <LastDaySparkline hourlyCounts={hourlyCounts} />
      <Menu label={`More for webhook ${hook.name || hook.id}`} items={menuItems} />
    </li>
  );
}

function NoHooks({ isOwnList }: { readonly isOwnList: boolean }) {
  if (!isOwnList) return <EmptyState icon="bell" title="No webhooks" />;
  return (
    <EmptyState icon="bell" title="No webhooks yet">
      <p>
        A webhook notifies an application when something happens: one POST with the URL of the record, which the
        application then fetches with its own API key.
      </p>
      <ButtonLink variant="primary" icon="plus" href={hrefTo('hooks', 'new')}>
        New webhook
      </ButtonLink>
    </EmptyState>
  );
}
