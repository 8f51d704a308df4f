import { FairQueue } from '../../async/fair-scheduler.ts';
import { Problem } from '../../problems.ts';
import type { AccountLockRequest, LockMode } from '../store.ts';

type LockState = {
  readonly holderCounts: Record<LockMode, number>;
  /** The functions that grant the lock to the waiting writes, by lock mode. The users of the account take turns. */
  readonly waiters: Record<LockMode, FairQueue<() => void>>;
};

const createLockState = (): LockState => ({
  holderCounts: { exclusive: 0, shared: 0 },
  waiters: { exclusive: new FairQueue(), shared: new FairQueue() },
});

/**
 * In-process lock for each account, shared or exclusive. Waiting writes queue here, so that they do not occupy a pooled
 * connection. The limit of shared holders prevents one account from filling a whole group transaction. Load shedding:
 * if `maxWaiters` writes are already waiting, further ones are rejected with `overloaded`.
 *
 * The lock is phase-fair: exclusive holders alternate with groups of shared ones, and the exclusive writes of the users
 * take turns. A shared write waits for one exclusive holder at most, however many exclusive writes another user sends.
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

  /** Runs `work` under the lock of the account. */
  async runWithLock<T>({ accountId, userId, lockMode }: AccountLockRequest, work: () => Promise<T>): Promise<T> {
    const lockState = this.#locksByAccount.get(accountId) ?? createLockState();
    this.#locksByAccount.set(accountId, lockState);
    // A new shared write does not overtake a waiting exclusive one, which would never get the lock.
    if (lockState.waiters.exclusive.size === 0 && this.#canAcquire(lockState, lockMode)) {
      lockState.waiters[lockMode].recordTurn(String(userId));
      lockState.holderCounts[lockMode] += 1;
    } else await this.#waitForLock(lockState, lockMode, String(userId));
    try {
      return await work();
    } finally {
      lockState.holderCounts[lockMode] -= 1;
      this.#grantWaiting(lockState, lockMode);
      if (lockState.holderCounts.exclusive + lockState.holderCounts.shared === 0)
        this.#locksByAccount.delete(accountId);
    }
  }

  #waitForLock({ waiters }: LockState, lockMode: LockMode, user: string): Promise<void> {
    if (this.#waitingCount >= this.#maxWaiters) throw new Problem('overloaded');
    this.#waitingCount += 1;
    return new Promise((grantLock) => waiters[lockMode].push(user, grantLock));
  }

  /** Grants the lock to the waiting writes whose turn it is after a holder has released it. */
  #grantWaiting(lockState: LockState, releasedMode: LockMode): void {
    const isSharedTurn = releasedMode === 'exclusive' || lockState.waiters.exclusive.size === 0;
    if (isSharedTurn) while (this.#grantNext(lockState, 'shared'));
    this.#grantNext(lockState, 'exclusive');
  }

  #grantNext(lockState: LockState, lockMode: LockMode): boolean {
    if (!this.#canAcquire(lockState, lockMode)) return false;
    const grantLock = lockState.waiters[lockMode].shift();
    if (grantLock === undefined) return false;
    this.#waitingCount -= 1;
    lockState.holderCounts[lockMode] += 1;
    grantLock();
    return true;
  }

  #canAcquire({ holderCounts: { exclusive, shared } }: LockState, lockMode: LockMode): boolean {
    return exclusive === 0 && shared < (lockMode === 'shared' ? this.#maxSharedHolders : 1);
  }
}
