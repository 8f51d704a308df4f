import { type Insertable, sql } from 'kysely';
import { DISPATCHER_ACTOR } from '../../permissions.ts';
import { hasConcurrentWriters, preparedForItems } from '../../store/prepared-queries.ts';
import type { Queries, Store } from '../../store/store.ts';
import type { Tables } from '../../store/tables.ts';
import { type EnqueueHookAlerts, endHooksInTransaction, FAILURES_BEFORE_ALERT } from '../outbox/end-hooks.ts';
import { type HookReference, hookIdsOf, type PendingDelivery } from './queries.ts';
import type { EndedReason } from './retry-policy.ts';

/** The completions that are committed in one transaction. `now` is not earlier than any of their attempts. */
export type CompletionBatch = { readonly completions: readonly Completion[]; readonly now: number };

/** The result of one attempt that is to be committed. */
export type Completion = {
  readonly hookId: number;
  readonly accountId: number;
  readonly generation: number;
  readonly row: PendingDelivery;
  readonly attempt: {
    readonly at: number;
    readonly outcome: string;
    readonly ms: number;
    readonly counted: boolean;
    readonly reason: string;
  };
  /** The new state of the delivery; `dropped`: a test that failed, which is not retried. */
  readonly delivery: 'delivered' | 'dropped' | 'pending';
  /** Ids of the requested manual attempts that are done with this result. */
  readonly manualAttemptIds: readonly number[];
  /** The new state of the hook; absent if it has not changed. */
  readonly queue?: {
    readonly failures: number;
    readonly dueAt: number | null;
    readonly retryDeliveryId: number | null;
    readonly lastOutcome: string;
  };
  readonly ended?: EndedReason;
};

/**
 * Commits a batch of attempt results in one transaction: attempts, finalized deliveries, hook state, ended
 * hooks. A result whose generation (fencing token) is stale, because the hook ended or another node claimed it,
 * changes no state; its attempt is still recorded.
 *
 * @param takeBatch returns the batch; called when the transaction begins, and again if it is retried
 * @returns the completions that were fenced
 */
export async function completeDeliveries(
  store: Store,
  takeBatch: () => CompletionBatch,
  hookAlerts: EnqueueHookAlerts,
): Promise<Completion[]> {
  return store.write(async (tx) => {
    const { completions, now } = takeBatch();
    const current = await insertAttemptsAndLockHooks(tx.queries, completions);
    const corrections = completions.map((one) => correctedAttemptRow(one, current.get(one.hookId)));
    const valid: Completion[] = [];
    for (const one of completions) {
      if (current.get(one.hookId) !== one.generation) continue;
      valid.push(one);
      // The end of a hook also fences later results of the same hook in this batch.
      if (one.ended !== undefined) current.delete(one.hookId);
    }
    // The statements are independent of each other, so all are sent without waiting for results.
    await Promise.all([
      ...corrections.filter((one) => one !== undefined).map((one) => updateAttempt(tx.queries, one)),
      // A delivered delivery is finalized even with a stale token, so that the new lease owner does not send it
      // again (C20).
      moveToFinalized(tx.queries, completions.filter(isDelivered), { now, state: 'delivered' }),
      moveToFinalized(tx.queries, valid.filter(isDropped), { now, state: 'failed' }),
      deleteCompletedManualAttempts(tx.queries, valid),
      updateChangedHooks(tx.queries, valid),
    ]);
    await hookAlerts(
      tx,
      'failing',
      valid.filter(isAlertDue).map((one) => one.hookId),
      now,
    );
    for (const one of valid) {
      if (one.ended !== undefined)
        await endHooksInTransaction(tx, [one.hookId], {
          reason: one.ended,
          now,
          by: DISPATCHER_ACTOR,
          hookAlerts,
        });
    }
    return completions.filter((one) => !valid.includes(one));
  });
}

const isDelivered = ({ delivery }: Completion) => delivery === 'delivered';

const isDropped = ({ delivery }: Completion) => delivery === 'dropped';

