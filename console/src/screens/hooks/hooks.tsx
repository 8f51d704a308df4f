import './hooks.css';
import type { Hook, HookState } from '../../../../packages/sdk/src/hooks.ts';
import type { HourCounts } from '../../../../packages/sdk/src/stats.ts';
import { client } from '../../app/client.ts';
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
import { formatCountWithNoun, formatKindTitle } from '../../delivery/delivery-text.ts';
import { canRestore, useHookActions } from './hook-actions.tsx';
import { HookPage } from './hook-detail.tsx';
import { NewHook } from './new-hook.tsx';

/** Screen of hooks: the list, the page of one hook, or the form for a new hook, depending on the path. */
export default function HooksScreen({ remainingPath: [id] }: ScreenProps) {
  if (id === undefined) return <HookList />;
  return id === 'new' ? <NewHook /> : <HookPage key={id} id={id} />;
}

const HOOKS_POLL_INTERVAL_MS = 5_000;

const hookStates = ['live', 'failing', 'ended'] as const satisfies readonly HookState[];

/** Sort order of hooks by state: failing hooks first, ended hooks last. */
const HOOK_STATE_ORDER: Readonly<Record<HookState, number>> = { failing: 0, live: 1, ended: 2 };

async function loadHooks(userId: string, signal: AbortSignal) {
  const [{ data, paging }, hourlyCountsPage] = await Promise.all([
    client.hooks.list({ user_id: userId }, { signal }),
    client.hours.list({ user_id: userId }, { signal }),
  ]);
  const hooks = data.toSorted(
    (a, b) => HOOK_STATE_ORDER[a.state] - HOOK_STATE_ORDER[b.state] || Number(b.id) - Number(a.id),
  );
  return {
    hooks,
    hasAllHooks: paging.total_records <= data.length,
    hourlyCountsByHookId: Map.groupBy(hourlyCountsPage.data, ({ hook_id }) => hook_id),
  };
}

/** List of a user's hooks, each with its state and the attempts of the last 24 hours. */
function HookList() {
  const { query } = currentRoute.value;
  const userId = query.get('user') ?? requireSession().user.user_id;
  const stateFilter = hookStates.find((hookState) => hookState === query.get('state')) ?? '';
  const { data, errorText, reload } = useQuery((signal) => loadHooks(userId, signal), [userId]);
  const hookActions = useHookActions(reload);
  usePolling(HOOKS_POLL_INTERVAL_MS, reload);
  const isOwnList = userId === requireSession().user.user_id;
  const visibleHooks = data?.hooks.filter((hook) => stateFilter === '' || hook.state === stateFilter) ?? [];
  const sdkFilterTexts = [stateFilter !== '' && `state: '${stateFilter}'`, !isOwnList && `user_id: '${userId}'`].filter(
    Boolean,
  );
  const searchParams = new URLSearchParams({
    ...(stateFilter !== '' && { state: stateFilter }),
    ...(!isOwnList && { user_id: userId }),
  });
  return (
    <Page
      title="Hooks"
      intro="Who is told of what, and how that goes."
      calls={[
        {
          description: 'These hooks',
          method: 'GET',
          path: `/hooks${searchParams.size === 0 ? '' : `?${searchParams}`}`,
          sdk: `hooks.list(${sdkFilterTexts.length === 0 ? '' : `{ ${sdkFilterTexts.join(', ')} }`})`,
        },
      ]}
      actions={
        <ButtonLink variant="primary" icon="plus" href={hrefTo('hooks', 'new')}>
          New hook
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
        <EmptyState icon="check" title={`No hook is ${stateFilter}`}>
          <p>Which is good to know. The others are under All.</p>
        </EmptyState>
      )}
      {visibleHooks.length > 0 && (
        <ul class="card lines" aria-label="Hooks">
          {visibleHooks.map((hook) => (
            <HookRow
              key={hook.id}
              hook={hook}
              hourlyCounts={data?.hourlyCountsByHookId.get(hook.id) ?? []}
              hookActions={hookActions}
            />
          ))}
        </ul>
      )}
      {data?.hasAllHooks === false && (
        <p class="soft small">The first {formatCountWithNoun(data.hooks.length, 'hook')} are shown.</p>
      )}
      {hookActions.confirmDialog}
    </Page>
  );
}

function buildStateOptions(hooks: readonly Hook[]) {
  const countHooksInState = (state: HookState) => hooks.filter((hook) => hook.state === state).length;
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
      label="Whose hooks"
      isLabelHidden
      value={userId}
      options={[
        { value: ownUserId, text: 'Your hooks' },
        ...otherUsers.map((user) => ({ value: user.user_id, text: `Hooks of ${displayNameOf(user)}` })),
      ]}
      onChange={(value) => updateQueryParams({ user: value === ownUserId ? undefined : value })}
    />
  );
}

type HookRowProps = {
  readonly hook: Hook;
  readonly hourlyCounts: readonly HourCounts[];
  readonly hookActions: ReturnType<typeof useHookActions>;
};

function HookRow({ hook, hourlyCounts, hookActions }: HookRowProps) {
  const isEnded = hook.state === 'ended';
  const menuItems = [
    { text: 'Open', icon: 'chevron', onPick: () => navigate(hrefTo('hooks', hook.id)) },
    ...(isEnded ? [] : [{ text: 'Send a test', icon: 'send', onPick: () => void hookActions.sendTest(hook) } as const]),
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
        <a class="title" href={hrefTo('hooks', hook.id)}>
          {formatKindTitle(hook.event)}
        </a>
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
      <Menu label={`More for hook ${hook.id}`} items={menuItems} />
    </li>
  );
}

function NoHooks({ isOwnList }: { readonly isOwnList: boolean }) {
  if (!isOwnList) return <EmptyState icon="bell" title="They have no hooks" />;
  return (
    <EmptyState icon="bell" title="Nobody is told yet">
      <p>
        A hook rings an application when something happens: one POST with the address of the record, which the
        application then fetches with its own key. It needs an address that answers 200.
      </p>
      <ButtonLink variant="primary" icon="plus" href={hrefTo('hooks', 'new')}>
        New hook
      </ButtonLink>
    </EmptyState>
  );
}
