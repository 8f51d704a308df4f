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

/** Calls `run` at an interval. Returns a function that ends the calls. */
export function startInterval(clock: Pick<Clock, 'after'>, intervalMs: number, run: () => void): () => void {
  let cancelTimer = clock.after(intervalMs, function tick() {
    cancelTimer = clock.after(intervalMs, tick);
    run();
  });
  return () => cancelTimer();
}

/**
 * Calls `expire` once after `waitMs`, but not before the event loop has polled its sockets once more. A timer that
 * fires late (the process was paused, or its event loop blocked) runs before the event loop reads the data that has
 * arrived in the meantime: without the poll, a response in the socket's buffer would lose against its own deadline.
 * Returns a function that cancels the deadline.
 */
export function startDeadline(clock: Clock, waitMs: number, expire: () => void): () => void {
  let isCancelled = false;
  const cancelTimer = clock.after(waitMs, () => {
    const expireUnlessCancelled = () => {
      if (!isCancelled) expire();
    };
    // Two immediates: if the first one is set during the poll phase, it runs without another poll in between.
    setImmediate(() => setImmediate(expireUnlessCancelled));
  });
  return () => {
    isCancelled = true;
    cancelTimer();
  };
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
