import { sql } from 'kysely';
import { AccountWrite } from '../store/account.ts';
import { prepared } from '../store/prepared.ts';
import type { Occurrences } from '../store/tables.ts';
import { type Kind, kinds } from './kinds.ts';
import { owe, type Span } from './owe.ts';

/** Something that happened in this transaction: to which record, and whose hooks are to hear of it (C14). */
export type Fact = { readonly kind: Kind; readonly recordId: number; readonly userId: number };

type Place = { readonly accountId: number; readonly count: number };

/** The account's row is locked from here to the commit, so this comes as late as it can. */
const takePositions = prepared((queries, { accountId, count }: Place) =>
  queries
    .updateTable('positions')
    .set({ position: sql`position + ${count}` })
    .where('account_id', '=', accountId)
    .returning('position'),
);

const insertOccurrence = prepared((queries, row: Occurrences) => {
  const { account_id, position, kind, user_id, record_id, occurred_at } = row;
  return queries.insertInto('occurrences').values({ account_id, position, kind, user_id, record_id, occurred_at });
});

const oweToHooks = prepared((queries, span: Span) => owe(queries, span));

/**
 * Records what happened, as the last thing of a transaction: each fact becomes the occurrence at the account's next
 * position, and one owed row for every live hook that it is owed to (C14, C20). Either all of it is committed with
 * the change itself, or nothing.
 */
export async function record(write: AccountWrite, facts: readonly Fact[]): Promise<void> {
  if (facts.length === 0) return;
  const { queries, announceOwed } = AccountWrite.transactionOf(write);
  const { accountId } = write;
  const [taken] = await takePositions(queries, { accountId, count: facts.length });
  if (taken === undefined) throw new Error(`account ${accountId} has no position`);
  const last = taken.position;
  const first = last - facts.length + 1;
  for (const [index, { kind, recordId, userId }] of facts.entries()) {
    await insertOccurrence(queries, {
      account_id: accountId,
      position: first + index,
      kind,
      user_id: userId,
      record_id: recordId,
      occurred_at: write.now,
    });
  }
  // Kinds that no hook can name are owed to nobody.
  if (!facts.some((fact) => kinds[fact.kind].hooks)) return;
  const told = await oweToHooks(queries, { accountId, first, last, now: write.now });
  announceOwed(told.map((row) => row.hook_id));
}
