import { splitIntoBatches } from '../../async/batches.ts';
import { FairSemaphore } from '../../async/fair-semaphore.ts';
import { PollLoop } from '../../async/poll-loop.ts';
import type { Clock } from '../../clock.ts';
import { Problem } from '../../problems.ts';
import type { CommitEvents, Store } from '../../store/store.ts';

/** Interval of the poll that finds new entries if a commit event was lost. */
const FEED_POLL_INTERVAL_MS = 1_000;
const ACCOUNTS_PER_QUERY = 500;

/**
 * Maximum number of concurrent reads of all waiters, so that the database has capacity for other requests when many
 * waiters wake up together.
 */
const MAX_CONCURRENT_READS = 8;

/** A request that waits for new feed entries of an account. */
export class FeedWaiter {
  readonly accountId: number;
  /** Feed position up to which the waiter has read. */
  lastReadPosition = 0;
  isSleeping = false;
  #isEnded = false;
  #isWoken = false;
  #resolveSleep: (() => void) | undefined;

  constructor(accountId: number) {
    this.accountId = accountId;
  }

  /** Whether the client has disconnected or the service is stopping. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  end(): void {
    this.#isEnded = true;
    this.wake();
  }

  /** Called when new entries may exist. */
  wake(): void {
    this.#isWoken = true;
    this.#resolveSleep?.();
  }

  /** Called before a read. A wake-up after this call means that the read may have missed new entries. */
  beginReading(): void {
    this.#isWoken = false;
  }

  /**
   * Waits at most `waitMs` for a wake-up, as a long poll or stream does. Does not wait if a wake-up has happened since
   * the last `beginReading`. Returns whether there was a wake-up.
   */
  async sleep(clock: Clock, waitMs: number): Promise<boolean> {
    if (this.#isWoken || this.#isEnded) return true;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#resolveSleep = resolve;
    this.isSleeping = true;
    const cancelTimeout = clock.after(waitMs, resolve);
    await promise;
    cancelTimeout();
    this.isSleeping = false;
    this.#resolveSleep = undefined;
    return this.#isWoken;
  }
}

type FeedWaitersDeps = { readonly store: Store; readonly clock: Clock; readonly maxWaiters: number };

/**
 * All requests that wait for feed entries (X2). A commit event wakes them immediately; a poll of all their
 * accounts once a second covers lost commit events. A waiter holds no database connection.
 */
export class FeedWaiters {
  readonly #store: Store;
  readonly #maxWaiters: number;
  readonly #waitersByAccount = new Map<number, Set<FeedWaiter>>();
  readonly #readSemaphore = new FairSemaphore<number>({ maxActive: MAX_CONCURRENT_READS });
  /** Runs while there are waiters. */
  readonly #pollLoop: PollLoop;
  #waiterCount = 0;
  #isStopped = false;

  constructor({ store, clock, maxWaiters }: FeedWaitersDeps) {
    this.#store = store;
    this.#maxWaiters = maxWaiters;
    this.#pollLoop = new PollLoop({
      clock,
      intervalMs: FEED_POLL_INTERVAL_MS,
      runTurn: () => this.#poll(),
      // The database is unavailable; the next poll retries.
      onTurnFailed: () => undefined,
    });
    store.onCommitted((commitEvents) => this.#onCommit(commitEvents));
  }

  get waiterCount(): number {
    return this.#waiterCount;
  }

  /**
   * Adds a waiter, which has to be removed with `removeWaiter`. Throws `overloaded` if there are already `maxWaiters`
   * waiters, or a quarter of this number for the account.
   */
  addWaiter(accountId: number): FeedWaiter {
    const accountWaiters = this.#waitersByAccount.get(accountId) ?? new Set();
    if (this.#waiterCount >= this.#maxWaiters || accountWaiters.size >= Math.ceil(this.#maxWaiters / 4))
      throw new Problem('overloaded');
    const waiter = new FeedWaiter(accountId);
    if (this.#isStopped) waiter.end();
    this.#waitersByAccount.set(accountId, accountWaiters.add(waiter));
    this.#waiterCount += 1;
    this.#pollLoop.start();
    return waiter;
  }

  removeWaiter(waiter: FeedWaiter): void {
    const accountWaiters = this.#waitersByAccount.get(waiter.accountId);
    if (accountWaiters?.delete(waiter) !== true) return;
    this.#waiterCount -= 1;
    if (accountWaiters.size === 0) this.#waitersByAccount.delete(waiter.accountId);
    if (this.#waiterCount === 0) void this.#pollLoop.stop();
  }

  /** Runs a read of this waiter within the concurrency limit. */
  runRead<T>(waiter: FeedWaiter, operation: () => Promise<T>): Promise<T> {
    return this.withReadPermit(waiter, () => {
      waiter.beginReading();
      return operation();
    });
  }

  /** Runs `operation` within the concurrency limit of reads. Accounts take turns. */
  async withReadPermit<T>({ accountId }: FeedWaiter, operation: () => Promise<T>): Promise<T> {
    const releasePermit = await this.#readSemaphore.acquire(accountId);
    try {
      return await operation();
    } finally {
      // Release the permit in the next event-loop iteration, so that other requests are processed in between.
      setImmediate(releasePermit);
    }
  }

  /** Ends all current and future waiters. */
  stop(): void {
    this.#isStopped = true;
    for (const waiter of this.#allWaiters()) waiter.end();
  }

  *#allWaiters(): Generator<FeedWaiter> {
    for (const waiters of this.#waitersByAccount.values()) yield* waiters;
  }

  #onCommit({ accountsWithOccurrences, hasAccessChanged }: CommitEvents): void {
    if (this.#waiterCount === 0) return;
    // Wake all waiters, because the permissions of any of them may have changed.
    if (hasAccessChanged) for (const waiter of this.#allWaiters()) waiter.wake();
    else
      for (const accountId of accountsWithOccurrences)
        for (const waiter of this.#waitersByAccount.get(accountId) ?? []) waiter.wake();
  }

  async #poll(): Promise<void> {
    const accountIds = [...this.#waitersByAccount]
      .filter(([, waiters]) => [...waiters].some((waiter) => waiter.isSleeping))
      .map(([accountId]) => accountId);
    for (const batch of splitIntoBatches(accountIds, ACCOUNTS_PER_QUERY)) await this.#pollAccounts(batch);
  }

  async #pollAccounts(accountIds: readonly number[]): Promise<void> {
    const rows = await this.#store.read
      .selectFrom('positions')
      .select(['account_id', 'position'])
      .where('account_id', 'in', accountIds)
      .execute();
    for (const { account_id, position } of rows) {
      for (const waiter of this.#waitersByAccount.get(account_id) ?? [])
        if (position > waiter.lastReadPosition) waiter.wake();
    }
  }
}
