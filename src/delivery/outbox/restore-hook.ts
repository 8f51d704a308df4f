import { sql } from 'kysely';
import { splitIntoBatches } from '../../async/batches.ts';
import { Problem } from '../../problems.ts';
import { AccountWrite } from '../../store/account-scope.ts';
import { withRowLocks } from '../../store/prepared-queries.ts';
import type { Queries } from '../../store/store.ts';
import { createPendingQuotaProblem, enqueueMissed } from './enqueue-deliveries.ts';
import { buildReportedCondition, insertSubscriptions, type SubscribedHook } from './subscriptions.ts';

/** The columns of an ended hook that its restoration needs. */
type EndedHook = SubscribedHook & {
  /**
   * The feed position of the account when the hook ended. Null if the hook ended because its user lost the role of an
   * admin, or if the user lost it later: a restore then sends nothing of what happened in between (X11).
   */
  readonly ended_position: number | null;
};

/**
 * Restores an ended hook (X1): resets its failures and enqueues deliveries of the occurrences since its end. Deliveries
 * that were pending when it ended are still pending. The caller must have reserved the target of the hook.
 */
export async function restoreHook(write: AccountWrite, hook: EndedHook): Promise<void> {
  const { hook_id: hookId, ended_position: endedPosition } = hook;
  if (!write.mayEnqueue) throw createPendingQuotaProblem();
  await write
    .updateTable('hooks')
    .set({
      date_ended: null,
      ended_reason: '',
      ended_position: null,
      failures: 0,
      due_at: null,
      retry_delivery_id: null,
      generation: sql<number>`generation + 1`,
      lease_owner: 0,
    })
    .where('hook_id', '=', hookId)
    .execute();
  await insertSubscriptions(write, hook);
  const { events } = AccountWrite.transactionOf(write);
  if (endedPosition !== null)
    await enqueueMissed(write, {
      hookId,
      firstPosition: endedPosition + 1,
      reportedCondition: buildReportedCondition(hook),
    });
  events.addPendingHooks([hookId]);
}

/**
 * Enqueues a test of a hook (X1); returns the id of the test delivery. An account that has reached its quota may
 * still have one pending test per hook, to check whether the target works again.
 */
export async function requestTest(write: AccountWrite, hook: { hookId: number; userId: number }): Promise<number> {
  if (!write.mayEnqueue && (await hasPendingTest(write, hook.hookId))) throw createPendingQuotaProblem();
  const { delivery_id } = await write
    .insertInto('pending_deliveries', {
      user_id: hook.userId,
      hook_id: hook.hookId,
      position: null,
      kind: 'test',
      record_id: hook.hookId,
      created_at: write.now,
    })
    .returning('delivery_id')
    .executeTakeFirstOrThrow();
  await requestRedelivery(write, { deliveryId: delivery_id, hookId: hook.hookId });
  return delivery_id;
}

async function hasPendingTest(write: AccountWrite, hookId: number): Promise<boolean> {
  const testQuery = write
    .selectFrom('pending_deliveries')
    .select('pending_deliveries.delivery_id')
    .where('pending_deliveries.hook_id', '=', hookId)
    .where('pending_deliveries.position', 'is', null)
    .limit(1);
  return (await testQuery.executeTakeFirst()) !== undefined;
}

/** Enqueues one immediate attempt of a delivery, regardless of its state, under the same `Webhook-Id` (X3). */
export async function requestRedelivery(
  write: AccountWrite,
  { deliveryId, hookId }: { deliveryId: number; hookId: number },
): Promise<void> {
  await lockEnabledHook(write, hookId);
  await enqueueManualAttempts(write, hookId, [deliveryId]);
}

/**
 * Enqueues one attempt of each of these deliveries of a hook, as `requestRedelivery` does, except of those that wait for
 * one already: however often a replay is repeated, there is at most one waiting attempt per delivery (X13). Returns the
 * number of new attempts.
 */
export async function requestReplay(
  write: AccountWrite,
  hookId: number,
  deliveryIds: readonly number[],
): Promise<number> {
  await lockEnabledHook(write, hookId);
  let count = 0;
  for (const batch of splitIntoBatches(deliveryIds, REDELIVERIES_PER_STATEMENT)) {
    const waitingAttempts = await write
      .selectFrom('manual_attempts')
      .select('manual_attempts.delivery_id')
      .where('manual_attempts.delivery_id', 'in', batch)
      .execute();
    const waitingIds = new Set(waitingAttempts.map(({ delivery_id }) => delivery_id));
    const newIds = batch.filter((deliveryId) => !waitingIds.has(deliveryId));
    if (newIds.length > 0) await enqueueManualAttempts(write, hookId, newIds);
    count += newIds.length;
  }
  return count;
}

/**
 * Locks a hook, so that it stays live and enabled until the commit, and no concurrent write enqueues attempts of its
 * deliveries. Throws 409 if it has ended or is disabled: the attempts would be made much later.
 */
async function lockEnabledHook(write: AccountWrite, hookId: number): Promise<void> {
  const { queries } = AccountWrite.transactionOf(write);
  const hookQuery = queries.selectFrom('hooks').select(['date_ended', 'enabled']).where('hook_id', '=', hookId);
  const [hook] = await withRowLocks(queries, hookQuery).execute();
  if (hook === undefined || hook.date_ended !== null) throw new Problem('hook_ended');
  if (hook.enabled === 0) throw new Problem('hook_disabled');
}

async function enqueueManualAttempts(
  write: AccountWrite,
  hookId: number,
  deliveryIds: readonly number[],
): Promise<void> {
  await write
    .insertInto(
      'manual_attempts',
      deliveryIds.map((deliveryId) => ({ hook_id: hookId, delivery_id: deliveryId })),
    )
    .execute();
  AccountWrite.transactionOf(write).events.addManualAttempts([hookId]);
}

const REDELIVERIES_PER_STATEMENT = 1_000;

/** Whether a live hook of any account has the target with this hash (C12). */
export async function isTargetTaken(read: Queries, targetHash: string): Promise<boolean> {
  const targetRow = await read
    .selectFrom('targets')
    .select('hook_id')
    .where('target_hash', '=', targetHash)
    .executeTakeFirst();
  return targetRow !== undefined;
}
