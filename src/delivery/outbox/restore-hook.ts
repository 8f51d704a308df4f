import { sql } from 'kysely';
import { Problem } from '../../problems.ts';
import { AccountWrite } from '../../store/account-scope.ts';
import { locked } from '../../store/prepared-queries.ts';
import { enqueueDeliveries, pendingQuotaExceeded } from './enqueue-deliveries.ts';

/**
 * An ended hook lives again (X1): failures begin anew, and what occurred while it was ended is pending for it, beside what
 * was undelivered when it ended. Its target must have been taken before.
 *
 * @param endedPosition where the account stood when the hook ended
 */
export async function restoreHook(write: AccountWrite, hookId: number, endedPosition: number): Promise<void> {
  if (!write.mayEnqueue) throw pendingQuotaExceeded();
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
  const { queries, news } = AccountWrite.transactionOf(write);
  await enqueueDeliveries(
    queries,
    { accountId: write.accountId, first: endedPosition + 1, now: write.now },
    hookId,
  ).execute();
  news.addPending([hookId]);
}

/**
 * Owes a hook one notification of itself (X1); answers the delivery's id. An account that is pending too much may still try
 * whether a target answers again, once at a time.
 */
export async function requestTest(write: AccountWrite, hook: { hookId: number; userId: number }): Promise<number> {
  if (!write.mayEnqueue && (await hasPendingTest(write, hook.hookId))) throw pendingQuotaExceeded();
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
  const test = write
    .selectFrom('pending_deliveries')
    .select('pending_deliveries.delivery_id')
    .where('pending_deliveries.hook_id', '=', hookId)
    .where('pending_deliveries.position', 'is', null)
    .limit(1);
  return (await test.executeTakeFirst()) !== undefined;
}

/** Asks for one attempt of a delivery, at once, under its id, whatever has become of it (X3). */
export async function requestRedelivery(
  write: AccountWrite,
  delivery: { deliveryId: number; hookId: number },
): Promise<void> {
  const tx = AccountWrite.transactionOf(write);
  // It stays live until this has committed: what is asked of an ended hook would be made when it is restored.
  const live = tx.queries
    .selectFrom('hooks')
    .select('hook_id')
    .where('hook_id', '=', delivery.hookId)
    .where('date_ended', 'is', null);
  if ((await locked(tx.queries, live).execute()).length === 0) throw new Problem('hook_ended');
  await write.insertRow('manual_attempts', { hook_id: delivery.hookId, delivery_id: delivery.deliveryId });
  tx.news.addManual([delivery.hookId]);
}
