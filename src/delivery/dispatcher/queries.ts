import { type Expression, type Selectable, type SqlBool, sql } from 'kysely';
import { prepareBatchedSelect } from '../../store/batched-queries.ts';
import { prepareQueryForItems } from '../../store/prepared-queries.ts';
import type { Queries } from '../../store/store.ts';
import type { Tables } from '../../store/tables.ts';
import type { DeliveryKind } from '../outbox/event-kinds.ts';
import { type HookSettings, settingsColumns, toHookSettings } from './hook-settings.ts';

/** A live hook with the part of its delivery state that the database stores. */
export type HookQueueRow = {
  readonly hookId: number;
  readonly accountId: number;
  readonly target: string;
  /** Fencing token: raised when the hook ends, is restored, or is leased to another node. */
  readonly generation: number;
  readonly failures: number;
  /** Time when the retry is due, milliseconds since the epoch; null if the hook is not failing. */
  readonly dueAt: number | null;
  /** Id of the delivery that failed first and is retried first (C18); null if the hook is not failing. */
  readonly retryDeliveryId: number | null;
  readonly lastOutcome: string;
  readonly settings: HookSettings;
};

/** One pending delivery, as the dispatcher sends it. */
export type PendingDelivery = {
  readonly deliveryId: number;
  /** Feed position of the occurrence; null for a test. */
  readonly position: number | null;
  readonly kind: DeliveryKind;
  readonly recordId: number;
  /** Names of the changed fields, separated by commas; null for kinds other than `changed_…` (X11). */
  readonly fields: string | null;
  /** Time when the delivery was enqueued, milliseconds since the epoch. */
  readonly createdAt: number;
  /** Null for a regular attempt. A manual attempt (X1, X3) starts immediately, and its failure is not counted. */
  readonly manualAttemptId: number | null;
};

/** The columns of `hooks` that a `HookQueueRow` is made of. */
const queueColumns = [
  'hook_id',
  'account_id',
  'target',
  'generation',
  'failures',
  'due_at',
  'retry_delivery_id',
  'last_outcome',
  ...settingsColumns,
] as const;

type HookQueueDbRow = Pick<Selectable<Tables['hooks']>, (typeof queueColumns)[number]>;

function toHookQueueRow(row: HookQueueDbRow): HookQueueRow {
  return {
    hookId: row.hook_id,
    accountId: row.account_id,
    target: row.target,
    generation: row.generation,
    failures: row.failures,
    dueAt: row.due_at,
    retryDeliveryId: row.retry_delivery_id,
    lastOutcome: row.last_outcome,
    settings: toHookSettings(row),
  };
}

export type HookReference = { readonly hookId: number };

const selectLiveHooks = prepareQueryForItems((queries, hooks: readonly HookReference[]) =>
  queries
    .selectFrom('hooks')
    .select(queueColumns)
    .where(
      'hook_id',
      'in',
      hooks.map(({ hookId }) => hookId),
    )
    .where('date_ended', 'is', null)
    .where('enabled', '=', 1),
);

/** Returns the given hooks that are live and enabled, without taking leases: a single node owns every hook. */
export async function findLiveHooks(read: Queries, hookIds: readonly number[]): Promise<HookQueueRow[]> {
  const rows = await selectLiveHooks(
    read,
    hookIds.map((hookId) => ({ hookId })),
    {},
  );
  return rows.map(toHookQueueRow);
}

/**
 * Leases the given hooks to a node, except those that have ended, are disabled or are not claimable, and raises their
 * fencing tokens.
 */
export async function claimLeases(
  queries: Queries,
  nodeId: number,
  hookIds: readonly number[],
  claimableCondition: Expression<SqlBool>,
): Promise<HookQueueRow[]> {
  const rows = await queries
    .updateTable('hooks')
    .set({ lease_owner: nodeId, generation: sql<number>`generation + 1`, unacknowledged: 0 })
    .where('hook_id', 'in', hookIds)
    .where('date_ended', 'is', null)
    .where('enabled', '=', 1)
    .where(claimableCondition)
    .returning(queueColumns)
    .execute();
  return rows.map(toHookQueueRow);
}

