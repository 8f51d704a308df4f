import { useState } from 'preact/hooks';
import type { Hook } from '../../../../packages/sdk/src/hooks.ts';
import { client } from '../../app/client.ts';
import { hrefTo } from '../../app/router.ts';
import { displayNameOf, requireSession } from '../../app/session.ts';
import { usePolling, useQuery } from '../../app/use-query.ts';
import { LoadingSkeleton, Note } from '../../components/badge.tsx';
import { Button, ButtonLink } from '../../components/button.tsx';
import { Page } from '../../components/page.tsx';
import { ClockTime, formatDuration, RelativeTime } from '../../components/timestamp.tsx';
import { Countdown, capitalize, HookStateBadge, LastDaySparkline, TargetUrl } from '../../delivery/delivery-badges.tsx';
import {
  describeOutcome,
  explainHookEnd,
  formatCountWithNoun,
  getOutcomeAdvice,
  hookTitleOf,
  listEventTypes,
  scopeTexts,
  shownStateOf,
} from '../../delivery/delivery-text.ts';
import { canRestore, useHookActions } from './hook-actions.tsx';
import { Deliveries, HOOK_POLL_INTERVAL_MS } from './hook-deliveries.tsx';
import { apiCallsForSignature, SignatureSection } from './signature.tsx';

async function loadHookDetails(id: string, signal: AbortSignal) {
  const hook = await client.hooks.get(id, { signal });
  const isOwnHook = hook.user_id === requireSession().user.user_id;
  const pendingFilters = { hook_id: id, user_id: hook.user_id, state: 'pending', limit: 1 } as const;
  const [hourlyCountsPage, owner, project, pendingPage] = await Promise.all([
    client.hours.list({ hook_id: id, user_id: hook.user_id }, { signal }),
    // Hooks of a deleted user remain visible for a while, but this user cannot be loaded any more.
    isOwnHook ? undefined : client.users.get(hook.user_id, { signal }).catch(() => undefined),
    hook.project_id === '0' ? undefined : client.projects.get(hook.project_id, { signal }).catch(() => undefined),
    shownStateOf(hook) === 'disabled' ? client.deliveries.list(pendingFilters, { signal }) : undefined,
  ]);
  return {
    hook,
    hourlyCounts: hourlyCountsPage.data,
    owner: owner && displayNameOf(owner),
    projectName: project?.project_name,
    pendingCount: pendingPage?.paging.total_records ?? 0,
  };
}

/** Page of one hook: advice if it is failing or has ended, its details, its signing secret and its deliveries. */
export function HookPage({ id }: { readonly id: string }) {
  const { data, errorText, reload } = useQuery((signal) => loadHookDetails(id, signal), [id]);
  const actions = useHookActions(reload);
  const { hook } = data ?? {};
  usePolling(hook?.state === 'ended' ? undefined : HOOK_POLL_INTERVAL_MS, reload);
  return (
    <Page
      title={hook === undefined ? `Webhook ${id}` : hookTitleOf(hook)}
      intro={<a href={hrefTo('hooks')}>All webhooks</a>}
      calls={apiCallsFor(id, hook)}
      actions={hook && <HookButtons hook={hook} actions={actions} />}
    >
      {errorText !== undefined && data === undefined && (
        <Note tone="bad">{errorText} An ended webhook is kept for 30 days.</Note>
      )}
      {data === undefined && errorText === undefined && <LoadingSkeleton />}
      {data !== undefined && (
        <>
          <HookAdvice hook={data.hook} pendingCount={data.pendingCount} />
          <section class="card padded facts" aria-label="About this webhook">
            <HookFacts {...data} />
            <div class="stack">
              <h2>Last 24 hours</h2>
              <LastDaySparkline hourlyCounts={data.hourlyCounts} height={26} />
              <AverageAttemptDuration hourlyCounts={data.hourlyCounts} />
            </div>
          </section>
          <SignatureSection hook={data.hook} onChanged={reload} />
          <Deliveries hook={data.hook} />
        </>
      )}
      {actions.confirmDialog}
    </Page>
  );
}