/**
 * Whether the owner is alerted: at exactly the last failure before the end of the hook, so once until the next 200
 * (X10).
 */
function isAlertDue({ attempt, queue }: Completion): boolean {
  return attempt.counted && queue?.failures === FAILURES_BEFORE_ALERT;
}

type AttemptRow = Readonly<Insertable<Tables['attempts']>>;

/**
 * Returns the row of a fenced attempt with a corrected reason: if the hook was claimed again or restored in the
 * meantime, the attempt is not counted (X3). Returns undefined if no correction is needed.
 */
function correctedAttemptRow(completion: Completion, current: number | undefined): AttemptRow | undefined {
  if (current === undefined || current === completion.generation) return undefined;
  const row = toAttemptRow(completion);
  if (isDelivered(completion)) {
    return {
      ...row,
      reason: `${row.reason}; the hook was claimed again or restored meanwhile, so its failures are not reset`,
    };
  }
  return { ...row, counted: 0, reason: 'the hook was claimed again or restored meanwhile: not counted' };
}

function updateAttempt(queries: Queries, row: AttemptRow) {
  const { hook_id, delivery_id, attempted_at, outcome, counted, reason } = row;
  return queries
    .updateTable('attempts')
    .set({ counted, reason })
    .where('hook_id', '=', hook_id)
    .where('delivery_id', '=', delivery_id)
    .where('attempted_at', '=', attempted_at)
    .where('outcome', '=', outcome)
    .execute();
}

const toAttemptRow = ({ attempt, row, hookId, accountId }: Completion): AttemptRow => ({
  account_id: accountId,
  hook_id: hookId,
  delivery_id: row.deliveryId,
  attempted_at: attempt.at,
  outcome: attempt.outcome,
  milliseconds: attempt.ms,
  counted: attempt.counted ? 1 : 0,
  reason: attempt.reason,
});

const insertAttempts = preparedForItems((queries, rows: readonly AttemptRow[]) => {
  const inserting = queries.insertInto('attempts').values(
    rows.map((row) => ({
      account_id: row.account_id,
      hook_id: row.hook_id,
      delivery_id: row.delivery_id,
      attempted_at: row.attempted_at,
      outcome: row.outcome,
      milliseconds: row.milliseconds,
      counted: row.counted,
      reason: row.reason,
    })),
  );
  if (!hasConcurrentWriters(queries)) {
    return inserting.returning(({ selectFrom }) => [
      'hook_id',
      selectFrom('hooks')
        .select('generation')
        .whereRef('hooks.hook_id', '=', 'attempts.hook_id')
        .where('date_ended', 'is', null)
        .as('generation'),
    ]);
  }
  const hookIds = rows.map((row) => row.hook_id);
  return (
    queries
      .with('inserted', () => inserting)
      .selectFrom('hooks')
      .select(['hook_id', 'generation'])
      .where('hook_id', 'in', hookIds)
      .where('date_ended', 'is', null)
      // A fixed lock order prevents deadlocks between nodes.
      .orderBy('hook_id')
      .forNoKeyUpdate()
  );
});

/**
 * Inserts the attempts, and returns the current generation of each live hook. The hooks stay locked until this
 * transaction ends, so that no node claims or ends one of them in the meantime.
 */
async function insertAttemptsAndLockHooks(
  queries: Queries,
  completions: readonly Completion[],
): Promise<Map<number, number>> {
  const rows = completions.map(toAttemptRow).sort((one, other) => one.hook_id - other.hook_id);
  const queues = await insertAttempts(queries, rows, {});
  const current = new Map<number, number>();
  for (const { hook_id, generation } of queues) if (generation !== null) current.set(hook_id, generation);
  return current;
}

type DeliveryReference = { readonly deliveryId: number };

const deliveryIdsOf = (deliveries: readonly DeliveryReference[]) => deliveries.map(({ deliveryId }) => deliveryId);

const copiedColumns = [
  'account_id',
  'user_id',
  'hook_id',
  'delivery_id',
  'record_id',
  'created_at',
  'kind',
  'position',
] as const;

