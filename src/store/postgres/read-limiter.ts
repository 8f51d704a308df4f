import type { Clock } from '../../clock.ts';
import { Problem } from '../../problems.ts';

/** Maximum time that a request waits for a permit. */
const MAX_WAIT_MS = 10_000;

type WaitingRead = { readonly since: number; readonly begin: () => void; readonly giveUp: (problem: Problem) => void };

/**
 * Concurrency limit (semaphore) for requests that read. A request waits before its first query instead of between its
 * queries, so that running requests finish sooner, and other queries, such as authentication, wait for a few requests
 * instead of all. Load shedding: a request that has waited too long is rejected with `overloaded`.
 */
export class ReadLimiter {
  readonly #maxRunning: number;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #waitingReads: WaitingRead[] = [];
  #runningCount = 0;

  /** @param maxRunning maximum number of concurrent requests */
  constructor(maxRunning: number, clock: Pick<Clock, 'monotonic'>) {
    this.#maxRunning = maxRunning;
    this.#clock = clock;
  }

  /** Runs `work` when a permit is free, first come, first served; rejects with `overloaded` after MAX_WAIT_MS. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#runningCount < this.#maxRunning) this.#runningCount += 1;
    else await this.#wait();
    try {
      return await work();
    } finally {
      this.#beginNext();
    }
  }

  #wait(): Promise<void> {
    const since = this.#clock.monotonic();
    return new Promise((begin, giveUp) => this.#waitingReads.push({ since, begin, giveUp }));
  }

  /**
   * Starts the next request. Requests that have waited too long are rejected, so that the requests behind them are
   * served in time.
   */
  #beginNext(): void {
    const minWaitingSince = this.#clock.monotonic() - MAX_WAIT_MS;
    for (let next = this.#waitingReads.shift(); next !== undefined; next = this.#waitingReads.shift()) {
      if (next.since >= minWaitingSince) {
        next.begin();
        return;
      }
      next.giveUp(new Problem('overloaded'));
    }
    this.#runningCount -= 1;
  }
}
