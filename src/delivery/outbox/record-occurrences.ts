import { type RawBuilder, sql } from 'kysely';
import { AccountWrite } from '../../store/account-scope.ts';
import {
  hasConcurrentWriters,
  prepareQuery,
  prepareQueryForItems,
  withRowLocks,
} from '../../store/prepared-queries.ts';
import type { BeforeCommitAction, NewPendingDelivery, Queries } from '../../store/store.ts';
import { requireNothingToEnqueue } from './enqueue-deliveries.ts';
import { kindDefinitions, type OccurrenceKind } from './event-kinds.ts';

/** An occurrence (domain event) to be recorded. `userId`: the user whose hooks get a delivery of it (C14). */
export type NewOccurrence = { readonly kind: OccurrenceKind; readonly recordId: number; readonly userId: number };

/** `count` feed positions to allocate for an account; `now` in milliseconds since the epoch. */
type PositionAllocation = { readonly accountId: number; readonly count: number; readonly now: number };

/** Casts a number parameter: the databases cannot infer its type in a `values` list. */
const castToBigint = (value: number) => sql`cast(${value} as bigint)`;
/** Casts a text parameter: the databases cannot infer its type in a `values` list. */
const castToText = (value: string) => sql`cast(${value} as text)`;

const buildAllocationsCte = (allocations: readonly PositionAllocation[]) =>
  sql`allocations (account_id, taken, now) as (values ${sql.join(
    allocations.map(
      ({ accountId, count, now }) => sql`(${castToBigint(accountId)}, ${castToBigint(count)}, ${castToBigint(now)})`,
    ),
  )})`;

/**
 * Allocates feed positions. This locks the rows of the accounts until the commit, so it is done last in a transaction.
 * The rows are locked in a fixed order, which prevents deadlocks. `occurred_at` of an account never decreases.
 */
const allocatePositions = prepareQueryForItems((queries, allocations: readonly PositionAllocation[]) => {
  const lockedPositionsQuery = queries
    .selectFrom('positions')
    .select('account_id')
    .where(
      'account_id',
      'in',
      allocations.map(({ accountId }) => accountId),
    )
    .orderBy('account_id');
  return sql<{ account_id: number }>`
    with ${buildAllocationsCte(allocations)}, held as ${withRowLocks(queries, lockedPositionsQuery)}
    update positions set position = position + allocations.taken,
      occurred_at = case when occurred_at > allocations.now then occurred_at else allocations.now end
    from held join allocations on allocations.account_id = held.account_id
    where positions.account_id = held.account_id
    returning positions.account_id`;
});

/**
 * An occurrence with its feed position, as the distance from the last feed position that this transaction allocates for
 * the account: 0 for the last occurrence, 1 for the one before.
 */
type PlacedOccurrence = NewOccurrence & {
  readonly accountId: number;
  readonly distanceFromLast: number;
  readonly now: number;
};

/** Maximum number of occurrences whose values are each a parameter. */
const MAX_OCCURRENCES_AS_VALUES = 128;

const buildFactsCte = (occurrences: readonly PlacedOccurrence[]) =>
  sql`facts (account_id, back, kind, user_id, record_id, now) as (values ${sql.join(
    occurrences.map(
      ({ accountId, distanceFromLast, kind, userId, recordId, now }) =>
        sql`(${castToBigint(accountId)}, ${castToBigint(distanceFromLast)}, ${castToText(kind)}, ${castToBigint(userId)}, ${castToBigint(recordId)}, ${castToBigint(now)})`,
    ),
  )})`;

const buildFactsCteFromJson = (json: string) => sql`facts (account_id, back, kind, user_id, record_id, now) as (
  select "accountId", "distanceFromLast", kind, "userId", "recordId", now from json_to_recordset(${json}::json)
    as given ("accountId" int8, "distanceFromLast" int8, kind text, "userId" int8, "recordId" int8, now int8))`;

/**
 * Prepares a statement over a list of occurrences. On PostgreSQL, a long list is sent as one JSON parameter: encoding
 * a parameter for each of ten thousand occurrences blocks the event loop for 65 ms.
 */
