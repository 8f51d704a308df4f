import { type Insertable, sql } from 'kysely';
import { DISPATCHER_ACTOR } from '../../permissions.ts';
import { hasConcurrentWriters, prepareQuery, prepareQueryForItems } from '../../store/prepared-queries.ts';
import type { Queries, Store } from '../../store/store.ts';
import type { Tables } from '../../store/tables.ts';
import { type EnqueueHookAlerts, endHooksAcrossAccounts, FAILURES_BEFORE_ALERT } from '../outbox/end-hooks.ts';
import type { Completion } from './in-flight-attempt.ts';
import type { HookReference } from './queries.ts';

/** The completions that are committed in one transaction. `completedAt` is not earlier than any of their attempts. */
type CompletionBatch = { readonly completions: readonly Completion[]; readonly completedAt: number };

/**
 * Commits a batch of attempt results in one transaction: attempts, finalized deliveries, hook state, ended
 * hooks. A result whose generation (fencing token) is stale, because the hook ended or another node claimed it,
 * does not change the hook. Its attempt is still recorded, and a delivery that got a 200 is still finalized.
 *
 * @param takeBatch returns the batch; called when the transaction begins, and again if it is retried
 * @returns the fenced completions, whose generation was stale
 */
export async function completeDeliveries(
  store: Store,
  takeBatch: () => CompletionBatch,
  enqueueAlerts: EnqueueHookAlerts,
): Promise<Completion[]> {
  return store.write(async (tx) => {
    const { completions, completedAt } = takeBatch();
    const currentGenerations = await insertAttemptsAndLockHooks(tx.queries, completions);
    const correctedRows = completions.map((completion) =>
      correctAttemptRow(completion, currentGenerations.get(completion.hookId)),
    );
    const validCompletions: Completion[] = [];
    for (const completion of completions) {
      if (currentGenerations.get(completion.hookId) !== completion.generation) continue;
      validCompletions.push(completion);
      // The end of a hook also fences later results of the same hook in this batch.
      if (completion.endedReason !== undefined) currentGenerations.delete(completion.hookId);
    }
    // No statement needs the result of another one, so all are sent at once, in this order.
    await Promise.all([
      ...correctedRows.filter((row) => row !== undefined).map((row) => updateAttempt(tx.queries, row)),
      // A delivered delivery is finalized even with a stale token, so that the new lease owner does not send it
      // again (C20).
      finalizeDeliveries(tx.queries, deliveryIdsOf(completions.filter(isDelivered)), {
        finalizedAt: completedAt,
        state: 'delivered',
      }),
      finalizeDeliveries(tx.queries, deliveryIdsOf(validCompletions.filter(isDropped)), {
        finalizedAt: completedAt,
        state: 'failed',
      }),
      deleteCompletedManualAttempts(tx.queries, validCompletions),
      updateChangedHooks(tx.queries, validCompletions),
    ]);
    await enqueueAlerts(
      tx,
      'failing',
      validCompletions.filter(isAlertDue).map((completion) => completion.hookId),
      completedAt,
    );
    for (const completion of validCompletions) {
      if (completion.endedReason !== undefined)
        await endHooksAcrossAccounts(tx, [completion.hookId], {
          reason: completion.endedReason,
          endedAt: completedAt,
          endedBy: DISPATCHER_ACTOR,
          enqueueAlerts,
        });
    }
    return completions.filter((completion) => !validCompletions.includes(completion));
  });
}

/** Returns the ids of the deliveries. A delivery can occur twice in a batch: in a regular and in a manual attempt. */
const deliveryIdsOf = (completions: readonly Completion[]) =>
  new Set(completions.map(({ pendingDelivery }) => pendingDelivery.deliveryId));

const isDelivered = ({ deliveryState }: Completion) => deliveryState === 'delivered';

const isDropped = ({ deliveryState }: Completion) => deliveryState === 'dropped';

/**
 * Whether the owner of the hook is alerted (X10). This is the case at one failure only, the last one before the failure
 * that ends the hook, so an owner gets at most one alert until the next 200.
 */
function isAlertDue({ attempt, hookState }: Completion): boolean {
  return attempt.isCountedAsFailure && hookState?.failures === FAILURES_BEFORE_ALERT;
}

type AttemptRow = Readonly<Insertable<Tables['attempts']>>;

/**
 * Returns the row of a fenced attempt with a corrected reason: if the hook was claimed again or restored in the
 * meantime, the attempt is not counted (X3). Returns undefined if no correction is needed.
 */
