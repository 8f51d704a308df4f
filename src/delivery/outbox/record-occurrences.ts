import { type RawBuilder, sql } from 'kysely';
import { AccountWrite } from '../../store/account-scope.ts';
import {
  hasConcurrentWriters,
  prepareQuery,
  prepareQueryForItems,
  withRowLocks,
} from '../../store/prepared-queries.ts';
import type { BeforeCommitAction, NewPendingDelivery, Queries } from '../../store/store.ts';
import { createPendingQuotaProblem } from './enqueue-deliveries.ts';
import { type OccurrenceKind, permissionFor } from './event-kinds.ts';
import { joinSubscriptions, wildcardOf } from './subscriptions.ts';

/** An occurrence (domain event) to be recorded. */
export type NewOccurrence = {
  readonly kind: OccurrenceKind;
  readonly recordId: number;
  /** The user who caused it: the creator of a new record, otherwise the caller (C14). */
  readonly userId: number;
  /** The project of the record, or the project itself; absent if it has none. */
  readonly projectId?: number;
  /** The project that the record has left with this change. */
  readonly previousProjectId?: number;
  /** Names of the changed fields, for the kinds `changed_…` (X14). */
  readonly fields?: readonly string[];
  /** Whether no hook reports it; it appears in the feed only. */
  readonly isSilent?: boolean;
};

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

/** The columns of the common table expression `facts`, with their types on PostgreSQL. */
const factColumns = {
  account_id: 'int8',
  back: 'int8',
  kind: 'text',
  wildcard: 'text',
  user_id: 'int8',
  record_id: 'int8',
  project_id: 'int8',
  previous_project_id: 'int8',
  fields: 'text',
  is_silent: 'int8',
  now: 'int8',
} as const;

type Fact = {
  readonly [Column in keyof typeof factColumns]: (typeof factColumns)[Column] extends 'text' ? string | null : number;
};

const toFact = (occurrence: PlacedOccurrence): Fact => ({
  account_id: occurrence.accountId,
  back: occurrence.distanceFromLast,
  kind: occurrence.kind,
  wildcard: wildcardOf(permissionFor(occurrence.kind)),
  user_id: occurrence.userId,
  record_id: occurrence.recordId,
  project_id: occurrence.projectId ?? 0,
  previous_project_id: occurrence.previousProjectId ?? 0,
  fields: occurrence.kind.startsWith('changed_') ? (occurrence.fields?.join() ?? null) : null,
  is_silent: occurrence.isSilent ? 1 : 0,
  now: occurrence.now,
});

const factColumnNames = Object.keys(factColumns) as (keyof Fact)[];
const factColumnsSql = sql.join(factColumnNames.map((name) => sql.ref(name)));

const buildFactsCte = (facts: readonly Fact[]) =>
  sql`facts (${factColumnsSql}) as (values ${sql.join(
    facts.map(
      (fact) =>
        sql`(${sql.join(
          factColumnNames.map((name) =>
            factColumns[name] === 'text' ? castToText(fact[name] as string) : castToBigint(fact[name] as number),
          ),
        )})`,
    ),
  )})`;

const buildFactsCteFromJson = (json: string) => sql`facts (${factColumnsSql}) as (
  select ${factColumnsSql} from json_to_recordset(${json}::json)
    as given (${sql.join(factColumnNames.map((name) => sql`${sql.ref(name)} ${sql.raw(factColumns[name])}`))}))`;

/**
 * Prepares a statement over a list of occurrences. On PostgreSQL, a long list is sent as one JSON parameter: encoding
 * a parameter for each of ten thousand occurrences blocks the event loop for 65 ms.
 */
function prepareForOccurrences<Row>(
  build: (queries: Queries, factsCte: RawBuilder<unknown>) => RawBuilder<Row>,
): (queries: Queries, occurrences: readonly Fact[]) => Promise<Row[]> {
  const runWithValues = prepareQueryForItems((queries, facts: readonly Fact[]) => build(queries, buildFactsCte(facts)));
  const runWithJson = prepareQuery((queries, { json }: { readonly json: string }) =>
    build(queries, buildFactsCteFromJson(json)),
  );
  return (queries, facts) =>
    facts.length > MAX_OCCURRENCES_AS_VALUES && hasConcurrentWriters(queries)
      ? runWithJson(queries, { json: JSON.stringify(facts) })
      : runWithValues(queries, facts, {});
}

const insertOccurrences = prepareForOccurrences(
  (_, factsCte) => sql`
    with ${factsCte}
    insert into occurrences (account_id, position, kind, user_id, record_id, project_id, previous_project_id, fields,
      is_silent, occurred_at)
    select facts.account_id, positions.position - facts.back, facts.kind, facts.user_id, facts.record_id,
      facts.project_id, facts.previous_project_id, facts.fields, facts.is_silent, positions.occurred_at
    from facts join positions on positions.account_id = facts.account_id`,
);

/**
 * Fans the occurrences out: enqueues one pending delivery for each live hook that reports an occurrence (C14, X11). The
 * deliveries belong to the user of the hook, not to the user who caused the occurrence.
 */
const insertPendingDeliveries = prepareForOccurrences(
  (queries, factsCte) => sql<NewPendingDelivery>`
    with ${factsCte}
    insert into pending_deliveries (account_id, user_id, hook_id, position, kind, record_id, fields, created_at)
    select facts.account_id, subscriptions.user_id, subscriptions.hook_id, positions.position - facts.back, facts.kind,
      facts.record_id, facts.fields, facts.now
    from facts join positions on positions.account_id = facts.account_id ${joinSubscriptions(queries)}
    order by facts.account_id, facts.back desc
    returning hook_id, delivery_id, position, kind, record_id, fields, created_at`,
);

const selectReportingHook = prepareForOccurrences(
  (queries, factsCte) => sql<{ hook_id: number }>`
    with ${factsCte}
    select subscriptions.hook_id from facts ${joinSubscriptions(queries)} limit 1`,
);

/** Throws `pending_quota_exceeded` if a live hook would get a delivery of any of these occurrences. */
async function requireNothingToEnqueue(queries: Queries, facts: readonly Fact[]): Promise<void> {
  if ((await selectReportingHook(queries, facts)).length > 0) throw createPendingQuotaProblem();
}

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
  if (!write.mayEnqueue) {
    const facts = occurrences.map((occurrence) => toFact({ ...occurrence, accountId, distanceFromLast: 0, now }));
    tx.commitIf(requireNothingToEnqueue(tx.queries, facts));
  }
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
  const facts = accountAllocations.flatMap(({ accountId, occurrences, count, now }) =>
    occurrences.map((occurrence, index) =>
      toFact({ ...occurrence, accountId, distanceFromLast: count - 1 - index, now }),
    ),
  );
  const [allocatedAccounts, , newPendingDeliveries] = await Promise.all([
    allocatePositions(queries, accountAllocations, {}),
    insertOccurrences(queries, facts),
    insertPendingDeliveries(queries, facts),
  ]);
  if (allocatedAccounts.length !== accountAllocations.length) throw new Error('an account has no position');
  events.addPendingDeliveries(newPendingDeliveries);
};
