import type { Clock } from '../clock.ts';

/**
 * Time for deadlines of connections and requests, counted in ticks. When the process stood still, or the event loop was
 * blocked, the tick that follows counts as two intervals at most, and deadlines are judged only after the event loop has
 * read the data that arrived meanwhile: a pause of ours ends no caller.
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

  /** Milliseconds that have passed while it ran, up to its last tick. */
  get ms(): number {
    return this.#ms;
  }

  /** The start of what begins now: the next tick, so that no deadline comes early. */
  get nextMs(): number {
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
    // Two turns, since the first one may begin without a look at the sockets.
    else setImmediate(() => setImmediate(() => this.#cancel !== undefined && this.#onTick()));
  }
}
