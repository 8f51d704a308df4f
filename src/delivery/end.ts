import { sql } from 'kysely';
import { AccountWrite } from '../store/account.ts';
import type { Tx } from '../store/store.ts';
import type { EndedReason } from './policy.ts';

/** Ends live hooks of an account, as its caller asks. */
export async function endHooks(write: AccountWrite, hookIds: readonly number[], reason: EndedReason): Promise<void> {
  await endLanes(AccountWrite.transactionOf(write), hookIds, reason, write.now);
}

/**
 * Ends live hooks for a reason: their targets are free again, late answers are fenced, the account's position is kept
 * so that `restore` knows what occurred since, and the engine is told when this has committed (C13, C17, C18, C23).
 */
export async function endLanes(tx: Tx, hookIds: readonly number[], reason: EndedReason, now: number): Promise<void> {
  for (let begin = 0; begin < hookIds.length; begin += HOOKS_A_STATEMENT) {
    await endSome(tx, hookIds.slice(begin, begin + HOOKS_A_STATEMENT), reason, now);
  }
}

/** Well below the number of values that a statement can carry. */
const HOOKS_A_STATEMENT = 1_000;

async function endSome(tx: Tx, hookIds: readonly number[], reason: EndedReason, now: number): Promise<void> {
  await tx.queries
    .updateTable('hooks')
    .set({
      date_ended: now,
      ended_reason: reason,
      due_at: null,
      generation: sql<number>`generation + 1`,
      ended_position: sql<number>`(select position from positions where positions.account_id = hooks.account_id)`,
    })
    .where('hook_id', 'in', hookIds)
    .where('date_ended', 'is', null)
    .execute();
  await tx.queries.deleteFrom('targets').where('hook_id', 'in', hookIds).execute();
  tx.announceEnded(hookIds);
}
