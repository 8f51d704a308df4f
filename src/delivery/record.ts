import { sql } from 'kysely';
import { AccountWrite } from '../store/account.ts';
import { type Kind, kinds } from './kinds.ts';

/** Something that happened in this transaction: to which record, and whose hooks are to hear of it (C14). */
export type Fact = { readonly kind: Kind; readonly recordId: number; readonly userId: number };

/** Rows of one statement: well below the number of values that a statement can carry. */
const ROWS_A_STATEMENT = 500;

/**
 * Records what happened, as the last thing of a transaction: each fact becomes the occurrence at the account's next
 * position, and one owed row for every live hook that it is owed to (C14, C20). Either all of it is committed with
 * the change itself, or nothing.
 */
export async function record(write: AccountWrite, facts: readonly Fact[]): Promise<void> {
  if (facts.length === 0) return;
  const { queries, announceOwed } = AccountWrite.transactionOf(write);
  const { position: last } = await queries
    .updateTable('positions')
    .set({ position: sql`position + ${facts.length}` })
    .where('account_id', '=', write.accountId)
    .returning('position')
    .executeTakeFirstOrThrow();
  const first = last - facts.length + 1;
  for (let begin = 0; begin < facts.length; begin += ROWS_A_STATEMENT) {
    const rows = facts.slice(begin, begin + ROWS_A_STATEMENT).map((fact, index) => ({
      account_id: write.accountId,
      position: first + begin + index,
      kind: fact.kind,
      user_id: fact.userId,
      record_id: fact.recordId,
      occurred_at: write.now,
    }));
    await queries.insertInto('occurrences').values(rows).execute();
  }
  // Kinds that no hook can name are owed to nobody.
  if (!facts.some((fact) => kinds[fact.kind].hooks)) return;
  const told = await queries
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
        .where('occurrences.account_id', '=', write.accountId)
        .where('occurrences.position', '>=', first)
        .where('occurrences.position', '<=', last)
        .select([
          'occurrences.account_id',
          'occurrences.user_id',
          'hooks.hook_id',
          'occurrences.position',
          'occurrences.kind',
          'occurrences.record_id',
          'occurrences.occurred_at',
        ])
        .orderBy('occurrences.position'),
    )
    .returning('hook_id')
    .execute();
  announceOwed(told.map((row) => row.hook_id));
}
