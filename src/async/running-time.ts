import { type Clock, startInterval } from '../clock.ts';

/**
 * Running time of this process, for deadlines of connections and requests, counted in ticks. If the process was paused
 * or the event loop was blocked, the next tick counts as at most two intervals, and `onTick` is called only after the
 * event loop has read the data that arrived in the meantime. So a pause of this process does not end any request.
 */
export class RunningTime {
  readonly #clock: Clock;
  readonly #tickIntervalMs: number;
  readonly #onTick: () => void;
  #runningMs = 0;
  #lastTickAt = 0;
  #cancelTick: (() => void) | undefined;

  constructor(clock: Clock, tickIntervalMs: number, onTick: () => void) {
    this.#clock = clock;
    this.#tickIntervalMs = tickIntervalMs;
    this.#onTick = onTick;
  }

  /** Running time up to the last tick, in milliseconds. */
  get runningMs(): number {
    return this.#runningMs;
  }

  /** Running time at the next tick, in milliseconds. Deadlines count from it, so that no deadline is reached early. */
  get runningMsAtNextTick(): number {
    return this.#runningMs + this.#tickIntervalMs;
  }

  start(): void {
    if (this.#cancelTick !== undefined) return;
    this.#lastTickAt = this.#clock.monotonic();
    this.#cancelTick = startInterval(this.#clock, this.#tickIntervalMs, () => this.#tick());
  }

  stop(): void {
    this.#cancelTick?.();
    this.#cancelTick = undefined;
  }

  #tick(): void {
    const now = this.#clock.monotonic();
    const elapsedMs = now - this.#lastTickAt;
    const maxElapsedMs = 2 * this.#tickIntervalMs;
    this.#lastTickAt = now;
    this.#runningMs += Math.min(elapsedMs, maxElapsedMs);
    if (elapsedMs <= maxElapsedMs) this.#onTick();
    // Two immediates, since the first one may run before the event loop has read its sockets.
    else setImmediate(() => setImmediate(() => this.#cancelTick !== undefined && this.#onTick()));
  }
}
