import { type Expression, type SqlBool, sql } from 'kysely';
import { DELIVERED, localErrorWords } from '../../delivery/dispatcher/retry-policy.ts';
import type { AccountView } from '../../store/account-scope.ts';

/** From a moment on, up to before another, milliseconds since the epoch. */
export type TimeBucket = { readonly from: number; readonly until: number };

/** Whether an attempt delivered: 1, or else 0. */
export const isDelivered = sql<number>`case when attempts.outcome = ${sql.lit(DELIVERED)} then 1 else 0 end`;

export const count = sql<number>`count(*)`;

/** The attempts of a stretch that delivered or failed, to be counted along the index that has all of this. */
export function attemptsIn(view: AccountView, { from, until }: TimeBucket, ofHooks?: Expression<SqlBool>) {
  const query = view
    .selectFrom('attempts')
    .where('attempts.attempted_at', '>=', from)
    .where('attempts.attempted_at', '<', until)
    .where('attempts.outcome', 'not in', localErrorWords);
  return ofHooks === undefined ? query : query.where(ofHooks);
}

/**
 * The last stretches of a length up to a moment, the newest first: each is counted by itself, so that no look is a long
 * one.
 *
 * @param lengthMs every stretch begins at a multiple of it
 */
export function lastBuckets(now: number, lengthMs: number, howMany: number): readonly TimeBucket[] {
  const newest = Math.floor(now / lengthMs) * lengthMs;
  return Array.from({ length: howMany }, (_, back) => {
    const from = newest - back * lengthMs;
    return { from, until: from + lengthMs };
  });
}
