import type { FastifyReply } from 'fastify';
import { BoundedMap } from '../../async/bounded-map.ts';
import type { Clock } from '../../clock.ts';
import type { RequestRate } from '../../durations.ts';
import type { Caller } from '../../permissions.ts';
import { Problem } from '../../problems.ts';
import type { Route } from '../routes/route.ts';

/** The two kinds of calls, which are counted and limited separately. */
export type RateBudget = 'reads' | 'writes';

/**
 * The rate limits. Each limit has a name (in headers and metrics), limits one budget, and counts calls by the id that
 * `countedIdOf` returns.
 */
const limitDefinitions = [
  { name: 'key-reads', budget: 'reads', countedIdOf: (caller: CountedCaller) => caller.keyId },
  { name: 'key-writes', budget: 'writes', countedIdOf: (caller: CountedCaller) => caller.keyId },
  { name: 'account-reads', budget: 'reads', countedIdOf: (caller: CountedCaller) => caller.accountId },
  { name: 'account-writes', budget: 'writes', countedIdOf: (caller: CountedCaller) => caller.accountId },
] as const;

/** Returns the budget that a call of the route uses. A long poll or a stream is one read, whatever its duration. */
export function budgetOf({ mode }: Pick<Route, 'mode'>): RateBudget {
  return mode === 'read' || mode === 'follow' ? 'reads' : 'writes';
}

/**
 * The ids by which the calls of a caller are counted. `keyId` is 0 for callers without a key; their calls count only
 * for their account.
 */
type CountedCaller = Pick<Caller, 'accountId' | 'keyId'>;

type LimitName = (typeof limitDefinitions)[number]['name'];

/** The configured rate of each limit; undefined means that there is no limit. */
type ConfiguredRates = Readonly<Partial<Record<LimitName, RequestRate | undefined>>>;

/**
 * Rate limits per key and per account. Calls are counted after authentication, so that a client without valid
 * credentials cannot use up the budget of a key or an account. Rejected calls are not counted.
 */
export class RateLimits {
  readonly #limits;
  readonly #onLimitExceeded: (limit: LimitName) => void;

  constructor({
    rates,
    clock,
    onLimitExceeded,
  }: { rates: ConfiguredRates; clock: Clock; onLimitExceeded: (limit: LimitName) => void }) {
    this.#onLimitExceeded = onLimitExceeded;
    this.#limits = limitDefinitions.flatMap((limit) => {
      const rate = rates[limit.name];
      if (rate === undefined) return [];
      const policyItem = `"${limit.name}";q=${rate.count};w=${rate.windowSeconds}`;
      return [{ ...limit, policy: policyItem, buckets: new TokenBuckets<number>(rate, clock) }];
    });
  }

  /** Whether any limit is configured for this budget. */
  isLimited(budget: RateBudget): boolean {
    return this.#limits.some((limit) => limit.budget === budget);
  }

  /**
   * Counts one call, or rejects it if a rate limit is exceeded. Sets the `RateLimit` headers of the IETF draft.
   *
   * @throws Problem `rate_limited` with the seconds until the next call is allowed
   */
  countCall(caller: CountedCaller, budget: RateBudget, reply: FastifyReply): void {
    if (this.#limits.length === 0) return;
    const appliedLimits = this.#limits.filter((limit) => limit.budget === budget && limit.countedIdOf(caller) !== 0);
    if (appliedLimits.length === 0) return;
    const waitsMs = appliedLimits.map((limit) => limit.buckets.levelOf(limit.countedIdOf(caller)).waitMs);
    const longestWaitMs = Math.max(...waitsMs);
    for (const [index, limit] of appliedLimits.entries()) {
      if (longestWaitMs === 0) limit.buckets.takeToken(limit.countedIdOf(caller));
      else if (waitsMs[index] !== 0) this.#onLimitExceeded(limit.name);
    }
    const rateLimitItems = appliedLimits.map((limit) => {
      const { availableTokens, untilFullMs } = limit.buckets.levelOf(limit.countedIdOf(caller));
      return `"${limit.name}";r=${availableTokens};t=${Math.ceil(untilFullMs / 1_000)}`;
    });
    reply.header('ratelimit-policy', appliedLimits.map(({ policy }) => policy).join(', '));
    reply.header('ratelimit', rateLimitItems.join(', '));
    if (longestWaitMs > 0) throw new Problem('rate_limited', { retryAfterS: Math.ceil(longestWaitMs / 1_000) });
  }
}

/** Adds `rate_limited` to the problems of every route that a limit applies to. */
export function addRateLimitedProblem(
  routes: readonly Route[],
  limits: Pick<RateLimits, 'isLimited'>,
): readonly Route[] {
  return routes.map((route) =>
    limits.isLimited(budgetOf(route)) ? { ...route, problems: [...route.problems, 'rate_limited' as const] } : route,
  );
}

/**
 * Maximum number of token buckets. At this number, the least recently used bucket is evicted; the next call for its id
 * starts with a full bucket.
 */
const MAX_BUCKETS = 50_000;

type BucketLevel = {
  /** Tokens available now. */
  readonly availableTokens: number;
  /** Time until a token is available; 0 if one is available now. */
  readonly waitMs: number;
  /** Time until the bucket is full. */
  readonly untilFullMs: number;
};

/**
 * Token buckets with the same rate, one for each id, in the memory of this process. A bucket is stored as the time at
 * which it will be full (generic cell rate algorithm).
 */
export class TokenBuckets<K> {
  readonly #clock: Clock;
  readonly #fullAtById = new BoundedMap<K, number>(MAX_BUCKETS);
  readonly #windowMs: number;
  readonly #msPerToken: number;

  constructor({ count, windowSeconds }: RequestRate, clock: Clock) {
    this.#clock = clock;
    this.#windowMs = windowSeconds * 1_000;
    this.#msPerToken = this.#windowMs / count;
  }

  levelOf(id: K): BucketLevel {
    const untilFullMs = Math.max(0, (this.#fullAtById.get(id) ?? 0) - this.#clock.monotonic());
    // The small addend compensates for rounding errors in sums of fractions.
    const remainingTokens = Math.floor((this.#windowMs - untilFullMs) / this.#msPerToken + 1e-6);
    return {
      availableTokens: Math.max(0, remainingTokens),
      waitMs: remainingTokens >= 1 ? 0 : untilFullMs + this.#msPerToken - this.#windowMs,
      untilFullMs,
    };
  }

  /** Takes a token. An empty bucket goes into debt by at most `maxDebtMs`, which delays its next token. */
  takeToken(id: K, maxDebtMs = 0): void {
    const now = this.#clock.monotonic();
    const fullAt = Math.max(now, this.#fullAtById.get(id) ?? 0) + this.#msPerToken;
    this.#fullAtById.set(id, Math.min(fullAt, now + this.#windowMs + maxDebtMs));
  }
}
