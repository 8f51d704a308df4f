import type { Clock } from '../../clock.ts';
import type { Rate } from '../../durations.ts';

/** Beyond this, the least recently used bucket is evicted, so that its next user starts with a full one. */
const MAX_BUCKETS = 50_000;

export type Level = {
  /** Tokens available now. */
  readonly left: number;
  /** Time until a token is available; 0 if one is available now. */
  readonly waitMs: number;
  /** Time until the bucket is full. */
  readonly fullMs: number;
};

/**
 * Token buckets of one rate, one for each name, in the memory of this process. Each is stored as the time at
 * which it will be full (generic cell rate algorithm).
 */
export class TokenBuckets<K> {
  readonly #clock: Clock;
  readonly #fullAt = new Map<K, number>();
  readonly #windowMs: number;
  readonly #intervalMs: number;

  constructor({ count, windowS }: Rate, clock: Clock) {
    this.#clock = clock;
    this.#windowMs = windowS * 1_000;
    this.#intervalMs = this.#windowMs / count;
  }

  level(name: K): Level {
    const fullMs = Math.max(0, (this.#fullAt.get(name) ?? 0) - this.#clock.monotonic());
    // Compensates rounding errors of sums of fractions.
    const left = Math.floor((this.#windowMs - fullMs) / this.#intervalMs + 1e-6);
    return { left: Math.max(0, left), waitMs: left >= 1 ? 0 : fullMs + this.#intervalMs - this.#windowMs, fullMs };
  }

  /** Takes a token. An empty bucket goes into debt, limited so that the next token is available after `maxDebtMs`. */
  take(name: K, maxDebtMs = 0): void {
    const now = this.#clock.monotonic();
    const fullAt = Math.max(now, this.#fullAt.get(name) ?? 0) + this.#intervalMs;
    this.#fullAt.delete(name);
    const [oldest] = this.#fullAt.keys();
    if (this.#fullAt.size >= MAX_BUCKETS && oldest !== undefined) this.#fullAt.delete(oldest);
    this.#fullAt.set(name, Math.min(fullAt, now + this.#windowMs + maxDebtMs));
  }
}
