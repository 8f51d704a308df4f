import type { Expression } from 'kysely';
import type { Queries } from '../store/store.ts';

/** The occurrences of an account from a position on, and the moment at which they become owed. */
export type Span = {
  readonly accountId: number;
  readonly first: number | Expression<number>;
  readonly now: number;
};

/**
 * C14: occurrences are owed to the live hooks of the user who caused them, of their kind, in that account; of these to
 * one alone where `hookId` is given. Answers the hooks, once for each delivery. What is owed already stays as it is: a
 * hook that ended at the very moment of an occurrence may have been owed it.
 */
export function owe(queries: Queries, { accountId, first, now }: Span, hookId?: number) {
  return queries
    .insertInto('owed')
    .columns(['account_id', 'user_id', 'hook_id', 'position', 'kind', 'record_id', 'owed_at'])
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
          val(now).as('owed_at'),
        ])
        .orderBy('occurrences.position'),
    )
    .onConflict((conflict) => conflict.columns(['hook_id', 'position']).doNothing())
    .returning('hook_id');
}
