import { type Clock, systemClock } from '../../clock.ts';

/** A postponed job, and the monotonic time at which it runs even if the burst is not over. */
type PostponedJob = { readonly job: () => void; readonly deadlineAt: number };

/**
 * Detects bursts of new connections. Node accepts one connection per event-loop iteration. While many connections wait
 * to be accepted, each iteration has to be short, so work that can wait is postponed until the burst is over.
 */
export class ConnectionBurstDetector {
  readonly #clock: Pick<Clock, 'monotonic'>;
  #isBurst = false;
  #hasAcceptedConnection = false;
  readonly #postponedJobs = new Set<PostponedJob>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Records that a connection was accepted. */
  recordConnection(): void {
    this.#hasAcceptedConnection = true;
    if (this.#isBurst) return;
    this.#isBurst = true;
    setImmediate(this.#onIteration);
  }

  /**
   * Runs the job immediately if there is no burst, otherwise after the burst. The delay is at most `maxDelayMs`,
   * because a burst may never end.
   */
  runAfterBurst(maxDelayMs: number, job: () => void): void {
    if (this.#isBurst) this.#postponedJobs.add({ job, deadlineAt: this.#clock.monotonic() + maxDelayMs });
    else job();
  }

  /**
   * Runs once per event-loop iteration during a burst. The burst is over when an iteration has accepted no connection.
   */
  readonly #onIteration = (): void => {
    this.#isBurst = this.#hasAcceptedConnection;
    this.#hasAcceptedConnection = false;
    if (this.#isBurst) setImmediate(this.#onIteration);
    const deadlineThreshold = this.#isBurst ? this.#clock.monotonic() : Number.POSITIVE_INFINITY;
    for (const postponedJob of this.#postponedJobs) {
      if (postponedJob.deadlineAt > deadlineThreshold) continue;
      this.#postponedJobs.delete(postponedJob);
      postponedJob.job();
    }
  };
}

/** The burst detector of this process. One is enough, because one event loop accepts all connections. */
export const burstDetector = new ConnectionBurstDetector(systemClock);
