import type { Tx } from '../../store/store.ts';
import { type EndedReason, MAX_FAILURES } from '../dispatcher/retry-policy.ts';

/** The reason for an alert mail to the owner of a hook (X10): the next failure ends it, or why it ended. */
export type What = 'failing' | AlertReason;

/** A deleted user is not alerted. */
export type AlertReason = Exclude<EndedReason, 'user_deleted'>;

/** Consecutive failures after which the owner is alerted: one more ends the hook. */
export const FAILURES_BEFORE_ALERT = MAX_FAILURES - 1;

/**
 * Enqueues alerts to the owners of hooks in the transaction that changes the hooks (an outbox): they are mailed if, and
 * only if, it commits.
 */
export type HookAlerts = (tx: Tx, what: What, hookIds: readonly number[], now: number) => Promise<void>;

export const enqueueAlerts: HookAlerts = async ({ queries }, what, hookIds, now) => {
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
          val<string>(what).as('what'),
          val(now).as('noted_at'),
        ]),
    )
    .execute();
};

/** Without a mail server no alerts are enqueued. */
export const noAlerts: HookAlerts = async () => undefined;
