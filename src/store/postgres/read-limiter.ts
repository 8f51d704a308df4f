import type { Clock } from '../../clock.ts';
import { Problem } from '../../problems.ts';

/** Maximum time that a request waits for a permit. */
const MAX_WAIT_MS = 10_000;

type WaitingRead = {
  readonly waitingSince: number;
  readonly startRead: () => void;
  readonly rejectRead: (problem: Problem) => void;
};

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
  async runWithPermit<T>(work: () => Promise<T>): Promise<T> {
    if (this.#runningCount < this.#maxRunning) this.#runningCount += 1;
    else await this.#waitForPermit();
    try {
      return await work();
    } finally {
      this.#startNext();
    }
  }

  #waitForPermit(): Promise<void> {
    const waitingSince = this.#clock.monotonic();
    return new Promise((startRead, rejectRead) => this.#waitingReads.push({ waitingSince, startRead, rejectRead }));
  }

  /**
   * Starts the next request. Requests that have waited too long are rejected, so that the requests behind them are
   * served in time.
   */
  #startNext(): void {
    const minWaitingSince = this.#clock.monotonic() - MAX_WAIT_MS;
    for (let nextRead = this.#waitingReads.shift(); nextRead !== undefined; nextRead = this.#waitingReads.shift()) {
      if (nextRead.waitingSince >= minWaitingSince) {
        nextRead.startRead();
        return;
      }
      nextRead.rejectRead(new Problem('overloaded'));
    }
    this.#runningCount -= 1;
  }
}