type HookFactsProps = {
  readonly hook: Hook;
  readonly owner: string | undefined;
  readonly projectName: string | undefined;
};

function HookFacts({ hook, owner, projectName }: HookFactsProps) {
  const isOwn = hook.user_id === requireSession().user.user_id;
  return (
    <dl>
      <dt>URL</dt>
      <dd>
        <TargetUrl url={hook.target_url} />
      </dd>
      <dt>Event types</dt>
      <dd class="says">
        {listEventTypes(hook.events)} {hook.event !== '' && <code class="soft">{hook.event}</code>}
      </dd>
      <dt>Scope</dt>
      <dd>{hook.scope === 'own' && isOwn ? 'What you do' : scopeTexts[hook.scope]}</dd>
      {hook.scope === 'project' && (
        <>
          <dt>Project</dt>
          <dd>
            <a href={hrefTo('projects', hook.project_id)}>{projectName ?? `Project ${hook.project_id}`}</a>
          </dd>
        </>
      )}
      {hook.headers.length > 0 && (
        <>
          <dt>Headers</dt>
          <dd class="says">
            <code>{hook.headers.join(', ')}</code> <span class="small soft">values are never shown</span>
          </dd>
        </>
      )}
      <dt>Owner</dt>
      <dd>{owner ?? (isOwn ? 'You' : `User ${hook.user_id}`)}</dd>
      <dt>Created</dt>
      <dd>
        <RelativeTime timestamp={hook.date_created} />
      </dd>
      <dt>Last response</dt>
      <dd>{capitalize(describeOutcome(hook.last_outcome))}</dd>
    </dl>
  );
}

function apiCallsFor(id: string, hook: Hook | undefined) {
  const path = `/hooks/${id}`;
  const isEnded = hook?.state === 'ended';
  const isDisabled = hook?.enabled === '0';
  return [
    { description: 'This webhook', method: 'GET', path, sdk: `hooks.get('${id}')` },
    {
      description: 'Its deliveries',
      method: 'GET',
      path: `/deliveries?hook_id=${id}`,
      sdk: `deliveries.list({ hook_id: '${id}' })`,
    },
    ...(isEnded
      ? [{ description: 'Restore it', method: 'POST', path: `${path}/restore`, sdk: `hooks.restore('${id}')` } as const]
      : ([
          ...(isDisabled ? [] : apiCallsThatSend(id)),
          ...(hook === undefined ? [] : apiCallsForSignature(hook)),
          {
            description: isDisabled ? 'Enable it' : 'Disable it',
            method: 'PUT',
            path,
            body: { enabled: isDisabled ? 1 : 0 },
            sdk: `hooks.update('${id}', { enabled: ${isDisabled ? 1 : 0} })`,
          },
          { description: 'Delete it', method: 'DELETE', path, sdk: `hooks.delete('${id}')` },
        ] as const)),
  ] as const;
}

/** Returns the API calls that send notifications; a disabled hook rejects them. */
function apiCallsThatSend(id: string) {
  const path = `/hooks/${id}`;
  const interval = { from: '2027-03-01 08:00:00', to: '2027-03-01 12:00:00' };
  return [
    { description: 'Send a test', method: 'POST', path: `${path}/test`, sdk: `hooks.test('${id}')` },
    {
      description: 'Send notifications again',
      method: 'POST',
      path: `${path}/replay`,
      body: interval,
      sdk: `hooks.replay('${id}', ${JSON.stringify(interval)})`,
    },
  ] as const;
}

