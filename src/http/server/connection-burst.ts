import { type Clock, systemClock } from '../../clock.ts';

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
  readonly #postponed = new Set<Postponed>();

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

  /** Runs the job now, or after the burst, but at most `maxDelayMs` later: connections may arrive without end. */
  whenOver(maxDelayMs: number, job: () => void): void {
    if (this.#isRunning) this.#postponed.add({ job, latestAt: this.#clock.monotonic() + maxDelayMs });
    else job();
  }

  /** The burst is over when an iteration has accepted no connection. */
  readonly #onIteration = (): void => {
    this.#isRunning = this.#hasAccepted;
    this.#hasAccepted = false;
    if (this.#isRunning) setImmediate(this.#onIteration);
    const now = this.#isRunning ? this.#clock.monotonic() : Number.POSITIVE_INFINITY;
    for (const postponed of this.#postponed) {
      if (postponed.latestAt > now) continue;
      this.#postponed.delete(postponed);
      postponed.job();
    }
  };
}

/** The bursts of this process: one event loop serves all its connections. */
export const connectionBurst = new ConnectionBurst(systemClock);
