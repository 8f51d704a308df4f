import type { Clock } from '../../clock.ts';
import { Problem } from '../../problems.ts';

/** Maximum number of large pages that are loaded concurrently, in total. */
const MAX_LARGE_PAGES = 4;
/** Maximum number of large pages that are loaded concurrently for one account. */
const MAX_LARGE_PAGES_PER_ACCOUNT = 2;

/** A request that waits longer for a slot is rejected with 503. */
const SLOT_TIMEOUT_MS = 10_000;

type WaitingRequest = {
  readonly since: number;
  readonly isGone: () => boolean;
  readonly begin: () => void;
  readonly reject: (problem: Problem) => void;
};

/**
 * A semaphore for loading large pages. A large page has more than one slice and occupies megabytes until it is
 * complete. Waiting accounts are served round-robin.
 */
export class LargePageSlots {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #loadingByAccount = new Map<number, number>();
  /** Waiting requests by account, in round-robin order. */
  readonly #waitingByAccount = new Map<number, WaitingRequest[]>();
  #count = 0;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Waits for a slot. Resolves with a function that releases it; rejects with `overloaded` after SLOT_TIMEOUT_MS. */
  async enter(accountId: number, isGone: () => boolean): Promise<() => void> {
    if (this.#hasRoom(accountId)) this.#take(accountId);
    else await this.#wait(accountId, isGone);
    return () => {
      this.#release(accountId);
      this.#beginNext();
    };
  }

  #hasRoom(accountId: number): boolean {
    return this.#count < MAX_LARGE_PAGES && (this.#loadingByAccount.get(accountId) ?? 0) < MAX_LARGE_PAGES_PER_ACCOUNT;
  }

  #take(accountId: number): void {
    this.#count += 1;
    this.#loadingByAccount.set(accountId, (this.#loadingByAccount.get(accountId) ?? 0) + 1);
  }

  #release(accountId: number): void {
    this.#count -= 1;
    const left = (this.#loadingByAccount.get(accountId) ?? 0) - 1;
    if (left > 0) this.#loadingByAccount.set(accountId, left);
    else this.#loadingByAccount.delete(accountId);
  }

  #wait(accountId: number, isGone: () => boolean): Promise<void> {
    const since = this.#clock.monotonic();
    return new Promise((begin, reject) => {
      const own = this.#waitingByAccount.get(accountId) ?? [];
      this.#waitingByAccount.set(accountId, own);
      own.push({ since, isGone, begin, reject });
    });
  }

  #beginNext(): void {
    for (const [accountId, own] of [...this.#waitingByAccount]) {
      const next = this.#hasRoom(accountId) ? this.#takeNext(own) : undefined;
      if (next !== undefined) {
        this.#take(accountId);
        next.begin();
        // Move the account to the end of the round-robin order.
        this.#waitingByAccount.delete(accountId);
        this.#waitingByAccount.set(accountId, own);
      }
      if (own.length === 0) this.#waitingByAccount.delete(accountId);
    }
  }

  /**
   * Takes the first waiting request that has not timed out and whose client is still connected. Rejects the requests
   * before it.
   */
  #takeNext(own: WaitingRequest[]): WaitingRequest | undefined {
    const lastSince = this.#clock.monotonic() - SLOT_TIMEOUT_MS;
    for (let next = own.shift(); next !== undefined; next = own.shift()) {
      if (!next.isGone() && next.since >= lastSince) return next;
      next.reject(new Problem('overloaded'));
    }
    return undefined;
  }
}