function HookButtons({ hook, actions }: { readonly hook: Hook; readonly actions: ReturnType<typeof useHookActions> }) {
  const [isTesting, setTesting] = useState(false);
  if (hook.state === 'ended') {
    return canRestore(hook) ? (
      <Button variant="primary" icon="undo" onClick={() => actions.openRestoreDialog(hook)}>
        Restore
      </Button>
    ) : null;
  }
  const sendTest = async () => {
    setTesting(true);
    await actions.sendTest(hook);
    setTesting(false);
  };
  const isDisabled = hook.enabled === '0';
  return (
    <>
      {!isDisabled && (
        <>
          <Button icon="send" disabled={isTesting} onClick={sendTest}>
            {isTesting ? 'Sending…' : 'Send a test'}
          </Button>
          <Button icon="repeat" onClick={() => actions.openReplayDialog(hook)}>
            Send again…
          </Button>
        </>
      )}
      <Button
        variant={isDisabled ? 'primary' : 'plain'}
        icon={isDisabled ? 'play' : 'pause'}
        onClick={() => actions.setEnabled(hook, isDisabled)}
      >
        {isDisabled ? 'Enable' : 'Disable'}
      </Button>
      <ButtonLink icon="pencil" href={hrefTo('hooks', hook.id, 'edit')}>
        Edit
      </ButtonLink>
      <Button variant="danger" icon="trash" onClick={() => actions.openDeleteDialog(hook)}>
        Delete
      </Button>
    </>
  );
}

/** Shows advice for a hook that is disabled or failing, or has ended. */
function HookAdvice({ hook, pendingCount }: { readonly hook: Hook; readonly pendingCount: number }) {
  if (hook.state === 'ended') {
    const { reason, advice } = explainHookEnd(hook);
    return (
      <Note tone={hook.ended_reason === 'deleted' ? 'info' : 'bad'}>
        <p>
          <HookStateBadge hook={hook} /> <strong>{capitalize(reason)}</strong>,{' '}
          <RelativeTime timestamp={hook.date_ended} />. Nothing more is sent to its target.
        </p>
        <p>{advice}</p>
        {!canRestore(hook) && !['user_deleted', 'role_lost'].includes(hook.ended_reason) && (
          <p>Only its owner can restore it.</p>
        )}
      </Note>
    );
  }
  if (shownStateOf(hook) === 'disabled') {
    return (
      <Note tone="info">
        <p>
          <HookStateBadge hook={hook} />{' '}
          <strong>{formatCountWithNoun(pendingCount, 'notification is', 'notifications are')} pending.</strong> Nothing
          is sent until the webhook is enabled; then everything pending is sent.
        </p>
      </Note>
    );
  }
  if (hook.state === 'live') return null;
  const remainingFailures = 3 - Number(hook.failures);
  return (
    <Note tone="warn">
      <p>
        <HookStateBadge hook={hook} /> <strong>{capitalize(describeOutcome(hook.last_outcome))}.</strong> The same
        notification is retried <Countdown endTimestamp={hook.next_attempt_at} /> (
        <ClockTime timestamp={hook.next_attempt_at} />
        ); until then nothing else is sent.{' '}
        {remainingFailures === 1 ? 'One more failure ends' : `${remainingFailures} more failures end`} the webhook; a
        200 response releases everything pending.
      </p>
      <p>{getOutcomeAdvice(hook.last_outcome)} A test can be sent now.</p>
    </Note>
  );
}

function AverageAttemptDuration({
  hourlyCounts,
}: {
  readonly hourlyCounts: readonly { delivered: string; failed: string; milliseconds: string }[];
}) {
  const attemptsByHour = hourlyCounts.map((hour) => Number(hour.delivered) + Number(hour.failed));
  const totalAttempts = attemptsByHour.reduce((sum, count) => sum + count, 0);
  if (totalAttempts === 0) return null;
  const totalMs = hourlyCounts.reduce(
    (sum, hour, index) => sum + Number(hour.milliseconds) * (attemptsByHour[index] ?? 0),
    0,
  );
  return <span class="small soft">{formatDuration(totalMs / totalAttempts)} on average</span>;
}
