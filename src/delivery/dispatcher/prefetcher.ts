import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { Queries, Store } from '../../store/store.ts';
import type { HookQueue } from './hook-queue.ts';
import { findManualAttempts, findPending, findSecrets, nextPending } from './queries.ts';
import { firstOf, WorkLoop } from './work-loop.ts';

/** How many deliveries of a lane are held in memory at once. */
const PREFETCH_SIZE = 32;

/** How many lanes are read at once. */
const QUEUES_PER_ITERATION = 64;

export type PrefetcherPorts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly mayGoOn: () => boolean;
  /** False while it is not said yet that a change of what signs a lane was heard (X8). */
  readonly mayReadSecrets: (queue: HookQueue) => boolean;
  readonly onRead: (queue: HookQueue) => void;
};

/** Reads what the next attempts of lanes need, some lanes at a time; what could not be read is read again. */
export class Prefetcher {
  readonly #ports: PrefetcherPorts;
  readonly #queues = new Set<HookQueue>();
  readonly #loop: WorkLoop;

  constructor(ports: PrefetcherPorts) {
    this.#ports = ports;
    this.#loop = new WorkLoop(ports, {
      hasWork: () => this.#queues.size > 0 && ports.mayGoOn(),
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
    const queues = firstOf(this.#queues, QUEUES_PER_ITERATION);
    for (const queue of queues) this.#queues.delete(queue);
    const read = await Promise.allSettled(queues.map((queue) => this.#read(queue)));
    const failed = read.find((one) => one.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  async #read(queue: HookQueue): Promise<void> {
    const { store, clock, mayReadSecrets, onRead } = this.#ports;
    try {
      await fill(store.read, queue, () => clock.now(), mayReadSecrets(queue));
    } catch (error) {
      this.#queues.add(queue);
      throw error;
    }
    onRead(queue);
  }
}

/** What signs the next attempts of a lane, what was asked for, what is pending. */
async function fill(read: Queries, queue: HookQueue, now: () => number, mayReadSecrets: boolean): Promise<void> {
  if (queue.ended) return;
  queue.isPrefetching = true;
  try {
    if (queue.secretsAreStale && mayReadSecrets) await fillSecrets(read, queue);
    if (queue.hasUnreadManual) await fillManual(read, queue);
    if (queue.isEmpty && queue.canDispatch(now())) await fillPending(read, queue);
  } finally {
    queue.isPrefetching = false;
  }
}

async function fillSecrets(read: Queries, queue: HookQueue): Promise<void> {
  // Before they are read: what changes meanwhile may not be what comes back.
  queue.secretsAreStale = false;
  queue.secrets = await findSecrets(read, queue.hookId).catch((error: unknown) => {
    queue.secretsAreStale = true;
    throw error;
  });
}

async function fillManual(read: Queries, queue: HookQueue): Promise<void> {
  // Before it is read: what is announced meanwhile may not be among what comes back.
  queue.hasUnreadManual = false;
  const rows = await findManualAttempts(read, queue.hookId, queue.manualReadPosition, PREFETCH_SIZE).catch(
    (error: unknown) => {
      queue.hasUnreadManual = true;
      throw error;
    },
  );
  queue.manualReadPosition = rows.at(-1)?.manualAttemptId ?? queue.manualReadPosition;
  if (rows.length === PREFETCH_SIZE) queue.hasUnreadManual = true;
  queue.addManual(rows);
}

async function fillPending(read: Queries, queue: HookQueue): Promise<void> {
  if (queue.retryToRead !== null) {
    const retry = await findPending(read, queue.hookId, queue.retryToRead);
    queue.retryToRead = null;
    if (retry !== undefined) queue.add([retry]);
  }
  if (!queue.hasUnread) return;
  queue.hasUnread = false;
  const rows = await nextPending(read, queue.hookId, queue.readPosition, PREFETCH_SIZE).catch((error: unknown) => {
    queue.hasUnread = true;
    throw error;
  });
  queue.addNext(rows, rows.length < PREFETCH_SIZE);
}
