import { type Expression, type SqlBool, sql } from 'kysely';
import { DELIVERED, localErrorWords } from '../../delivery/dispatcher/retry-policy.ts';
import type { AccountView } from '../../store/account-scope.ts';

/** A time interval, milliseconds since the epoch; `until` is exclusive. */
export type TimeBucket = { readonly from: number; readonly until: number };

/** SQL: 1 if an attempt was delivered, else 0. */
export const isDelivered = sql<number>`case when attempts.outcome = ${sql.lit(DELIVERED)} then 1 else 0 end`;

export const count = sql<number>`count(*)`;

/** Attempts in an interval that were delivered or failed, without local errors. An index covers the query. */
export function attemptsIn(view: AccountView, { from, until }: TimeBucket, ofHooks?: Expression<SqlBool>) {
  const query = view
    .selectFrom('attempts')
    .where('attempts.attempted_at', '>=', from)
    .where('attempts.attempted_at', '<', until)
    .where('attempts.outcome', 'not in', localErrorWords);
  return ofHooks === undefined ? query : query.where(ofHooks);
}

/**
 * The last intervals of a length, newest first, ending with the one that contains `now`. Each is counted in a query of its
 * own, to keep the queries short.
 *
 * @param lengthMs length in milliseconds; every interval begins at a multiple of it
 */
export function lastBuckets(now: number, lengthMs: number, bucketCount: number): readonly TimeBucket[] {
  const newest = Math.floor(now / lengthMs) * lengthMs;
  return Array.from({ length: bucketCount }, (_, back) => {
    const from = newest - back * lengthMs;
    return { from, until: from + lengthMs };
  });
}
