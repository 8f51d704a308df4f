import { type SqlBool, sql } from 'kysely';
import type { AccountView } from '../../store/account-scope.ts';

/** Selects pending deliveries, with the same columns as `selectFinalizedDeliveries`. */
export function selectPendingDeliveries(view: AccountView) {
  return view
    .selectFrom('pending_deliveries')
    .innerJoin('hooks', 'hooks.hook_id', 'pending_deliveries.hook_id')
    .select([
      'pending_deliveries.delivery_id as id',
      'pending_deliveries.hook_id',
      'pending_deliveries.user_id',
      'pending_deliveries.kind',
      'pending_deliveries.record_id',
      'pending_deliveries.position as cursor',
      'pending_deliveries.created_at as date_created',
      sql<number | null>`null`.as('date_finalized'),
      sql<string>`case when hooks.date_ended is null then 'pending' else 'undelivered' end`.as('state'),
    ]);
}

/** Selects finalized deliveries, with the same columns as `selectPendingDeliveries`. */
export function selectFinalizedDeliveries(view: AccountView) {
  return view
    .selectFrom('finalized_deliveries')
    .select([
      'finalized_deliveries.delivery_id as id',
      'finalized_deliveries.hook_id',
      'finalized_deliveries.user_id',
      'finalized_deliveries.kind',
      'finalized_deliveries.record_id',
      'finalized_deliveries.position as cursor',
      'finalized_deliveries.created_at as date_created',
      sql<number | null>`finalized_deliveries.finalized_at`.as('date_finalized'),
      'finalized_deliveries.state',
    ]);
}

/** Number of ids in a bucket, see `DELIVERY_ID_BUCKET_SQL`. */
export const DELIVERY_BUCKET_SIZE = 8_192;

/**
 * SQL for the bucket of 8,192 ids that contains a finalized delivery. The index `settled_by_hook` has exactly this
 * expression.
 */
export const DELIVERY_ID_BUCKET_SQL = 'finalized_deliveries.delivery_id / 8192';

/**
 * Builds the condition for the finalized deliveries of a hook of a user. No index lists the deliveries of one hook in
 * order (see migration 0010), so the query visits each bucket between the first and the last delivery of the user.
 */
export function buildFinalizedOfHookCondition(view: AccountView, userId: number, hookId: number) {
  const selectBoundaryBucket = (aggregate: 'min' | 'max') =>
    view
      .selectFrom('finalized_deliveries')
      .where('finalized_deliveries.user_id', '=', userId)
      .select(sql<number>`${sql.raw(aggregate)}(finalized_deliveries.delivery_id) / 8192`.as('bucket'));
  // `+ 0` prevents the planner from using the index on user_id. That index has the order of the list, but its use would
  // scan all rows of the user.
  return sql<SqlBool>`finalized_deliveries.user_id + 0 = ${userId} and finalized_deliveries.hook_id = ${hookId} and ${sql.raw(DELIVERY_ID_BUCKET_SQL)} in (
    with recursive buckets (bucket) as (
      select (${selectBoundaryBucket('min')})
      union all
      select bucket + 1 from buckets where bucket < (${selectBoundaryBucket('max')})
    ) select bucket from buckets)`;
}

/** The last attempt of a delivery, and the number of its attempts. */
type LastAttempt = { readonly outcome: string; readonly milliseconds: number; readonly attempts: number };

/**
 * Finds the last attempt of each delivery that has attempts. Because of an index, the cost does not depend on the total
 * number of attempts.
 */
export async function findLastAttempts(
  view: AccountView,
  deliveryIds: readonly number[],
): Promise<ReadonlyMap<number, LastAttempt>> {
  if (deliveryIds.length === 0) return new Map();
  const deliveryIdValues = sql`(values ${sql.join(deliveryIds.map((id) => sql`(cast(${id} as bigint))`))}) as wanted`;
  const buildAttemptsSql = (id: string) => sql`from attempts as other
    where other.account_id = ${view.accountId} and other.delivery_id = ${sql.ref(id)}`;
  const rows = await view
    .selectFrom('attempts')
    .where(
      sql<SqlBool>`(attempts.delivery_id, attempts.attempt_id) in (
        select wanted.column1, (select max(other.attempt_id) ${buildAttemptsSql('wanted.column1')}) from ${deliveryIdValues})`,
    )
    .select(['attempts.delivery_id', 'attempts.outcome', 'attempts.milliseconds'])
    .select(sql<number>`(select count(*) ${buildAttemptsSql('attempts.delivery_id')})`.as('attempts'))
    .execute();
  return new Map(rows.map(({ delivery_id, ...last }) => [delivery_id, last]));
}
