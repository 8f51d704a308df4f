import { Problem } from '../../problems.ts';
import type { LockMode } from '../store.ts';

type LockState = {
  readonly under: Record<LockMode, number>;
  readonly waiting: { readonly how: LockMode; readonly begin: () => void }[];
};

/**
 * Lets writes of one account wait for each other here, where that costs a few bytes, and not in the database, where they
 * hold a connection meanwhile, or up others beside them: none begins beside one that is alone, and one account has never
 * all places of a transaction that carries many.
 */
export class AccountLocks {
  readonly #maxShared: number;
  readonly #maxWaiting: number;
  readonly #accounts = new Map<number, LockState>();
  #waiting = 0;

  /** @param mostBeside writes of one account at once */
  constructor(mostBeside: number, mostWaiting: number) {
    this.#maxShared = mostBeside;
    this.#maxWaiting = mostWaiting;
  }

  /** Runs `work` when it is its turn, in the order in which it came. */
  async run<T>(accountId: number, how: LockMode, work: () => Promise<T>): Promise<T> {
    const account = this.#accounts.get(accountId) ?? { under: { alone: 0, beside: 0 }, waiting: [] };
    this.#accounts.set(accountId, account);
    if (account.waiting.length > 0 || !this.#hasRoom(account, how)) await this.#wait(account, how);
    else account.under[how] += 1;
    try {
      return await work();
    } finally {
      account.under[how] -= 1;
      this.#beginNext(account);
      if (account.under.alone + account.under.beside === 0) this.#accounts.delete(accountId);
    }
  }

  #wait(account: LockState, how: LockMode): Promise<void> {
    if (this.#waiting >= this.#maxWaiting) throw new Problem('overloaded');
    this.#waiting += 1;
    return new Promise((begin) => account.waiting.push({ how, begin }));
  }

  #beginNext(account: LockState): void {
    for (
      let [next] = account.waiting;
      next !== undefined && this.#hasRoom(account, next.how);
      [next] = account.waiting
    ) {
      account.waiting.shift();
      this.#waiting -= 1;
      account.under[next.how] += 1;
      next.begin();
    }
  }

  /** One that is alone waits in the database for those beside it that have begun. */
  #hasRoom({ under }: LockState, how: LockMode): boolean {
    return under.alone === 0 && (how === 'alone' || under.beside < this.#maxShared);
  }
}
