import { Problem } from '../../problems.ts';
import type { LockMode } from '../store.ts';

type LockState = {
  readonly holderCounts: Record<LockMode, number>;
  readonly waiters: { readonly lockMode: LockMode; readonly grantLock: () => void }[];
};

/**
 * In-process lock for each account, shared or exclusive. Waiting writes queue here, in order, so that they do not
 * occupy a pooled connection. The limit of shared holders prevents one account from filling a whole group transaction.
 * Load shedding: if `maxWaiters` writes are already waiting, further ones are rejected with `overloaded`.
 */
export class AccountLocks {
  readonly #maxSharedHolders: number;
  readonly #maxWaiters: number;
  readonly #locksByAccount = new Map<number, LockState>();
  #waitingCount = 0;

  /** @param maxSharedHolders maximum number of concurrent shared holders per account */
  constructor(maxSharedHolders: number, maxWaiters: number) {
    this.#maxSharedHolders = maxSharedHolders;
    this.#maxWaiters = maxWaiters;
  }

  /** Runs `work` under the lock of the account. Waiting calls get the lock in order of arrival. */
  async runWithLock<T>(accountId: number, lockMode: LockMode, work: () => Promise<T>): Promise<T> {
    const lockState = this.#locksByAccount.get(accountId) ?? { holderCounts: { exclusive: 0, shared: 0 }, waiters: [] };
    this.#locksByAccount.set(accountId, lockState);
    if (lockState.waiters.length > 0 || !this.#canAcquire(lockState, lockMode))
      await this.#waitForLock(lockState, lockMode);
    else lockState.holderCounts[lockMode] += 1;
    try {
      return await work();
    } finally {
      lockState.holderCounts[lockMode] -= 1;
      this.#grantWaiting(lockState);
      if (lockState.holderCounts.exclusive + lockState.holderCounts.shared === 0)
        this.#locksByAccount.delete(accountId);
    }
  }

  #waitForLock(lockState: LockState, lockMode: LockMode): Promise<void> {
    if (this.#waitingCount >= this.#maxWaiters) throw new Problem('overloaded');
    this.#waitingCount += 1;
    return new Promise((grantLock) => lockState.waiters.push({ lockMode, grantLock }));
  }

  #grantWaiting(lockState: LockState): void {
    for (
      let [nextWaiter] = lockState.waiters;
      nextWaiter !== undefined && this.#canAcquire(lockState, nextWaiter.lockMode);
      [nextWaiter] = lockState.waiters
    ) {
      lockState.waiters.shift();
      this.#waitingCount -= 1;
      lockState.holderCounts[nextWaiter.lockMode] += 1;
      nextWaiter.grantLock();
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
