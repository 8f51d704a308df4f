import type { PendingDelivery } from './queries.ts';

/** One attempt under way. */
export class InFlightAttempt {
  readonly row: PendingDelivery;
  /** Milliseconds since the epoch. */
  readonly beganAt: number;
  /** When it could have begun at the earliest. */
  readonly dueAt: number;
  /** How often the lane had failed when it began: tells a burst's failures from a new one. */
  readonly failureEpoch: number;
  readonly #abort = new AbortController();
  #dialled = false;
  #isUnwanted = false;

  constructor(row: PendingDelivery, beganAt: number, dueAt: number, turn: number) {
    this.row = row;
    this.beganAt = beganAt;
    this.dueAt = dueAt;
    this.failureEpoch = turn;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** The target is connected: from here on the notification may be written. */
  dialled(): void {
    this.#dialled = true;
  }

  /** That connection was dead, and nothing has gone out over it. */
  undialled(): void {
    this.#dialled = false;
    if (this.#isUnwanted) this.#abort.abort();
  }

  /** Ends it if nothing has gone out yet. */
  abortUnsent(): void {
    this.#isUnwanted = true;
    if (!this.#dialled) this.#abort.abort();
  }

  abort(): void {
    this.#abort.abort();
  }
}
