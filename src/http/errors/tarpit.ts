import type { Clock } from '../../clock.ts';
import type { RequestRate } from '../../durations.ts';
import { TokenBuckets } from '../auth/rate-limits.ts';

/**
 * Maximum number of concurrently delayed responses. Further responses are sent without delay, because each delayed one
 * occupies memory.
 */
const MAX_DELAYED_RESPONSES = 1_000;

type TarpitDeps = {
  readonly clock: Clock;
  /** Rate of rejections per id above which they are delayed; undefined disables delays. */
  readonly rate: RequestRate | undefined;
  /** Maximum delay. It has to be shorter than the request timeout of clients. */
  readonly maxDelayMs: number;
};

/**
 * Slows down clients that repeat rejected requests: rejections beyond a rate are delayed. Successful requests are never
 * delayed.
 */
export class Tarpit<K> {
  readonly #deps: TarpitDeps;
  readonly #buckets: TokenBuckets<K> | undefined;
  readonly #activeDelays = new Set<() => void>();
  #isStopped = false;

  constructor(deps: TarpitDeps) {
    this.#deps = deps;
    this.#buckets = deps.rate === undefined ? undefined : new TokenBuckets(deps.rate, deps.clock);
  }

  /**
   * Delays a rejection. Resolves when the rejection may be sent; returns undefined if it may be sent immediately.
   *
   * @param onWait receives a function that ends the delay, to be called when the client disconnects
   */
  delay(id: K, onWait: (endDelay: () => void) => void): Promise<void> | undefined {
    const { clock, maxDelayMs } = this.#deps;
    if (this.#buckets === undefined) return undefined;
    const { waitMs } = this.#buckets.levelOf(id);
    this.#buckets.takeToken(id, maxDelayMs);
    if (this.#isStopped || waitMs === 0 || this.#activeDelays.size >= MAX_DELAYED_RESPONSES) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancelTimer = clock.after(Math.min(waitMs, maxDelayMs), () => endDelay());
    const endDelay = () => {
      cancelTimer();
      this.#activeDelays.delete(endDelay);
      resolve();
    };
    this.#activeDelays.add(endDelay);
    onWait(endDelay);
    return promise;
  }

  /** Ends all delays. Later rejections are not delayed. */
  stop(): void {
    this.#isStopped = true;
    for (const endDelay of this.#activeDelays) endDelay();
  }
}
