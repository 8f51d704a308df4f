import type { Clock } from '../../clock.ts';

/** Shorter than any pause that matters, and one timer for all attempts together. */
const TICK_INTERVAL_MS = 250;

/** Measures the pauses of this process from its creation until `end`. */
export type PauseWatch = {
  /** The longest one up to now, milliseconds; too short by up to one tick. */
  longestMs(): number;
  end(): void;
};

/**
 * Notices when this process stands still: paused, starved or blocked. A timer ticks while somebody watches, and a tick that
 * comes late tells for how long nothing else can have run either.
 */
export class PauseMonitor {
  readonly #clock: Clock;
  readonly #watches = new Set<{ longestMs: number }>();
  #monotonic = 0;
  #wall = 0;
  #cancelTick: () => void = () => undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  watch(): PauseWatch {
    if (this.#watches.size === 0) this.#begin();
    // A pause up to this moment is no pause of the new watch.
    else this.#observe();
    const watch = { longestMs: 0 };
    this.#watches.add(watch);
    return {
      longestMs: () => {
        // A deadline may fire before the tick that was due ahead of it.
        this.#observe();
        return watch.longestMs;
      },
      end: () => {
        this.#watches.delete(watch);
        if (this.#watches.size === 0) this.#cancelTick();
      },
    };
  }

  #begin(): void {
    this.#monotonic = this.#clock.monotonic();
    this.#wall = this.#clock.now();
    this.#scheduleTick();
  }

  #scheduleTick(): void {
    this.#cancelTick = this.#clock.after(TICK_INTERVAL_MS, () => {
      this.#observe();
      this.#scheduleTick();
    });
  }

  #observe(): void {
    const [monotonic, wall] = [this.#clock.monotonic(), this.#clock.now()];
    // The monotonic clock stands still while the machine is suspended; the clock on the wall does not.
    const gapMs = Math.max(monotonic - this.#monotonic, wall - this.#wall);
    [this.#monotonic, this.#wall] = [monotonic, wall];
    const pausedMs = gapMs - TICK_INTERVAL_MS;
    if (pausedMs <= 0) return;
    for (const watch of this.#watches) watch.longestMs = Math.max(watch.longestMs, pausedMs);
  }
}
