import type { Clock } from '../../clock.ts';
import { Problem } from '../../problems.ts';

/** How long a call waits for its turn, milliseconds. */
const MAX_WAIT_MS = 10_000;

type Waiting = { readonly since: number; readonly begin: () => void; readonly giveUp: (problem: Problem) => void };

/**
 * Lets calls that read wait for each other before they begin, and not between their queries: those that have begun are
 * through sooner, hold less, and whatever is asked beside them, such as whose a key is, waits behind a few and not behind
 * all of them.
 */
export class ReadLimiter {
  readonly #most: number;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #waiting: Waiting[] = [];
  #begun = 0;

  /** @param most calls at once */
  constructor(most: number, clock: Pick<Clock, 'monotonic'>) {
    this.#most = most;
    this.#clock = clock;
  }

  /** Runs `work` when it is its turn, in the order in which it came; rejects with `overloaded` when that is too late. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#begun < this.#most) this.#begun += 1;
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

  /** Whoever came too long ago is told to come again: the calls behind them are to have an answer of use. */
  #beginNext(): void {
    const lastSince = this.#clock.monotonic() - MAX_WAIT_MS;
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      if (next.since >= lastSince) {
        next.begin();
        return;
      }
      next.giveUp(new Problem('overloaded'));
    }
    this.#begun -= 1;
  }
}
