import type { Clock } from '../../clock.ts';
import type { Rate } from '../../durations.ts';
import { TokenBuckets } from '../auth/token-bucket.ts';

/** Those that wait at once, at the most; more are answered at once, since each of them costs memory. */
const MAX_WAITING = 1_000;

export type TarpitPorts = {
  readonly clock: Clock;
  /** How many refusals are answered at once, and at what pace those beyond; undefined: nobody waits. */
  readonly rate: Rate | undefined;
  /** The longest that one waits: less than callers wait for an answer. */
  readonly maxDelayMs: number;
};

/**
 * Slows down whoever comes again and again although they are refused: so many are answered at once, and those beyond
 * wait. Only what is refused in any case ever waits.
 */
export class Tarpit<K> {
  readonly #ports: TarpitPorts;
  readonly #buckets: TokenBuckets<K> | undefined;
  readonly #waiting = new Set<() => void>();
  #isStopped = false;

  constructor(ports: TarpitPorts) {
    this.#ports = ports;
    this.#buckets = ports.rate === undefined ? undefined : new TokenBuckets(ports.rate, ports.clock);
  }

  /**
   * Resolves when a refusal is to be answered; undefined: now.
   *
   * @param onWait given what ends the waiting, to be called when nobody waits for the answer any more
   */
  delay(name: K, onWait: (end: () => void) => void): Promise<void> | undefined {
    const { clock, maxDelayMs } = this.#ports;
    if (this.#buckets === undefined) return undefined;
    const { waitMs } = this.#buckets.level(name);
    this.#buckets.take(name, maxDelayMs);
    if (this.#isStopped || waitMs === 0 || this.#waiting.size >= MAX_WAITING) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = clock.after(Math.min(waitMs, maxDelayMs), () => end());
    const end = () => {
      cancel();
      this.#waiting.delete(end);
      resolve();
    };
    this.#waiting.add(end);
    onWait(end);
    return promise;
  }

  /** Nobody waits any more, nor will. */
  stop(): void {
    this.#isStopped = true;
    for (const end of this.#waiting) end();
  }
}
