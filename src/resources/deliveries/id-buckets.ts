import { type SqlBool, sql } from 'kysely';
import type { AccountView } from '../../store/account-scope.ts';

/** Which stretch of 8,192 ids a settled delivery is in; an index holds it, word for word: `settled_by_hook`. */
export const STRETCH = 'finalized_deliveries.delivery_id / 8192';

/**
 * That a settled delivery is of a hook of a user. No index has those of one hook behind each other (see the migration):
 * they are found a stretch at a time, in each that the user has anything in.
 */
export function settledOfHook(view: AccountView, userId: number, hookId: number) {
  const end = (which: 'min' | 'max') =>
    view
      .selectFrom('finalized_deliveries')
      .where('finalized_deliveries.user_id', '=', userId)
      .select(sql<number>`${sql.raw(which)}(finalized_deliveries.delivery_id) / 8192`.as('stretch'));
  // In a sum, so that a page is not looked for along all that is the user's, which has the right order.
  return sql<SqlBool>`finalized_deliveries.user_id + 0 = ${userId} and finalized_deliveries.hook_id = ${hookId} and ${sql.raw(STRETCH)} in (
    with recursive stretches (stretch) as (
      select (${end('min')})
      union all
      select stretch + 1 from stretches where stretch < (${end('max')})
    ) select stretch from stretches)`;
}
