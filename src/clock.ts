/**
 * The only source of time. The clock is injected, so that tests can run a whole service under a simulated clock.
 */
export type Clock = {
  /** Milliseconds since the Unix epoch, UTC. May jump when the machine's clock is set. */
  now(): number;
  /** Milliseconds since an arbitrary time; never decreases. For durations and deadlines. */
  monotonic(): number;
  /** Calls `callback` once, after `waitMs`. Returns a function that cancels the call. */
  after(waitMs: number, callback: () => void): () => void;
};

/** Resolves after `waitMs`; immediately if it is 0 or less. */
export function sleep(clock: Pick<Clock, 'after'>, waitMs: number): Promise<void> {
  return waitMs <= 0 ? Promise.resolve() : new Promise((resolve) => void clock.after(waitMs, resolve));
}

/** Maximum delay of a Node timer: a timer with a longer delay fires after 1 ms. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(waitMs, callback) {
    const timer = setTimeout(callback, Math.min(Math.max(waitMs, 0), MAX_TIMER_MS));
    return () => clearTimeout(timer);
  },
};
