import { type Insertable, sql } from 'kysely';
import { ENGINE } from '../../permissions.ts';
import { isShared, preparedOver } from '../../store/prepared-queries.ts';
import type { Queries, Store } from '../../store/store.ts';
import type { Tables } from '../../store/tables.ts';
import { endHookQueues } from '../outbox/end-hooks.ts';
import { FAILURES_BEFORE_ALERT, type HookAlerts } from '../outbox/hook-alerts.ts';
import { hookIdsOf, type OneHook, type PendingDelivery } from './queries.ts';
import type { EndedReason } from './retry-policy.ts';

/** What is written down at once: `now` is when it was taken, later than all that it came to. */
export type Batch = { readonly completions: readonly Completion[]; readonly now: number };

/** What one attempt has come to, to be written down. */
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
  /** Whether the delivery is told, no longer wanted (a test that failed), or as it was. */
  readonly delivery: 'delivered' | 'dropped' | 'pending';
  /** What was asked for and has had its answer. */
  readonly asks: readonly number[];
  /** The lane's new state, where it changes. */
  readonly queue?: {
    readonly failures: number;
    readonly dueAt: number | null;
    readonly retryDeliveryId: number | null;
    readonly lastOutcome: string;
  };
  readonly ended?: EndedReason;
};

/**
 * Writes down what attempts have come to, many at once. What belongs to a lane that has ended or changed hands since
 * the attempt began changes nothing (the generation fences it); that the attempt was made stays in the history.
 *
 * @param take those that are waiting when the transaction begins; asked again where it has to be made again
 * @returns what was fenced
 */
export async function completeDeliveries(store: Store, take: () => Batch, notices: HookAlerts): Promise<Completion[]> {
  return store.write(async (tx) => {
    const { completions, now } = take();
    const current = await addAttempts(tx.queries, completions);
    const corrections = completions.map((one) => correctionOf(one, current.get(one.hookId)));
    const valid: Completion[] = [];
    for (const one of completions) {
      if (current.get(one.hookId) !== one.generation) continue;
      valid.push(one);
      // The end of a hook fences what was in flight beside it, in this very batch too.
      if (one.ended !== undefined) current.delete(one.hookId);
    }
    // Sent together: none of them needs to know what has come of another.
    await Promise.all([
      ...corrections.filter((one) => one !== undefined).map((one) => correct(tx.queries, one)),
      // Told is told, whoever has the lane by now: nobody is to tell it again (C20).
      moveToHistory(tx.queries, completions.filter(isDelivered), { now, state: 'delivered' }),
      moveToHistory(tx.queries, valid.filter(isDropped), { now, state: 'failed' }),
      deleteManualAttemptsQuery(tx.queries, valid),
      updateHooksQuery(tx.queries, valid),
    ]);
    await notices(
      tx,
      'failing',
      valid.filter(isAlertDue).map((one) => one.hookId),
      now,
    );
    for (const one of valid) {
      if (one.ended !== undefined)
        await endHookQueues(tx, [one.hookId], { reason: one.ended, now, by: ENGINE, notices });
    }
    return completions.filter((one) => !valid.includes(one));
  });
}

const isDelivered = ({ delivery }: Completion) => delivery === 'delivered';

const isDropped = ({ delivery }: Completion) => delivery === 'dropped';

/** X10: at this very failure the owner is told, and not again before the next 200. */
function isAlertDue({ attempt, queue }: Completion): boolean {
  return attempt.counted && queue?.failures === FAILURES_BEFORE_ALERT;
}

type AttemptRow = Readonly<Insertable<Tables['attempts']>>;

/** What was made on a lane that lives on as another one, taken up by another node or restored, counts nothing (X3). */
function correctionOf(settlement: Completion, current: number | undefined): AttemptRow | undefined {
  if (current === undefined || current === settlement.generation) return undefined;
  const row = attemptRow(settlement);
  if (isDelivered(settlement)) {
    return { ...row, reason: `${row.reason}; the hook had been taken up anew meanwhile, and its count goes on` };
  }
  return { ...row, counted: 0, reason: 'the hook had been taken up anew meanwhile: changes nothing' };
}

