/**
 * A fair queue: `shift` serves the owners round-robin and returns the items of each owner in order, so that an owner
 * with many items does not delay the other owners. The owner that was served last comes after all others, including
 * those that arrive later.
 */
export class FairQueue<T> {
  /** The waiting items by owner, in order of turns, except that the owner that was served last is still in its place. */
  readonly #itemsByOwner = new Map<string, T[]>();
  #lastServedOwner: string | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(owner: string, item: T): void {
    this.#size += 1;
    const ownerItems = this.#itemsByOwner.get(owner);
    if (ownerItems === undefined) this.#itemsByOwner.set(owner, [item]);
    else ownerItems.push(item);
  }

  shift(): T | undefined {
    const nextOwner = this.#findNextOwner();
    if (nextOwner === undefined) return undefined;
    this.recordTurn(nextOwner);
    this.#size -= 1;
    return this.#itemsByOwner.get(nextOwner)?.shift();
  }

  /** Counts a turn of an owner that was served without waiting: the waiting items of other owners come first. */
  recordTurn(owner: string): void {
    const lastItems = this.#lastServedOwner === undefined ? undefined : this.#itemsByOwner.get(this.#lastServedOwner);
    if (this.#lastServedOwner !== undefined && lastItems !== undefined) {
      this.#itemsByOwner.delete(this.#lastServedOwner);
      if (lastItems.length > 0) this.#itemsByOwner.set(this.#lastServedOwner, lastItems);
    }
    this.#lastServedOwner = owner;
  }

  #findNextOwner(): string | undefined {
    if (this.#size === 0) return undefined;
    for (const owner of this.#itemsByOwner.keys()) if (owner !== this.#lastServedOwner) return owner;
    return this.#lastServedOwner;
  }
}

/** A fair queue of two levels: groups take turns, and in each group its members. */
export class FairGroupQueue<T> {
  /** One turn for each waiting item: the queue of its group. */
  readonly #groupTurns = new FairQueue<FairQueue<T>>();
  readonly #queuesByGroup = new Map<string, FairQueue<T>>();

  get size(): number {
    return this.#groupTurns.size;
  }

  push(group: string, member: string, item: T): void {
    const groupQueue = this.#queuesByGroup.get(group) ?? new FairQueue();
    this.#queuesByGroup.set(group, groupQueue);
    groupQueue.push(member, item);
    this.#groupTurns.push(group, groupQueue);
  }

  shift(): T | undefined {
    const item = this.#groupTurns.shift()?.shift();
    if (this.size === 0) this.#queuesByGroup.clear();
    return item;
  }
}

type FairSchedulerDeps = {
  /** Monotonic time in milliseconds. */
  readonly clock: { monotonic(): number };
  /** Maximum time for jobs per event-loop iteration, in milliseconds. A running job is not interrupted. */
  readonly iterationBudgetMs: number;
};

/** Spreads jobs over event-loop iterations: owners take turns, and the jobs of one iteration share a time budget. */
export class FairScheduler {
  readonly #deps: FairSchedulerDeps;
  readonly #queue = new FairQueue<() => void>();
  #budgetEndsAt: number | undefined;
  #isRunning = false;

  constructor(deps: FairSchedulerDeps) {
    this.#deps = deps;
  }

  /** Runs the job now if no job is waiting and the time budget is not used up, otherwise when the owner is next. */
  run(owner: string, job: () => void): void {
    this.#queue.push(owner, job);
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#runNext();
  }

  /** Resolves when the owner is next. The caller's code up to its next `await` counts against the time budget. */
  waitForTurn(owner: string): Promise<void> {
    return new Promise((resolve) => this.run(owner, resolve));
  }

  readonly #runNext = (): void => {
    const now = this.#deps.clock.monotonic();
    if (this.#budgetEndsAt === undefined) {
      this.#budgetEndsAt = now + this.#deps.iterationBudgetMs;
      setImmediate(this.#renewBudget);
    }
    const job = now < this.#budgetEndsAt ? this.#queue.shift() : undefined;
    this.#isRunning = job !== undefined;
    if (job === undefined) return;
    job();
    // Continue after the microtasks and ticks of this job, so that their time counts against the budget.
    queueMicrotask(() => process.nextTick(this.#runNext));
  };

  readonly #renewBudget = (): void => {
    this.#budgetEndsAt = undefined;
    if (this.#queue.size === 0 || this.#isRunning) return;
    this.#isRunning = true;
    this.#runNext();
  };
}
