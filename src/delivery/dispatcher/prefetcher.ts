import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { Queries, Store } from '../../store/store.ts';
import type { HookQueue } from './hook-queue.ts';
import { findManualAttempts, findNextPendingDeliveries, findPendingDelivery, findSecrets } from './queries.ts';
import { firstMembersOf, WorkLoop } from './work-loop.ts';

/** Maximum number of deliveries per query and hook queue. */
const DELIVERIES_PER_PREFETCH = 32;

/** Maximum number of hook queues that are prefetched concurrently. */
const PREFETCH_CONCURRENCY = 64;

export type PrefetcherDeps = {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** Returns false while this node is stopping or its leases are not valid. */
  readonly mayPrefetch: () => boolean;
  /** Returns false while the acknowledgement of a secret rotation is not committed (X8). */
  readonly mayReadSecrets: (queue: HookQueue) => boolean;
  /** Called after the data of a queue was loaded, so that its attempts can start. */
  readonly onPrefetched: (queue: HookQueue) => void;
};

/** Prefetches pending deliveries, manual attempts and signing secrets of hook queues; a failed read is retried. */
export class Prefetcher {
  readonly #deps: PrefetcherDeps;
  readonly #queuesToPrefetch = new Set<HookQueue>();
  readonly #loop: WorkLoop;

  constructor(deps: PrefetcherDeps) {
    this.#deps = deps;
    this.#loop = new WorkLoop(deps, {
      hasWork: () => this.#queuesToPrefetch.size > 0 && deps.mayPrefetch(),
      runOnce: () => this.#prefetchBatch(),
    });
  }

  add(queue: HookQueue): void {
    this.#queuesToPrefetch.add(queue);
    this.#loop.wake();
  }

  wake(): void {
    this.#loop.wake();
  }

  async #prefetchBatch(): Promise<void> {
    const queues = firstMembersOf(this.#queuesToPrefetch, PREFETCH_CONCURRENCY);
    for (const queue of queues) this.#queuesToPrefetch.delete(queue);
    const results = await Promise.allSettled(queues.map((queue) => this.#prefetch(queue)));
    const failedResult = results.find((result) => result.status === 'rejected');
    if (failedResult !== undefined) throw failedResult.reason;
  }

  async #prefetch(queue: HookQueue): Promise<void> {
    const { store, clock, mayReadSecrets, onPrefetched } = this.#deps;
    try {
      await fillQueue(store.read, queue, () => clock.now(), mayReadSecrets(queue));
    } catch (error) {
      this.#queuesToPrefetch.add(queue);
      throw error;
    }
    onPrefetched(queue);
  }
}

async function fillQueue(read: Queries, queue: HookQueue, now: () => number, mayReadSecrets: boolean): Promise<void> {
  if (queue.hasEnded) return;
  queue.beginPrefetch();
  try {
    if (queue.hasStaleSecrets && mayReadSecrets) await reloadSecrets(read, queue);
    if (queue.needsManualAttempts) await loadManualAttempts(read, queue);
    if (queue.hasNoWaitingDeliveries && queue.canStartPendingDelivery(now())) await loadPendingDeliveries(read, queue);
  } finally {
    queue.endPrefetch();
  }
}

async function reloadSecrets(read: Queries, queue: HookQueue): Promise<void> {
  // Cleared before the read, so that a rotation that commits during the read marks the secrets as stale again.
  queue.hasStaleSecrets = false;
  queue.secrets = await findSecrets(read, queue.hookId).catch((error: unknown) => {
    queue.hasStaleSecrets = true;
    throw error;
  });
}

async function loadManualAttempts(read: Queries, queue: HookQueue): Promise<void> {
  // Cleared before the read, so that a manual attempt that commits during the read sets the flag again.
  queue.hasUnreadManualAttempts = false;
  const { manualAttempts, lastId, isLastPage } = await findManualAttempts(
    read,
    queue.hookId,
    queue.lastReadManualAttemptId,
    DELIVERIES_PER_PREFETCH,
  ).catch((error: unknown) => {
    queue.hasUnreadManualAttempts = true;
    throw error;
  });
  queue.lastReadManualAttemptId = lastId;
  if (!isLastPage) queue.hasUnreadManualAttempts = true;
  queue.addManualAttempts(manualAttempts);
}

async function loadPendingDeliveries(read: Queries, queue: HookQueue): Promise<void> {
  if (queue.unreadRetryDeliveryId !== null) {
    const retryDelivery = await findPendingDelivery(read, queue.hookId, queue.unreadRetryDeliveryId);
    queue.unreadRetryDeliveryId = null;
    if (retryDelivery !== undefined) queue.addPendingDeliveries([retryDelivery]);
  }
  if (!queue.hasUnreadPendingDeliveries) return;
  queue.hasUnreadPendingDeliveries = false;
  const rows = await findNextPendingDeliveries(
    read,
    queue.hookId,
    queue.feedReadPosition,
    DELIVERIES_PER_PREFETCH,
  ).catch((error: unknown) => {
    queue.hasUnreadPendingDeliveries = true;
    throw error;
  });
  queue.addReadPage(rows, rows.length < DELIVERIES_PER_PREFETCH);
}
