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
  readonly mayReadSecrets: (lane: HookQueue) => boolean;
  readonly onRead: (lane: HookQueue) => void;
};

/** Reads what the next attempts of lanes need, some lanes at a time; what could not be read is read again. */
export class Prefetcher {
  readonly #ports: PrefetcherPorts;
  readonly #lanes = new Set<HookQueue>();
  readonly #loop: WorkLoop;

  constructor(ports: PrefetcherPorts) {
    this.#ports = ports;
    this.#loop = new WorkLoop(ports, {
      hasWork: () => this.#lanes.size > 0 && ports.mayGoOn(),
      runOnce: () => this.#prefetchBatch(),
    });
  }

  add(lane: HookQueue): void {
    this.#lanes.add(lane);
    this.#loop.wake();
  }

  wake(): void {
    this.#loop.wake();
  }

  async #prefetchBatch(): Promise<void> {
    const lanes = firstOf(this.#lanes, QUEUES_PER_ITERATION);
    for (const lane of lanes) this.#lanes.delete(lane);
    const read = await Promise.allSettled(lanes.map((lane) => this.#read(lane)));
    const failed = read.find((one) => one.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  async #read(lane: HookQueue): Promise<void> {
    const { store, clock, mayReadSecrets, onRead } = this.#ports;
    try {
      await fill(store.read, lane, () => clock.now(), mayReadSecrets(lane));
    } catch (error) {
      this.#lanes.add(lane);
      throw error;
    }
    onRead(lane);
  }
}

/** What signs the next attempts of a lane, what was asked for, what is pending. */
async function fill(read: Queries, lane: HookQueue, now: () => number, mayReadSecrets: boolean): Promise<void> {
  if (lane.ended) return;
  lane.isPrefetching = true;
  try {
    if (lane.secretsAreStale && mayReadSecrets) await fillSecrets(read, lane);
    if (lane.hasUnreadManual) await fillManual(read, lane);
    if (lane.isEmpty && lane.canDispatch(now())) await fillPending(read, lane);
  } finally {
    lane.isPrefetching = false;
  }
}

async function fillSecrets(read: Queries, lane: HookQueue): Promise<void> {
  // Before they are read: what changes meanwhile may not be what comes back.
  lane.secretsAreStale = false;
  lane.secrets = await findSecrets(read, lane.hookId).catch((error: unknown) => {
    lane.secretsAreStale = true;
    throw error;
  });
}

async function fillManual(read: Queries, lane: HookQueue): Promise<void> {
  // Before it is read: what is announced meanwhile may not be among what comes back.
  lane.hasUnreadManual = false;
  const rows = await findManualAttempts(read, lane.hookId, lane.manualReadPosition, PREFETCH_SIZE).catch(
    (error: unknown) => {
      lane.hasUnreadManual = true;
      throw error;
    },
  );
  lane.manualReadPosition = rows.at(-1)?.manualAttemptId ?? lane.manualReadPosition;
  if (rows.length === PREFETCH_SIZE) lane.hasUnreadManual = true;
  lane.addManual(rows);
}

async function fillPending(read: Queries, lane: HookQueue): Promise<void> {
  if (lane.retryToRead !== null) {
    const retry = await findPending(read, lane.hookId, lane.retryToRead);
    lane.retryToRead = null;
    if (retry !== undefined) lane.add([retry]);
  }
  if (!lane.hasUnread) return;
  lane.hasUnread = false;
  const rows = await nextPending(read, lane.hookId, lane.readPosition, PREFETCH_SIZE).catch((error: unknown) => {
    lane.hasUnread = true;
    throw error;
  });
  lane.addNext(rows, rows.length < PREFETCH_SIZE);
}
