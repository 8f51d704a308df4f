import { Problem } from '../problems.ts';
import type { Holding } from './store.ts';

type Begun = { all: number; alone: number; readonly waiting: { readonly how: Holding; readonly begin: () => void }[] };

/**
 * Lets writes of one account wait for each other here, where that costs a few bytes, and not in the database, where each
 * holds a connection meanwhile: of those that are alone one goes at a time, and never all connections are one account's.
 */
export class Turns {
  readonly #most: number;
  readonly #mostWaiting: number;
  readonly #accounts = new Map<number, Begun>();
  #waiting = 0;

  /** @param most transactions of one account at once */
  constructor(most: number, mostWaiting: number) {
    this.#most = most;
    this.#mostWaiting = mostWaiting;
  }

  /** Runs `work` when it is its turn, in the order in which it came. */
  async run<T>(accountId: number, how: Holding, work: () => Promise<T>): Promise<T> {
    const account = this.#accounts.get(accountId) ?? { all: 0, alone: 0, waiting: [] };
    this.#accounts.set(accountId, account);
    if (account.waiting.length > 0 || !this.#hasRoom(account, how)) await this.#wait(account, how);
    else this.#count(account, how, 1);
    try {
      return await work();
    } finally {
      this.#count(account, how, -1);
      this.#beginNext(account);
      if (account.all === 0) this.#accounts.delete(accountId);
    }
  }

  #wait(account: Begun, how: Holding): Promise<void> {
    if (this.#waiting >= this.#mostWaiting) throw new Problem('overloaded');
    this.#waiting += 1;
    return new Promise((begin) => account.waiting.push({ how, begin }));
  }

  #beginNext(account: Begun): void {
    for (
      let [next] = account.waiting;
      next !== undefined && this.#hasRoom(account, next.how);
      [next] = account.waiting
    ) {
      account.waiting.shift();
      this.#waiting -= 1;
      this.#count(account, next.how, 1);
      next.begin();
    }
  }

  #hasRoom({ all, alone }: Begun, how: Holding): boolean {
    return all < this.#most && (how === 'beside' || alone === 0);
  }

  #count(account: Begun, how: Holding, by: 1 | -1): void {
    account.all += by;
    if (how === 'alone') account.alone += by;
  }
}
