import { sql } from 'kysely';
import { AccountWrite } from '../../store/account-scope.ts';
import { locked, preparedOver } from '../../store/prepared-queries.ts';
import type { AtCommit, NewPendingDeliveries } from '../../store/store.ts';
import { requireNothingPending } from './enqueue-deliveries.ts';
import { type Kind, kinds } from './event-kinds.ts';

/** Something that happened in this transaction: to which record, and whose hooks are to hear of it (C14). */
export type NewOccurrence = { readonly kind: Kind; readonly recordId: number; readonly userId: number };

/** So many positions of an account that occurrences take at a moment, milliseconds since the epoch. */
type Place = { readonly accountId: number; readonly count: number; readonly now: number };

/** The type is said where a database could not know it. */
const int = (value: number) => sql`cast(${value} as bigint)`;
const text = (value: string) => sql`cast(${value} as text)`;

const placesOf = (places: readonly Place[]) =>
  sql`places (account_id, taken, now) as (values ${sql.join(
    places.map(({ accountId, count, now }) => sql`(${int(accountId)}, ${int(count)}, ${int(now)})`),
  )})`;

/**
 * The rows of these accounts are locked from here to the commit, so this comes last; always in their order, so that
 * transactions wait for each other and not for ever. The clock of an account never goes back.
 */
const takePositions = preparedOver((queries, places: readonly Place[]) => {
  const held = queries
    .selectFrom('positions')
    .select('account_id')
    .where(
      'account_id',
      'in',
      places.map(({ accountId }) => accountId),
    )
    .orderBy('account_id');
  return sql<{ account_id: number }>`
    with ${placesOf(places)}, held as ${locked(queries, held)}
    update positions set position = position + places.taken,
      occurred_at = case when occurred_at > places.now then occurred_at else places.now end
    from held join places on places.account_id = held.account_id
    where positions.account_id = held.account_id
    returning positions.account_id`;
});

/** `back`: how many positions before the last that was taken of its account. */
type Placed = NewOccurrence & { readonly accountId: number; readonly back: number; readonly now: number };

const factsOf = (facts: readonly Placed[]) =>
  sql`facts (account_id, back, kind, user_id, record_id, now) as (values ${sql.join(
    facts.map(
      ({ accountId, back, kind, userId, recordId, now }) =>
        sql`(${int(accountId)}, ${int(back)}, ${text(kind)}, ${int(userId)}, ${int(recordId)}, ${int(now)})`,
    ),
  )})`;

const insertOccurrences = preparedOver((_queries, facts: readonly Placed[]) => {
  return sql`
    with ${factsOf(facts)}
    insert into occurrences (account_id, position, kind, user_id, record_id, occurred_at)
    select facts.account_id, positions.position - facts.back, facts.kind, facts.user_id, facts.record_id,
      positions.occurred_at
    from facts join positions on positions.account_id = facts.account_id`;
});

/** What `owe` does, for the positions that were taken last. */
const enqueueForHooks = preparedOver((_queries, facts: readonly Placed[]) => {
  return sql<NewPendingDeliveries>`
    with ${factsOf(facts)}
    insert into pending_deliveries (account_id, user_id, hook_id, position, kind, record_id, created_at)
    select facts.account_id, facts.user_id, hooks.hook_id, positions.position - facts.back, facts.kind, facts.record_id,
      facts.now
    from facts join positions on positions.account_id = facts.account_id
      join hooks on hooks.account_id = facts.account_id and hooks.user_id = facts.user_id and hooks.kind = facts.kind
        and hooks.date_ended is null
    order by facts.account_id, facts.back desc
    returning hook_id, delivery_id, position, kind, record_id, created_at`;
});

/** What one write records. */
type Recorded = { readonly accountId: number; readonly now: number; readonly facts: readonly NewOccurrence[] };

/**
 * Records what happened, as the last thing of a transaction: each fact becomes the occurrence at the account's next
 * position, and one pending row for every live hook that it is pending for (C14, C20). Either all of it is committed with
 * the change itself, or nothing. It is sent together with the commit, once for all writes that it carries: the account's
 * row is locked for no longer than the commit takes.
 */
export function record(write: AccountWrite, facts: readonly NewOccurrence[]): void {
  if (facts.length === 0) return;
  const tx = AccountWrite.transactionOf(write);
  const { accountId, now } = write;
  if (!write.mayEnqueue) tx.commitIf(requireNothingPending(tx.queries, accountId, facts));
  tx.beforeCommit(recordAll, { accountId, now, facts });
  tx.news.addOccurred([accountId]);
}

const recordAll: AtCommit<Recorded> = async ({ queries, news }, all) => {
  const byAccount = [...Map.groupBy(all, ({ accountId }) => accountId)].sort(([one], [other]) => one - other);
  const accounts = byAccount.map(([accountId, recorded]) => {
    const facts = recorded.flatMap((one) => one.facts);
    return { accountId, facts, count: facts.length, now: Math.max(...recorded.map(({ now }) => now)) };
  });
  const placed = accounts.flatMap(({ accountId, facts, count, now }) =>
    facts.map((fact, index) => ({ ...fact, accountId, back: count - 1 - index, now })),
  );
  // Kinds that no hook can name are pending for nobody.
  const told = placed.filter(({ kind }) => kinds[kind].hooks);
  const [taken, , pending] = await Promise.all([
    takePositions(queries, accounts, {}),
    insertOccurrences(queries, placed, {}),
    enqueueForHooks(queries, told, {}),
  ]);
  if (taken.length !== accounts.length) throw new Error('an account has no position');
  news.addNewPending(pending);
};
