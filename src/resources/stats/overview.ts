import { type Expression, type RawBuilder, type SqlBool, sql } from 'kysely';
import { readOnlyTimestamp } from '../../http/fields/dates.ts';
import type { StoredRecordOf } from '../../http/fields/field.ts';
import { readOnlyRecords } from '../../http/fields/reference-fields.ts';
import { readOnlyDigits } from '../../http/fields/scalar-fields.ts';
import { defineGetRoute } from '../../http/routes/define-routes.ts';
import { waitForSliceTurn } from '../../http/routes/pagination.ts';
import type { Route } from '../../http/routes/route.ts';
import { type Caller, isAdmin } from '../../permissions.ts';
import type { AccountView } from '../../store/account-scope.ts';
import { countAllSql, getLatestIntervals, isDeliveredSql, selectAttempts } from './select-attempts.ts';

const minuteFields = {
  minute: readOnlyTimestamp('When it begins, UTC.'),
  delivered: readOnlyDigits('Attempts that were delivered.'),
  failed: readOnlyDigits('Attempts that failed.'),
};

type MinuteRow = StoredRecordOf<typeof minuteFields>;

/** Response fields of the current delivery statistics. */
const overviewFields = {
  pending: readOnlyDigits(
    'Pending deliveries of live hooks. Only the 10000 lowest hook ids with pending deliveries are counted.',
  ),
  oldest_pending_at: readOnlyTimestamp(
    'When the oldest of them became pending, UTC, without those that a disabled hook holds back.',
  ),
  hooks_failing: readOnlyDigits('Live hooks that are failing.'),
  hooks_live: readOnlyDigits('Live hooks.'),
  hooks_ended_today: readOnlyDigits('Hooks that have ended since 00:00 UTC.'),
  delivered_last_hour: readOnlyDigits('Attempts of the last 60 minutes that were delivered.'),
  failed_last_hour: readOnlyDigits('Attempts of the last 60 minutes that failed, without local errors.'),
  p50_ms: readOnlyDigits('Median duration of these attempts in milliseconds.'),
  p95_ms: readOnlyDigits('95th percentile of their duration in milliseconds.'),
  attempts_since: readOnlyTimestamp(
    'Start of the counted period, UTC; later than an hour ago if there are very many attempts.',
  ),
  minutes: readOnlyRecords(
    'The minutes of the last hour, oldest first; fewer where attempts_since is later.',
    minuteFields,
  ),
};

type OverviewRow = StoredRecordOf<typeof overviewFields>;

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 3_600_000;
const COUNTED_MINUTES = 60;

/** Number of minutes whose attempts are counted per query. */
const MINUTES_PER_QUERY = 5;

/** Counting goes backwards in time and stops at this number of attempts. Earlier minutes are then left out. */
const MAX_COUNTED_ATTEMPTS = 200_000;

/** Maximum number of hook queues whose pending deliveries are counted. */
const MAX_SCANNED_QUEUES = 10_000;
/** Number of hook queues counted per query. */
const QUEUES_PER_QUERY = 1_000;

/** Returns the current delivery statistics: of the whole account for admins, of their own hooks for other users. */
async function getOverview(view: AccountView, caller: Caller): Promise<OverviewRow> {
  const userId = isAdmin(caller) ? undefined : caller.userId;
  return {
    ...(await countPendingDeliveries(view, userId)),
    ...(await countHooks(view, userId)),
    ...(await countAttemptsOfLastHour(view, userId)),
  };
}

/** Selects the hooks of a user, or of all users if `userId` is undefined. */
function selectHooks(view: AccountView, userId: number | undefined) {
  const hooksQuery = view.selectFrom('hooks');
  return userId === undefined ? hooksQuery : hooksQuery.where('hooks.user_id', '=', userId);
}

