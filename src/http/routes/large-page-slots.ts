import type { Clock } from '../../clock.ts';
import { Problem } from '../../problems.ts';

/** Large pages that are loaded at the same time, in all and for one account. */
const MAX_LARGE_PAGES = 4;
const MAX_LARGE_PAGES_PER_ACCOUNT = 2;

/** A call that waits longer for a slot than this is answered 503. */
const SLOT_TIMEOUT_MS = 10_000;

type Waiting = {
  readonly since: number;
  readonly isGone: () => boolean;
  readonly begin: () => void;
  readonly giveUp: (problem: Problem) => void;
};

/**
 * The slots for pages of more than one slice. Such pages are loaded a few at a time, since each holds megabytes until it
 * is complete. Accounts take turns, so that one account's pages do not keep those of others waiting.
 */
export class LargePages {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #loading = new Map<number, number>();
  /** By account. The account whose turn is next is the first. */
  readonly #waiting = new Map<number, Waiting[]>();
  #count = 0;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Waits for a slot; resolves with the function that gives it back. Rejects with `overloaded` after too long a wait. */
  async enter(accountId: number, isGone: () => boolean): Promise<() => void> {
    if (this.#hasRoom(accountId)) this.#take(accountId);
    else await this.#wait(accountId, isGone);
    return () => {
      this.#release(accountId);
      this.#beginNext();
    };
  }

  #hasRoom(accountId: number): boolean {
    return this.#count < MAX_LARGE_PAGES && (this.#loading.get(accountId) ?? 0) < MAX_LARGE_PAGES_PER_ACCOUNT;
  }

  #take(accountId: number): void {
    this.#count += 1;
    this.#loading.set(accountId, (this.#loading.get(accountId) ?? 0) + 1);
  }

  #release(accountId: number): void {
    this.#count -= 1;
    const left = (this.#loading.get(accountId) ?? 0) - 1;
    if (left > 0) this.#loading.set(accountId, left);
    else this.#loading.delete(accountId);
  }

  #wait(accountId: number, isGone: () => boolean): Promise<void> {
    const since = this.#clock.monotonic();
    return new Promise((begin, giveUp) => {
      const own = this.#waiting.get(accountId) ?? [];
      this.#waiting.set(accountId, own);
      own.push({ since, isGone, begin, giveUp });
    });
  }

  #beginNext(): void {
    for (const [accountId, own] of [...this.#waiting]) {
      const next = this.#hasRoom(accountId) ? this.#nextOf(own) : undefined;
      if (next !== undefined) {
        this.#take(accountId);
        next.begin();
        // Behind the other accounts: it had its turn.
        this.#waiting.delete(accountId);
        this.#waiting.set(accountId, own);
      }
      if (own.length === 0) this.#waiting.delete(accountId);
    }
  }

  /** The first one that still waits for its page. */
  #nextOf(own: Waiting[]): Waiting | undefined {
    const lastSince = this.#clock.monotonic() - SLOT_TIMEOUT_MS;
    for (let next = own.shift(); next !== undefined; next = own.shift()) {
      if (!next.isGone() && next.since >= lastSince) return next;
      next.giveUp(new Problem('overloaded'));
    }
    return undefined;
  }
}
