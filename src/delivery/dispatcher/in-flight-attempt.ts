import type { PendingDelivery } from './queries.ts';

/** One attempt in flight, from its start to its outcome. */
export class InFlightAttempt {
  readonly row: PendingDelivery;
  /** Milliseconds since the epoch. */
  readonly beganAt: number;
  /** When it was due; the lateness metric is `beganAt - dueAt`. */
  readonly dueAt: number;
  /**
   * The queue's failure epoch at the start: failures of attempts from before a counted failure are part of that
   * one.
   */
  readonly failureEpoch: number;
  readonly #abort = new AbortController();
  #dialled = false;
  #isUnwanted = false;

  constructor(row: PendingDelivery, beganAt: number, dueAt: number, failureEpoch: number) {
    this.row = row;
    this.beganAt = beganAt;
    this.dueAt = dueAt;
    this.failureEpoch = failureEpoch;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** The target is connected: from now on the notification may be on the wire. */
  dialled(): void {
    this.#dialled = true;
  }

  /** The kept connection was dead and nothing was sent over it. */
  undialled(): void {
    this.#dialled = false;
    if (this.#isUnwanted) this.#abort.abort();
  }

  /** Aborts the attempt unless the notification may already be on the wire. */
  abortUnsent(): void {
    this.#isUnwanted = true;
    if (!this.#dialled) this.#abort.abort();
  }

  abort(): void {
    this.#abort.abort();
  }
}
