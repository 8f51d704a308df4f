import type { FastifyReply } from 'fastify';
import type { Clock } from '../../clock.ts';
import type { Rate } from '../../durations.ts';
import type { Caller } from '../../permissions.ts';
import { Problem } from '../../problems.ts';
import type { Route } from '../routes/route.ts';
import { TokenBuckets } from './token-bucket.ts';

export type Budget = 'reads' | 'writes';

/**
 * All rate limits: the name in headers and metrics, the budget that is limited, and the id that calls are
 * counted by.
 */
const limits = [
  { name: 'key-reads', budget: 'reads', of: (caller: Counted) => caller.keyId },
  { name: 'key-writes', budget: 'writes', of: (caller: Counted) => caller.keyId },
  { name: 'account-reads', budget: 'reads', of: (caller: Counted) => caller.accountId },
  { name: 'account-writes', budget: 'writes', of: (caller: Counted) => caller.accountId },
] as const;

/** The budget of a route. A long poll or a stream counts as one read, regardless of its duration. */
export function budgetOf({ mode }: Pick<Route, 'mode'>): Budget {
  return mode === 'read' || mode === 'follow' ? 'reads' : 'writes';
}

/** `keyId` is 0 for callers without a key; they count only for their account. */
type Counted = Pick<Caller, 'accountId' | 'keyId'>;

export type LimitName = (typeof limits)[number]['name'];

/** Configured rates; undefined is no limit. */
export type Rates = Readonly<Partial<Record<LimitName, Rate | undefined>>>;

/**
 * Rate limits per key and per account. Calls are counted after authentication, so that only the caller's own budget is
 * used; rejected calls are not counted.
 */
export class RateLimits {
  readonly #limits;
  readonly #onRefused: (limit: LimitName) => void;

  constructor({ rates, clock, onRefused }: { rates: Rates; clock: Clock; onRefused: (limit: LimitName) => void }) {
    this.#onRefused = onRefused;
    this.#limits = limits.flatMap((limit) => {
      const rate = rates[limit.name];
      if (rate === undefined) return [];
      const policy = `"${limit.name}";q=${rate.count};w=${rate.windowS}`;
      return [{ ...limit, policy, buckets: new TokenBuckets<number>(rate, clock) }];
    });
  }

  /** Whether any limit is configured for this budget. */
  counts(budget: Budget): boolean {
    return this.#limits.some((limit) => limit.budget === budget);
  }

  /**
   * Counts one call and sets the `RateLimit` headers of the IETF draft.
   *
   * @throws Problem `rate_limited` with the seconds until the next call is allowed
   */
  take(caller: Counted, budget: Budget, reply: FastifyReply): void {
    if (this.#limits.length === 0) return;
    const own = this.#limits.filter((limit) => limit.budget === budget && limit.of(caller) !== 0);
    if (own.length === 0) return;
    const waitsMs = own.map((limit) => limit.buckets.level(limit.of(caller)).waitMs);
    const longestMs = Math.max(...waitsMs);
    for (const [index, limit] of own.entries()) {
      if (longestMs === 0) limit.buckets.take(limit.of(caller));
      else if (waitsMs[index] !== 0) this.#onRefused(limit.name);
    }
    const levels = own.map((limit) => {
      const { left, fullMs } = limit.buckets.level(limit.of(caller));
      return `"${limit.name}";r=${left};t=${Math.ceil(fullMs / 1_000)}`;
    });
    reply.header('ratelimit-policy', own.map(({ policy }) => policy).join(', '));
    reply.header('ratelimit', levels.join(', '));
    if (longestMs > 0) throw new Problem('rate_limited', { retryAfterS: Math.ceil(longestMs / 1_000) });
  }
}

/** Adds `rate_limited` to the problems of every route that a limit applies to. */
export function limited(routes: readonly Route[], limits: Pick<RateLimits, 'counts'>): readonly Route[] {
  return routes.map((route) =>
    limits.counts(budgetOf(route)) ? { ...route, problems: [...route.problems, 'rate_limited' as const] } : route,
  );
}
