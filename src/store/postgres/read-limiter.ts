import type { Clock } from '../../clock.ts';
import { Problem } from '../../problems.ts';

/** Maximum time that a request waits for a permit. */
const MAX_WAIT_MS = 10_000;

type WaitingRead = { readonly since: number; readonly begin: () => void; readonly giveUp: (problem: Problem) => void };

/**
 * Concurrency limit (semaphore) for requests that read. Requests wait before their first query instead of between their
 * queries: running requests finish sooner, and other queries, such as authentication, wait behind a few requests
 * instead of all. Load shedding: a request that has waited too long is rejected with `overloaded`.
 */
export class ReadLimiter {
  readonly #max: number;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #waiting: WaitingRead[] = [];
  #running = 0;

  /** @param max maximum number of concurrent requests */
  constructor(max: number, clock: Pick<Clock, 'monotonic'>) {
    this.#max = max;
    this.#clock = clock;
  }

  /** Runs `work` when a permit is free, first come, first served; rejects with `overloaded` after MAX_WAIT_MS. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#max) this.#running += 1;
    else await this.#wait();
    try {
      return await work();
    } finally {
      this.#beginNext();
    }
  }

  #wait(): Promise<void> {
    const since = this.#clock.monotonic();
    return new Promise((begin, giveUp) => this.#waiting.push({ since, begin, giveUp }));
  }

  /**
   * Starts the next request. Requests that have waited too long are rejected, so that the requests behind them are
   * served in time.
   */
  #beginNext(): void {
    const minSince = this.#clock.monotonic() - MAX_WAIT_MS;
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      if (next.since >= minSince) {
        next.begin();
        return;
      }
      next.giveUp(new Problem('overloaded'));
    }
    this.#running -= 1;
  }
}
