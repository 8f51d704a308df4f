import { Problem } from '../../problems.ts';
import type { LockMode } from '../store.ts';

type LockState = {
  readonly holderCounts: Record<LockMode, number>;
  readonly waiters: { readonly lockMode: LockMode; readonly begin: () => void }[];
};

/**
 * In-process lock for each account, shared or exclusive. Waiting writes queue here, in order, so that they do not
 * occupy a pooled connection. The limit of shared holders prevents one account from filling a whole group transaction.
 * Load shedding: writes beyond `maxWaiting` waiting writes are rejected with `overloaded`.
 */
export class AccountLocks {
  readonly #maxSharedHolders: number;
  readonly #maxWaiting: number;
  readonly #locksByAccount = new Map<number, LockState>();
  #waitingCount = 0;

  /** @param maxSharedHolders maximum number of concurrent shared holders per account */
  constructor(maxSharedHolders: number, maxWaiting: number) {
    this.#maxSharedHolders = maxSharedHolders;
    this.#maxWaiting = maxWaiting;
  }

  /** Runs `work` under the lock of the account. Waiting calls get the lock in order of arrival. */
  async run<T>(accountId: number, lockMode: LockMode, work: () => Promise<T>): Promise<T> {
    const lockState = this.#locksByAccount.get(accountId) ?? { holderCounts: { exclusive: 0, shared: 0 }, waiters: [] };
    this.#locksByAccount.set(accountId, lockState);
    if (lockState.waiters.length > 0 || !this.#canAcquire(lockState, lockMode)) await this.#wait(lockState, lockMode);
    else lockState.holderCounts[lockMode] += 1;
    try {
      return await work();
    } finally {
      lockState.holderCounts[lockMode] -= 1;
      this.#beginNext(lockState);
      if (lockState.holderCounts.exclusive + lockState.holderCounts.shared === 0)
        this.#locksByAccount.delete(accountId);
    }
  }

  #wait(lockState: LockState, lockMode: LockMode): Promise<void> {
    if (this.#waitingCount >= this.#maxWaiting) throw new Problem('overloaded');
    this.#waitingCount += 1;
    return new Promise((begin) => lockState.waiters.push({ lockMode, begin }));
  }

  #beginNext(lockState: LockState): void {
    for (
      let [next] = lockState.waiters;
      next !== undefined && this.#canAcquire(lockState, next.lockMode);
      [next] = lockState.waiters
    ) {
      lockState.waiters.shift();
      this.#waitingCount -= 1;
      lockState.holderCounts[next.lockMode] += 1;
      next.begin();
    }
  }

  /**
   * Whether the lock can be taken now. An exclusive lock does not wait here for shared holders: it waits for them in
   * the database.
   */
  #canAcquire({ holderCounts }: LockState, lockMode: LockMode): boolean {
    return holderCounts.exclusive === 0 && (lockMode === 'exclusive' || holderCounts.shared < this.#maxSharedHolders);
  }
}
