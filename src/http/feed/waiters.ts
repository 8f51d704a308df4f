import type { Clock } from '../../clock.ts';
import { Problem } from '../../problems.ts';
import type { CommitEvents, Store } from '../../store/store.ts';

/** Interval of the poll for commits whose notification was lost. */
const POLL_INTERVAL_MS = 1_000;
const ACCOUNTS_PER_QUERY = 500;

/**
 * Maximum number of concurrent reads of all waiters, so that the database has capacity for other requests when many
 * waiters wake up together.
 */
const READ_CONCURRENCY = 8;

/** A request that waits for new feed entries of an account. */
export class FeedWaiter {
  readonly accountId: number;
  /** Feed position up to which the waiter has read. */
  position = 0;
  isWaiting = false;
  #isOver = false;
  #isWoken = false;
  #wake: (() => void) | undefined;

  constructor(accountId: number) {
    this.accountId = accountId;
  }

  /** Whether the client has disconnected or the service is stopping. */
  get isOver(): boolean {
    return this.#isOver;
  }

  end(): void {
    this.#isOver = true;
    this.wake();
  }

  /** Called when new entries may exist. */
  wake(): void {
    this.#isWoken = true;
    this.#wake?.();
  }

  /** Called before a read: a wake-up from now on causes another read. */
  beginReading(): void {
    this.#isWoken = false;
  }

  /**
   * Waits up to `waitMs` for a wake-up; one since the last `beginReading` counts. Returns whether there was a wake-up.
   */
  async sleep(clock: Clock, waitMs: number): Promise<boolean> {
    if (this.#isWoken || this.#isOver) return true;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    this.isWaiting = true;
    const cancel = clock.after(waitMs, resolve);
    await promise;
    cancel();
    this.isWaiting = false;
    this.#wake = undefined;
    return this.#isWoken;
  }
}

type FeedWaitersPorts = { readonly store: Store; readonly clock: Clock; readonly maxWaiters: number };

/**
 * All requests that wait for feed entries (X2). A commit event wakes them immediately; a poll of all their
 * accounts once a second covers lost events. A waiter holds no database connection.
 */
export class FeedWaiters {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #maxWaiters: number;
  readonly #waitersByAccount = new Map<number, Set<FeedWaiter>>();
  readonly #queuedReads: (() => void)[] = [];
  #count = 0;
  #activeReads = 0;
  #isStopped = false;
  #cancelPoll: (() => void) | undefined;

  constructor({ store, clock, maxWaiters }: FeedWaitersPorts) {
    this.#store = store;
    this.#clock = clock;
    this.#maxWaiters = maxWaiters;
    store.onCommitted((commitEvents) => this.#onCommit(commitEvents));
  }

  get count(): number {
    return this.#count;
  }

  /**
   * Adds a waiter, which the caller has to remove with `leave`. Throws `overloaded` beyond the limit of waiters in
   * total, or a quarter of it per account.
   */
  join(accountId: number): FeedWaiter {
    const others = this.#waitersByAccount.get(accountId) ?? new Set();
    if (this.#count >= this.#maxWaiters || others.size >= Math.ceil(this.#maxWaiters / 4))
      throw new Problem('overloaded');
    const waiter = new FeedWaiter(accountId);
    if (this.#isStopped) waiter.end();
    this.#waitersByAccount.set(accountId, others.add(waiter));
    this.#count += 1;
    this.#cancelPoll ??= this.#clock.after(POLL_INTERVAL_MS, () => void this.#poll());
    return waiter;
  }

  leave(waiter: FeedWaiter): void {
    const others = this.#waitersByAccount.get(waiter.accountId);
    if (others?.delete(waiter) !== true) return;
    this.#count -= 1;
    if (others.size === 0) this.#waitersByAccount.delete(waiter.accountId);
    if (this.#count > 0) return;
    this.#cancelPoll?.();
    this.#cancelPoll = undefined;
  }

  /** Runs a read of this waiter within the concurrency limit. */
  read<T>(waiter: FeedWaiter, work: () => Promise<T>): Promise<T> {
    return this.withReadPermit(() => {
      waiter.beginReading();
      return work();
    });
  }

  /** Runs `work` within the concurrency limit of reads. */
  async withReadPermit<T>(work: () => Promise<T>): Promise<T> {
    if (this.#activeReads >= READ_CONCURRENCY) await new Promise<void>((resolve) => this.#queuedReads.push(resolve));
    else this.#activeReads += 1;
    try {
      return await work();
    } finally {
      // Release the permit in the next event-loop iteration, so that other requests are processed in between.
      setImmediate(() => this.#releaseReadPermit());
    }
  }

  #releaseReadPermit(): void {
    const next = this.#queuedReads.shift();
    if (next === undefined) this.#activeReads -= 1;
    else next();
  }

  /** Ends all current and future waiters. */
  stop(): void {
    this.#isStopped = true;
    for (const waiter of this.#all()) waiter.end();
  }

  *#all(): Generator<FeedWaiter> {
    for (const waiters of this.#waitersByAccount.values()) yield* waiters;
  }

  #onCommit({ accountsWithOccurrences, accessChanged }: CommitEvents): void {
    if (this.#count === 0) return;
    // Access has changed, so the permissions of any waiter may have changed.
    if (accessChanged) for (const waiter of this.#all()) waiter.wake();
    else
      for (const accountId of accountsWithOccurrences)
        for (const one of this.#waitersByAccount.get(accountId) ?? []) one.wake();
  }

  async #poll(): Promise<void> {
    const accounts = [...this.#waitersByAccount]
      .filter(([, waiters]) => [...waiters].some((one) => one.isWaiting))
      .map(([accountId]) => accountId);
    try {
      for (let first = 0; first < accounts.length; first += ACCOUNTS_PER_QUERY) {
        await this.#pollAccounts(accounts.slice(first, first + ACCOUNTS_PER_QUERY));
      }
    } catch {
      // The database is unavailable; the next poll retries.
    }
    this.#cancelPoll = this.#count > 0 ? this.#clock.after(POLL_INTERVAL_MS, () => void this.#poll()) : undefined;
  }

  async #pollAccounts(accounts: readonly number[]): Promise<void> {
    const rows = await this.#store.read
      .selectFrom('positions')
      .select(['account_id', 'position'])
      .where('account_id', 'in', accounts)
      .execute();
    for (const { account_id, position } of rows) {
      for (const waiter of this.#waitersByAccount.get(account_id) ?? []) if (position > waiter.position) waiter.wake();
    }
  }
}
