import type { FastifyReply } from 'fastify';
import type { Clock } from '../../clock.ts';
import type { RequestRate } from '../../durations.ts';
import type { Caller } from '../../permissions.ts';
import { Problem } from '../../problems.ts';
import type { Route } from '../routes/route.ts';

export type RateBudget = 'reads' | 'writes';

/**
 * All rate limits: the name in headers and metrics, the budget that is limited, and the id by which calls are counted.
 */
const limitDefinitions = [
  { name: 'key-reads', budget: 'reads', of: (caller: CountedCaller) => caller.keyId },
  { name: 'key-writes', budget: 'writes', of: (caller: CountedCaller) => caller.keyId },
  { name: 'account-reads', budget: 'reads', of: (caller: CountedCaller) => caller.accountId },
  { name: 'account-writes', budget: 'writes', of: (caller: CountedCaller) => caller.accountId },
] as const;

/** The budget of a route. A long poll or a stream counts as one read, regardless of its duration. */
export function budgetOf({ mode }: Pick<Route, 'mode'>): RateBudget {
  return mode === 'read' || mode === 'follow' ? 'reads' : 'writes';
}

/**
 * The ids by which the calls of a caller are counted. `keyId` is 0 for callers without a key; their calls count only
 * for their account.
 */
type CountedCaller = Pick<Caller, 'accountId' | 'keyId'>;

export type LimitName = (typeof limitDefinitions)[number]['name'];

/** The configured rate of each limit; undefined means that there is no limit. */
export type ConfiguredRates = Readonly<Partial<Record<LimitName, RequestRate | undefined>>>;

/**
 * Rate limits per key and per account. Calls are counted after authentication, so that only the caller's own budget is
 * used; rejected calls are not counted.
 */
export class RateLimits {
  readonly #limits;
  readonly #onRefused: (limit: LimitName) => void;

  constructor({
    rates,
    clock,
    onRefused,
  }: { rates: ConfiguredRates; clock: Clock; onRefused: (limit: LimitName) => void }) {
    this.#onRefused = onRefused;
    this.#limits = limitDefinitions.flatMap((limit) => {
      const rate = rates[limit.name];
      if (rate === undefined) return [];
      const policy = `"${limit.name}";q=${rate.count};w=${rate.windowS}`;
      return [{ ...limit, policy, buckets: new TokenBuckets<number>(rate, clock) }];
    });
  }

  /** Whether any limit is configured for this budget. */
  counts(budget: RateBudget): boolean {
    return this.#limits.some((limit) => limit.budget === budget);
  }

  /**
   * Counts one call and sets the `RateLimit` headers of the IETF draft.
   *
   * @throws Problem `rate_limited` with the seconds until the next call is allowed
   */
  take(caller: CountedCaller, budget: RateBudget, reply: FastifyReply): void {
    if (this.#limits.length === 0) return;
    const own = this.#limits.filter((limit) => limit.budget === budget && limit.of(caller) !== 0);
    if (own.length === 0) return;
    const waitsMs = own.map((limit) => limit.buckets.levelOf(limit.of(caller)).waitMs);
    const longestMs = Math.max(...waitsMs);
    for (const [index, limit] of own.entries()) {
      if (longestMs === 0) limit.buckets.take(limit.of(caller));
      else if (waitsMs[index] !== 0) this.#onRefused(limit.name);
    }
    const levels = own.map((limit) => {
      const { left, fullMs } = limit.buckets.levelOf(limit.of(caller));
      return `"${limit.name}";r=${left};t=${Math.ceil(fullMs / 1_000)}`;
    });
    reply.header('ratelimit-policy', own.map(({ policy }) => policy).join(', '));
    reply.header('ratelimit', levels.join(', '));
    if (longestMs > 0) throw new Problem('rate_limited', { retryAfterS: Math.ceil(longestMs / 1_000) });
  }
}

/** Adds `rate_limited` to the problems of every route that a limit applies to. */
export function addRateLimitedProblem(routes: readonly Route[], limits: Pick<RateLimits, 'counts'>): readonly Route[] {
  return routes.map((route) =>
    limits.counts(budgetOf(route)) ? { ...route, problems: [...route.problems, 'rate_limited' as const] } : route,
  );
}

/**
 * Maximum number of token buckets. Beyond it, the least recently used bucket is evicted, so that the next call for its
 * id starts with a full bucket.
 */
const MAX_BUCKETS = 50_000;

export type BucketLevel = {
  /** Tokens available now. */
  readonly left: number;
  /** Time until a token is available; 0 if one is available now. */
  readonly waitMs: number;
  /** Time until the bucket is full. */
  readonly fullMs: number;
};

/**
 * Token buckets with the same rate, one for each id, in the memory of this process. A bucket is stored as the time at
 * which it will be full (generic cell rate algorithm).
 */
export class TokenBuckets<K> {
  readonly #clock: Clock;
  readonly #fullAt = new Map<K, number>();
  readonly #windowMs: number;
  readonly #msPerToken: number;

  constructor({ count, windowS }: RequestRate, clock: Clock) {
    this.#clock = clock;
    this.#windowMs = windowS * 1_000;
    this.#msPerToken = this.#windowMs / count;
  }

  levelOf(name: K): BucketLevel {
    const fullMs = Math.max(0, (this.#fullAt.get(name) ?? 0) - this.#clock.monotonic());
    // Add a small amount, because sums of fractions have rounding errors.
    const left = Math.floor((this.#windowMs - fullMs) / this.#msPerToken + 1e-6);
    return { left: Math.max(0, left), waitMs: left >= 1 ? 0 : fullMs + this.#msPerToken - this.#windowMs, fullMs };
  }

  /** Takes a token. An empty bucket goes into debt by at most `maxDebtMs`, which delays its next token. */
  take(name: K, maxDebtMs = 0): void {
    const now = this.#clock.monotonic();
    const fullAt = Math.max(now, this.#fullAt.get(name) ?? 0) + this.#msPerToken;
    this.#fullAt.delete(name);
    const [oldest] = this.#fullAt.keys();
    if (this.#fullAt.size >= MAX_BUCKETS && oldest !== undefined) this.#fullAt.delete(oldest);
    this.#fullAt.set(name, Math.min(fullAt, now + this.#windowMs + maxDebtMs));
  }
}
