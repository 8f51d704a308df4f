import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { Queries, Store } from '../../store/store.ts';
import type { HookQueue } from './hook-queue.ts';
import { findManualAttempts, findNextPending, findPendingDelivery, findSecrets } from './queries.ts';
import { firstMembersOf, WorkLoop } from './work-loop.ts';

/** Maximum number of deliveries per query and hook queue. */
const PREFETCH_SIZE = 32;

/** Maximum number of hook queues that are read concurrently. */
const PREFETCH_CONCURRENCY = 64;

export type PrefetcherPorts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly mayContinue: () => boolean;
  /** Returns false while the acknowledgement of a secret rotation is not committed (X8). */
  readonly mayReadSecrets: (queue: HookQueue) => boolean;
  readonly onRead: (queue: HookQueue) => void;
};

/** Prefetches pending deliveries, manual attempts and signing secrets of hook queues; a failed read is retried. */
export class Prefetcher {
  readonly #ports: PrefetcherPorts;
  readonly #queues = new Set<HookQueue>();
  readonly #loop: WorkLoop;

  constructor(ports: PrefetcherPorts) {
    this.#ports = ports;
    this.#loop = new WorkLoop(ports, {
      hasWork: () => this.#queues.size > 0 && ports.mayContinue(),
      runOnce: () => this.#prefetchBatch(),
    });
  }

  add(queue: HookQueue): void {
    this.#queues.add(queue);
    this.#loop.wake();
  }

  wake(): void {
    this.#loop.wake();
  }

  async #prefetchBatch(): Promise<void> {
    const queues = firstMembersOf(this.#queues, PREFETCH_CONCURRENCY);
    for (const queue of queues) this.#queues.delete(queue);
    const results = await Promise.allSettled(queues.map((queue) => this.#prefetch(queue)));
    const failedResult = results.find((result) => result.status === 'rejected');
    if (failedResult !== undefined) throw failedResult.reason;
  }

  async #prefetch(queue: HookQueue): Promise<void> {
    const { store, clock, mayReadSecrets, onRead } = this.#ports;
    try {
      await fillQueue(store.read, queue, () => clock.now(), mayReadSecrets(queue));
    } catch (error) {
      this.#queues.add(queue);
      throw error;
    }
    onRead(queue);
  }
}

async function fillQueue(read: Queries, queue: HookQueue, now: () => number, mayReadSecrets: boolean): Promise<void> {
  if (queue.hasEnded) return;
  queue.isPrefetching = true;
  try {
    if (queue.hasStaleSecrets && mayReadSecrets) await fillSecrets(read, queue);
    if (queue.hasUnreadManual) await fillManualAttempts(read, queue);
    if (queue.isEmpty && queue.canDispatch(now())) await fillPendingDeliveries(read, queue);
  } finally {
    queue.isPrefetching = false;
  }
}

async function fillSecrets(read: Queries, queue: HookQueue): Promise<void> {
  // Cleared before the read, so that a rotation that commits during the read marks the secrets as stale again.
  queue.hasStaleSecrets = false;
  queue.secrets = await findSecrets(read, queue.hookId).catch((error: unknown) => {
    queue.hasStaleSecrets = true;
    throw error;
  });
}

async function fillManualAttempts(read: Queries, queue: HookQueue): Promise<void> {
  // Cleared before the read, so that a manual attempt that commits during the read sets the flag again.
  queue.hasUnreadManual = false;
  const rows = await findManualAttempts(read, queue.hookId, queue.manualReadPosition, PREFETCH_SIZE).catch(
    (error: unknown) => {
      queue.hasUnreadManual = true;
      throw error;
    },
  );
  queue.manualReadPosition = rows.at(-1)?.manualAttemptId ?? queue.manualReadPosition;
  if (rows.length === PREFETCH_SIZE) queue.hasUnreadManual = true;
  queue.addManualAttempts(rows);
}

async function fillPendingDeliveries(read: Queries, queue: HookQueue): Promise<void> {
  if (queue.unreadRetryId !== null) {
    const retryDelivery = await findPendingDelivery(read, queue.hookId, queue.unreadRetryId);
    queue.unreadRetryId = null;
    if (retryDelivery !== undefined) queue.addPending([retryDelivery]);
  }
  if (!queue.hasUnreadPending) return;
  queue.hasUnreadPending = false;
  const rows = await findNextPending(read, queue.hookId, queue.readPosition, PREFETCH_SIZE).catch((error: unknown) => {
    queue.hasUnreadPending = true;
    throw error;
  });
  queue.addReadPage(rows, rows.length < PREFETCH_SIZE);
}
