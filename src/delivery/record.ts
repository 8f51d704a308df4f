import { sql } from 'kysely';
import { AccountWrite } from '../store/account.ts';
import { prepared } from '../store/prepared.ts';
import type { AtCommit, Tx } from '../store/store.ts';
import { type Kind, kinds } from './kinds.ts';
import { mustOweNothing, owe } from './owe.ts';

/** Something that happened in this transaction: to which record, and whose hooks are to hear of it (C14). */
export type Fact = { readonly kind: Kind; readonly recordId: number; readonly userId: number };

type Place = { readonly accountId: number; readonly count: number; readonly now: number };

/** The account's row is locked from here to the commit, so this comes last. Its clock never goes back. */
const takePositions = prepared((queries, { accountId, count, now }: Place) =>
  queries
    .updateTable('positions')
    .set({
      position: sql`position + ${count}`,
      occurred_at: sql`case when occurred_at > ${now} then occurred_at else ${now} end`,
    })
    .where('account_id', '=', accountId)
    .returning('position'),
);

/** `back`: how many positions before the last that was taken. */
type Placed = Fact & { readonly accountId: number; readonly back: number };

const insertOccurrence = prepared((queries, { accountId, back, kind, userId, recordId }: Placed) =>
  queries
    .insertInto('occurrences')
    .columns(['account_id', 'position', 'kind', 'user_id', 'record_id', 'occurred_at'])
    .expression((from) =>
      from
        .selectFrom('positions')
        .where('account_id', '=', accountId)
        .select(({ val }) => [
          'account_id',
          sql<number>`position - ${back}`.as('position'),
          val(kind).as('kind'),
          val(userId).as('user_id'),
          val(recordId).as('record_id'),
          'occurred_at',
        ]),
    ),
);

const oweToHooks = prepared((queries, { accountId, count, now }: Place) => {
  const first = sql<number>`(select position - ${count} + 1 from positions where account_id = ${accountId})`;
  return owe(queries, { accountId, first, now });
});

/** What one write records. */
type Recorded = { readonly accountId: number; readonly now: number; readonly facts: readonly Fact[] };

/**
 * Records what happened, as the last thing of a transaction: each fact becomes the occurrence at the account's next
 * position, and one owed row for every live hook that it is owed to (C14, C20). Either all of it is committed with
 * the change itself, or nothing. It is sent together with the commit, once for all writes that it carries: the account's
 * row is locked for no longer than the commit takes.
 */
export function record(write: AccountWrite, facts: readonly Fact[]): void {
  if (facts.length === 0) return;
  const tx = AccountWrite.transactionOf(write);
  const { accountId, now } = write;
  if (!write.mayOwe) tx.onlyIf(mustOweNothing(tx.queries, accountId, facts));
  tx.atCommit(recordAll, { accountId, now, facts });
  tx.announceHappened(accountId);
}

/** Account by account, always in the same order, so that transactions wait for each other and not for ever. */
const recordAll: AtCommit<Recorded> = async (tx, all) => {
  const byAccount = [...Map.groupBy(all, ({ accountId }) => accountId)].sort(([one], [other]) => one - other);
  await Promise.all(byAccount.map(([accountId, recorded]) => recordIn(tx, accountId, recorded)));
};

async function recordIn(tx: Tx, accountId: number, recorded: readonly Recorded[]): Promise<void> {
  const facts = recorded.flatMap((one) => one.facts);
  const place: Place = { accountId, count: facts.length, now: Math.max(...recorded.map(({ now }) => now)) };
  const taken = takePositions(tx.queries, place);
  const inserted = facts.map((fact, index) =>
    insertOccurrence(tx.queries, { ...fact, accountId, back: facts.length - 1 - index }),
  );
  // Kinds that no hook can name are owed to nobody.
  const told = facts.some((fact) => kinds[fact.kind].hooks) ? oweToHooks(tx.queries, place) : Promise.resolve([]);
  const [positions, owed] = await Promise.all([taken, told, ...inserted]);
  if (positions.length === 0) throw new Error(`account ${accountId} has no position`);
  tx.announceOwed(owed.map((row) => row.hook_id));
}