function correctAttemptRow(completion: Completion, currentGeneration: number | undefined): AttemptRow | undefined {
  if (currentGeneration === undefined || currentGeneration === completion.generation) return undefined;
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

const toAttemptRow = ({ attempt, pendingDelivery, hookId, accountId }: Completion): AttemptRow => ({
  account_id: accountId,
  hook_id: hookId,
  delivery_id: pendingDelivery.deliveryId,
  attempted_at: attempt.beganAt,
  outcome: attempt.outcome,
  milliseconds: attempt.durationMs,
  counted: attempt.isCountedAsFailure ? 1 : 0,
  reason: attempt.reason,
  response: attempt.responseText,
});

const insertAttempts = prepareQueryForItems((queries, rows: readonly AttemptRow[]) => {
  const insertQuery = queries.insertInto('attempts').values(
    rows.map((row) => ({
      account_id: row.account_id,
      hook_id: row.hook_id,
      delivery_id: row.delivery_id,
      attempted_at: row.attempted_at,
      outcome: row.outcome,
      milliseconds: row.milliseconds,
      counted: row.counted,
      reason: row.reason,
      response: row.response,
    })),
  );
  if (!hasConcurrentWriters(queries)) {
    return insertQuery.returning(({ selectFrom }) => [
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
      .with('inserted', () => insertQuery)
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
  const hooks = await insertAttempts(queries, rows, {});
  const generationsByHook = new Map<number, number>();
  for (const { hook_id, generation } of hooks) if (generation !== null) generationsByHook.set(hook_id, generation);
  return generationsByHook;
}

const deleteManualAttempts = prepareQueryForItems(
  (queries, manualAttempts: readonly { readonly manualAttemptId: number }[]) =>
    queries.deleteFrom('manual_attempts').where(
      'manual_attempt_id',
      'in',
      manualAttempts.map(({ manualAttemptId }) => manualAttemptId),
    ),
);

function deleteCompletedManualAttempts(queries: Queries, completions: readonly Completion[]): Promise<unknown> {
  const manualAttempts = completions.flatMap(({ manualAttemptIds }) =>
    manualAttemptIds.map((manualAttemptId) => ({ manualAttemptId })),
  );
  return deleteManualAttempts(queries, manualAttempts, {});
}

type HookState = NonNullable<Completion['hookState']>;

const updateHook = prepareQuery((queries, hookState: HookReference & HookState) =>
  queries
    .updateTable('hooks')
    .set({
      failures: hookState.failures,
      due_at: hookState.dueAt,
      retry_delivery_id: hookState.retryDeliveryId,
      last_outcome: hookState.lastOutcome,
    })
    .where('hook_id', '=', hookState.hookId),
);

/** Updates the hooks whose state has changed. */
async function updateChangedHooks(queries: Queries, completions: readonly Completion[]): Promise<void> {
  const lastHookStates = new Map<number, HookState>();
  for (const { hookId, hookState } of completions) if (hookState !== undefined) lastHookStates.set(hookId, hookState);
  await Promise.all([...lastHookStates].map(([hookId, hookState]) => updateHook(queries, { hookId, ...hookState })));
}

type DeliveryReference = { readonly deliveryId: number };

const idsOf = (deliveries: readonly DeliveryReference[]) => deliveries.map(({ deliveryId }) => deliveryId);

/** The columns that a delivery keeps when it moves from `pending_deliveries` to `finalized_deliveries`. */
const copiedColumns = [
  'account_id',
  'user_id',
  'hook_id',
  'delivery_id',
  'record_id',
  'created_at',
  'kind',
  'position',
  'fields',
] as const;

const finalizedColumns = [...copiedColumns, 'finalized_at', 'state'] as const;

type Finalization = { readonly finalizedAt: number; readonly state: 'delivered' | 'failed' };

const selectFinalizedColumns = ({ finalizedAt, state }: Finalization) =>
  [...copiedColumns, sql.val(finalizedAt).as('finalized_at'), sql.val(state).as('state')] as const;

const insertFinalizedDeliveries = prepareQueryForItems(
  (queries, deliveries: readonly DeliveryReference[], finalization: Finalization) =>
    queries
      .insertInto('finalized_deliveries')
      .columns(finalizedColumns)
      .expression((from) =>
        from
          .selectFrom('pending_deliveries')
          .where('delivery_id', 'in', idsOf(deliveries))
          .select(selectFinalizedColumns(finalization)),
      ),
);

const deletePendingDeliveries = prepareQueryForItems((queries, deliveries: readonly DeliveryReference[]) =>
  queries.deleteFrom('pending_deliveries').where('delivery_id', 'in', idsOf(deliveries)),
);

/** Moves deliveries with a single statement, on PostgreSQL. SQLite cannot delete and insert in one statement. */
const movePendingToFinalized = prepareQueryForItems(
  (queries, deliveries: readonly DeliveryReference[], finalization: Finalization) =>
    queries
      .with('gone', (from) =>
        from.deleteFrom('pending_deliveries').where('delivery_id', 'in', idsOf(deliveries)).returning(copiedColumns),
      )
      .insertInto('finalized_deliveries')
      .columns(finalizedColumns)
      .expression((from) => from.selectFrom('gone').select(selectFinalizedColumns(finalization))),
);

/** Moves deliveries from `pending_deliveries` to `finalized_deliveries`. */
async function finalizeDeliveries(
  queries: Queries,
  deliveryIds: ReadonlySet<number>,
  finalization: Finalization,
): Promise<void> {
  const deliveries = [...deliveryIds].map((deliveryId) => ({ deliveryId }));
  if (hasConcurrentWriters(queries)) await movePendingToFinalized(queries, deliveries, finalization);
  else
    await Promise.all([
      insertFinalizedDeliveries(queries, deliveries, finalization),
      deletePendingDeliveries(queries, deliveries, {}),
    ]);
}
