import type { FastifyReply } from 'fastify';
import type { Clock } from '../../clock.ts';
import type { Rate } from '../../durations.ts';
import type { Caller } from '../../permissions.ts';
import { Problem } from '../../problems.ts';
import type { Route } from '../routes/route.ts';
import { TokenBuckets } from './token-bucket.ts';

/** What a call is counted as. */
export type Budget = 'reads' | 'writes';

/** The limits that there can be, by what they are called in headers and metrics: for whom, and of what. */
const limits = [
  { name: 'key-reads', budget: 'reads', of: (caller: Counted) => caller.keyId },
  { name: 'key-writes', budget: 'writes', of: (caller: Counted) => caller.keyId },
  { name: 'account-reads', budget: 'reads', of: (caller: Counted) => caller.accountId },
  { name: 'account-writes', budget: 'writes', of: (caller: Counted) => caller.accountId },
] as const;

/** Calls that wait for what happens, or have it streamed, are one read each, however long they last. */
export function budgetOf({ mode }: Pick<Route, 'mode'>): Budget {
  return mode === 'read' || mode === 'follow' ? 'reads' : 'writes';
}

/** Who is counted; `keyId` is 0 for whoever came without a key: those count for their account. */
type Counted = Pick<Caller, 'accountId' | 'keyId'>;

export type LimitName = (typeof limits)[number]['name'];

/** What the operator has set; undefined is no limit. */
export type Rates = Readonly<Partial<Record<LimitName, Rate | undefined>>>;

/**
 * How many calls of each key and each account are answered. Counted once it is known who calls, so that nobody uses up
 * what is another's; what is refused is not counted.
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

  /** Whether any limit counts such calls. */
  counts(budget: Budget): boolean {
    return this.#limits.some((limit) => limit.budget === budget);
  }

  /**
   * Counts one call, and says what is left in the fields that the IETF drafts for it.
   *
   * @throws Problem `rate_limited`, saying when there is room again
   */
  take(caller: Counted, budget: Budget, reply: FastifyReply): void {
    if (this.#limits.length === 0) return;
    const own = this.#limits.filter((limit) => limit.budget === budget && limit.of(caller) !== 0);
    if (own.length === 0) return;
    const waits = own.map((limit) => limit.buckets.level(limit.of(caller)).waitMs);
    const longestMs = Math.max(...waits);
    for (const [index, limit] of own.entries()) {
      if (longestMs === 0) limit.buckets.take(limit.of(caller));
      else if (waits[index] !== 0) this.#onRefused(limit.name);
    }
    const shown = own.map((limit) => {
      const { left, fullMs } = limit.buckets.level(limit.of(caller));
      return `"${limit.name}";r=${left};t=${Math.ceil(fullMs / 1_000)}`;
    });
    reply.header('ratelimit-policy', own.map(({ policy }) => policy).join(', '));
    reply.header('ratelimit', shown.join(', '));
    if (longestMs > 0) throw new Problem('rate_limited', { retryAfterS: Math.ceil(longestMs / 1_000) });
  }
}

/** The rows, each with what it can answer because of a limit. */
export function limited(rows: readonly Route[], limits: Pick<RateLimits, 'counts'>): readonly Route[] {
  return rows.map((row) =>
    limits.counts(budgetOf(row)) ? { ...row, problems: [...row.problems, 'rate_limited' as const] } : row,
  );
}
