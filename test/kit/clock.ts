import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '../../src/clock.ts';
import { type Random, systemRandom } from '../../src/secrets.ts';

/** A clock that stands still until it is told to go on; for a service whose waits matter. HTTP runs on as ever. */
export type TestClock = Clock & {
  /** Goes on by so many milliseconds: calls what falls due on the way, in order, each at its own moment. */
  advance(milliseconds: number): Promise<void>;
  /** Somebody sets the clock on the wall; the monotonic one, and timers, know nothing of it. */
  jump(milliseconds: number): void;
  /** How far away the timers are that are set at this moment, in milliseconds, soonest first. */
  readonly pending: readonly number[];
};

/** A Thursday in the past, so that whoever asks the machine for the time instead is found out. */
export const TEST_EPOCH = Date.UTC(2025, 4, 1, 12);

type Timer = { readonly dueAt: number; readonly run: () => void };

export function testClock(epoch = TEST_EPOCH): TestClock {
  let now = epoch;
  let jumpedMs = 0;
  const timers = new Set<Timer>();
  const soonestBefore = (end: number) => {
    const due = [...timers].filter((timer) => timer.dueAt <= end);
    return due.reduce<Timer | undefined>((first, one) => (first && first.dueAt <= one.dueAt ? first : one), undefined);
  };
  return {
    now: () => now + jumpedMs,
    monotonic: () => now - epoch,
    after(waitMs, run) {
      const timer = { dueAt: now + Math.max(0, waitMs), run };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    async advance(milliseconds) {
      const end = now + milliseconds;
      for (let timer = soonestBefore(end); timer !== undefined; timer = soonestBefore(end)) {
        timers.delete(timer);
        now = Math.max(now, timer.dueAt);
        timer.run();
        // Whoever was called may set another timer in this same stretch of time.
        await turn();
      }
      now = end;
    },
    jump(milliseconds) {
      jumpedMs += milliseconds;
    },
    get pending() {
      return [...timers].map((timer) => timer.dueAt - now).sort((a, b) => a - b);
    },
  };
}

/** Chance that lengthens each wait by this fraction of its tenth; what must be secret stays so. */
export function steadyRandom(fraction = 0): Random {
  return { ...systemRandom, fraction: () => fraction };
}

/** The clock of a process that is paused, or of a machine that is suspended, at will; meanwhile it stands still. */
export type PausableClock = Clock & {
  /**
   * So much time passes at once. Timers that fell due meanwhile fire in order before this returns, so before anything that
   * has arrived is read: as in a process that continues.
   */
  pause(milliseconds: number): void;
  /** The same for the clock on the wall alone, since the other one stands still in a suspended machine. */
  suspend(milliseconds: number): void;
};

export function pausableClock(): PausableClock {
  let monotonic = 0;
  let suspendedMs = 0;
  const timers = new Set<Timer>();
  return {
    now: () => TEST_EPOCH + monotonic + suspendedMs,
    monotonic: () => monotonic,
    after(waitMs, run) {
      const timer = { dueAt: monotonic + Math.max(0, waitMs), run };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    pause(milliseconds) {
      monotonic += milliseconds;
      const due = [...timers].filter(({ dueAt }) => dueAt <= monotonic);
      for (const timer of due.toSorted((one, other) => one.dueAt - other.dueAt)) {
        if (timers.delete(timer)) timer.run();
      }
    },
    suspend(milliseconds) {
      suspendedMs += milliseconds;
    },
  };
}
