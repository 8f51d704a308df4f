import type { Clock } from '../../clock.ts';
import type { RequestRate } from '../../durations.ts';
import { TokenBuckets } from '../auth/rate-limits.ts';

/**
 * Maximum number of concurrently delayed responses. Further responses are sent without delay, because each delayed one
 * occupies memory.
 */
const MAX_DELAYED = 1_000;

export type TarpitPorts = {
  readonly clock: Clock;
  /** Rate of rejections per id up to which they are sent without delay; undefined disables delays. */
  readonly rate: RequestRate | undefined;
  /** Maximum delay; shorter than the request timeout of clients. */
  readonly maxDelayMs: number;
};

/**
 * Slows down clients that repeat rejected requests: rejections beyond a rate are delayed. Successful requests are never
 * delayed.
 */
export class Tarpit<K> {
  readonly #ports: TarpitPorts;
  readonly #buckets: TokenBuckets<K> | undefined;
  readonly #delayed = new Set<() => void>();
  #isStopped = false;

  constructor(ports: TarpitPorts) {
    this.#ports = ports;
    this.#buckets = ports.rate === undefined ? undefined : new TokenBuckets(ports.rate, ports.clock);
  }

  /**
   * Delays a rejection. Resolves when the rejection may be sent; undefined if it may be sent immediately.
   *
   * @param onWait receives a function that ends the delay, to be called when the client disconnects
   */
  delay(id: K, onWait: (end: () => void) => void): Promise<void> | undefined {
    const { clock, maxDelayMs } = this.#ports;
    if (this.#buckets === undefined) return undefined;
    const { waitMs } = this.#buckets.levelOf(id);
    this.#buckets.take(id, maxDelayMs);
    if (this.#isStopped || waitMs === 0 || this.#delayed.size >= MAX_DELAYED) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = clock.after(Math.min(waitMs, maxDelayMs), () => end());
    const end = () => {
      cancel();
      this.#delayed.delete(end);
      resolve();
    };
    this.#delayed.add(end);
    onWait(end);
    return promise;
  }

  /** Ends all delays. Later rejections are not delayed. */
  stop(): void {
    this.#isStopped = true;
    for (const end of this.#delayed) end();
  }
}
