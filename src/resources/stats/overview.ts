import { type Expression, type RawBuilder, type SqlBool, sql } from 'kysely';
import type { OutputOf } from '../../http/fields/field.ts';
import { readOnlyNumber, readOnlyRecords, readOnlyTimestamp } from '../../http/fields/field-types.ts';
import { waitForNextSlice } from '../../http/routes/page-slices.ts';
import { defineGetRoute, type Route } from '../../http/routes/route.ts';
import { type Caller, isAdmin } from '../../permissions.ts';
import type { AccountView } from '../../store/account-scope.ts';
import { countAllSql, getLatestBuckets, isDeliveredSql, selectAttempts } from '../deliveries/deliveries.ts';

const minuteFields = {
  minute: readOnlyTimestamp('When it begins, UTC.'),
  delivered: readOnlyNumber('Attempts that were delivered.'),
  failed: readOnlyNumber('Attempts that failed.'),
};

export type MinuteRow = OutputOf<typeof minuteFields>;

/** Response fields of the current delivery statistics. */
export const overviewFields = {
  pending: readOnlyNumber(
    'Pending deliveries of live hooks. Only the 10000 lowest hook ids with pending deliveries are counted.',
  ),
  oldest_pending_at: readOnlyTimestamp('When the oldest of them became pending, UTC.'),
  hooks_failing: readOnlyNumber('Live hooks that are failing.'),
  hooks_live: readOnlyNumber('Live hooks.'),
  hooks_ended_today: readOnlyNumber('Hooks that have ended since 00:00 UTC.'),
  delivered_last_hour: readOnlyNumber('Attempts of the last 60 minutes that were delivered.'),
  failed_last_hour: readOnlyNumber('Attempts of the last 60 minutes that failed, without local errors.'),
  p50_ms: readOnlyNumber('Median duration of these attempts in milliseconds.'),
  p95_ms: readOnlyNumber('95th percentile of their duration in milliseconds.'),
  attempts_since: readOnlyTimestamp(
    'Start of the counted period, UTC; later than an hour ago if there are very many attempts.',
  ),
  minutes: readOnlyRecords(
    'The minutes of the last hour, oldest first; fewer where attempts_since is later.',
    minuteFields,
  ),
};

type OverviewRow = OutputOf<typeof overviewFields>;

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
export async function getOverview(view: AccountView, caller: Caller): Promise<OverviewRow> {
  const userId = isAdmin(caller) ? undefined : caller.userId;
  return {
    ...(await countPendingDeliveries(view, userId)),
    ...(await countHooks(view, userId)),
    ...(await countAttemptsOfLastHour(view, userId)),
  };
}

/** Selects the hooks of a user, or of all users if `userId` is undefined. */
function selectHooks(view: AccountView, userId: number | undefined) {
  const hooks = view.selectFrom('hooks');
  return userId === undefined ? hooks : hooks.where('hooks.user_id', '=', userId);
}

/** Counts the pending deliveries of live hooks, in batches of hook queues. */
async function countPendingDeliveries(view: AccountView, userId: number | undefined) {
  let pendingCount = 0;
  let oldestPendingAt: number | null = null;
  let lastHookId = 0;
  for (let scannedQueues = 0; scannedQueues < MAX_SCANNED_QUEUES; scannedQueues += QUEUES_PER_QUERY) {
    const queues = await loadQueuesAfter(view, userId, lastHookId);
    for (const queue of queues.filter(({ is_counted }) => is_counted === 1)) {
      pendingCount += queue.pending ?? 0;
      if (queue.oldest !== null) oldestPendingAt = Math.min(queue.oldest, oldestPendingAt ?? queue.oldest);
    }
    if (queues.length < QUEUES_PER_QUERY) break;
    lastHookId = queues.at(-1)?.hook_id ?? lastHookId;
    await waitForNextSlice();
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
        sql<number>`(select pending_deliveries.created_at from pending_deliveries where pending_deliveries.hook_id = hooks.hook_id
          and pending_deliveries.position is not null order by pending_deliveries.position limit 1)`,
      ).as('oldest'),
    ])
    .orderBy('hooks.hook_id')
    .execute();
}

async function countHooks(view: AccountView, userId: number | undefined) {
  const countMatchingHooks = async (...conditions: Expression<SqlBool>[]) => {
    const query = conditions.reduce((hooks, condition) => hooks.where(condition), selectHooks(view, userId));
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
  const [newestMinute] = getLatestBuckets(view.now, MINUTE_MS, 1);
  const endMs = newestMinute?.until ?? view.now;
  /** Numbers of attempts by minute. Minutes are counted since the epoch. */
  const sumsByMinute = new Map<number, { delivered: number; failed: number }>();
  const attemptsByDuration = new Map<number, number>();
  let totalAttempts = 0;
  let countedSince = endMs;
  while (countedSince > endMs - COUNTED_MINUTES * MINUTE_MS && totalAttempts < MAX_COUNTED_ATTEMPTS) {
    await waitForNextSlice();
    const from = countedSince - MINUTES_PER_QUERY * MINUTE_MS;
    for (const row of await loadAttemptsByMinute(view, { from, until: countedSince }, userId)) {
      const minuteSums = sumsByMinute.get(row.minute) ?? { delivered: 0, failed: 0 };
      minuteSums[row.delivered === 1 ? 'delivered' : 'failed'] += row.attempts;
      sumsByMinute.set(row.minute, minuteSums);
      attemptsByDuration.set(row.milliseconds, (attemptsByDuration.get(row.milliseconds) ?? 0) + row.attempts);
      totalAttempts += row.attempts;
    }
    countedSince = from;
  }
  const minutes = getLatestBuckets(view.now, MINUTE_MS, (endMs - countedSince) / MINUTE_MS)
    .toReversed()
    .map(
      ({ from }): MinuteRow => ({
        minute: from,
        ...(sumsByMinute.get(from / MINUTE_MS) ?? { delivered: 0, failed: 0 }),
      }),
    );
  const sumOverMinutes = (name: 'delivered' | 'failed') =>
    minutes.reduce((sum, minute) => sum + (minute[name] ?? 0), 0);
  return {
    delivered_last_hour: sumOverMinutes('delivered'),
    failed_last_hour: sumOverMinutes('failed'),
    p50_ms: findQuantile(attemptsByDuration, totalAttempts, 0.5),
    p95_ms: findQuantile(attemptsByDuration, totalAttempts, 0.95),
    attempts_since: countedSince,
    minutes,
  };
}

function loadAttemptsByMinute(view: AccountView, bucket: { from: number; until: number }, userId: number | undefined) {
  const minuteSql = sql<number>`attempts.attempted_at / ${sql.lit(MINUTE_MS)}`;
  const ownHooksCondition = sql<SqlBool>`attempts.hook_id in (${selectHooks(view, userId).select('hooks.hook_id')})`;
  return selectAttempts(view, bucket, userId === undefined ? undefined : ownHooksCondition)
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
  attemptsByDuration: ReadonlyMap<number, number>,
  totalAttempts: number,
  fraction: number,
): number {
  let countedAttempts = 0;
  for (const [milliseconds, attempts] of [...attemptsByDuration].sort(([one], [other]) => one - other)) {
    countedAttempts += attempts;
    if (countedAttempts >= totalAttempts * fraction) return milliseconds;
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
    call: (view, caller) => getOverview(view, caller),
  }),
];
