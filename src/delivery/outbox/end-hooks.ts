import { sql } from 'kysely';
import { splitIntoBatches } from '../../async/batches.ts';
import { writeAuditEntriesAcrossAccounts } from '../../audit/actions.ts';
import { type Actor, DISPATCHER_ACTOR } from '../../permissions.ts';
import { AccountWrite } from '../../store/account-scope.ts';
import type { Queries, Tx } from '../../store/store.ts';
import { type EndedReason, MAX_FAILURES } from '../dispatcher/retry-policy.ts';

/** Ends live hooks of an account on behalf of the caller; returns the ids of those that were live. */
export async function endHooks(
  write: AccountWrite,
  hookIds: readonly number[],
  reason: EndedReason,
  enqueueAlerts: EnqueueHookAlerts = skipHookAlerts,
): Promise<number[]> {
  const hookEnd = { reason, endedAt: write.now, endedBy: write.actor, enqueueAlerts };
  return endHooksAcrossAccounts(AccountWrite.transactionOf(write), hookIds, hookEnd);
}

/**
 * Ends the hooks of a user that report the whole account, because the user is no admin any more (X11). Such hooks that
 * have ended already keep their reason. None of them reports later what it missed.
 */
export async function endHooksAfterRoleLoss(
  write: AccountWrite,
  userId: number,
  enqueueAlerts: EnqueueHookAlerts,
): Promise<void> {
  const accountHooks = await write
    .selectFrom('hooks')
    .select(['hooks.hook_id', 'hooks.date_ended'])
    .where('hooks.user_id', '=', userId)
    .where('hooks.scope', '=', 'account')
    .execute();
  if (accountHooks.length === 0) return;
  const liveHookIds = accountHooks.filter((hook) => hook.date_ended === null).map((hook) => hook.hook_id);
  await endHooks(write, liveHookIds, 'role_lost', enqueueAlerts);
  await write
    .updateTable('hooks')
    .set({ ended_position: null })
    .where('user_id', '=', userId)
    .where('scope', '=', 'account')
    .execute();
}

/** Why hooks end, when, by whom, and how their owners are alerted. */
type HookEnd = {
  readonly reason: EndedReason;
  readonly endedAt: number;
  readonly endedBy: Actor;
  readonly enqueueAlerts: EnqueueHookAlerts;
};

/**
 * Ends live hooks (C13, C17, C18, C23): frees their targets, raises the fencing token, stores the feed position so that
 * `restoreHook` can enqueue the later occurrences, and adds a commit event for the dispatcher. Returns the ids of the
 * hooks that were live.
 */
export async function endHooksAcrossAccounts(tx: Tx, hookIds: readonly number[], hookEnd: HookEnd): Promise<number[]> {
  const endedHookIds: number[] = [];
  for (const batch of splitIntoBatches(hookIds, HOOKS_PER_STATEMENT))
    endedHookIds.push(...(await endHookBatch(tx, batch, hookEnd)));
  return endedHookIds;
}

/** Maximum number of hooks per statement. It is far below the parameter limits of both databases. */
const HOOKS_PER_STATEMENT = 1_000;

async function endHookBatch(
  tx: Tx,
  hookIds: readonly number[],
  { reason, endedAt, endedBy, enqueueAlerts }: HookEnd,
): Promise<number[]> {
  const endedHooks = await tx.queries
    .updateTable('hooks')
    .set({
      date_ended: endedAt,
      ended_reason: reason,
      due_at: null,
      generation: sql<number>`generation + 1`,
      // The dispatcher ends only hooks that it has leased, so the lease is released as well.
      ...(endedBy === DISPATCHER_ACTOR ? { lease_owner: 0 } : {}),
      ended_position: sql<number>`(select position from positions where positions.account_id = hooks.account_id)`,
    })
    .where('hook_id', 'in', hookIds)
    .where('date_ended', 'is', null)
    .returning(['hook_id', 'account_id', 'user_id'])
    .execute();
  writeAuditEntriesAcrossAccounts(
    tx,
    endedHooks.map(({ hook_id, account_id, user_id }) => ({
      action: 'hook.ended',
      subject: `hook ${hook_id}`,
      detail: { reason, user_id: String(user_id) },
      accountId: account_id,
      actor: endedBy,
    })),
    endedAt,
  );
  const endedHookIds = endedHooks.map((row) => row.hook_id);
  if (endedHookIds.length === 0) return [];
  // An owner who ended the hook is not alerted (X10).
  const hookIdsToAlert = endedHooks.filter((row) => row.user_id !== endedBy.userId).map((row) => row.hook_id);
  if (reason !== 'user_deleted') await enqueueAlerts(tx, reason, hookIdsToAlert, endedAt);
  await dropManualAttemptsAndTests(tx.queries, endedHookIds, endedAt);
  await tx.queries.deleteFrom('targets').where('hook_id', 'in', endedHookIds).execute();
  await tx.queries.deleteFrom('subscriptions').where('hook_id', 'in', endedHookIds).execute();
  tx.events.addEndedHooks(endedHookIds, reason);
  return endedHookIds;
}

/** Drops manual attempts and tests of ended hooks: they must not be sent when a hook is restored later. */
async function dropManualAttemptsAndTests(queries: Queries, hookIds: readonly number[], now: number): Promise<void> {
  await queries.deleteFrom('manual_attempts').where('hook_id', 'in', hookIds).execute();
  const testDeliveries = await queries
    .deleteFrom('pending_deliveries')
    .where('hook_id', 'in', hookIds)
    .where('position', 'is', null)
    .returningAll()
    .execute();
  for (const row of testDeliveries) {
    await queries
      .insertInto('finalized_deliveries')
      .values({ ...row, finalized_at: now, state: 'failed' })
      .execute();
  }
}

/**
 * The reason why the owner of a hook is alerted by mail (X10): `failing` if the next failure ends the hook, or the
 * reason for which the hook ended.
 */
export type AlertKind = 'failing' | AlertedEndReason;

/** The reasons for which a hook ends and its owner is alerted. A deleted user gets no alert. */
type AlertedEndReason = Exclude<EndedReason, 'user_deleted'>;

/** Consecutive failures after which the owner is alerted: one more ends the hook. */
export const FAILURES_BEFORE_ALERT = MAX_FAILURES - 1;

/**
 * Enqueues alerts to the owners of hooks, in the transaction that changes the hooks (transactional outbox): the alerts
 * are mailed if, and only if, the transaction commits.
 */
export type EnqueueHookAlerts = (
  tx: Tx,
  alertKind: AlertKind,
  hookIds: readonly number[],
  now: number,
) => Promise<void>;

export const enqueueHookAlerts: EnqueueHookAlerts = async ({ queries }, alertKind, hookIds, now) => {
  if (hookIds.length === 0) return;
  await queries
    .insertInto('hook_alerts')
    .columns(['account_id', 'user_id', 'hook_id', 'what', 'noted_at'])
    .expression((from) =>
      from
        .selectFrom('hooks')
        .where('hook_id', 'in', hookIds)
        .orderBy('hook_id')
        .select(({ val }) => [
          'account_id',
          'user_id',
          'hook_id',
          val<string>(alertKind).as('what'),
          val(now).as('noted_at'),
        ]),
    )
    .execute();
};

/** Enqueues no alerts. Used without a mail server. */
export const skipHookAlerts: EnqueueHookAlerts = async () => undefined;