/**
 * One page of the poll: ids of hooks with pending deliveries and, on the first page only, ids of hooks with manual
 * attempts. The next page begins after the hook id `nextAfterHookId`, which is undefined on the last page.
 */
export type PendingWork = {
  readonly pendingHookIds: readonly number[];
  readonly manualAttemptHookIds: readonly number[];
  readonly nextAfterHookId: number | undefined;
};

/** Hooks per page of the poll. */
const HOOKS_PER_POLL_PAGE = 1_000;

/**
 * Polls for work: finds live hooks with pending deliveries or manual attempts, after the hook id `afterHookId`. This
 * also finds work whose commit event was lost. A recursive query skips from hook to hook along the index (loose index
 * scan), so its cost does not depend on the backlog.
 */
export async function findHooksWithWork(
  read: Queries,
  afterHookId: number,
  claimableCondition?: Expression<SqlBool>,
): Promise<PendingWork> {
  const { rows } = await sql<{ hook_id: number; is_free: number }>`
    with recursive queues (hook_id) as (
      select min(hook_id) from pending_deliveries where hook_id > ${afterHookId}
      union all
      select (select min(pending_deliveries.hook_id) from pending_deliveries where pending_deliveries.hook_id > queues.hook_id) from queues
      where queues.hook_id is not null
    ), page (hook_id) as (select hook_id from queues where hook_id is not null limit ${HOOKS_PER_POLL_PAGE})
    select page.hook_id, case when hooks.date_ended is null and hooks.enabled = 1 and ${claimableCondition ?? sql`1 = 1`} then 1 else 0 end as is_free
    from page join hooks on hooks.hook_id = page.hook_id order by page.hook_id`.execute(read);
  const pendingHookIds = rows.filter((row) => row.is_free === 1).map((row) => row.hook_id);
  const nextAfterHookId = rows.length < HOOKS_PER_POLL_PAGE ? undefined : rows.at(-1)?.hook_id;
  // Few hooks have manual attempts, so the first page returns all of these hooks.
  return {
    pendingHookIds,
    manualAttemptHookIds: afterHookId > 0 ? [] : await findHooksWithManualAttempts(read, claimableCondition),
    nextAfterHookId,
  };
}

async function findHooksWithManualAttempts(read: Queries, claimableCondition?: Expression<SqlBool>): Promise<number[]> {
  const rows = await read
    .selectFrom('manual_attempts')
    .innerJoin('hooks', 'hooks.hook_id', 'manual_attempts.hook_id')
    .select('hooks.hook_id')
    .distinct()
    .where('hooks.date_ended', 'is', null)
    .where('hooks.enabled', '=', 1)
    .$if(claimableCondition !== undefined, (query) => query.where(claimableCondition ?? sql<SqlBool>`1 = 1`))
    .execute();
  return rows.map((row) => row.hook_id);
}

const pendingDeliveryColumns = ['delivery_id', 'position', 'kind', 'record_id', 'fields', 'created_at'] as const;

type PendingDeliveryRow = {
  delivery_id: number;
  position: number | null;
  kind: string;
  record_id: number;
  fields: string | null;
  created_at: number;
};

function toPendingDelivery(row: PendingDeliveryRow, manualAttemptId: number | null): PendingDelivery {
  return {
    deliveryId: row.delivery_id,
    position: row.position,
    kind: row.kind as DeliveryKind,
    recordId: row.record_id,
    fields: row.fields,
    createdAt: row.created_at,
    manualAttemptId,
  };
}

/** Converts rows of one hook to deliveries, oldest first. */
export function toPendingDeliveries(rows: readonly PendingDeliveryRow[]): PendingDelivery[] {
  return rows
    .map((row) => toPendingDelivery(row, null))
    .sort((one, other) => Number(one.position) - Number(other.position));
}

/** A page of deliveries of a hook. `afterKey`: the feed position or manual attempt id after which the page begins. */
type PageRequest = { readonly hookId: number; readonly afterKey: number; readonly limit: number };