/** Counts the pending deliveries of live hooks, in batches of hook queues. */
async function countPendingDeliveries(view: AccountView, userId: number | undefined) {
  let pendingCount = 0;
  let oldestPendingAt: number | null = null;
  let lastHookId = 0;
  for (let scannedQueueCount = 0; scannedQueueCount < MAX_SCANNED_QUEUES; scannedQueueCount += QUEUES_PER_QUERY) {
    const queues = await loadQueuesAfter(view, userId, lastHookId);
    for (const queue of queues.filter(({ is_counted }) => is_counted === 1)) {
      pendingCount += queue.pending ?? 0;
      if (queue.oldest !== null) oldestPendingAt = Math.min(queue.oldest, oldestPendingAt ?? queue.oldest);
    }
    if (queues.length < QUEUES_PER_QUERY) break;
    lastHookId = queues.at(-1)?.hook_id ?? lastHookId;
    await waitForSliceTurn();
  }
  return { pending: pendingCount, oldest_pending_at: oldestPendingAt };
}

/**
 * Loads the next hook queues with pending deliveries, in the order of their hook ids. The recursive query goes from
 * queue to queue along an index, however many deliveries each queue has. The cross join fixes the join order of SQLite,
 * which would otherwise scan every hook.
 */
function loadQueuesAfter(view: AccountView, userId: number | undefined, lastHookId: number) {
  const { accountId } = view;
  const queuesWithPending = sql<{ hook_id: number }>`(
    with recursive found (hook_id) as (
      select min(pending_deliveries.hook_id) from pending_deliveries where pending_deliveries.account_id = ${accountId} and pending_deliveries.hook_id > ${lastHookId}
      union all
      select (select min(pending_deliveries.hook_id) from pending_deliveries where pending_deliveries.account_id = ${accountId} and pending_deliveries.hook_id > found.hook_id)
      from found where found.hook_id is not null
    ) select found.hook_id from found where found.hook_id is not null limit ${QUEUES_PER_QUERY})`;
  const isCountedSql = sql<SqlBool>`hooks.date_ended is null
    and ${userId === undefined ? sql`1 = 1` : sql`hooks.user_id = ${userId}`}`;
  const nullUnlessCounted = <T>(value: RawBuilder<T>) => sql<T | null>`case when ${isCountedSql} then ${value} end`;
  return view
    .selectFrom('positions')
    .crossJoin(queuesWithPending.as('queues'))
    .crossJoin('hooks')
    .whereRef('hooks.hook_id', '=', 'queues.hook_id')
    .select([
      'hooks.hook_id',
      sql<number>`case when ${isCountedSql} then 1 else 0 end`.as('is_counted'),
      nullUnlessCounted(
        sql<number>`(select count(*) from pending_deliveries where pending_deliveries.hook_id = hooks.hook_id)`,
      ).as('pending'),
      // The oldest delivery is the one with the lowest feed position. Test deliveries have no feed position and are
      // sent immediately, so they are left out.
      nullUnlessCounted(
        sql<
          number | null
        >`(select pending_deliveries.created_at from pending_deliveries where pending_deliveries.hook_id = hooks.hook_id
          and hooks.enabled = 1 and pending_deliveries.position is not null order by pending_deliveries.position limit 1)`,
      ).as('oldest'),
    ])
    .orderBy('hooks.hook_id')
    .execute();
}

async function countHooks(view: AccountView, userId: number | undefined) {
  const countMatchingHooks = async (...conditions: Expression<SqlBool>[]) => {
    const query = conditions.reduce((hooksQuery, condition) => hooksQuery.where(condition), selectHooks(view, userId));
    return (await query.select(countAllSql.as('hooks')).executeTakeFirstOrThrow()).hooks;
  };
  const todayStart = Math.floor(view.now / DAY_MS) * DAY_MS;
  return {
    hooks_live: await countMatchingHooks(sql`hooks.date_ended is null`),
    hooks_failing: await countMatchingHooks(sql`hooks.date_ended is null`, sql`hooks.failures > 0`),
    hooks_ended_today: await countMatchingHooks(
      sql`hooks.date_ended is not null`,
      sql`hooks.date_ended >= ${todayStart}`,
    ),
  };
}

