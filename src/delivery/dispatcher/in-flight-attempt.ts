import type { PendingDelivery } from './queries.ts';

/** One attempt in flight, from its start to its outcome. */
export class InFlightAttempt {
  readonly pendingDelivery: PendingDelivery;
  /** Start of the attempt, milliseconds since the epoch. */
  readonly beganAt: number;
  /** Time when the attempt was due, milliseconds since the epoch. The lateness metric is `beganAt - dueAt`. */
  readonly dueAt: number;
  /**
   * Number of failures that the queue had counted when the attempt started. If a failure was counted since, a failure
   * of this attempt is not counted again (C18).
   */
  readonly failureCountAtStart: number;
  /** Aborts the request of this attempt. */
  readonly #abortController = new AbortController();
  /** Whether bytes of the webhook may have been sent. */
  #isSending = false;
  #isAbortRequested = false;

  constructor(pendingDelivery: PendingDelivery, beganAt: number, dueAt: number, failureCountAtStart: number) {
    this.pendingDelivery = pendingDelivery;
    this.beganAt = beganAt;
    this.dueAt = dueAt;
    this.failureCountAtStart = failureCountAtStart;
  }

  get signal(): AbortSignal {
    return this.#abortController.signal;
  }

  /** Called right before the first byte is sent: from now on, the target may receive the webhook. */
  markSending(): void {
    this.#isSending = true;
  }

  /** Called when the reused connection was closed: no bytes of the webhook were sent over it. */
  markNotSent(): void {
    this.#isSending = false;
    if (this.#isAbortRequested) this.#abortController.abort();
  }

  /** Aborts the attempt unless bytes of the webhook may already have been sent. */
  abortUnsent(): void {
    this.#isAbortRequested = true;
    if (!this.#isSending) this.#abortController.abort();
  }

  abort(): void {
    this.#abortController.abort();
  }
}
