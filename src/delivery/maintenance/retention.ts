import { type SqlBool, sql } from 'kysely';
import { PollLoop } from '../../async/poll-loop.ts';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import {
  createOldestRowDeleter,
  createRowDeleter,
  DELETE_BATCH_SIZE,
  type DeleteBatch,
  deleteInBatches,
} from '../../store/delete-in-batches.ts';
import type { Store } from '../../store/store.ts';
import { RetentionClock } from './retention-clock.ts';

const DAY_MS = 24 * 3_600_000;

/**
 * How long rows are kept. Pending deliveries of live hooks are never dropped, and the audit log has no retention
 * (decision 20).
 */
export const RETENTION_MS = {
  attempts: 30 * DAY_MS,
  finalized_deliveries: 30 * DAY_MS,
  endedHooks: 30 * DAY_MS,
  occurrences: 90 * DAY_MS,
  readReceipts: 30 * DAY_MS,
  /** Longer than mails are retried. An alert becomes this old only if the mail server was removed meanwhile. */
  hookAlerts: 7 * DAY_MS,
};

const RETENTION_INTERVAL_MS = 3_600_000;

/**
 * One round of retention: drops the rows that are too old at the trusted time `now`, and returns their number. Ends
 * early, between two writes, when `isStopped` returns true.
 */
type RetentionRound = (store: Store, now: number, isStopped: () => boolean) => Promise<number>;

/** Time from the start to the first round, so that the start of the service is not slowed down. */
const FIRST_RETENTION_DELAY_MS = 10_000;

/** Applies retention (C23, X2, X3, X4) every hour, in batches, until `stop` is called, which waits for the current one. */
export function startRetention(
  { store, clock, log }: { store: Store; clock: Clock; log: Log },
  rounds: readonly RetentionRound[] = [applyRetention],
): { stop(): Promise<void> } {
  const retentionClock = new RetentionClock({ store, clock });
  let isStopped = false;
  const loop = new PollLoop({
    clock,
    intervalMs: RETENTION_INTERVAL_MS,
    async runTurn() {
      let droppedCount = 0;
      const trustedNow = await retentionClock.observeTrustedTime();
      for (const round of rounds) droppedCount += await round(store, trustedNow, () => isStopped);
      if (droppedCount > 0) log.info({ event: 'retention.applied', rows: droppedCount });
    },
    onTurnFailed: (error) => log.error({ event: 'retention.failed', err: error }),
  });
  loop.start(FIRST_RETENTION_DELAY_MS);
  return {
    stop() {
      isStopped = true;
      return loop.stop();
    },
  };
}

/**
 * Drops old deliveries, attempts, feed entries (occurrences), hooks, receipts and alerts. Returns the number of rows.
 */
export async function applyRetention(
  store: Store,
  now: number,
  isStopped: () => boolean = () => false,
): Promise<number> {
  let totalDroppedCount = 0;
  for (const table of ['attempts', 'finalized_deliveries', 'occurrences'] as const) {
    totalDroppedCount += await store.dropOldRows(table, now - RETENTION_MS[table], isStopped);
  }
  for (const deleteBatch of [
    deleteOrphanedManualAttempts,
    // Receipts are kept as long as the deliveries that they belong to.
    createOldestRowDeleter('read_receipts', 'fetched_at', now - RETENTION_MS.readReceipts - 1),
    createRowDeleter('hook_alerts', 'hook_alert_id', sql<SqlBool>`noted_at < ${now - RETENTION_MS.hookAlerts}`),
    createEndedHookDeleter(now),
  ]) {
    totalDroppedCount += await deleteInBatches(store.write, deleteBatch, isStopped);
  }
  return totalDroppedCount;
}

/** Deletes manual attempts whose delivery was dropped. */
const deleteOrphanedManualAttempts = createRowDeleter(
  'manual_attempts',
  'manual_attempt_id',
  sql<SqlBool>`not exists (select 1 from pending_deliveries
      where pending_deliveries.delivery_id = manual_attempts.delivery_id)
    and not exists (select 1 from finalized_deliveries
      where finalized_deliveries.delivery_id = manual_attempts.delivery_id)`,
);

/**
 * Creates a deleter of hooks that ended long ago. Their pending deliveries are deleted first, in batches, to keep
 * transactions short.
 */
function createEndedHookDeleter(now: number): DeleteBatch {
  return async ({ queries }) => {
    const oldHooks = await queries
      .selectFrom('hooks')
      .select('hook_id')
      .where('date_ended', '<', now - RETENTION_MS.endedHooks)
      .limit(DELETE_BATCH_SIZE)
      .execute();
    const hookIds = oldHooks.map((hook) => hook.hook_id);
    if (hookIds.length === 0) return 0;
    const pendingDeliveriesQuery = queries
      .selectFrom('pending_deliveries')
      .select('delivery_id')
      .where('hook_id', 'in', hookIds)
      .limit(DELETE_BATCH_SIZE);
    const { numDeletedRows } = await queries
      .deleteFrom('pending_deliveries')
      .where('delivery_id', 'in', pendingDeliveriesQuery)
      .executeTakeFirstOrThrow();
    if (Number(numDeletedRows) === DELETE_BATCH_SIZE) return DELETE_BATCH_SIZE;
    await queries
      .deleteFrom('hooks')
      .where('hook_id', 'in', hookIds)
      .where((eb) =>
        eb.not(
          eb.exists(
            eb
              .selectFrom('pending_deliveries')
              .select('pending_deliveries.delivery_id')
              .whereRef('pending_deliveries.hook_id', '=', 'hooks.hook_id'),
          ),
        ),
      )
      .execute();
    return hookIds.length;
  };
}
