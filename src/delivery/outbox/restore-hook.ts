import { sql } from 'kysely';
import { splitIntoBatches } from '../../async/batches.ts';
import { Problem } from '../../problems.ts';
import { AccountWrite } from '../../store/account-scope.ts';
import { withRowLocks } from '../../store/prepared-queries.ts';
import type { Queries } from '../../store/store.ts';
import { buildEnqueueMissedQuery, createPendingQuotaProblem } from './enqueue-deliveries.ts';
import { buildReportedCondition, insertSubscriptions, type SubscribedHook } from './subscriptions.ts';

/** The columns of an ended hook that its restoration needs. */
type EndedHook = SubscribedHook & {
  readonly ended_reason: string;
  /** The feed position of the account when the hook ended. */
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
  const { queries, events } = AccountWrite.transactionOf(write);
  // Occurrences while its user had lost the role are not reported (X11).
  if (hook.ended_reason !== 'role_lost')
    await buildEnqueueMissedQuery(queries, {
      accountId: write.accountId,
      hookId,
      firstPosition: (endedPosition ?? 0) + 1,
      createdAt: write.now,
      reportedCondition: buildReportedCondition(hook),
    }).execute();
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
  delivery: { deliveryId: number; hookId: number },
): Promise<void> {
  await requestRedeliveries(write, delivery.hookId, [delivery.deliveryId]);
}

/** Enqueues one attempt of each of these deliveries of a hook, as `requestRedelivery` does (X13). */
export async function requestRedeliveries(
  write: AccountWrite,
  hookId: number,
  deliveryIds: readonly number[],
): Promise<void> {
  const tx = AccountWrite.transactionOf(write);
  // Lock the hook, so that it stays live until the commit. On an ended hook, the attempt would only be made after the
  // hook is restored.
  const liveHookQuery = tx.queries
    .selectFrom('hooks')
    .select('hook_id')
    .where('hook_id', '=', hookId)
    .where('date_ended', 'is', null);
  if ((await withRowLocks(tx.queries, liveHookQuery).execute()).length === 0) throw new Problem('hook_ended');
  for (const batch of splitIntoBatches(deliveryIds, REDELIVERIES_PER_STATEMENT))
    await write
      .insertInto(
        'manual_attempts',
        batch.map((deliveryId) => ({ hook_id: hookId, delivery_id: deliveryId })),
      )
      .execute();
  tx.events.addManualAttempts([hookId]);
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
