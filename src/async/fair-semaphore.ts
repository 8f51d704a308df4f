import { Problem } from '../problems.ts';

export type FairSemaphoreLimits = {
  /** Maximum number of permits in use, over all groups. */
  readonly maxActive: number;
  /** Maximum number of permits in use per group. */
  readonly maxActivePerGroup: number;
  /** Maximum number of waiting calls, over all groups. */
  readonly maxWaiting: number;
  /** Maximum number of waiting calls per group. */
  readonly maxWaitingPerGroup: number;
};

/** The state of one group. A group exists while it uses permits or has waiting calls. */
type GroupState = { activeCount: number; readonly waiters: (() => void)[] };

/**
 * A semaphore that no group can exhaust: each group has its own limits for permits and for waiting calls. A free permit
 * goes to the groups in turn, regardless of how many calls of each group are waiting.
 */
export class FairSemaphore<K> {
  readonly #limits: FairSemaphoreLimits;
  /** Groups by key. The first group gets the next free permit. */
  readonly #groups = new Map<K, GroupState>();
  #activeCount = 0;
  #waitingCount = 0;

  constructor(limits: FairSemaphoreLimits) {
    this.#limits = limits;
  }

  /**
   * Runs `work` with a permit. Rejects with the problem `overloaded` if too many calls are waiting, in total or in the
   * group.
   */
  async runWithPermit<T>(key: K, work: () => Promise<T>): Promise<T> {
    await this.#acquire(key);
    try {
      return await work();
    } finally {
      this.#release(key);
    }
  }

  #acquire(key: K): Promise<void> {
    const group = this.#groups.get(key) ?? { activeCount: 0, waiters: [] };
    if (this.#hasFreePermit(group)) {
      this.#grant(key, group);
      return Promise.resolve();
    }
    const { maxWaiting, maxWaitingPerGroup } = this.#limits;
    if (this.#waitingCount >= maxWaiting || group.waiters.length >= maxWaitingPerGroup) {
      return Promise.reject(new Problem('overloaded'));
    }
    this.#groups.set(key, group);
    this.#waitingCount += 1;
    return new Promise((resolve) => group.waiters.push(resolve));
  }

  #release(key: K): void {
    const group = this.#groups.get(key);
    if (group === undefined) return;
    this.#activeCount -= 1;
    group.activeCount -= 1;
    this.#moveToEnd(key, group);
    this.#grantNext();
  }

  #grantNext(): void {
    for (const [key, group] of this.#groups) {
      if (!this.#hasFreePermit(group)) continue;
      const nextWaiter = group.waiters.shift();
      if (nextWaiter === undefined) continue;
      this.#waitingCount -= 1;
      this.#grant(key, group);
      nextWaiter();
      return;
    }
  }

  #hasFreePermit({ activeCount }: GroupState): boolean {
    return this.#activeCount < this.#limits.maxActive && activeCount < this.#limits.maxActivePerGroup;
  }

  #grant(key: K, group: GroupState): void {
    this.#activeCount += 1;
    group.activeCount += 1;
    this.#moveToEnd(key, group);
  }

  /** Moves a group behind all other groups; removes it if it uses no permits and has no waiting calls. */
  #moveToEnd(key: K, group: GroupState): void {
    this.#groups.delete(key);
    if (group.activeCount > 0 || group.waiters.length > 0) this.#groups.set(key, group);
  }
}
