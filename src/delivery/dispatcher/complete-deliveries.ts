import type { Insertable } from 'kysely';
import { DISPATCHER_ACTOR } from '../../permissions.ts';
import { hasConcurrentWriters, prepareQueryForItems } from '../../store/prepared-queries.ts';
import type { Queries, Store } from '../../store/store.ts';
import type { Tables } from '../../store/tables.ts';
import { type EnqueueHookAlerts, endHooksAcrossAccounts, FAILURES_BEFORE_ALERT } from '../outbox/end-hooks.ts';
import { finalizeDeliveries } from './finalize-deliveries.ts';
import type { InFlightAttempt } from './in-flight-attempt.ts';
import { type HookReference, hookIdsOf, type PendingDelivery } from './queries.ts';
import {
  type AttemptOutcome,
  type Decision,
  type EndedReason,
  explainDecision,
  formatOutcome,
  isCountedFailure,
} from './retry-policy.ts';

/** The completions that are committed in one transaction. `completedAt` is not earlier than any of their attempts. */
export type CompletionBatch = { readonly completions: readonly Completion[]; readonly completedAt: number };

/** The result of one attempt that is to be committed. */
export type Completion = {
  readonly hookId: number;
  readonly accountId: number;
  readonly generation: number;
  readonly pendingDelivery: PendingDelivery;
  readonly attempt: {
    readonly beganAt: number;
    readonly outcome: string;
    readonly durationMs: number;
    /** Whether the attempt counts as a failure of the hook. */
    readonly isCountedAsFailure: boolean;
    readonly reason: string;
    /** The beginning of the response body, if the attempt has failed. */
    readonly responseText: string;
  };
  /** The new state of the delivery; `dropped`: a test that failed, which is not retried. */
  readonly deliveryState: 'delivered' | 'dropped' | 'pending';
  /** Ids of the manual attempts that this result completes. */
  readonly manualAttemptIds: readonly number[];
  /** The new state of the hook; absent if the state has not changed. */
  readonly hookState?: {
    readonly failures: number;
    readonly dueAt: number | null;
    readonly retryDeliveryId: number | null;
    readonly lastOutcome: string;
  };
  /** Set if this result ends the hook. */
  readonly endedReason?: EndedReason;
};

/** Creates the completion of an attempt. `result`: the state of its delivery and hook after the decision. */
export function createCompletion(
  { hookId, accountId, generation }: Pick<Completion, 'hookId' | 'accountId' | 'generation'>,
  { pendingDelivery, beganAt }: InFlightAttempt,
  outcome: AttemptOutcome,
  decision: Decision,
  result: Pick<Completion, 'deliveryState' | 'manualAttemptIds' | 'hookState'>,
): Completion {
  return {
    hookId,
    accountId,
    generation,
    pendingDelivery,
    attempt: {
      beganAt,
      outcome: formatOutcome(outcome),
      durationMs: Math.round(outcome.durationMs),
      isCountedAsFailure: isCountedFailure(decision),
      reason: explainDecision(decision),
      responseText: outcome.kind === 'answered' ? (outcome.responseText ?? '') : '',
    },
    ...result,
    ...(decision.is === 'ended' ? { endedReason: decision.reason } : {}),
  };
}

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

const updateHooks = prepareQueryForItems((queries, hooks: readonly HookReference[], hookState: HookState) =>
  queries
    .updateTable('hooks')
    .set({
      failures: hookState.failures,
      due_at: hookState.dueAt,
      retry_delivery_id: hookState.retryDeliveryId,
      last_outcome: hookState.lastOutcome,
    })
    .where('hook_id', 'in', hookIdsOf(hooks)),
);

/**
 * Updates the hooks whose state has changed, with one statement per distinct state: most hooks of a batch are healthy
 * and have the same state.
 */
async function updateChangedHooks(queries: Queries, completions: readonly Completion[]): Promise<void> {
  const lastHookStates = new Map<number, HookState>();
  for (const { hookId, hookState } of completions) if (hookState !== undefined) lastHookStates.set(hookId, hookState);
  const hooksByState = Map.groupBy(lastHookStates, ([, hookState]) => JSON.stringify(hookState));
  const updatePromises = [...hooksByState.values()].map((hooksInState) => {
    const [, hookState] = hooksInState[0] as [number, HookState];
    return updateHooks(
      queries,
      hooksInState.map(([hookId]) => ({ hookId })),
      hookState,
    );
  });
  await Promise.all(updatePromises);
}
