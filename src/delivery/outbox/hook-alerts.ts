import type { Tx } from '../../store/store.ts';
import { type EndedReason, MAX_FAILURES } from '../dispatcher/retry-policy.ts';

/** What the owner of a hook is told of it by mail (X10): that the next failure ends it, or why it has ended. */
export type What = 'failing' | AlertReason;

/** Whose account is deleted is nobody to be told. */
export type AlertReason = Exclude<EndedReason, 'user_deleted'>;

/** With so many failures in a row the owner is told: one more ends the hook. */
export const FAILURES_BEFORE_ALERT = MAX_FAILURES - 1;

/**
 * Owes the owners of hooks a notice, in the transaction that writes down what it is of: so that it is mailed if, and only
 * if, that has committed.
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

/** Where no mail is sent nothing is pending either: nobody would ever settle it. */
export const noAlerts: HookAlerts = async () => undefined;
