import { Problem } from '../problems.ts';

export type FairLimits = {
  /** Holders at once, of all groups together. */
  readonly maxActive: number;
  readonly maxActivePerGroup: number;
  /** Waiters at once, of all groups together. */
  readonly maxWaiting: number;
  readonly maxWaitingPerGroup: number;
};

/** The state of one group. A group exists while it has holders or waiters. */
type Group = { active: number; readonly waiting: (() => void)[] };

/**
 * A semaphore that no group can fill: each group has a limit of its own for holders and for waiters, and a free permit
 * goes to the groups in turn, however many waiters each of them has.
 */
export class FairSemaphore<K> {
  readonly #limits: FairLimits;
  /** In the order of their next turn. */
  readonly #groups = new Map<K, Group>();
  #active = 0;
  #waiting = 0;

  constructor(limits: FairLimits) {
    this.#limits = limits;
  }

  /** Runs `work` with a permit. Rejects with the problem `overloaded` when the queue or the group's part of it is full. */
  async run<T>(key: K, work: () => Promise<T>): Promise<T> {
    await this.#acquire(key);
    try {
      return await work();
    } finally {
      this.#release(key);
    }
  }

  #acquire(key: K): Promise<void> {
    const group = this.#groups.get(key) ?? { active: 0, waiting: [] };
    if (this.#hasPermit(group)) {
      this.#grant(key, group);
      return Promise.resolve();
    }
    const { maxWaiting, maxWaitingPerGroup } = this.#limits;
    if (this.#waiting >= maxWaiting || group.waiting.length >= maxWaitingPerGroup) {
      return Promise.reject(new Problem('overloaded'));
    }
    this.#groups.set(key, group);
    this.#waiting += 1;
    return new Promise((resolve) => group.waiting.push(resolve));
  }

  #release(key: K): void {
    const group = this.#groups.get(key);
    if (group === undefined) return;
    this.#active -= 1;
    group.active -= 1;
    this.#moveLast(key, group);
    this.#grantNext();
  }

  #grantNext(): void {
    for (const [key, group] of this.#groups) {
      if (!this.#hasPermit(group)) continue;
      const next = group.waiting.shift();
      if (next === undefined) continue;
      this.#waiting -= 1;
      this.#grant(key, group);
      next();
      return;
    }
  }

  #hasPermit({ active }: Group): boolean {
    return this.#active < this.#limits.maxActive && active < this.#limits.maxActivePerGroup;
  }

  #grant(key: K, group: Group): void {
    this.#active += 1;
    group.active += 1;
    this.#moveLast(key, group);
  }

  /** A group that has just had a turn comes after the others; one without holders and waiters is dropped. */
  #moveLast(key: K, group: Group): void {
    this.#groups.delete(key);
    if (group.active > 0 || group.waiting.length > 0) this.#groups.set(key, group);
  }
}
