import { setTimeout as wait } from 'node:timers/promises';
import type { Receiver } from '../receiver.ts';

const POLL_INTERVAL_MS = 20;
const SILENT_MS = 500;

/** Backlog at which writers pause, in deliveries. A rate is sustainable if the backlog does not grow. */
export const MAX_BEHIND = 2_000;

/** Maximum time until the backlog is delivered after the last commit. */
const DRAIN_TIMEOUT_MS = 60_000;

/** The number of pending deliveries that were committed, and the number that was delivered. */
export type DeliveryCounts = { pending: number; told: number };

/** Commits pending deliveries and adds their number to `tally`, until `isOver` returns true. */
export type Committing = (tally: DeliveryCounts, isOver: () => boolean) => Promise<void>;

/**
 * Commits for `forMs` milliseconds, then waits until nothing is pending. Returns the number of deliveries, their
 * rate over the whole time including that wait, and the backlog at the end of committing.
 */
export async function deliveriesPerSecond(
  receiver: Receiver,
  forMs: number,
  commit: Committing,
): Promise<{ readonly perSecond: number; readonly behind: number; readonly told: number }> {
  const tally: DeliveryCounts = { pending: 0, told: 0 };
  const count = async () => {
    await wait(POLL_INTERVAL_MS);
    tally.told += arrivedIn(await receiver.report());
  };
  await receiver.report();
  const startedAt = performance.now();
  const isOver = () => performance.now() - startedAt > forMs;
  const committing = commit(tally, isOver);
  while (!isOver()) await count();
  const behind = tally.pending - tally.told;
  await committing;
  for (const deadline = performance.now() + DRAIN_TIMEOUT_MS; tally.told < tally.pending; await count()) {
    if (performance.now() > deadline) throw new Error(`of ${tally.pending} pending, ${tally.told} were delivered`);
  }
  const perSecond = tally.told / ((performance.now() - startedAt) / 1_000);
  return { perSecond, behind, told: tally.told };
}

/**
 * Resolves when the receiver has been idle for a while, so that the next contender runs without load from the
 * previous one.
 */
export async function untilIdle(receiver: Receiver): Promise<void> {
  do await wait(SILENT_MS);
  while (arrivedIn(await receiver.report()) > 0);
}

/**
 * Returns a loop of writers that commit as fast as notifications are delivered.
 *
 * @param write makes one commit for a writer, and returns the number of pending deliveries that the commit adds
 */
export function asFastAsDelivered(write: (writer: number) => Promise<number>, writers: number): Committing {
  return async (tally, isOver) => {
    const runWriter = async (_: unknown, writer: number) => {
      while (!isOver()) {
        if (tally.pending - tally.told > MAX_BEHIND) await wait(POLL_INTERVAL_MS);
        else add(tally, await write(writer));
      }
    };
    await Promise.all(Array.from({ length: writers }, runWriter));
  };
}

/**
 * Returns a loop of writers that commit in turn at a fixed rate, regardless of deliveries. The loop is slower if
 * the service cannot keep up.
 */
export function atPace(
  write: (writer: number) => Promise<number>,
  { perSecond, each, writers }: { readonly perSecond: number; readonly each: number; readonly writers: number },
): Committing {
  return async (tally, isOver) => {
    const startedAt = performance.now();
    const runWriter = async (_: unknown, writer: number) => {
      for (let index = writer; ; index += writers) {
        const dueInMs = () => startedAt + (index * each * 1_000) / perSecond - performance.now();
        while (dueInMs() > 0 && !isOver()) await wait(1);
        if (isOver()) return;
        add(tally, await write(writer));
      }
    };
    await Promise.all(Array.from({ length: writers }, runWriter));
  };
}

/**
 * Adds after the await of the caller. `tally.pending += await …` would read the old value before the await, and
 * lose concurrent updates.
 */
function add(tally: DeliveryCounts, pending: number): void {
  tally.pending += pending;
}

function arrivedIn({ counts }: Awaited<ReturnType<Receiver['report']>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
