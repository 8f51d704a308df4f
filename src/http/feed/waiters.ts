import type { Clock } from '../../clock.ts';
import { Problem } from '../../problems.ts';
import type { CommitEvents, Store } from '../../store/store.ts';

/** How often it is asked whether something has happened of which no news came. */
const POLL_INTERVAL_MS = 1_000;
const ACCOUNTS_PER_POLL = 500;

/** However many are woken at once, they read a few at a time, so that other calls find the database free. */
const READ_CONCURRENCY = 8;

/** Somebody who waits for what happens in an account. */
export class FeedWaiter {
  readonly accountId: number;
  /** The account's position as this one has seen it. */
  position = 0;
  isAsleep = false;
  #isOver = false;
  #isWoken = false;
  #wake: (() => void) | undefined;

  constructor(accountId: number) {
    this.accountId = accountId;
  }

  /** There is nobody to answer any more, or the service stops. */
  get isOver(): boolean {
    return this.#isOver;
  }

  end(): void {
    this.#isOver = true;
    this.wake();
  }

  /** Something may have happened. */
  wake(): void {
    this.#isWoken = true;
    this.#wake?.();
  }

  /** Begins to read: what happens from here on wakes it again. */
  beginReading(): void {
    this.#isWoken = false;
  }

  /** Until it is woken, which may have been since it began to read, or for so long; answers whether it was woken. */
  async sleep(clock: Clock, waitMs: number): Promise<boolean> {
    if (this.#isWoken || this.#isOver) return true;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    this.isAsleep = true;
    const cancel = clock.after(waitMs, resolve);
    await promise;
    cancel();
    this.isAsleep = false;
    this.#wake = undefined;
    return this.#isWoken;
  }
}

type Ports = { readonly store: Store; readonly clock: Clock; readonly most: number };

/**
 * Everybody who waits for something to happen (X2): how many there may be, and what wakes them. News of a commit does at
 * once; one look a second over all of their accounts is the truth behind it. While one waits it holds no connection.
 */
export class FeedWaiters {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #most: number;
  readonly #ofAccount = new Map<number, Set<FeedWaiter>>();
  readonly #queue: (() => void)[] = [];
  #count = 0;
  #reading = 0;
  #isStopped = false;
  #cancelLook: (() => void) | undefined;

  constructor({ store, clock, most }: Ports) {
    this.#store = store;
    this.#clock = clock;
    this.#most = most;
    store.onCommitted((news) => this.#onCommit(news));
  }

  get count(): number {
    return this.#count;
  }

  /** Takes a place, to be given back by `leave`; rejects with `overloaded` when there is none, in all or for the account. */
  join(accountId: number): FeedWaiter {
    const others = this.#ofAccount.get(accountId) ?? new Set();
    if (this.#count >= this.#most || others.size >= Math.ceil(this.#most / 4)) throw new Problem('overloaded');
    const follower = new FeedWaiter(accountId);
    if (this.#isStopped) follower.end();
    this.#ofAccount.set(accountId, others.add(follower));
    this.#count += 1;
    this.#cancelLook ??= this.#clock.after(POLL_INTERVAL_MS, () => void this.#poll());
    return follower;
  }

  leave(follower: FeedWaiter): void {
    const others = this.#ofAccount.get(follower.accountId);
    if (others?.delete(follower) !== true) return;
    this.#count -= 1;
    if (others.size === 0) this.#ofAccount.delete(follower.accountId);
    if (this.#count > 0) return;
    this.#cancelLook?.();
    this.#cancelLook = undefined;
  }

  /** Reads when it is this follower's turn. */
  read<T>(follower: FeedWaiter, work: () => Promise<T>): Promise<T> {
    return this.readPermit(() => {
      follower.beginReading();
      return work();
    });
  }

  /** Asks the database for something when a place is free. */
  async readPermit<T>(work: () => Promise<T>): Promise<T> {
    if (this.#reading >= READ_CONCURRENCY) await new Promise<void>((resolve) => this.#queue.push(resolve));
    else this.#reading += 1;
    try {
      return await work();
    } finally {
      // The place is free a turn of the event loop later: between a few of these, other calls are heard.
      setImmediate(() => this.#grantRead());
    }
  }

  #grantRead(): void {
    const next = this.#queue.shift();
    if (next === undefined) this.#reading -= 1;
    else next();
  }

  /** Nobody waits from here on. */
  stop(): void {
    this.#isStopped = true;
    for (const follower of this.#all()) follower.end();
  }

  *#all(): Generator<FeedWaiter> {
    for (const followers of this.#ofAccount.values()) yield* followers;
  }

  #onCommit({ happened, access }: CommitEvents): void {
    if (this.#count === 0) return;
    // Who may read may have changed, for any of them.
    if (access) for (const follower of this.#all()) follower.wake();
    else for (const accountId of happened) for (const one of this.#ofAccount.get(accountId) ?? []) one.wake();
  }

  async #poll(): Promise<void> {
    const accounts = [...this.#ofAccount]
      .filter(([, followers]) => [...followers].some((one) => one.isAsleep))
      .map(([accountId]) => accountId);
    try {
      for (let first = 0; first < accounts.length; first += ACCOUNTS_PER_POLL) {
        await this.#pollAccounts(accounts.slice(first, first + ACCOUNTS_PER_POLL));
      }
    } catch {
      // The database is away: there is nothing to tell. The next look is a second off.
    }
    this.#cancelLook = this.#count > 0 ? this.#clock.after(POLL_INTERVAL_MS, () => void this.#poll()) : undefined;
  }

  async #pollAccounts(accounts: readonly number[]): Promise<void> {
    const rows = await this.#store.read
      .selectFrom('positions')
      .select(['account_id', 'position'])
      .where('account_id', 'in', accounts)
      .execute();
    for (const { account_id, position } of rows) {
      for (const follower of this.#ofAccount.get(account_id) ?? []) if (position > follower.position) follower.wake();
    }
  }
}
