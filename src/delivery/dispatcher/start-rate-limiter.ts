import type { Clock } from '../../clock.ts';

export type StartRatePorts = {
  readonly clock: Clock;
  /** So many may begin at once, and as many again after each such while. */
  readonly most: number;
  readonly everyMs: number;
  /** Told when more may begin. */
  readonly onMore: () => void;
};

/** Spreads what would begin in a burst over time; what begins now and then does so at once. */
export class StartRateLimiter {
  readonly #ports: StartRatePorts;
  #left: number;
  #isWaiting = false;

  constructor(ports: StartRatePorts) {
    this.#ports = ports;
    this.#left = ports.most;
  }

  /** Whether one more may begin now. */
  get isLeft(): boolean {
    return this.#left > 0;
  }

  /** One begins. */
  take(): void {
    this.#left -= 1;
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    this.#ports.clock.after(this.#ports.everyMs, () => {
      this.#isWaiting = false;
      this.#left = this.#ports.most;
      this.#ports.onMore();
    });
  }

  /** One that was taken has not begun. */
  giveBack(): void {
    this.#left = Math.min(this.#left + 1, this.#ports.most);
  }
}
