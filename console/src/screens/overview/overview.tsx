import './overview.css';
import type { ComponentChildren } from 'preact';
import type { Hook } from '../../../../packages/sdk/src/hooks.ts';
import type { Overview } from '../../../../packages/sdk/src/stats.ts';
import { client } from '../../app/client.ts';
import { hrefTo } from '../../app/router.ts';
import { isAdmin, requireSession } from '../../app/session.ts';
import { usePolling, useQuery } from '../../app/use-query.ts';
import { Badge, LoadingSkeleton, Note } from '../../components/badge.tsx';
import { Page } from '../../components/page.tsx';
import { formatDuration, parseTimestamp, RelativeTime } from '../../components/timestamp.tsx';
import { HookStateBadge, HookStateDetails } from '../../delivery/delivery-badges.tsx';
import { formatCountWithNoun, hookTitleOf } from '../../delivery/delivery-text.ts';
import { MinutesChart } from './chart.tsx';
import { FirstSteps } from './onboarding.tsx';

const OVERVIEW_POLL_INTERVAL_MS = 4_000;

async function loadOverview(signal: AbortSignal) {
  const overview = await client.overview({ signal });
  const hasNoActivity = [overview.hooks_live, overview.hooks_ended_today, overview.delivered_last_hour].every(
    (count) => count === '0',
  );
  const hasNoHooks = hasNoActivity && (await client.hooks.list({ limit: 1 }, { signal })).paging.total_records === 0;
  return { overview, hasNoHooks };
}

/** Screen with the delivery metrics of the last hour, and the hooks that are failing or have ended. */
export default function OverviewScreen() {
  const { data, errorText, reload } = useQuery(loadOverview, []);
  usePolling(OVERVIEW_POLL_INTERVAL_MS, reload);
  return (
    <Page
      title="Overview"
      intro={
        isAdmin() ? 'How deliveries go in this account, at this moment.' : 'How your deliveries go at this moment.'
      }
      calls={[
        {
          description: 'Hooks that are failing',
          method: 'GET',
          path: '/hooks?state=failing',
          sdk: `hooks.list({ state: 'failing' })`,
        },
        {
          description: 'What is pending',
          method: 'GET',
          path: '/deliveries?state=pending',
          sdk: `deliveries.list({ state: 'pending' })`,
        },
      ]}
    >
      {errorText !== undefined && <Note tone={data === undefined ? 'bad' : 'warn'}>{errorText}</Note>}
      {data === undefined && errorText === undefined && <LoadingSkeleton />}
      {data?.hasNoHooks === true && <FirstSteps />}
      {data?.hasNoHooks === false && <Dashboard overview={data.overview} />}
    </Page>
  );
}

function Dashboard({ overview }: { readonly overview: Overview }) {
  const { delivered_last_hour: deliveredCount, failed_last_hour: failedCount, p50_ms, p95_ms, pending } = overview;
  const attemptCount = Number(deliveredCount) + Number(failedCount);
  const deliveredPercent = attemptCount === 0 ? undefined : (100 * Number(deliveredCount)) / attemptCount;
  const oldestPendingAt = parseTimestamp(overview.oldest_pending_at);
  const hasFailingHooks = overview.hooks_failing !== '0';
  return (
    <>
      <dl class="figures">
        <MetricCard name="Delivered in the last hour" value={Number(deliveredCount).toLocaleString('en')}>
          {deliveredPercent === undefined
            ? 'no attempts'
            : `${deliveredPercent.toFixed(Number.isInteger(deliveredPercent) ? 0 : 1)} % of ${formatCountWithNoun(attemptCount, 'attempt')}`}
        </MetricCard>
        <MetricCard name="Answered within, p95" value={attemptCount === 0 ? '–' : formatDuration(Number(p95_ms))}>
          {attemptCount === 0 ? 'nothing was sent' : `p50: ${formatDuration(Number(p50_ms))}`}
        </MetricCard>
        <MetricCard name="Pending now" value={Number(pending).toLocaleString('en')}>
          {oldestPendingAt === undefined
            ? pending === '0'
              ? 'nothing waits'
              : 'only for disabled webhooks'
            : `the oldest for ${formatDuration(Math.max(0, Date.now() - oldestPendingAt.getTime()))}`}
        </MetricCard>
        <MetricCard
          name="Live hooks"
          value={(Number(overview.hooks_live) - Number(overview.hooks_failing)).toLocaleString('en')}
        >
          {hasFailingHooks ? <Badge tone="warn">{overview.hooks_failing} failing</Badge> : 'none is failing'}
        </MetricCard>
        <MetricCard name="Ended today" value={Number(overview.hooks_ended_today).toLocaleString('en')}>
          since 00:00 UTC
        </MetricCard>
      </dl>
      <section class="card padded stack" aria-label="Deliveries per minute">
        <MinutesChart overview={overview} />
      </section>
      <FailingOrEndedHooks
        failingCount={Number(overview.hooks_failing)}
        endedCount={Number(overview.hooks_ended_today)}
      />
    </>
  );
}

