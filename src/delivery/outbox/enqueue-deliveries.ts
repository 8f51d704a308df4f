import { Problem } from '../../problems.ts';
import type { Queries } from '../../store/store.ts';

/**
 * The occurrences (domain events) of an account from a feed position on. `createdAt` becomes the creation time of their
 * deliveries.
 */
type OccurrenceRange = {
  readonly accountId: number;
  readonly firstPosition: number;
  readonly createdAt: number;
};

/**
 * Builds the query that enqueues a pending delivery of each occurrence for every live hook of the same account, user
 * and kind (C14), or for `hookId` only. It returns the hook id of each new delivery. Running it again for a
 * restored hook adds only the missing deliveries.
 */
export function buildEnqueueQuery(
  queries: Queries,
  { accountId, firstPosition, createdAt }: OccurrenceRange,
  hookId?: number,
) {
  return queries
    .insertInto('pending_deliveries')
    .columns(['account_id', 'user_id', 'hook_id', 'position', 'kind', 'record_id', 'created_at'])
    .expression((from) =>
      from
        .selectFrom('occurrences')
        .innerJoin('hooks', (join) =>
          join
            .onRef('hooks.account_id', '=', 'occurrences.account_id')
            .onRef('hooks.user_id', '=', 'occurrences.user_id')
            .onRef('hooks.kind', '=', 'occurrences.kind'),
        )
        .where('hooks.date_ended', 'is', null)
        .where('occurrences.account_id', '=', accountId)
        .where('occurrences.position', '>=', firstPosition)
        .$if(hookId !== undefined, (query) => query.where('hooks.hook_id', '=', hookId ?? 0))
        .select(({ val }) => [
          'occurrences.account_id',
          'occurrences.user_id',
          'hooks.hook_id',
          'occurrences.position',
          'occurrences.kind',
          'occurrences.record_id',
          val(createdAt).as('created_at'),
        ])
        .orderBy('occurrences.position'),
    )
    .onConflict((conflict) => conflict.columns(['hook_id', 'position']).doNothing())
    .returning('hook_id');
}

/** `Retry-After` of a write that is rejected because of the quota, seconds. */
const QUOTA_RETRY_AFTER_S = 10;

/** Creates the problem for a write that would enqueue deliveries although the account has reached its quota. */
export function createPendingQuotaProblem(): Problem {
  return new Problem('pending_quota_exceeded', { retryAfterS: QUOTA_RETRY_AFTER_S });
}

/** Throws `pending_quota_exceeded` if a live hook would get a delivery of any of these occurrences. */
export async function requireNothingToEnqueue(
  queries: Queries,
  accountId: number,
  occurrences: readonly { readonly kind: string; readonly userId: number }[],
): Promise<void> {
  const subscriptions = new Map(occurrences.map(({ kind, userId }) => [`${kind} ${userId}`, { kind, userId }]));
  const hook = await queries
    .selectFrom('hooks')
    .select('hook_id')
    .where('account_id', '=', accountId)
    .where('date_ended', 'is', null)
    .where(({ or, and, eb }) =>
      or(
        [...subscriptions.values()].map(({ kind, userId }) => and([eb('kind', '=', kind), eb('user_id', '=', userId)])),
      ),
    )
    .limit(1)
    .executeTakeFirst();
  if (hook !== undefined) throw createPendingQuotaProblem();
}
