import type { Clock } from '../../clock.ts';

export type StartRatePorts = {
  readonly clock: Clock;
  /** Maximum number of starts per interval of `everyMs`. */
  readonly maxStarts: number;
  readonly everyMs: number;
  /** Called when the next interval begins, with all permits renewed. */
  readonly onPermitsRenewed: () => void;
};

/** Rate limiter for the starts of attempts (fixed window): spreads bursts over time, but delays no single start. */
export class StartRateLimiter {
  readonly #ports: StartRatePorts;
  #permitsLeft: number;
  #isTimerRunning = false;

  constructor(ports: StartRatePorts) {
    this.#ports = ports;
    this.#permitsLeft = ports.maxStarts;
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
    this.#ports.clock.after(this.#ports.everyMs, () => {
      this.#isTimerRunning = false;
      this.#permitsLeft = this.#ports.maxStarts;
      this.#ports.onPermitsRenewed();
    });
  }

  /** Returns a permit that was taken but not used. */
  returnPermit(): void {
    this.#permitsLeft = Math.min(this.#permitsLeft + 1, this.#ports.maxStarts);
  }
}