const selectPendingAfter = prepareBatchedSelect(
  { hookId: 'int8', afterKey: 'int8', limit: 'int8' },
  (queries, { hookId, afterKey, limit }: PageRequest) =>
    queries
      .selectFrom('pending_deliveries')
      .select(pendingDeliveryColumns)
      .where('hook_id', '=', hookId)
      .where('position', '>', afterKey)
      .orderBy('position')
      .limit(limit),
);

/**
 * Reads the next pending deliveries of a hook after a feed position, oldest first. Tests have no feed position and are
 * not included.
 */
export async function findNextPendingDeliveries(
  read: Queries,
  hookId: number,
  afterPosition: number,
  limit: number,
): Promise<PendingDelivery[]> {
  return toPendingDeliveries(await selectPendingAfter(read, { hookId, afterKey: afterPosition, limit }));
}

/** Reads one delivery of a hook; undefined if it is no longer pending. */
export async function findPendingDelivery(
  read: Queries,
  hookId: number,
  deliveryId: number,
): Promise<PendingDelivery | undefined> {
  const row = await read
    .selectFrom('pending_deliveries')
    .select(pendingDeliveryColumns)
    .where('hook_id', '=', hookId)
    .where('delivery_id', '=', deliveryId)
    .executeTakeFirst();
  return row === undefined ? undefined : toPendingDelivery(row, null);
}

const selectOneManualAttempt = prepareBatchedSelect(
  { hookId: 'int8', afterKey: 'int8' },
  (queries, { hookId, afterKey }: Pick<PageRequest, 'hookId' | 'afterKey'>) =>
    queries
      .selectFrom('manual_attempts')
      .select('manual_attempt_id')
      .where('hook_id', '=', hookId)
      .where('manual_attempt_id', '>', afterKey)
      .limit(1),
);

/** A page of manual attempts. `lastId` is the id to continue after; `isLastPage` tells whether there were no more. */
export type ManualAttemptPage = {
  readonly manualAttempts: readonly PendingDelivery[];
  readonly lastId: number;
  readonly isLastPage: boolean;
};

/**
 * Reads one page of the manual attempts of a hook (X1, X3) after an id, oldest first. Their deliveries may be pending or
 * finalized.
 */
export async function findManualAttempts(
  read: Queries,
  hookId: number,
  afterId: number,
  limit: number,
): Promise<ManualAttemptPage> {
  // Most hooks have no manual attempts, and the join below scans every partition of finalized_deliveries.
  if ((await selectOneManualAttempt(read, { hookId, afterKey: afterId })).length === 0)
    return { manualAttempts: [], lastId: afterId, isLastPage: true };
  const rows = await read
    .selectFrom('manual_attempts')
    .where('manual_attempts.hook_id', '=', hookId)
    .where('manual_attempts.manual_attempt_id', '>', afterId)
    .leftJoin('pending_deliveries', 'pending_deliveries.delivery_id', 'manual_attempts.delivery_id')
    .leftJoin('finalized_deliveries', 'finalized_deliveries.delivery_id', 'manual_attempts.delivery_id')
    .select(({ fn }) => [
      'manual_attempts.manual_attempt_id',
      'manual_attempts.delivery_id',
      fn.coalesce('pending_deliveries.position', 'finalized_deliveries.position').as('position'),
      fn.coalesce('pending_deliveries.kind', 'finalized_deliveries.kind').as('kind'),
      fn.coalesce('pending_deliveries.record_id', 'finalized_deliveries.record_id').as('record_id'),
      fn.coalesce('pending_deliveries.fields', 'finalized_deliveries.fields').as('fields'),
      fn.coalesce('pending_deliveries.created_at', 'finalized_deliveries.created_at').as('created_at'),
    ])
    .orderBy('manual_attempts.manual_attempt_id')
    .limit(limit)
    .execute();
  // If retention has dropped the delivery, there is nothing to send.
  const manualAttempts = rows
    .filter((row) => row.kind !== null)
    .map((row) => toPendingDelivery(row as PendingDeliveryRow, row.manual_attempt_id));
  return { manualAttempts, lastId: rows.at(-1)?.manual_attempt_id ?? afterId, isLastPage: rows.length < limit };
}
