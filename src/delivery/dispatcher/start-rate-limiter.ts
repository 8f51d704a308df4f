import type { Clock } from '../../clock.ts';

export type StartRateLimiterDeps = {
  readonly clock: Clock;
  /** Maximum number of starts per interval of `intervalMs`. */
  readonly maxStarts: number;
  readonly intervalMs: number;
  /** Called when the next interval begins, with all permits renewed. */
  readonly onPermitsRenewed: () => void;
};

/** Rate limiter for the starts of attempts (fixed window): spreads bursts over time, but delays no single start. */
export class StartRateLimiter {
  readonly #deps: StartRateLimiterDeps;
  #permitsLeft: number;
  #isTimerRunning = false;

  constructor(deps: StartRateLimiterDeps) {
    this.#deps = deps;
    this.#permitsLeft = deps.maxStarts;
  }

  /** Whether a permit is left in this interval. */
  get hasPermitLeft(): boolean {
    return this.#permitsLeft > 0;
  }

  /** Takes a permit. The first permit of an interval starts the timer that renews all permits. */
  takePermit(): void {
    this.#permitsLeft -= 1;
    if (this.#isTimerRunning) return;
    this.#isTimerRunning = true;
    this.#deps.clock.after(this.#deps.intervalMs, () => {
      this.#isTimerRunning = false;
      this.#permitsLeft = this.#deps.maxStarts;
      this.#deps.onPermitsRenewed();
    });
  }

  /** Returns a permit that was taken but not used. */
  returnPermit(): void {
    this.#permitsLeft = Math.min(this.#permitsLeft + 1, this.#deps.maxStarts);
  }
}
