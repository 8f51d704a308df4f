import { sql } from 'kysely';
import { AccountWrite } from '../store/account.ts';

/**
 * An ended hook lives again (X1): failures begin anew, and what occurred while it was ended is owed to it, beside what
 * was undelivered when it ended. Its target must have been taken before.
 *
 * @param endedPosition where the account stood when the hook ended
 */
export async function revive(write: AccountWrite, hookId: number, endedPosition: number): Promise<void> {
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
    })
    .where('hook_id', '=', hookId)
    .execute();
  const { queries, announceOwed } = AccountWrite.transactionOf(write);
  await queries
    .insertInto('owed')
    .columns(['account_id', 'user_id', 'hook_id', 'position', 'kind', 'record_id', 'owed_at'])
    .expression((from) =>
      from
        .selectFrom('hooks')
        .innerJoin('occurrences', (join) =>
          join
            .onRef('occurrences.account_id', '=', 'hooks.account_id')
            .onRef('occurrences.user_id', '=', 'hooks.user_id')
            .onRef('occurrences.kind', '=', 'hooks.kind'),
        )
        .where('hooks.account_id', '=', write.accountId)
        .where('hooks.hook_id', '=', hookId)
        .where('occurrences.position', '>', endedPosition)
        .select([
          'occurrences.account_id',
          'occurrences.user_id',
          'hooks.hook_id',
          'occurrences.position',
          'occurrences.kind',
          'occurrences.record_id',
          sql<number>`${write.now}`.as('owed_at'),
        ])
        .orderBy('occurrences.position'),
    )
    .execute();
  announceOwed([hookId]);
}

/** Owes a hook one notification of itself (X1); answers the delivery's id. */
export async function askForTest(write: AccountWrite, hook: { hookId: number; userId: number }): Promise<number> {
  const { delivery_id } = await write
    .insertInto('owed', {
      user_id: hook.userId,
      hook_id: hook.hookId,
      position: null,
      kind: 'test',
      record_id: hook.hookId,
      owed_at: write.now,
      asked: 1,
      delivered_at: null,
    })
    .returning('delivery_id')
    .executeTakeFirstOrThrow();
  AccountWrite.transactionOf(write).announceAsked([hook.hookId]);
  return delivery_id;
}

/** Asks for one more attempt of a delivery, under the same id (X3): what was settled is owed once more. */
export async function askAgain(write: AccountWrite, delivery: { deliveryId: number; hookId: number }): Promise<void> {
  const { queries, announceAsked } = AccountWrite.transactionOf(write);
  const settled = await write
    .deleteFrom('settled')
    .where('delivery_id', '=', delivery.deliveryId)
    .returningAll()
    .executeTakeFirst();
  if (settled === undefined) {
    await write.updateTable('owed').set({ asked: 1 }).where('delivery_id', '=', delivery.deliveryId).execute();
  } else {
    const { settled_at, state, ...row } = settled;
    const delivered_at = state === 'delivered' ? settled_at : null;
    await queries
      .insertInto('owed')
      .values({ ...row, asked: 1, delivered_at })
      .execute();
  }
  announceAsked([delivery.hookId]);
}
