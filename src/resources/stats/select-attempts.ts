import { type Expression, type SqlBool, sql } from 'kysely';
import { DELIVERED_OUTCOME, localErrorOutcomes } from '../../delivery/dispatcher/retry-policy.ts';
import type { AccountView } from '../../store/account-scope.ts';

/** A time interval in milliseconds since the epoch. `until` is exclusive. */
type TimeInterval = { readonly from: number; readonly until: number };

/**
 * Returns the last intervals of a length, newest first. The newest interval contains `now`. Callers count each interval
 * in a separate query, to keep the queries short.
 *
 * @param lengthMs length in milliseconds; every interval begins at a multiple of this length
 */
export function getLatestIntervals(now: number, lengthMs: number, intervalCount: number): readonly TimeInterval[] {
  const newestIntervalStart = Math.floor(now / lengthMs) * lengthMs;
  return Array.from({ length: intervalCount }, (_, intervalsBack) => {
    const from = newestIntervalStart - intervalsBack * lengthMs;
    return { from, until: from + lengthMs };
  });
}

/**
 * Selects the delivered and the failed attempts of an interval, but no local errors (C19). An index covers the query.
 */
export function selectAttempts(view: AccountView, { from, until }: TimeInterval, hookCondition?: Expression<SqlBool>) {
  const query = view
    .selectFrom('attempts')
    .where('attempts.attempted_at', '>=', from)
    .where('attempts.attempted_at', '<', until)
    .where('attempts.outcome', 'not in', localErrorOutcomes);
  return hookCondition === undefined ? query : query.where(hookCondition);
}

/** SQL expression: 1 if an attempt was delivered, otherwise 0. */
export const isDeliveredSql = sql<number>`case when attempts.outcome = ${sql.lit(DELIVERED_OUTCOME)} then 1 else 0 end`;

export const countAllSql = sql<number>`count(*)`;
