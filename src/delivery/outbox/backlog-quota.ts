import { sql } from 'kysely';
import { BoundedMap } from '../../async/bounded-map.ts';
import { SingleFlight } from '../../async/single-flight.ts';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { Store } from '../../store/store.ts';

/** Minimum lifetime of a cached result of the quota check. */
const MIN_CACHE_TTL_MS = 1_000;
/**
 * A result is cached for at least this multiple of the time that its count took, so that counting takes at most 1 % of
 * the time.
 */
const CACHE_TTL_PER_COUNT_DURATION = 100;

/** Maximum number of accounts in the LRU cache. */
const MAX_CACHED_ACCOUNTS = 10_000;

type BacklogQuotaDeps = {
  readonly store: Pick<Store, 'read'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Maximum number of pending deliveries for the live hooks of one account; undefined: no limit. */
  readonly maxPending: number | undefined;
};

/**
 * Quota of pending deliveries per account, checked by every write. To check it, all pending deliveries of the account
 * have to be counted, so the result is cached: for a second, or longer if counting is slow (100 times the time it took).
 * Meanwhile an account can exceed its quota.
 */
export class BacklogQuota {
  readonly #deps: BacklogQuotaDeps;
  readonly #resultsByAccount = new BoundedMap<number, { readonly isFull: boolean; readonly expiresAt: number }>(
    MAX_CACHED_ACCOUNTS,
  );
  /** The running counts, by account. Concurrent writes wait for the same count. */
  readonly #counts = new SingleFlight<number, boolean>();

  constructor(deps: BacklogQuotaDeps) {
    this.#deps = deps;
  }

  /** Whether the account has reached its quota; a promise only if the result is not cached. */
  isFull(accountId: number): boolean | Promise<boolean> {
    const { maxPending, clock } = this.#deps;
    if (maxPending === undefined) return false;
    const cachedResult = this.#resultsByAccount.get(accountId);
    if (cachedResult !== undefined && clock.monotonic() < cachedResult.expiresAt) return cachedResult.isFull;
    return this.#counts.run(accountId, () => this.#computeIsFull(accountId, maxPending));
  }

  async #computeIsFull(accountId: number, maxPending: number): Promise<boolean> {
    const { store, clock, log } = this.#deps;
    const beganAt = clock.monotonic();
    // A failed count rejects no write (fail open).
    const isFull = await hasMorePendingThan(store, accountId, maxPending).catch((err: unknown) => {
      log.error({ event: 'backlog.count_failed', err });
      return false;
    });
    const now = clock.monotonic();
    const ttlMs = Math.max(MIN_CACHE_TTL_MS, (now - beganAt) * CACHE_TTL_PER_COUNT_DURATION);
    this.#resultsByAccount.set(accountId, { isFull, expiresAt: now + ttlMs });
    return isFull;
  }
}

/** Whether more than `maxPending` deliveries of live hooks are pending. Stops counting at `maxPending + 1`. */
async function hasMorePendingThan(
  { read }: Pick<Store, 'read'>,
  accountId: number,
  maxPending: number,
): Promise<boolean> {
  const pendingQuery = read
    .selectFrom('hooks')
    .innerJoin('pending_deliveries', 'pending_deliveries.hook_id', 'hooks.hook_id')
    .where('hooks.account_id', '=', accountId)
    .where('hooks.date_ended', 'is', null)
    .select('pending_deliveries.delivery_id')
    .limit(maxPending + 1);
  const { count } = await read
    .selectFrom(pendingQuery.as('some'))
    .select(sql<number>`count(*)`.as('count'))
    .executeTakeFirstOrThrow();
  return count > maxPending;
}
