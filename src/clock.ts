/**
 * The only place that asks for the time. A service is handed its clock, so that a whole one can run under a
 * simulated clock in tests.
 */
export type Clock = {
  /** Milliseconds since the Unix epoch, UTC. May jump when the machine's clock is set. */
  now(): number;
  /** Milliseconds since some moment in the past; never goes back. For durations and deadlines. */
  monotonic(): number;
  /** Calls `run` once, `waitMs` from now. The answer cancels it. */
  after(waitMs: number, run: () => void): () => void;
};

/** Node cuts longer timers to 1 ms. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(waitMs, run) {
    const timer = setTimeout(run, Math.min(Math.max(waitMs, 0), MAX_TIMER_MS));
    return () => clearTimeout(timer);
  },
};
