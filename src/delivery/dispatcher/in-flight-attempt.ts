import type { PendingDelivery } from './queries.ts';
import {
  type AttemptOutcome,
  type Decision,
  type EndedReason,
  explainDecision,
  formatOutcome,
  isCountedFailure,
} from './retry-policy.ts';

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

/** The result of one attempt that is to be committed. */
export type Completion = {
  readonly hookId: number;
  readonly accountId: number;
  readonly generation: number;
  readonly pendingDelivery: PendingDelivery;
  readonly attempt: {
    readonly beganAt: number;
    readonly outcome: string;
    readonly durationMs: number;
    /** Whether the attempt counts as a failure of the hook. */
    readonly isCountedAsFailure: boolean;
    readonly reason: string;
    /** The beginning of the response body, if the attempt has failed. */
    readonly responseText: string;
  };
  /** The new state of the delivery; `dropped`: a test that failed, which is not retried. */
  readonly deliveryState: 'delivered' | 'dropped' | 'pending';
  /** Ids of the manual attempts that this result completes. */
  readonly manualAttemptIds: readonly number[];
  /** The new state of the hook; absent if the state has not changed. */
  readonly hookState?: {
    readonly failures: number;
    readonly dueAt: number | null;
    readonly retryDeliveryId: number | null;
    readonly lastOutcome: string;
  };
  /** Set if this result ends the hook. */
  readonly endedReason?: EndedReason;
};

/** Creates the completion of an attempt. `result`: the state of its delivery and hook after the decision. */
export function createCompletion(
  { hookId, accountId, generation }: Pick<Completion, 'hookId' | 'accountId' | 'generation'>,
  { pendingDelivery, beganAt }: InFlightAttempt,
  outcome: AttemptOutcome,
  decision: Decision,
  result: Pick<Completion, 'deliveryState' | 'manualAttemptIds' | 'hookState'>,
): Completion {
  return {
    hookId,
    accountId,
    generation,
    pendingDelivery,
    attempt: {
      beganAt,
      outcome: formatOutcome(outcome),
      durationMs: Math.round(outcome.durationMs),
      isCountedAsFailure: isCountedFailure(decision),
      reason: explainDecision(decision),
      responseText: outcome.kind === 'answered' ? (outcome.responseText ?? '') : '',
    },
    ...result,
    ...(decision.is === 'ended' ? { endedReason: decision.reason } : {}),
  };
}
