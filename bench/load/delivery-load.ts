import { setTimeout as wait } from 'node:timers/promises';
import type { Receiver } from '../receiver.ts';

const LOOK_MS = 20;
const SILENT_MS = 500;

/** No more is committed while so much is still to be told: the rate that lasts is the one at which the backlog is flat. */
export const MAX_BEHIND = 2_000;

/** What is still to be told is waited for so long. */
const DRAIN_TIMEOUT_MS = 60_000;

/** How many were pending and told so far. */
export type Tally = { pending: number; told: number };

/** Begins to commit, and goes on until it is over; resolves when nothing more is committed. */
export type Committing = (tally: Tally, isOver: () => boolean) => Promise<void>;

/**
 * Commits for so long, and waits until nothing is pending any more. How many were told in all, how many that is for each second
 * of both: who leaves much to the end is not better for it, and not worse. And how many were pending when nothing more was committed.
 */
export async function toldPerSecond(
  receiver: Receiver,
  forMs: number,
  commit: Committing,
): Promise<{ readonly perSecond: number; readonly behind: number; readonly told: number }> {
  const tally: Tally = { pending: 0, told: 0 };
  const count = async () => {
    await wait(LOOK_MS);
    tally.told += arrivedIn(await receiver.report());
  };
  await receiver.report();
  const begun = performance.now();
  const isOver = () => performance.now() - begun > forMs;
  const committing = commit(tally, isOver);
  while (!isOver()) await count();
  const behind = tally.pending - tally.told;
  await committing;
  for (const giveUpAt = performance.now() + DRAIN_TIMEOUT_MS; tally.told < tally.pending; await count()) {
    if (performance.now() > giveUpAt) throw new Error(`of ${tally.pending} pending, ${tally.told} were told`);
  }
  const perSecond = tally.told / ((performance.now() - begun) / 1_000);
  return { perSecond, behind, told: tally.told };
}

/** Resolves when the receiver has heard of nothing for so long: who told it does not work beside whoever is next. */
export async function untilSilent(receiver: Receiver): Promise<void> {
  do await wait(SILENT_MS);
  while (arrivedIn(await receiver.report()) > 0);
}

/**
 * Writers that commit as fast as it is told.
 *
 * @param write one commit of a writer; answers how many it has made pending
 */
export function asFastAsTold(write: (writer: number) => Promise<number>, writers: number): Committing {
  return async (tally, isOver) => {
    const keepWriting = async (_: unknown, writer: number) => {
      while (!isOver()) {
        if (tally.pending - tally.told > MAX_BEHIND) await wait(LOOK_MS);
        else add(tally, await write(writer));
      }
    };
    await Promise.all(Array.from({ length: writers }, keepWriting));
  };
}

/** Writers that commit so much a second in turn, whether it is told or not; less where they cannot. */
export function atPace(
  write: (writer: number) => Promise<number>,
  { perSecond, each, writers }: { readonly perSecond: number; readonly each: number; readonly writers: number },
): Committing {
  return async (tally, isOver) => {
    const begun = performance.now();
    const keepWriting = async (_: unknown, writer: number) => {
      for (let turn = writer; ; turn += writers) {
        const dueInMs = () => begun + (turn * each * 1_000) / perSecond - performance.now();
        while (dueInMs() > 0 && !isOver()) await wait(1);
        if (isOver()) return;
        add(tally, await write(writer));
      }
    };
    await Promise.all(Array.from({ length: writers }, keepWriting));
  };
}

/** Once it is known: `tally.pending += await …` would forget what others have added meanwhile. */
function add(tally: Tally, pending: number): void {
  tally.pending += pending;
}

function arrivedIn({ counts }: Awaited<ReturnType<Receiver['report']>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
