import type { Clock } from '../clock.ts';

/**
 * Running time of this process, for deadlines of connections and requests, counted in ticks. If the process was paused
 * or the event loop was blocked, the next tick counts as at most two intervals, and `onTick` is called only after the
 * event loop has read the data that arrived in the meantime. So a pause of this process does not end any request.
 */
export class RunningTime {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #onTick: () => void;
  #ms = 0;
  #lastAt = 0;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, intervalMs: number, onTick: () => void) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#onTick = onTick;
  }

  /** Running time up to the last tick, in milliseconds. */
  get runningMs(): number {
    return this.#ms;
  }

  /** Running time at the next tick. Deadlines count from it, so that no deadline is reached early. */
  get nextTickMs(): number {
    return this.#ms + this.#intervalMs;
  }

  start(): void {
    if (this.#cancel !== undefined) return;
    this.#lastAt = this.#clock.monotonic();
    this.#schedule();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #schedule(): void {
    this.#cancel = this.#clock.after(this.#intervalMs, () => this.#tick());
  }

  #tick(): void {
    const now = this.#clock.monotonic();
    const elapsedMs = now - this.#lastAt;
    const maxMs = 2 * this.#intervalMs;
    this.#lastAt = now;
    this.#ms += Math.min(elapsedMs, maxMs);
    this.#schedule();
    if (elapsedMs <= maxMs) this.#onTick();
    // Two immediates, since the first one may run before the event loop has read its sockets.
    else setImmediate(() => setImmediate(() => this.#cancel !== undefined && this.#onTick()));
  }
}
