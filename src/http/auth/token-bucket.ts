import type { Clock } from '../../clock.ts';
import type { Rate } from '../../durations.ts';

/** Names that are remembered at the most; then the longest untouched is forgotten, and begins anew. */
const MAX_BUCKETS = 50_000;

/** How full a bucket is. */
export type Level = {
  /** How many can be taken at this moment. */
  readonly left: number;
  /** Until one can be; 0 when it can be now. */
  readonly waitMs: number;
  /** Until it is full again. */
  readonly fullMs: number;
};

/**
 * Buckets of one size, a bucket for each name, filled steadily: a full one allows so many at once. Of each, only the
 * moment is kept at which it will be full (the generic cell rate algorithm). In the memory of this process alone.
 */
export class TokenBuckets<K> {
  readonly #clock: Clock;
  readonly #fullAt = new Map<K, number>();
  readonly #wholeMs: number;
  readonly #eachMs: number;

  constructor({ count, windowS }: Rate, clock: Clock) {
    this.#clock = clock;
    this.#wholeMs = windowS * 1_000;
    this.#eachMs = this.#wholeMs / count;
  }

  level(name: K): Level {
    const fullMs = Math.max(0, (this.#fullAt.get(name) ?? 0) - this.#clock.monotonic());
    // Sums of fractions miss a whole number by a hair.
    const left = Math.floor((this.#wholeMs - fullMs) / this.#eachMs + 1e-6);
    return { left: Math.max(0, left), waitMs: left >= 1 ? 0 : fullMs + this.#eachMs - this.#wholeMs, fullMs };
  }

  /** Takes one, be it there or not: then the next ones wait for longer, but never for more than `longestMs`. */
  take(name: K, longestMs = 0): void {
    const now = this.#clock.monotonic();
    const fullAt = Math.max(now, this.#fullAt.get(name) ?? 0) + this.#eachMs;
    this.#fullAt.delete(name);
    const [oldest] = this.#fullAt.keys();
    if (this.#fullAt.size >= MAX_BUCKETS && oldest !== undefined) this.#fullAt.delete(oldest);
    this.#fullAt.set(name, Math.min(fullAt, now + this.#wholeMs + longestMs));
  }
}
