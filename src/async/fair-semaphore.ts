import type { Clock } from '../clock.ts';
import { Problem } from '../problems.ts';

export type FairSemaphoreLimits = {
  /** Maximum number of permits in use, over all groups. */
  readonly maxActive: number;
  /** Maximum number of permits in use per group; by default the same number as over all groups. */
  readonly maxActivePerGroup?: number;
  /** Maximum number of waiting calls, over all groups; unlimited by default. */
  readonly maxWaiting?: number;
  /** Maximum number of waiting calls per group; unlimited by default. */
  readonly maxWaitingPerGroup?: number;
  /**
   * Maximum time that a call waits; unlimited by default. It is checked when a permit is released, so that the calls
   * behind one that has waited too long are served in time.
   */
  readonly timeout?: { readonly maxWaitMs: number; readonly clock: Pick<Clock, 'monotonic'> };
};

type Waiter = {
  /** Whether the call has waited too long, or its result is not needed any more. */
  readonly isAbandoned: () => boolean;
  readonly resume: () => void;
  readonly reject: (problem: Problem) => void;
};

/** The state of one group. A group exists while it uses permits or has waiting calls. */
type GroupState = { activeCount: number; readonly waiters: Waiter[] };

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
   * group, or if the call has waited too long.
   */
  async runWithPermit<T>(key: K, work: () => Promise<T>): Promise<T> {
    if (!this.#tryAcquire(key)) await this.#waitForPermit(key);
    try {
      return await work();
    } finally {
      this.#release(key);
    }
  }

  /**
   * Waits for a permit. Resolves with a function that releases it; rejects like `runWithPermit`.
   *
   * @param isCallerGone whether the permit is not needed any more; asked when it is the turn of a waiting call
   */
  async acquire(key: K, isCallerGone?: () => boolean): Promise<() => void> {
    if (!this.#tryAcquire(key)) await this.#waitForPermit(key, isCallerGone);
    return () => this.#release(key);
  }

  #tryAcquire(key: K): boolean {
    const group = this.#groups.get(key) ?? { activeCount: 0, waiters: [] };
    const isPermitFree = this.#hasFreePermit(group);
    if (isPermitFree) this.#grant(key, group);
    return isPermitFree;
  }

  #waitForPermit(key: K, isCallerGone = () => false): Promise<void> {
    const group = this.#groups.get(key) ?? { activeCount: 0, waiters: [] };
    const { maxWaiting = Infinity, maxWaitingPerGroup = Infinity, timeout } = this.#limits;
    if (this.#waitingCount >= maxWaiting || group.waiters.length >= maxWaitingPerGroup) throw new Problem('overloaded');
    this.#groups.set(key, group);
    this.#waitingCount += 1;
    const waitingSince = timeout?.clock.monotonic() ?? 0;
    const hasTimedOut = () => timeout !== undefined && timeout.clock.monotonic() - waitingSince > timeout.maxWaitMs;
    const isAbandoned = () => isCallerGone() || hasTimedOut();
    return new Promise((resume, reject) => group.waiters.push({ isAbandoned, resume, reject }));
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
      const nextWaiter = this.#takeNextWaiter(group);
      if (nextWaiter === undefined) {
        if (group.activeCount === 0) this.#groups.delete(key);
        continue;
      }
      this.#grant(key, group);
      nextWaiter.resume();
      return;
    }
  }

  /** Takes the first call that is not abandoned. Rejects the calls before it. */
  #takeNextWaiter({ waiters }: GroupState): Waiter | undefined {
    for (let nextWaiter = waiters.shift(); nextWaiter !== undefined; nextWaiter = waiters.shift()) {
      this.#waitingCount -= 1;
      if (!nextWaiter.isAbandoned()) return nextWaiter;
      nextWaiter.reject(new Problem('overloaded'));
    }
    return undefined;
  }

  #hasFreePermit({ activeCount }: GroupState): boolean {
    const { maxActive, maxActivePerGroup = maxActive } = this.#limits;
    return this.#activeCount < maxActive && activeCount < maxActivePerGroup;
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
