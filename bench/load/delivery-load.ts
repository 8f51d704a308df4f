import { setTimeout as wait } from 'node:timers/promises';
import type { Receiver } from '../receiver.ts';

const POLL_INTERVAL_MS = 20;
const IDLE_AFTER_MS = 500;

/** Backlog at which writers pause, in deliveries. A rate is sustainable if the backlog does not grow. */
export const MAX_BACKLOG = 2_000;

/** Maximum time until the backlog is delivered after the last commit. */
const DRAIN_TIMEOUT_MS = 60_000;

/** The number of pending deliveries that were committed, and the number that was delivered. */
export type DeliveryCounts = { pending: number; delivered: number };

/** Commits pending deliveries and adds their number to `tally`, until `isOver` returns true. */
export type CommitLoop = (tally: DeliveryCounts, isOver: () => boolean) => Promise<void>;

/**
 * Commits for `forMs` milliseconds, then waits until nothing is pending. Returns the number of deliveries, their
 * rate over the whole time including that wait, and the backlog at the end of committing.
 */
export async function measureDeliveryRate(
  receiver: Receiver,
  forMs: number,
  commit: CommitLoop,
): Promise<{ readonly perSecond: number; readonly backlog: number; readonly delivered: number }> {
  const tally: DeliveryCounts = { pending: 0, delivered: 0 };
  const countDelivered = async () => {
    await wait(POLL_INTERVAL_MS);
    tally.delivered += countArrivals(await receiver.report());
  };
  await receiver.report();
  const startedAt = performance.now();
  const isOver = () => performance.now() - startedAt > forMs;
  const committing = commit(tally, isOver);
  while (!isOver()) await countDelivered();
  const backlog = tally.pending - tally.delivered;
  await committing;
  for (const deadline = performance.now() + DRAIN_TIMEOUT_MS; tally.delivered < tally.pending; await countDelivered()) {
    if (performance.now() > deadline) throw new Error(`of ${tally.pending} pending, ${tally.delivered} were delivered`);
  }
  const perSecond = tally.delivered / ((performance.now() - startedAt) / 1_000);
  return { perSecond, backlog, delivered: tally.delivered };
}

/**
 * Resolves when the receiver has been idle for a while, so that the next contender runs without load from the
 * previous one.
 */
export async function untilIdle(receiver: Receiver): Promise<void> {
  do await wait(IDLE_AFTER_MS);
  while (countArrivals(await receiver.report()) > 0);
}

/**
 * Returns a loop of writers that commit as fast as notifications are delivered.
 *
 * @param write makes one commit for a writer, and returns the number of pending deliveries that the commit adds
 */
export function commitAsFastAsDelivered(write: (writer: number) => Promise<number>, writers: number): CommitLoop {
  return async (tally, isOver) => {
    const runWriter = async (_: unknown, writer: number) => {
      while (!isOver()) {
        if (tally.pending - tally.delivered > MAX_BACKLOG) await wait(POLL_INTERVAL_MS);
        else addPending(tally, await write(writer));
      }
    };
    await Promise.all(Array.from({ length: writers }, runWriter));
  };
}

/**
 * Returns a loop of writers that commit in turn at a fixed rate, regardless of deliveries. The loop is slower if
 * the service cannot keep up.
 */
export function commitAtRate(
  write: (writer: number) => Promise<number>,
  { perSecond, each, writers }: { readonly perSecond: number; readonly each: number; readonly writers: number },
): CommitLoop {
  return async (tally, isOver) => {
    const startedAt = performance.now();
    const runWriter = async (_: unknown, writer: number) => {
      for (let index = writer; ; index += writers) {
        const dueInMs = () => startedAt + (index * each * 1_000) / perSecond - performance.now();
        while (dueInMs() > 0 && !isOver()) await wait(1);
        if (isOver()) return;
        addPending(tally, await write(writer));
      }
    };
    await Promise.all(Array.from({ length: writers }, runWriter));
  };
}

/**
 * Adds after the await of the caller. `tally.pending += await …` would read the old value before the await, and
 * lose concurrent updates.
 */
function addPending(tally: DeliveryCounts, pending: number): void {
  tally.pending += pending;
}

function countArrivals({ counts }: Awaited<ReturnType<Receiver['report']>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
