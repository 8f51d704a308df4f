import { Problem } from '../../problems.ts';
import type { Queries } from '../../store/store.ts';

/** The occurrences of an account from a position on, and the moment at which they become pending. */
export type Span = {
  readonly accountId: number;
  readonly first: number;
  readonly now: number;
};

/**
 * C14: occurrences are pending for the live hooks of the user who caused them, of their kind, in that account; of these to
 * one alone where `hookId` is given. Answers the hooks, once for each delivery. What is pending already stays as it is: a
 * hook that ended at the very moment of an occurrence may have been pending it.
 */
export function enqueueDeliveries(queries: Queries, { accountId, first, now }: Span, hookId?: number) {
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
        .where('occurrences.position', '>=', first)
        .$if(hookId !== undefined, (query) => query.where('hooks.hook_id', '=', hookId ?? 0))
        .select(({ val }) => [
          'occurrences.account_id',
          'occurrences.user_id',
          'hooks.hook_id',
          'occurrences.position',
          'occurrences.kind',
          'occurrences.record_id',
          val(now).as('created_at'),
        ])
        .orderBy('occurrences.position'),
    )
    .onConflict((conflict) => conflict.columns(['hook_id', 'position']).doNothing())
    .returning('hook_id');
}

/** How soon whoever is pending too much may come again, seconds. */
const RETRY_AFTER_S = 10;

/** Refuses what an account that is pending too much would be pending beside that. */
export function pendingQuotaExceeded(): Problem {
  return new Problem('pending_quota_exceeded', { retryAfterS: RETRY_AFTER_S });
}

/** Rejects if any of these facts is pending for a hook. */
export async function requireNothingPending(
  queries: Queries,
  accountId: number,
  facts: readonly { readonly kind: string; readonly userId: number }[],
): Promise<void> {
  const of = new Map(facts.map(({ kind, userId }) => [`${kind} ${userId}`, { kind, userId }]));
  const hook = await queries
    .selectFrom('hooks')
    .select('hook_id')
    .where('account_id', '=', accountId)
    .where('date_ended', 'is', null)
    .where(({ or, and, eb }) =>
      or([...of.values()].map(({ kind, userId }) => and([eb('kind', '=', kind), eb('user_id', '=', userId)]))),
    )
    .limit(1)
    .executeTakeFirst();
  if (hook !== undefined) throw pendingQuotaExceeded();
}
