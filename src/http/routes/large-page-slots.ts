import type { Clock } from '../../clock.ts';
import { Problem } from '../../problems.ts';

/** Maximum number of large pages that are loaded concurrently, in total. */
const MAX_LARGE_PAGES = 4;
/** Maximum number of large pages that are loaded concurrently for one account. */
const MAX_LARGE_PAGES_PER_ACCOUNT = 2;

/** A request that waits longer for a slot is rejected with 503. */
const SLOT_TIMEOUT_MS = 10_000;

type WaitingRequest = {
  readonly waitingSince: number;
  readonly isAbandoned: () => boolean;
  readonly resume: () => void;
  readonly reject: (problem: Problem) => void;
};

/**
 * A semaphore for loading large pages. A large page has more than one slice and occupies megabytes until it is
 * complete. Waiting accounts are served round-robin.
 */
export class LargePageSlots {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #loadingCountByAccount = new Map<number, number>();
  /** Waiting requests by account, in round-robin order. */
  readonly #queueByAccount = new Map<number, WaitingRequest[]>();
  #loadingCount = 0;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Waits for a slot. Resolves with a function that releases it; rejects with `overloaded` after SLOT_TIMEOUT_MS. */
  async acquire(accountId: number, isAbandoned: () => boolean): Promise<() => void> {
    if (this.#hasFreeSlot(accountId)) this.#acquireSlot(accountId);
    else await this.#waitForSlot(accountId, isAbandoned);
    return () => {
      this.#releaseSlot(accountId);
      this.#resumeWaitingRequests();
    };
  }

  #hasFreeSlot(accountId: number): boolean {
    return (
      this.#loadingCount < MAX_LARGE_PAGES &&
      (this.#loadingCountByAccount.get(accountId) ?? 0) < MAX_LARGE_PAGES_PER_ACCOUNT
    );
  }

  #acquireSlot(accountId: number): void {
    this.#loadingCount += 1;
    this.#loadingCountByAccount.set(accountId, (this.#loadingCountByAccount.get(accountId) ?? 0) + 1);
  }

  #releaseSlot(accountId: number): void {
    this.#loadingCount -= 1;
    const remainingCount = (this.#loadingCountByAccount.get(accountId) ?? 0) - 1;
    if (remainingCount > 0) this.#loadingCountByAccount.set(accountId, remainingCount);
    else this.#loadingCountByAccount.delete(accountId);
  }

  #waitForSlot(accountId: number, isAbandoned: () => boolean): Promise<void> {
    const waitingSince = this.#clock.monotonic();
    return new Promise((resolve, reject) => {
      const accountQueue = this.#queueByAccount.get(accountId) ?? [];
      this.#queueByAccount.set(accountId, accountQueue);
      accountQueue.push({ waitingSince, isAbandoned, resume: resolve, reject });
    });
  }

  #resumeWaitingRequests(): void {
    for (const [accountId, accountQueue] of [...this.#queueByAccount]) {
      const nextRequest = this.#hasFreeSlot(accountId) ? this.#dequeueNextRequest(accountQueue) : undefined;
      if (nextRequest !== undefined) {
        this.#acquireSlot(accountId);
        nextRequest.resume();
        // Move the account to the end of the round-robin order.
        this.#queueByAccount.delete(accountId);
        this.#queueByAccount.set(accountId, accountQueue);
      }
      if (accountQueue.length === 0) this.#queueByAccount.delete(accountId);
    }
  }

  /**
   * Takes the first waiting request that has not timed out and whose client is still connected. Rejects the requests
   * before it.
   */
  #dequeueNextRequest(accountQueue: WaitingRequest[]): WaitingRequest | undefined {
    const oldestAllowedSince = this.#clock.monotonic() - SLOT_TIMEOUT_MS;
    for (let nextRequest = accountQueue.shift(); nextRequest !== undefined; nextRequest = accountQueue.shift()) {
      if (!nextRequest.isAbandoned() && nextRequest.waitingSince >= oldestAllowedSince) return nextRequest;
      nextRequest.reject(new Problem('overloaded'));
    }
    return undefined;
  }
}
