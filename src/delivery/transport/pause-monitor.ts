import { type Clock, startInterval } from '../../clock.ts';

/** Interval of the ticks, and resolution of the measurement: shorter than any pause that matters. */
const TICK_INTERVAL_MS = 250;

/** Measures the pauses of this process until `end` is called. */
type PauseWatch = {
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
    this.#cancelTick = startInterval(this.#clock, TICK_INTERVAL_MS, () => this.#measurePause());
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
