import type { Clock } from '../clock.ts';
import type { Rate } from '../durations.ts';
import { Buckets } from './buckets.ts';
import { networkOf } from './network.ts';

/** The longest that a wrong key waits for its answer: less than callers wait for theirs. */
const LONGEST_WAIT_MS = 10_000;

/** Those that wait at once, at the most; more are answered at once, since each of them costs memory. */
const MOST_WAITING = 1_000;

/**
 * Slows down whoever shows wrong keys, by where they come from: after so many, their answers come at the pace of the
 * rate. Only a key that was found to be wrong waits, so that a good one never does, wherever it comes from.
 */
export class Strangers {
  readonly #clock: Clock;
  readonly #buckets: Buckets<string> | undefined;
  readonly #waiting = new Set<() => void>();

  /** @param rate undefined: nobody waits */
  constructor(rate: Rate | undefined, clock: Clock) {
    this.#clock = clock;
    this.#buckets = rate === undefined ? undefined : new Buckets(rate, clock);
  }

  /**
   * Resolves when a wrong key from there is to be answered; undefined: now.
   *
   * @param onGone told what ends the waiting, to be called when nobody waits for the answer any more
   */
  hold(source: string, onGone: (end: () => void) => void): Promise<void> | undefined {
    if (this.#buckets === undefined) return undefined;
    const network = networkOf(source);
    const { waitMs } = this.#buckets.level(network);
    this.#buckets.take(network, LONGEST_WAIT_MS);
    if (waitMs === 0 || this.#waiting.size >= MOST_WAITING) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#clock.after(Math.min(waitMs, LONGEST_WAIT_MS), () => end());
    const end = () => {
      cancel();
      this.#waiting.delete(end);
      resolve();
    };
    this.#waiting.add(end);
    onGone(end);
    return promise;
  }

  /** Nobody waits any more. */
  stop(): void {
    for (const end of this.#waiting) end();
  }
}
