import { setTimeout as wait } from 'node:timers/promises';
import type { Receiver } from '../receiver.ts';

const POLL_INTERVAL_MS = 20;
const SILENT_MS = 500;

/** Writers pause at this backlog. The sustainable rate is the one at which the backlog stays flat. */
export const MAX_BEHIND = 2_000;

/** Timeout until the backlog is delivered. */
const DRAIN_TIMEOUT_MS = 60_000;

/** The numbers of committed and of delivered notifications. */
export type DeliveryCounts = { pending: number; told: number };

/** Commits until `isOver`, then resolves. */
export type Committing = (tally: DeliveryCounts, isOver: () => boolean) => Promise<void>;

/**
 * Commits for this time, then waits until nothing is pending. Returns the number of deliveries, their rate over
 * the whole time including the drain, and the backlog at the end of committing.
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
 * Resolves when the receiver has been idle for SILENT_MS, so that the next contender runs without load from the
 * last one.
 */
export async function untilIdle(receiver: Receiver): Promise<void> {
  do await wait(SILENT_MS);
  while (arrivedIn(await receiver.report()) > 0);
}

/**
 * Writers that commit as fast as notifications are delivered.
 *
 * @param write one commit of a writer; returns the number of pending deliveries that it adds
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

/** Writers that commit at a fixed rate in turn, regardless of deliveries; slower if the service cannot keep up. */
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
 * A separate function: `tally.pending += await …` would read the old value before the await and lose concurrent
 * updates.
 */
function add(tally: DeliveryCounts, pending: number): void {
  tally.pending += pending;
}

function arrivedIn({ counts }: Awaited<ReturnType<Receiver['report']>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