const finalizedColumns = [...copiedColumns, 'finalized_at', 'state'] as const;

type FinalState = { readonly now: number; readonly state: 'delivered' | 'failed' };

const finalizedSelection = ({ now, state }: FinalState) =>
  [...copiedColumns, sql.val(now).as('finalized_at'), sql.val(state).as('state')] as const;

const insertFinalized = preparedForItems((queries, deliveries: readonly DeliveryReference[], final: FinalState) =>
  queries
    .insertInto('finalized_deliveries')
    .columns(finalizedColumns)
    .expression((from) =>
      from
        .selectFrom('pending_deliveries')
        .where('delivery_id', 'in', deliveryIdsOf(deliveries))
        .select(finalizedSelection(final)),
    ),
);

const deletePending = preparedForItems((queries, deliveries: readonly DeliveryReference[]) =>
  queries.deleteFrom('pending_deliveries').where('delivery_id', 'in', deliveryIdsOf(deliveries)),
);

/** Moves deliveries with a single statement, on PostgreSQL. SQLite cannot delete and insert in one statement. */
const movePendingToFinalized = preparedForItems(
  (queries, deliveries: readonly DeliveryReference[], final: FinalState) =>
    queries
      .with('gone', (from) =>
        from
          .deleteFrom('pending_deliveries')
          .where('delivery_id', 'in', deliveryIdsOf(deliveries))
          .returning(copiedColumns),
      )
      .insertInto('finalized_deliveries')
      .columns(finalizedColumns)
      .expression((from) => from.selectFrom('gone').select(finalizedSelection(final))),
);

/** Moves the deliveries of these completions from `pending_deliveries` to `finalized_deliveries`. */
async function moveToFinalized(queries: Queries, completions: readonly Completion[], final: FinalState): Promise<void> {
  // A delivery can occur twice in a batch: with a regular attempt and with a manual one.
  const deliveryIds = new Set(completions.map(({ row }) => row.deliveryId));
  const deliveries = [...deliveryIds].map((deliveryId) => ({ deliveryId }));
  if (hasConcurrentWriters(queries)) await movePendingToFinalized(queries, deliveries, final);
  else await Promise.all([insertFinalized(queries, deliveries, final), deletePending(queries, deliveries, {})]);
}

const deleteManualAttempts = preparedForItems((queries, manual: readonly { readonly manualAttemptId: number }[]) =>
  queries.deleteFrom('manual_attempts').where(
    'manual_attempt_id',
    'in',
    manual.map(({ manualAttemptId }) => manualAttemptId),
  ),
);

function deleteCompletedManualAttempts(queries: Queries, completions: readonly Completion[]): Promise<unknown> {
  const manual = completions.flatMap(({ manualAttemptIds }) =>
    manualAttemptIds.map((manualAttemptId) => ({ manualAttemptId })),
  );
  return deleteManualAttempts(queries, manual, {});
}

type HookState = NonNullable<Completion['queue']>;

const updateHooks = preparedForItems((queries, hooks: readonly HookReference[], queue: HookState) =>
  queries
    .updateTable('hooks')
    .set({
      failures: queue.failures,
      due_at: queue.dueAt,
      retry_delivery_id: queue.retryDeliveryId,
      last_outcome: queue.lastOutcome,
    })
    .where('hook_id', 'in', hookIdsOf(hooks)),
);

/**
 * Updates the hooks whose state has changed, with one statement per distinct state: most hooks of a batch are healthy
 * and have the same state.
 */
async function updateChangedHooks(queries: Queries, completions: readonly Completion[]): Promise<void> {
  const last = new Map<number, HookState>();
  for (const { hookId, queue } of completions) if (queue !== undefined) last.set(hookId, queue);
  const byState = Map.groupBy(last, ([, queue]) => JSON.stringify(queue));
  const set = [...byState.values()].map((queues) => {
    const [, state] = queues[0] as [number, HookState];
    return updateHooks(
      queries,
      queues.map(([hookId]) => ({ hookId })),
      state,
    );
  });
  await Promise.all(set);
}