function correct(queries: Queries, row: AttemptRow) {
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

const attemptRow = ({ attempt, row, hookId, accountId }: Completion): AttemptRow => ({
  account_id: accountId,
  hook_id: hookId,
  delivery_id: row.deliveryId,
  attempted_at: attempt.at,
  outcome: attempt.outcome,
  milliseconds: attempt.ms,
  counted: attempt.counted ? 1 : 0,
  reason: attempt.reason,
});

const insertAttempts = preparedOver((queries, rows: readonly AttemptRow[]) => {
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
  if (!isShared(queries)) {
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
      // Always in this order, so that nodes wait for each other and not for ever.
      .orderBy('hook_id')
      .forNoKeyUpdate()
  );
});

/**
 * Writes down that attempts were made; answers the generation of each of their lanes that has not ended. They stay so until
 * this transaction is through: nobody takes one of these lanes meanwhile, or ends it.
 */
async function addAttempts(queries: Queries, settlements: readonly Completion[]): Promise<Map<number, number>> {
  const rows = settlements.map(attemptRow).sort((one, other) => one.hook_id - other.hook_id);
  const queues = await insertAttempts(queries, rows, {});
  const current = new Map<number, number>();
  for (const { hook_id, generation } of queues) if (generation !== null) current.set(hook_id, generation);
  return current;
}

type OneDelivery = { readonly deliveryId: number };

const deliveryIdsOf = (deliveries: readonly OneDelivery[]) => deliveries.map(({ deliveryId }) => deliveryId);

const keptColumns = [
  'account_id',
  'user_id',
  'hook_id',
  'delivery_id',
  'record_id',
  'created_at',
  'kind',
  'position',
] as const;

const finalizedColumns = [...keptColumns, 'finalized_at', 'state'] as const;

type FinalState = { readonly now: number; readonly state: 'delivered' | 'failed' };

const asFinalized = ({ now, state }: FinalState) =>
  [...keptColumns, sql.val(now).as('finalized_at'), sql.val(state).as('state')] as const;

const keepInHistory = preparedOver((queries, deliveries: readonly OneDelivery[], how: FinalState) =>
  queries
    .insertInto('finalized_deliveries')
    .columns(finalizedColumns)
    .expression((from) =>
      from
        .selectFrom('pending_deliveries')
        .where('delivery_id', 'in', deliveryIdsOf(deliveries))
        .select(asFinalized(how)),
    ),
);

const deletePending = preparedOver((queries, deliveries: readonly OneDelivery[]) =>
  queries.deleteFrom('pending_deliveries').where('delivery_id', 'in', deliveryIdsOf(deliveries)),
);

/** Both at once, where a statement can do that. */
const moveAtOnce = preparedOver((queries, deliveries: readonly OneDelivery[], how: FinalState) =>
  queries
    .with('gone', (from) =>
      from
        .deleteFrom('pending_deliveries')
        .where('delivery_id', 'in', deliveryIdsOf(deliveries))
        .returning(keptColumns),
    )
    .insertInto('finalized_deliveries')
    .columns(finalizedColumns)
    .expression((from) => from.selectFrom('gone').select(asFinalized(how))),
);

/** What is pending no more; all of it is sent when this returns. */
async function moveToHistory(queries: Queries, settlements: readonly Completion[], how: FinalState): Promise<void> {
  // One that was asked for may have been told twice by now.
  const deliveryIds = new Set(settlements.map(({ row }) => row.deliveryId));
  const deliveries = [...deliveryIds].map((deliveryId) => ({ deliveryId }));
  if (isShared(queries)) await moveAtOnce(queries, deliveries, how);
  else await Promise.all([keepInHistory(queries, deliveries, how), deletePending(queries, deliveries, {})]);
}

const deleteManualAttempts = preparedOver((queries, asks: readonly { readonly askId: number }[]) =>
  queries.deleteFrom('manual_attempts').where(
    'manual_attempt_id',
    'in',
    asks.map(({ askId }) => askId),
  ),
);

function deleteManualAttemptsQuery(queries: Queries, settlements: readonly Completion[]): Promise<unknown> {
  const asks = settlements.flatMap((one) => one.asks.map((askId) => ({ askId })));
  return deleteManualAttempts(queries, asks, {});
}

type HookState = NonNullable<Completion['queue']>;

const updateHooks = preparedOver((queries, hooks: readonly OneHook[], queue: HookState) =>
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

/** Most lanes come to the same state, healthy as ever: one statement for all of these. */
async function updateHooksQuery(queries: Queries, settlements: readonly Completion[]): Promise<void> {
  const last = new Map<number, HookState>();
  for (const { hookId, queue } of settlements) if (queue !== undefined) last.set(hookId, queue);
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
