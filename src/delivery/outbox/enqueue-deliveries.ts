import type { Expression, SqlBool } from 'kysely';
import { Problem } from '../../problems.ts';
import type { Queries } from '../../store/store.ts';

/** A live hook, and the occurrences of its account from a feed position on that it missed. */
type MissedOccurrences = {
  readonly accountId: number;
  readonly hookId: number;
  readonly firstPosition: number;
  /** Creation time of the deliveries. */
  readonly createdAt: number;
  /** The occurrences that the hook reports. */
  readonly reportedCondition: Expression<SqlBool>;
};

/** Builds the query that enqueues a pending delivery of each missed occurrence, except of those that have one. */
export function buildEnqueueMissedQuery(
  queries: Queries,
  { accountId, hookId, firstPosition, createdAt, reportedCondition }: MissedOccurrences,
) {
  return queries
    .insertInto('pending_deliveries')
    .columns(['account_id', 'user_id', 'hook_id', 'position', 'kind', 'record_id', 'fields', 'created_at'])
    .expression((from) =>
      from
        .selectFrom('occurrences')
        .innerJoin('hooks', 'hooks.account_id', 'occurrences.account_id')
        .where('hooks.hook_id', '=', hookId)
        .where('occurrences.account_id', '=', accountId)
        .where('occurrences.position', '>=', firstPosition)
        .where(reportedCondition)
        .select(({ val }) => [
          'occurrences.account_id',
          'hooks.user_id',
          'hooks.hook_id',
          'occurrences.position',
          'occurrences.kind',
          'occurrences.record_id',
          'occurrences.fields',
          val(createdAt).as('created_at'),
        ])
        .orderBy('occurrences.position'),
    )
    .onConflict((conflict) => conflict.columns(['hook_id', 'position']).doNothing());
}

/** `Retry-After` of a write that is rejected because of the quota, seconds. */
const QUOTA_RETRY_AFTER_S = 10;

/** Creates the problem for a write that would enqueue deliveries although the account has reached its quota. */
export function createPendingQuotaProblem(): Problem {
  return new Problem('pending_quota_exceeded', { retryAfterS: QUOTA_RETRY_AFTER_S });
}
