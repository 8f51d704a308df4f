import type { Clock } from '../../clock.ts';

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

/** Interval of the ticks, and resolution of the measurement: shorter than any pause that matters. */
const TICK_INTERVAL_MS = 250;

/** Measures the pauses of this process until `end` is called. */
export type PauseWatch = {
  /** Returns the longest pause so far, in milliseconds. The result may be too short by up to one tick. */
  getLongestPauseMs(): number;
  end(): void;
};

/**
 * Detects when this process is paused, starved of CPU or blocked (C19). One shared timer ticks while attempts are in
 * flight; a late tick shows how long nothing could run.
 */
export class PauseMonitor {
  readonly #clock: Clock;
  readonly #watches = new Set<{ longestPauseMs: number }>();
  #lastMonotonicMs = 0;
  #lastWallMs = 0;
  #cancelTick: () => void = () => undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  startWatch(): PauseWatch {
    if (this.#watches.size === 0) this.#startTicks();
    // Measure first, so that a pause before this moment counts for the older watches only.
    else this.#measurePause();
    const watch = { longestPauseMs: 0 };
    this.#watches.add(watch);
    return {
      getLongestPauseMs: () => {
        // Measure now: a deadline may fire before a tick that was due earlier.
        this.#measurePause();
        return watch.longestPauseMs;
      },
      end: () => {
        this.#watches.delete(watch);
        if (this.#watches.size === 0) this.#cancelTick();
      },
    };
  }

  #startTicks(): void {
    this.#lastMonotonicMs = this.#clock.monotonic();
    this.#lastWallMs = this.#clock.now();
    this.#scheduleTick();
  }

  #scheduleTick(): void {
    this.#cancelTick = this.#clock.after(TICK_INTERVAL_MS, () => {
      this.#measurePause();
      this.#scheduleTick();
    });
  }

  #measurePause(): void {
    const [monotonicNow, wallNow] = [this.#clock.monotonic(), this.#clock.now()];
    // The monotonic clock does not advance while the machine is suspended; the wall clock does.
    const gapMs = Math.max(monotonicNow - this.#lastMonotonicMs, wallNow - this.#lastWallMs);
    [this.#lastMonotonicMs, this.#lastWallMs] = [monotonicNow, wallNow];
    const pausedMs = gapMs - TICK_INTERVAL_MS;
    if (pausedMs <= 0) return;
    for (const watch of this.#watches) watch.longestPauseMs = Math.max(watch.longestPauseMs, pausedMs);
  }
}
