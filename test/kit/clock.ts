import { setImmediate as nextIteration } from 'node:timers/promises';
import type { Clock } from '../../src/clock.ts';
import { type Random, systemRandom } from '../../src/secrets.ts';

/** A clock that only moves on request, for services whose timers are under test. Sockets are not affected. */
export type TestClock = Clock & {
  /** Advances by milliseconds and runs the timers that come due, in order, each at its due time. */
  advance(milliseconds: number): Promise<void>;
  /** Changes the wall clock. The monotonic clock and timers are not affected. */
  jump(milliseconds: number): void;
  /** The remaining times of the active timers in milliseconds, soonest first. */
  readonly remainingDelaysMs: readonly number[];
};

/** Start of a test clock: a Thursday in the past, so that a use of the real clock is noticed. */
export const TEST_CLOCK_START = Date.UTC(2025, 4, 1, 12);

type Timer = { readonly dueAt: number; readonly run: () => void };

/** Creates a clock that starts at `startTime` and stands still until it is advanced. */
export function createTestClock(startTime = TEST_CLOCK_START): TestClock {
  let now = startTime;
  let wallClockOffsetMs = 0;
  const timers = new Set<Timer>();
  const nextTimerBefore = (end: number) => {
    const dueTimers = [...timers].filter((timer) => timer.dueAt <= end);
    return dueTimers.reduce<Timer | undefined>(
      (first, one) => (first && first.dueAt <= one.dueAt ? first : one),
      undefined,
    );
  };
  return {
    now: () => now + wallClockOffsetMs,
    monotonic: () => now - startTime,
    after(waitMs, run) {
      const timer = { dueAt: now + Math.max(0, waitMs), run };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    async advance(milliseconds) {
      const end = now + milliseconds;
      for (let timer = nextTimerBefore(end); timer !== undefined; timer = nextTimerBefore(end)) {
        timers.delete(timer);
        now = Math.max(now, timer.dueAt);
        timer.run();
        // Wait for the callback: it may set another timer that is due within the same interval.
        await nextIteration();
      }
      now = end;
    },
    jump(milliseconds) {
      wallClockOffsetMs += milliseconds;
    },
    get remainingDelaysMs() {
      return [...timers].map((timer) => timer.dueAt - now).sort((a, b) => a - b);
    },
  };
}

/** Returns a random source with which each jitter is a fixed fraction of its maximum. Secrets stay random. */
export function fixedJitterRandom(fraction = 0): Random {
  return { ...systemRandom, fraction: () => fraction };
}

/** A clock that only moves on request, like the clock of a paused process or of a suspended machine. */
export type PausableClock = Clock & {
  /**
   * Moves the clock forward. Timers that came due run in order before this returns, so before any socket is
   * read, as in a process that continues after a pause.
   */
  pause(milliseconds: number): void;
  /** Moves the wall clock only, because the monotonic clock stops in a suspended machine. */
  suspend(milliseconds: number): void;
};

export function createPausableClock(): PausableClock {
  let monotonicMs = 0;
  let suspendedMs = 0;
  const timers = new Set<Timer>();
  return {
    now: () => TEST_CLOCK_START + monotonicMs + suspendedMs,
    monotonic: () => monotonicMs,
    after(waitMs, run) {
      const timer = { dueAt: monotonicMs + Math.max(0, waitMs), run };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    pause(milliseconds) {
      monotonicMs += milliseconds;
      const dueTimers = [...timers].filter(({ dueAt }) => dueAt <= monotonicMs);
      for (const timer of dueTimers.toSorted((one, other) => one.dueAt - other.dueAt)) {
        if (timers.delete(timer)) timer.run();
      }
    },
    suspend(milliseconds) {
      suspendedMs += milliseconds;
    },
  };
}
