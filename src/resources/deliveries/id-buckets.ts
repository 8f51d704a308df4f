import { type SqlBool, sql } from 'kysely';
import type { AccountView } from '../../store/account-scope.ts';

/** Bucket of 8,192 ids that a finalized delivery is in. The index `settled_by_hook` has exactly this expression. */
export const STRETCH = 'finalized_deliveries.delivery_id / 8192';

/**
 * Condition: finalized deliveries of a hook of a user. No index lists those of one hook in order (see the migration), so
 * the query visits each bucket between the user's first and last delivery.
 */
export function settledOfHook(view: AccountView, userId: number, hookId: number) {
  const end = (which: 'min' | 'max') =>
    view
      .selectFrom('finalized_deliveries')
      .where('finalized_deliveries.user_id', '=', userId)
      .select(sql<number>`${sql.raw(which)}(finalized_deliveries.delivery_id) / 8192`.as('bucket'));
  // `+ 0` keeps the planner off the index on user_id, which has the list's order but would scan all of the user's rows.
  return sql<SqlBool>`finalized_deliveries.user_id + 0 = ${userId} and finalized_deliveries.hook_id = ${hookId} and ${sql.raw(STRETCH)} in (
    with recursive buckets (bucket) as (
      select (${end('min')})
      union all
      select bucket + 1 from buckets where bucket < (${end('max')})
    ) select bucket from buckets)`;
}