async function countAttemptsOfLastHour(view: AccountView, userId: number | undefined) {
  const [newestMinute] = getLatestIntervals(view.now, MINUTE_MS, 1);
  const periodEndMs = newestMinute?.until ?? view.now;
  /** Numbers of attempts by minute. Minutes are counted since the epoch. */
  const countsByMinute = new Map<number, { delivered: number; failed: number }>();
  const attemptCountsByDurationMs = new Map<number, number>();
  let totalAttemptCount = 0;
  let countedSince = periodEndMs;
  while (countedSince > periodEndMs - COUNTED_MINUTES * MINUTE_MS && totalAttemptCount < MAX_COUNTED_ATTEMPTS) {
    await waitForSliceTurn();
    const from = countedSince - MINUTES_PER_QUERY * MINUTE_MS;
    for (const row of await loadAttemptsByMinute(view, { from, until: countedSince }, userId)) {
      const minuteCounts = countsByMinute.get(row.minute) ?? { delivered: 0, failed: 0 };
      minuteCounts[row.delivered === 1 ? 'delivered' : 'failed'] += row.attempts;
      countsByMinute.set(row.minute, minuteCounts);
      attemptCountsByDurationMs.set(
        row.milliseconds,
        (attemptCountsByDurationMs.get(row.milliseconds) ?? 0) + row.attempts,
      );
      totalAttemptCount += row.attempts;
    }
    countedSince = from;
  }
  const minutes = getLatestIntervals(view.now, MINUTE_MS, (periodEndMs - countedSince) / MINUTE_MS)
    .toReversed()
    .map(
      ({ from }): MinuteRow => ({
        minute: from,
        ...(countsByMinute.get(from / MINUTE_MS) ?? { delivered: 0, failed: 0 }),
      }),
    );
  const sumOverMinutes = (name: 'delivered' | 'failed') =>
    minutes.reduce((sum, minute) => sum + (minute[name] ?? 0), 0);
  return {
    delivered_last_hour: sumOverMinutes('delivered'),
    failed_last_hour: sumOverMinutes('failed'),
    p50_ms: findQuantile(attemptCountsByDurationMs, totalAttemptCount, 0.5),
    p95_ms: findQuantile(attemptCountsByDurationMs, totalAttemptCount, 0.95),
    attempts_since: countedSince,
    minutes,
  };
}

function loadAttemptsByMinute(
  view: AccountView,
  interval: { from: number; until: number },
  userId: number | undefined,
) {
  const minuteSql = sql<number>`attempts.attempted_at / ${sql.lit(MINUTE_MS)}`;
  const ownHooksCondition = sql<SqlBool>`attempts.hook_id in (${selectHooks(view, userId).select('hooks.hook_id')})`;
  return selectAttempts(view, interval, userId === undefined ? undefined : ownHooksCondition)
    .select([
      minuteSql.as('minute'),
      isDeliveredSql.as('delivered'),
      'attempts.milliseconds',
      countAllSql.as('attempts'),
    ])
    .groupBy([minuteSql, isDeliveredSql, 'attempts.milliseconds'])
    .execute();
}

/** Returns the duration in milliseconds that the given fraction of attempts did not exceed; 0 without attempts. */
function findQuantile(
  attemptCountsByDurationMs: ReadonlyMap<number, number>,
  totalAttemptCount: number,
  fraction: number,
): number {
  let countedAttemptCount = 0;
  for (const [milliseconds, attempts] of [...attemptCountsByDurationMs].sort(([one], [other]) => one - other)) {
    countedAttemptCount += attempts;
    if (countedAttemptCount >= totalAttemptCount * fraction) return milliseconds;
  }
  return 0;
}

/** The route of the overview, which only the console group serves. */
export const overviewRoutes: readonly Route[] = [
  defineGetRoute({
    path: '/overview',
    description: 'Returns delivery statistics: of the account for admins, of their own hooks for others.',
    permission: 'hooks:read',
    fields: overviewFields,
    handle: (view, caller) => getOverview(view, caller),
  }),
];
