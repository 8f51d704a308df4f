import { type Expression, type Selectable, type SqlBool, sql } from 'kysely';
import { prepared, preparedOver } from '../../store/prepared-queries.ts';
import type { Queries } from '../../store/store.ts';
import type { Tables } from '../../store/tables.ts';
import type { DeliveryKind } from '../outbox/event-kinds.ts';
import { readSecrets, type Secret } from '../transport/signature.ts';

/** A lane as the database knows it: a live hook, and where its state machine stands. */
export type HookQueueRow = {
  readonly hookId: number;
  readonly accountId: number;
  readonly target: string;
  /** Fencing token: raised when the lane ends, revives or changes hands. */
  readonly generation: number;
  readonly failures: number;
  /** While the lane is failing: when it is tried again, milliseconds since the epoch. */
  readonly dueAt: number | null;
  /** While the lane is failing: the delivery that failed first and is tried again (C18). */
  readonly retryDeliveryId: number | null;
  readonly lastOutcome: string;
  /** What its notifications are signed by, newest first; none where they are not signed (X8). */
  readonly secrets: readonly Secret[];
};

/** One delivery that is still to be told. */
export type PendingDelivery = {
  readonly deliveryId: number;
  /** Where its occurrence stands in the account; null for a test. */
  readonly position: number | null;
  readonly kind: DeliveryKind;
  readonly recordId: number;
  /** When it became pending, milliseconds since the epoch. */
  readonly createdAt: number;
  /** Where it was asked for (X1, X3): that ask, for one attempt at once, which counts no failure. */
  readonly manualAttemptId: number | null;
};

const queueColumns = [
  'hook_id',
  'account_id',
  'target',
  'generation',
  'failures',
  'due_at',
  'retry_delivery_id',
  'last_outcome',
  'secrets',
] as const;

type QueueColumns = Pick<Selectable<Tables['hooks']>, (typeof queueColumns)[number]>;

function queueRow(row: QueueColumns): HookQueueRow {
  return {
    hookId: row.hook_id,
    accountId: row.account_id,
    target: row.target,
    generation: row.generation,
    failures: row.failures,
    dueAt: row.due_at,
    retryDeliveryId: row.retry_delivery_id,
    lastOutcome: row.last_outcome,
    secrets: readSecrets(row.secrets),
  };
}

export type OneHook = { readonly hookId: number };

export const hookIdsOf = (hooks: readonly OneHook[]) => hooks.map(({ hookId }) => hookId);

const findLive = preparedOver((queries, hooks: readonly OneHook[]) =>
  queries
    .selectFrom('hooks')
    .select(queueColumns)
    .where('hook_id', 'in', hookIdsOf(hooks))
    .where('date_ended', 'is', null),
);

/** The live lanes among these hooks, as they stand now. */
export async function claimQueues(read: Queries, hookIds: readonly number[]): Promise<HookQueueRow[]> {
  const rows = await findLive(
    read,
    hookIds.map((hookId) => ({ hookId })),
    {},
  );
  return rows.map(queueRow);
}

/** The live lanes among these hooks that a node may take, which are its own from here on. */
export async function claim(
  queries: Queries,
  nodeId: number,
  hookIds: readonly number[],
  mayTake: Expression<SqlBool>,
): Promise<HookQueueRow[]> {
  const rows = await queries
    .updateTable('hooks')
    .set({ lease_owner: nodeId, generation: sql<number>`generation + 1`, unacknowledged: 0 })
    .where('hook_id', 'in', hookIds)
    .where('date_ended', 'is', null)
    .where(mayTake)
    .returning(queueColumns)
    .execute();
  return rows.map(queueRow);
}

/** What notifications of a hook are signed by, as it stands now. */
export async function findSecrets(read: Queries, hookId: number): Promise<readonly Secret[]> {
  const row = await read.selectFrom('hooks').select('secrets').where('hook_id', '=', hookId).executeTakeFirst();
  return readSecrets(row?.secrets ?? null);
}

/** Hooks with work: some of those that are pending something, and where the rest begins; those that were asked for something. */
export type Work = {
  readonly pending: readonly number[];
  readonly asked: readonly number[];
  readonly next: number | undefined;
};

/** How many lanes one look takes in. */
const QUEUES_PER_POLL = 1_000;

/**
 * Live hooks that something is pending for, or asked for on, behind a hook: the truth behind all wake-ups. From lane to
 * lane along an index, however much is pending on each.
 */
export async function queuesWithWork(read: Queries, after: number, mayTake?: Expression<SqlBool>): Promise<Work> {
  const { rows } = await sql<{ hook_id: number; is_free: number }>`
    with recursive lanes (hook_id) as (
      select min(hook_id) from pending_deliveries where hook_id > ${after}
      union all
      select (select min(pending_deliveries.hook_id) from pending_deliveries where pending_deliveries.hook_id > lanes.hook_id) from lanes
      where lanes.hook_id is not null
    ), looked (hook_id) as (select hook_id from lanes where hook_id is not null limit ${QUEUES_PER_POLL})
    select looked.hook_id, case when hooks.date_ended is null and ${mayTake ?? sql`1 = 1`} then 1 else 0 end as is_free
    from looked join hooks on hooks.hook_id = looked.hook_id order by looked.hook_id`.execute(read);
  const pending = rows.filter((row) => row.is_free === 1).map((row) => row.hook_id);
  const next = rows.length < QUEUES_PER_POLL ? undefined : rows.at(-1)?.hook_id;
  // What was asked for is little, and each is made at once.
  return { pending, asked: after > 0 ? [] : await queuesWithManualAttempts(read, mayTake), next };
}

