import type { PendingDelivery } from './queries.ts';

/** One attempt in flight, from its start to its outcome. */
export class InFlightAttempt {
  readonly row: PendingDelivery;
  /** Start of the attempt, milliseconds since the epoch. */
  readonly beganAt: number;
  /** When the attempt was due, milliseconds since the epoch. The lateness metric is `beganAt - dueAt`. */
  readonly dueAt: number;
  /**
   * The failure epoch of the queue when the attempt started. If a failure was counted since, a failure of this attempt
   * is part of it.
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

  /** Called when the target is connected: from now on the notification may be on the wire. */
  dialled(): void {
    this.#dialled = true;
  }

  /** Called when the reused connection was dead: nothing was sent over it. */
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
