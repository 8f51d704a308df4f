import { sql } from 'kysely';
import { noteAcross } from '../../audit/actions.ts';
import { type Actor, ENGINE } from '../../permissions.ts';
import { AccountWrite } from '../../store/account-scope.ts';
import type { Queries, Tx } from '../../store/store.ts';
import type { EndedReason } from '../dispatcher/retry-policy.ts';
import { type HookAlerts, noAlerts } from './hook-alerts.ts';

/** Ends live hooks of an account, as its caller asks; answers those that had not ended before. */
export async function endHooks(
  write: AccountWrite,
  hookIds: readonly number[],
  reason: EndedReason,
  notices: HookAlerts = noAlerts,
): Promise<number[]> {
  const end = { reason, now: write.now, by: write.by, notices };
  return endHookQueues(AccountWrite.transactionOf(write), hookIds, end);
}

/** Why hooks end, when, by whom, and how their owners are told. */
export type End = {
  readonly reason: EndedReason;
  readonly now: number;
  readonly by: Actor;
  readonly notices: HookAlerts;
};

/**
 * Ends live hooks for a reason: their targets are free again, late answers are fenced, the account's position is kept
 * so that `restore` knows what occurred since, and the engine is told when this has committed (C13, C17, C18, C23).
 */
export async function endHookQueues(tx: Tx, hookIds: readonly number[], end: End): Promise<number[]> {
  const ended: number[] = [];
  for (let begin = 0; begin < hookIds.length; begin += HOOKS_PER_STATEMENT) {
    ended.push(...(await endBatch(tx, hookIds.slice(begin, begin + HOOKS_PER_STATEMENT), end)));
  }
  return ended;
}

/** Well below the number of values that a statement can carry. */
const HOOKS_PER_STATEMENT = 1_000;

async function endBatch(tx: Tx, hookIds: readonly number[], { reason, now, by, notices }: End): Promise<number[]> {
  const ended = await tx.queries
    .updateTable('hooks')
    .set({
      date_ended: now,
      ended_reason: reason,
      due_at: null,
      generation: sql<number>`generation + 1`,
      // The engine ends only what it holds, and lets go of it with that.
      ...(by === ENGINE ? { lease_owner: 0 } : {}),
      ended_position: sql<number>`(select position from positions where positions.account_id = hooks.account_id)`,
    })
    .where('hook_id', 'in', hookIds)
    .where('date_ended', 'is', null)
    .returning(['hook_id', 'account_id', 'user_id'])
    .execute();
  noteAcross(
    tx,
    ended.map(({ hook_id, account_id, user_id }) => ({
      action: 'hook.ended',
      subject: `hook ${hook_id}`,
      detail: { reason, user_id: String(user_id) },
      accountId: account_id,
      by,
    })),
    now,
  );
  const endedIds = ended.map((row) => row.hook_id);
  if (endedIds.length === 0) return [];
  // X10: who has ended a hook of their own knows.
  const toTell = ended.filter((row) => row.user_id !== by.userId).map((row) => row.hook_id);
  if (reason !== 'user_deleted') await notices(tx, reason, toTell, now);
  await dropManualAttempts(tx.queries, endedIds, now);
  await tx.queries.deleteFrom('targets').where('hook_id', 'in', endedIds).execute();
  tx.news.addEnded(endedIds, reason);
  return endedIds;
}

/** What was asked for was asked for at that moment: nobody wants a test of long ago when the hook lives again. */
async function dropManualAttempts(queries: Queries, hookIds: readonly number[], now: number): Promise<void> {
  await queries.deleteFrom('manual_attempts').where('hook_id', 'in', hookIds).execute();
  const tests = await queries
    .deleteFrom('pending_deliveries')
    .where('hook_id', 'in', hookIds)
    .where('position', 'is', null)
    .returningAll()
    .execute();
  for (const row of tests) {
    await queries
      .insertInto('finalized_deliveries')
      .values({ ...row, finalized_at: now, state: 'failed' })
      .execute();
  }
}