function prepareForOccurrences<Row>(
  build: (factsCte: RawBuilder<unknown>) => RawBuilder<Row>,
): (queries: Queries, occurrences: readonly PlacedOccurrence[]) => Promise<Row[]> {
  const runWithValues = prepareQueryForItems((_, occurrences: readonly PlacedOccurrence[]) =>
    build(buildFactsCte(occurrences)),
  );
  const runWithJson = prepareQuery((_, { json }: { readonly json: string }) => build(buildFactsCteFromJson(json)));
  return (queries, occurrences) =>
    occurrences.length > MAX_OCCURRENCES_AS_VALUES && hasConcurrentWriters(queries)
      ? runWithJson(queries, { json: JSON.stringify(occurrences) })
      : runWithValues(queries, occurrences, {});
}

const insertOccurrences = prepareForOccurrences(
  (factsCte) => sql`
    with ${factsCte}
    insert into occurrences (account_id, position, kind, user_id, record_id, occurred_at)
    select facts.account_id, positions.position - facts.back, facts.kind, facts.user_id, facts.record_id,
      positions.occurred_at
    from facts join positions on positions.account_id = facts.account_id`,
);

/**
 * Enqueues deliveries like the query of `buildEnqueueQuery`, but for the feed positions that this transaction has
 * allocated.
 */
const insertPendingDeliveries = prepareForOccurrences(
  (factsCte) => sql<NewPendingDelivery>`
    with ${factsCte}
    insert into pending_deliveries (account_id, user_id, hook_id, position, kind, record_id, created_at)
    select facts.account_id, facts.user_id, hooks.hook_id, positions.position - facts.back, facts.kind, facts.record_id,
      facts.now
    from facts join positions on positions.account_id = facts.account_id
      join hooks on hooks.account_id = facts.account_id and hooks.user_id = facts.user_id and hooks.kind = facts.kind
        and hooks.date_ended is null
    order by facts.account_id, facts.back desc
    returning hook_id, delivery_id, position, kind, record_id, created_at`,
);

/** The occurrences that one write has recorded. */
type AccountOccurrences = {
  readonly accountId: number;
  readonly now: number;
  readonly occurrences: readonly NewOccurrence[];
};

/**
 * The transactional outbox: records occurrences at the next feed positions of the account and enqueues one
 * pending delivery for each matching live hook (C14, C20), in the transaction of the change itself. Runs once
 * per commit, for all writes of the commit group, right before the commit: the account's row is locked only for
 * the duration of the commit.
 */
export function recordOccurrences(write: AccountWrite, occurrences: readonly NewOccurrence[]): void {
  if (occurrences.length === 0) return;
  const tx = AccountWrite.transactionOf(write);
  const { accountId, now } = write;
  if (!write.mayEnqueue) tx.commitIf(requireNothingToEnqueue(tx.queries, accountId, occurrences));
  tx.beforeCommit(insertOccurrencesAndDeliveries, { accountId, now, occurrences });
  tx.events.addAccountsWithOccurrences([accountId]);
}

/** Allocates feed positions for the occurrences of all writes of a commit, and inserts them and their deliveries. */
const insertOccurrencesAndDeliveries: BeforeCommitAction<AccountOccurrences> = async (
  { queries, events },
  occurrenceBatches,
) => {
  const batchesByAccount = [...Map.groupBy(occurrenceBatches, ({ accountId }) => accountId)].sort(
    ([one], [other]) => one - other,
  );
  const accountAllocations = batchesByAccount.map(([accountId, accountBatches]) => {
    const occurrences = accountBatches.flatMap((batch) => batch.occurrences);
    return {
      accountId,
      occurrences,
      count: occurrences.length,
      now: Math.max(...accountBatches.map(({ now }) => now)),
    };
  });
  const placedOccurrences = accountAllocations.flatMap(({ accountId, occurrences, count, now }) =>
    occurrences.map((occurrence, index) => ({ ...occurrence, accountId, distanceFromLast: count - 1 - index, now })),
  );
  // Kinds that no hook can subscribe to are not enqueued.
  const subscribableOccurrences = placedOccurrences.filter(({ kind }) => kindDefinitions[kind].isSubscribable);
  const [allocatedAccounts, , newPendingDeliveries] = await Promise.all([
    allocatePositions(queries, accountAllocations, {}),
    insertOccurrences(queries, placedOccurrences),
    insertPendingDeliveries(queries, subscribableOccurrences),
  ]);
  if (allocatedAccounts.length !== accountAllocations.length) throw new Error('an account has no position');
  events.addPendingDeliveries(newPendingDeliveries);
};
