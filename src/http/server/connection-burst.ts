import { type Clock, systemClock } from '../../clock.ts';

/** Maximum delay of a job, so that connections without end delay it no longer. */
const MAX_DELAY_MS = 500;

/** A job, and the monotonic time at which it runs even if the burst goes on. */
type Postponed = { readonly job: () => void; readonly latestAt: number };

/**
 * Detects bursts of new connections. Node accepts one connection per event-loop iteration, so while many wait to be
 * accepted, each iteration has to be short: work that can wait is postponed until the burst is over.
 */
export class ConnectionBurst {
  readonly #clock: Pick<Clock, 'monotonic'>;
  #isRunning = false;
  #hasAccepted = false;
  readonly #postponed: Postponed[] = [];

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Records that a connection was accepted. */
  onAccepted(): void {
    this.#hasAccepted = true;
    if (this.#isRunning) return;
    this.#isRunning = true;
    setImmediate(this.#onIteration);
  }

  /** Runs the job now, or after the burst, but at most `MAX_DELAY_MS` later. */
  whenOver(job: () => void): void {
    if (this.#isRunning) this.#postponed.push({ job, latestAt: this.#clock.monotonic() + MAX_DELAY_MS });
    else job();
  }

  /** The burst is over when an iteration has accepted no connection. */
  readonly #onIteration = (): void => {
    this.#isRunning = this.#hasAccepted;
    this.#hasAccepted = false;
    if (this.#isRunning) setImmediate(this.#onIteration);
    for (const { job } of this.#postponed.splice(0, this.#dueCount())) job();
  };

  /** Number of jobs that have to run now; they are in the order of their latest times. */
  #dueCount(): number {
    if (!this.#isRunning) return this.#postponed.length;
    const now = this.#clock.monotonic();
    const firstLater = this.#postponed.findIndex(({ latestAt }) => latestAt > now);
    return firstLater < 0 ? this.#postponed.length : firstLater;
  }
}

/** The bursts of this process: one event loop serves all its connections. */
export const connectionBurst = new ConnectionBurst(systemClock);