type MetricCardProps = { readonly name: string; readonly value: string; readonly children: ComponentChildren };

function MetricCard({ name, value, children }: MetricCardProps) {
  return (
    <div class="card figure">
      <dt>{name}</dt>
      <dd>
        <strong class="number">{value}</strong>
        <span class="small soft">{children}</span>
      </dd>
    </div>
  );
}

/** List of the hooks that are failing or have ended today. */
function FailingOrEndedHooks({
  failingCount,
  endedCount,
}: {
  readonly failingCount: number;
  readonly endedCount: number;
}) {
  const { data } = useQuery(
    (signal) => findFailingOrEndedHooks({ failingCount, endedCount }, signal),
    [failingCount, endedCount],
  );
  if (failingCount + endedCount === 0) return null;
  const unlistedHookCount = failingCount + endedCount - (data?.length ?? 0);
  return (
    <section class="stack" aria-label="What needs a look">
      <h2>What needs a look</h2>
      {data === undefined && <LoadingSkeleton lineCount={2} />}
      {data !== undefined && (
        <ul class="card lines">
          {data.map((hook) => (
            <FailingOrEndedHookRow key={hook.id} hook={hook} />
          ))}
          {unlistedHookCount > 0 && (
            <li class="line small soft">
              {formatCountWithNoun(unlistedHookCount, 'more')} among other people’s:{' '}
              <a href={hrefTo('hooks')}>choose whose</a>.
            </li>
          )}
        </ul>
      )}
    </section>
  );
}

function FailingOrEndedHookRow({ hook }: { readonly hook: Hook }) {
  return (
    <li class="line row spread">
      <span>
        <a class="title" href={hrefTo('hooks', hook.id)}>
          {hookTitleOf(hook)}
        </a>
      </span>
      <span class="row small soft">
        <span>
          <HookStateDetails hook={hook} />
          {hook.state === 'ended' && (
            <>
              , <RelativeTime timestamp={hook.date_ended} />
            </>
          )}
        </span>
        <HookStateBadge hook={hook} />
      </span>
    </li>
  );
}

/** Maximum number of users whose hooks are searched. */
const MAX_SEARCHED_USERS = 20;

const MAX_LISTED_HOOKS = 50;

type HookCounts = { readonly failingCount: number; readonly endedCount: number };

/**
 * Finds the hooks that are failing or have ended today. The API lists hooks only per user, so the search begins with
 * the current user. For an admin, the search continues with one other user after another, until as many hooks are found
 * as the overview counts.
 */
async function findFailingOrEndedHooks(
  { failingCount, endedCount }: HookCounts,
  signal: AbortSignal,
): Promise<readonly Hook[]> {
  const foundHooks: Hook[] = [];
  if (failingCount + endedCount === 0) return foundHooks;
  for (const userId of await listUserIdsToSearch(signal)) {
    const [failingHooks, endedHooks] = await Promise.all([
      client.hooks.list({ user_id: userId, state: 'failing', limit: MAX_LISTED_HOOKS }, { signal }),
      client.hooks.list({ user_id: userId, state: 'ended' }, { signal }),
    ]);
    foundHooks.push(
      ...failingHooks.data,
      ...endedHooks.data.filter(({ date_ended }) => date_ended >= startOfTodayUtc()),
    );
    if (foundHooks.length >= failingCount + endedCount) break;
  }
  return foundHooks.slice(0, MAX_LISTED_HOOKS);
}

async function listUserIdsToSearch(signal: AbortSignal): Promise<readonly string[]> {
  const ownUserId = requireSession().user.user_id;
  if (!isAdmin()) return [ownUserId];
  const { data } = await client.users.list({ limit: MAX_SEARCHED_USERS }, { signal });
  return [ownUserId, ...data.map(({ user_id }) => user_id).filter((userId) => userId !== ownUserId)];
}

/** Returns the start of the current day in UTC, as an API timestamp. */
function startOfTodayUtc(): string {
  return `${new Date().toISOString().slice(0, 10)} 00:00:00`;
}