async function queuesWithManualAttempts(read: Queries, mayTake?: Expression<SqlBool>): Promise<number[]> {
  const rows = await read
    .selectFrom('manual_attempts')
    .innerJoin('hooks', 'hooks.hook_id', 'manual_attempts.hook_id')
    .select('hooks.hook_id')
    .distinct()
    .where('hooks.date_ended', 'is', null)
    .$if(mayTake !== undefined, (query) => query.where(mayTake ?? sql<SqlBool>`1 = 1`))
    .execute();
  return rows.map((row) => row.hook_id);
}

const pendingColumns = ['delivery_id', 'position', 'kind', 'record_id', 'created_at'] as const;

type PendingColumns = {
  delivery_id: number;
  position: number | null;
  kind: string;
  record_id: number;
  created_at: number;
};

function pendingDelivery(row: PendingColumns, manualAttemptId: number | null): PendingDelivery {
  return {
    deliveryId: row.delivery_id,
    position: row.position,
    kind: row.kind as DeliveryKind,
    recordId: row.record_id,
    createdAt: row.created_at,
    manualAttemptId,
  };
}

/** Of what is pending for a hook by its positions: oldest first. */
export function pendingDeliveries(rows: readonly PendingColumns[]): PendingDelivery[] {
  return rows
    .map((row) => pendingDelivery(row, null))
    .sort((one, other) => Number(one.position) - Number(other.position));
}

type Behind = { readonly hookId: number; readonly after: number; readonly most: number };

const pendingAfter = prepared(
  (queries, { hookId, after, most }: Behind) =>
    queries
      .selectFrom('pending_deliveries')
      .select(pendingColumns)
      .where('hook_id', '=', hookId)
      .where('position', '>', after)
      .orderBy('position')
      .limit(most),
  'together',
);

/** The next deliveries of a lane, behind a position, oldest first; tests, which have none, are not among them. */
export async function nextPending(
  read: Queries,
  hookId: number,
  afterPosition: number,
  most: number,
): Promise<PendingDelivery[]> {
  return pendingDeliveries(await pendingAfter(read, { hookId, after: afterPosition, most }));
}

/** One delivery of a lane, if it is still pending. */
export async function findPending(
  read: Queries,
  hookId: number,
  deliveryId: number,
): Promise<PendingDelivery | undefined> {
  const row = await read
    .selectFrom('pending_deliveries')
    .select(pendingColumns)
    .where('hook_id', '=', hookId)
    .where('delivery_id', '=', deliveryId)
    .executeTakeFirst();
  return row === undefined ? undefined : pendingDelivery(row, null);
}

const oneManualAttempt = prepared(
  (queries, { hookId, after }: Pick<Behind, 'hookId' | 'after'>) =>
    queries
      .selectFrom('manual_attempts')
      .select('manual_attempt_id')
      .where('hook_id', '=', hookId)
      .where('manual_attempt_id', '>', after)
      .limit(1),
  'together',
);

/** What was asked for on a lane (X1, X3) behind an ask, oldest first: of what is pending, and of what is settled. */
export async function findManualAttempts(
  read: Queries,
  hookId: number,
  afterAsk: number,
  most: number,
): Promise<PendingDelivery[]> {
  // On most lanes nothing is, and the join looks into every week of the history.
  if ((await oneManualAttempt(read, { hookId, after: afterAsk })).length === 0) return [];
  const rows = await read
    .selectFrom('manual_attempts')
    .where('manual_attempts.hook_id', '=', hookId)
    .where('manual_attempts.manual_attempt_id', '>', afterAsk)
    .leftJoin('pending_deliveries', 'pending_deliveries.delivery_id', 'manual_attempts.delivery_id')
    .leftJoin('finalized_deliveries', 'finalized_deliveries.delivery_id', 'manual_attempts.delivery_id')
    .select(({ fn }) => [
      'manual_attempts.manual_attempt_id',
      'manual_attempts.delivery_id',
      fn.coalesce('pending_deliveries.position', 'finalized_deliveries.position').as('position'),
      fn.coalesce('pending_deliveries.kind', 'finalized_deliveries.kind').as('kind'),
      fn.coalesce('pending_deliveries.record_id', 'finalized_deliveries.record_id').as('record_id'),
      fn.coalesce('pending_deliveries.created_at', 'finalized_deliveries.created_at').as('created_at'),
    ])
    .orderBy('manual_attempts.manual_attempt_id')
    .limit(most)
    .execute();
  // What is long settled is forgotten some day; nobody wants it once more.
  return rows
    .filter((row) => row.kind !== null)
    .map((row) => pendingDelivery(row as PendingColumns, row.manual_attempt_id));
}
