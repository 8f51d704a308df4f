import { Problem } from '../../problems.ts';
import type { LockMode } from '../store.ts';

type LockState = {
  readonly held: Record<LockMode, number>;
  readonly waiting: { readonly lockMode: LockMode; readonly begin: () => void }[];
};

/**
 * In-process shared/exclusive lock per account, with a limit of shared holders. Waiting writes queue here in
 * order instead of blocking a pooled connection, and one account cannot fill a whole group transaction. Load
 * shedding: beyond `maxWaiting` waiting writes, further ones are rejected with `overloaded`.
 */
export class AccountLocks {
  readonly #maxShared: number;
  readonly #maxWaiting: number;
  readonly #accounts = new Map<number, LockState>();
  #waiting = 0;

  /** @param maxShared maximum number of concurrent shared holders per account */
  constructor(maxShared: number, maxWaiting: number) {
    this.#maxShared = maxShared;
    this.#maxWaiting = maxWaiting;
  }

  /** Runs `work` under the lock of the account. Waiting calls get the lock in order of arrival. */
  async run<T>(accountId: number, lockMode: LockMode, work: () => Promise<T>): Promise<T> {
    const account = this.#accounts.get(accountId) ?? { held: { exclusive: 0, shared: 0 }, waiting: [] };
    this.#accounts.set(accountId, account);
    if (account.waiting.length > 0 || !this.#hasRoom(account, lockMode)) await this.#wait(account, lockMode);
    else account.held[lockMode] += 1;
    try {
      return await work();
    } finally {
      account.held[lockMode] -= 1;
      this.#beginNext(account);
      if (account.held.exclusive + account.held.shared === 0) this.#accounts.delete(accountId);
    }
  }

  #wait(account: LockState, lockMode: LockMode): Promise<void> {
    if (this.#waiting >= this.#maxWaiting) throw new Problem('overloaded');
    this.#waiting += 1;
    return new Promise((begin) => account.waiting.push({ lockMode, begin }));
  }

  #beginNext(account: LockState): void {
    for (
      let [next] = account.waiting;
      next !== undefined && this.#hasRoom(account, next.lockMode);
      [next] = account.waiting
    ) {
      account.waiting.shift();
      this.#waiting -= 1;
      account.held[next.lockMode] += 1;
      next.begin();
    }
  }

  /**
   * Whether the lock can be taken now. An exclusive lock does not wait here for shared holders: it waits for them in
   * the database.
   */
  #hasRoom({ held }: LockState, lockMode: LockMode): boolean {
    return held.exclusive === 0 && (lockMode === 'exclusive' || held.shared < this.#maxShared);
  }
}
