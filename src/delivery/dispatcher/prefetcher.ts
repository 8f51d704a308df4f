import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { Queries, Store } from '../../store/store.ts';
import type { HookQueue, HookSource } from './hook-queue.ts';
import { findSettings } from './hook-settings.ts';
import { findManualAttempts, findNextPendingDeliveries, findPendingDelivery } from './queries.ts';
import { firstMembersOf, WorkLoop } from './work-loop.ts';

/** Maximum number of rows of a hook per query. */
const ROWS_PER_PREFETCH = 32;

/** Maximum number of hook queues that are prefetched concurrently. */
const PREFETCH_CONCURRENCY = 64;

type PrefetcherDeps = {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** Returns false while this node is stopping or its leases are not valid. */
  readonly mayPrefetch: () => boolean;
  /** Returns false while the acknowledgement of changed settings is not committed (X8). */
  readonly mayReadSettings: (queue: HookQueue) => boolean;
  /** Called after the data of a queue was loaded, so that its attempts can start. */
  readonly onPrefetched: (queue: HookQueue) => void;
};

/** Prefetches pending deliveries, manual attempts and changed settings of hook queues; a failed read is retried. */
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
    const { store, clock, mayReadSettings, onPrefetched } = this.#deps;
    try {
      await queue.fill(createHookSource(store.read, queue.hookId), clock, mayReadSettings(queue));
    } catch (error) {
      this.#queuesToPrefetch.add(queue);
      throw error;
    }
    onPrefetched(queue);
  }
}

/** Returns the source that reads the rows of a hook from the database. */
function createHookSource(read: Queries, hookId: number): HookSource {
  return {
    findSettings: () => findSettings(read, hookId),
    findManualAttempts: (afterId) => findManualAttempts(read, hookId, afterId, ROWS_PER_PREFETCH),
    findPendingDelivery: (deliveryId) => findPendingDelivery(read, hookId, deliveryId),
    async findNextPendingDeliveries(afterPosition) {
      const pendingDeliveries = await findNextPendingDeliveries(read, hookId, afterPosition, ROWS_PER_PREFETCH);
      return { pendingDeliveries, isLastPage: pendingDeliveries.length < ROWS_PER_PREFETCH };
    },
  };
}
