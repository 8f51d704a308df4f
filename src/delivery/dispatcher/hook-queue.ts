import type { Clock } from '../../clock.ts';
import { maskTarget } from '../../log.ts';
import type { SigningSecret } from '../transport/signature.ts';
import type { Completion } from './complete-deliveries.ts';
import { DeliveryBuffer, type DeliverySource } from './delivery-buffer.ts';
import {
  applyDecision,
  computeRemainingPauseMs,
  computeRemainingWaitMs,
  countLocalErrorsBefore,
  createHealth,
  type HookHealth,
  isProven,
  MAX_IN_FLIGHT_PER_HOOK,
} from './hook-health.ts';
import { InFlightAttempt } from './in-flight-attempt.ts';
import type { HookQueueRow, PendingDelivery } from './queries.ts';
import type { Decision } from './retry-policy.ts';

/**
 * Maximum number of deliveries of one hook that are in flight, or sent and not committed: at most this many are sent
 * again after a crash. The number is large enough that a hook does not wait for a commit of a busy service.
 */
const MAX_UNCOMMITTED_DELIVERIES = 128;

/**
 * The reason why a queue starts no attempt, or that it can. The first row that holds is the status:
 *
 * | status | holds when | ends with |
 * | --- | --- | --- |
 * | `ended` | the hook has ended, or the lease is lost or released (C13) | – |
 * | `prefetching` | secrets or deliveries are being read | the end of the read |
 * | `unread` | an attempt could start, but its secrets or its delivery have to be read (X8) | a prefetch |
 * | `ready` | an attempt can start | – |
 * | `busy` | attempts are in flight or results are not committed | an outcome or a commit |
 * | `waiting` | the target has failed (backoff, C18), or a local error occurred (pause, C19) | the retry timer |
 * | `idle` | nothing is pending; the lease may be released | a commit event or a poll |
 */
export type QueueStatus = 'ended' | 'prefetching' | 'unread' | 'ready' | 'busy' | 'waiting' | 'idle';

/** Arguments of `HookQueue.finishAttempt`. */
export type FinishedAttempt = {
  readonly attempt: InFlightAttempt;
  readonly decision: Decision;
  /** The outcome in one word. `reason` explains it in a sentence (X3). */
  readonly outcome: string;
  readonly reason: string;
  readonly durationMs: number;
  /** Time of the outcome, milliseconds since the epoch. */
  readonly outcomeAt: number;
};

/** Reads the secrets and deliveries of one hook. */
export type HookSource = DeliverySource & { findSecrets(): Promise<readonly SigningSecret[]> };

/** The parts of a committed completion that concern its queue. */
type CommittedResult = Pick<Completion, 'generation' | 'deliveryState' | 'pendingDelivery'>;

/**
 * The queue of one hook, in the memory of the node that holds its lease. The prefetcher fills it, the dispatcher starts
 * what it returns and applies decisions, the completer commits its results. `QueueStatus` shows what it waits for; the
 * table of `applyDecision` in `hook-health.ts` shows how decisions change failures, backoff, pause and concurrency.
 *
 * Up to `concurrencyLimit` attempts are in flight at a time. After a failure, they start one at a time, the delivery that
 * failed first before the others (C18). Manual attempts start before all pending deliveries, also during a backoff (X1).
 */
export class HookQueue {
  readonly hookId: number;
  readonly accountId: number;
  readonly target: string;
  /** Host and port of the target. */
  readonly host: string;
  /** The target without its path, for logs. */
  readonly maskedTarget: string;
  /** Fencing token: the generation at the time of the claim. If the hook has a newer one, results do not change it. */
  readonly generation: number;

  readonly #buffer: DeliveryBuffer;
  /** Attempts in flight by delivery id. */
  readonly #inFlightAttempts = new Map<number, InFlightAttempt>();
  readonly #maxRetryDelayMs: number;
  #health: HookHealth;
  #secrets: readonly SigningSecret[];
  /** Whether the secrets were rotated. Then no attempt starts until they are read again. */
  #hasStaleSecrets = false;
  #lastUsedAt: number;
  #hasEnded = false;
  /** Cancels the retry timer. */
  #cancelTimer: () => void = () => undefined;

  /**
   * Creates the queue of a hook that was just claimed.
   *
   * @param maxRetryDelayMs maximum stored retry delay; a `dueAt` further ahead was stored while the clock was wrong
   */
  constructor(row: HookQueueRow, now: number, maxRetryDelayMs: number) {
    this.#maxRetryDelayMs = maxRetryDelayMs;
    this.#lastUsedAt = now;
    this.hookId = row.hookId;
    this.accountId = row.accountId;
    this.target = row.target;
    this.host = hostAndPortOf(row.target);
    this.maskedTarget = maskTarget(row.target);
    this.generation = row.generation;
    const { failures, dueAt, retryDeliveryId, lastOutcome } = row;
    this.#health = createHealth({ failures, dueAt, retryDeliveryId, lastOutcome });
    this.#buffer = new DeliveryBuffer(this.#inFlightAttempts, retryDeliveryId);
    this.#secrets = row.secrets;
  }

  status(now: number): QueueStatus {
    const buffer = this.#buffer;
    if (this.#hasEnded) return 'ended';
    if (buffer.isPrefetching) return 'prefetching';
    if (this.#hasStaleSecrets || buffer.needsManualAttempts) return 'unread';
    if (buffer.needsPendingDeliveries && this.#canStartPending(now)) return 'unread';
    if (buffer.hasNextManual && this.#canStartManual(now)) return 'ready';
    if (buffer.hasNextPending && this.#canStartPending(now)) return 'ready';
    if (this.hasUnfinishedAttempts) return 'busy';
    return this.computeWaitMs(now) > 0 ? 'waiting' : 'idle';
  }

  /** Whether the hook has ended, or the lease is lost or released: nothing starts any more. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Whether attempts are in flight or results are not committed. */
  get hasUnfinishedAttempts(): boolean {
    return this.#unfinishedCount > 0;
  }

  /** When this queue was claimed or last started an attempt, milliseconds since the epoch. */
  get lastUsedAt(): number {
    return this.#lastUsedAt;
  }

  /** The signing secrets of the hook, newest first (X8). */
  get secrets(): readonly SigningSecret[] {
    return this.#secrets;
  }

  /** Failures in a row. */
  get failures(): number {
    return this.#health.stored.failures;
  }

  /** Whether the last outcome was 200. All unproven targets share a concurrency limit and a start rate. */
  get isProven(): boolean {
    return isProven(this.#health);
  }

  /**
   * Returns the milliseconds until the backoff and the pause are over; 0 or less if they are. Manual attempts ignore
   * the backoff, but not the pause (X1).
   */
  computeWaitMs(now: number): number {
    return this.#buffer.manualAttemptCount > 0
      ? computeRemainingPauseMs(this.#health, now)
      : computeRemainingWaitMs(this.#health, now, this.#maxRetryDelayMs);
  }

  /** Called when the database may contain work that is not in memory. */
  markUnread(workType: 'pending' | 'manual'): void {
    this.#buffer.markUnread(workType);
  }

  /**
   * Called when the poll has found pending deliveries of this hook. Returns whether the queue has to be scheduled. An
   * active queue reads its further deliveries itself, and its next outcome or commit schedules it.
   */
  onPolled(now: number): boolean {
    const isInMemory = this.#buffer.pendingCount + this.#buffer.manualAttemptCount > 0;
    if (this.hasUnfinishedAttempts || this.#buffer.isPrefetching) return false;
    if (!isInMemory) this.#buffer.markUnread('pending');
    return !isInMemory || this.computeWaitMs(now) <= 0;
  }

  /** Adds new pending deliveries from a commit event, or reads them later. */
  pushDeliveries(rows: readonly PendingDelivery[], now: number): void {
    this.#buffer.push(rows, this.#canStartPending(now));
  }

  /**
   * Reads what the next attempt needs: rotated secrets, manual attempts, pending deliveries.
   *
   * @param mayReadSecrets false while the acknowledgement of a secret rotation is not committed (X8)
   */
  async fill(source: HookSource, clock: Pick<Clock, 'now'>, mayReadSecrets: boolean): Promise<void> {
    const buffer = this.#buffer;
    if (this.#hasEnded) return;
    await buffer.prefetch(async () => {
      if (this.#hasStaleSecrets && mayReadSecrets) await this.#readSecrets(source);
      if (buffer.needsManualAttempts) await buffer.readManualAttempts(source);
      if (buffer.needsPendingDeliveries && this.#canStartPending(clock.now()))
        await buffer.readPendingDeliveries(source);
    });
  }

  /** Removes and returns the next delivery, if its attempt may start now. */
  takeNextDelivery(now: number): PendingDelivery | undefined {
    const manualAttempt = this.#canStartManual(now) ? this.#buffer.takeNextManual() : undefined;
    return manualAttempt ?? (this.#canStartPending(now) ? this.#buffer.takeNextPending() : undefined);
  }

  /** Records that the attempt of a delivery begins now, and returns it. The caller sends it. */
  beginAttempt(row: PendingDelivery, now: number): InFlightAttempt {
    const { stored, pausedUntil, failureCountSinceClaim } = this.#health;
    const dueAt = row.manualAttemptId !== null ? now : Math.max(row.createdAt, stored.dueAt ?? 0, pausedUntil);
    const attempt = new InFlightAttempt(row, now, dueAt, failureCountSinceClaim);
    this.#inFlightAttempts.set(row.deliveryId, attempt);
    this.#lastUsedAt = now;
    return attempt;
  }

  /**
   * Returns the number of consecutive local errors before this attempt. The local errors of attempts that were in
   * flight at the same time count as one.
   */
  countLocalErrorsBefore(attempt: InFlightAttempt): number {
    return countLocalErrorsBefore(this.#health, attempt.beganAt);
  }

  /**
   * Whether a failure was counted while this attempt was in flight. A failure of this attempt is then part of that
   * failure (C18).
   */
  isPartOfFailure(attempt: InFlightAttempt): boolean {
    return attempt.failureCountAtStart < this.#health.failureCountSinceClaim;
  }

  /** Ends an attempt: applies the decision of the retry policy, and returns the completion to commit. */
  finishAttempt({ attempt, decision, outcome, reason, durationMs, outcomeAt }: FinishedAttempt): Completion {
    const { pendingDelivery } = attempt;
    this.#inFlightAttempts.delete(pendingDelivery.deliveryId);
    const storedBefore = this.#health.stored;
    const { deliveryId, manualAttemptId } = pendingDelivery;
    const decidedAttempt = { deliveryId, isManual: manualAttemptId !== null, beganAt: attempt.beganAt, outcome };
    this.#health = applyDecision(this.#health, decision, decidedAttempt, outcomeAt);
    const { stored } = this.#health;
    const deliveryState = this.#applyDecisionToDelivery(pendingDelivery, decision);
    if (deliveryState !== 'pending') this.#buffer.addUncommitted(deliveryId);
    return {
      hookId: this.hookId,
      accountId: this.accountId,
      generation: this.generation,
      pendingDelivery,
      attempt: {
        beganAt: attempt.beganAt,
        outcome,
        durationMs: Math.round(durationMs),
        isCountedAsFailure: isCountedFailure(decision),
        reason,
      },
      deliveryState,
      manualAttemptIds: this.#takeCompletedManualAttemptIds(pendingDelivery, decision, deliveryState),
      ...(stored === storedBefore ? {} : { hookState: stored }),
      ...(decision.is === 'ended' ? { endedReason: decision.reason } : {}),
    };
  }

  /**
   * Called when a result was committed. Returns whether the queue had to wait for a commit before it could start more
   * attempts. A result of an earlier lease, or of a delivery that stays pending, says nothing about the results of this
   * queue that are not committed yet.
   */
  onResultCommitted({ generation, deliveryState, pendingDelivery }: CommittedResult): boolean {
    const wasSaturated = this.#isSaturated;
    if (generation === this.generation && deliveryState !== 'pending')
      this.#buffer.onResultCommitted(pendingDelivery.deliveryId);
    return wasSaturated;
  }

  /**
   * Ends the queue because the hook has ended or the lease is lost: no attempt starts, and attempts that have sent
   * nothing are aborted (C13).
   */
  end(): void {
    this.#hasEnded = true;
    this.cancelRetryTimer();
    this.#abortUnsent();
  }

  /**
   * Marks the secrets as rotated: no attempt starts until they are read again, and attempts that have sent nothing are
   * aborted and start again (X8).
   */
  invalidateSecrets(): void {
    this.#hasStaleSecrets = true;
    this.#abortUnsent();
  }

  /** Cancels the current retry timer, and keeps the function that cancels the new one. */
  replaceRetryTimer(cancelTimer: () => void): void {
    this.#cancelTimer();
    this.#cancelTimer = cancelTimer;
  }

  cancelRetryTimer(): void {
    this.replaceRetryTimer(() => undefined);
  }

  /** Number of deliveries that are in flight, or sent and not committed. */
  get #unfinishedCount(): number {
    return this.#inFlightAttempts.size + this.#buffer.uncommittedCount;
  }

  get #isSaturated(): boolean {
    return this.#unfinishedCount >= MAX_UNCOMMITTED_DELIVERIES;
  }

  #canStartPending(now: number): boolean {
    if (this.#hasEnded || this.#hasStaleSecrets || this.#isSaturated) return false;
    if (computeRemainingWaitMs(this.#health, now, this.#maxRetryDelayMs) > 0) return false;
    return this.#inFlightAttempts.size < (this.failures > 0 ? 1 : this.#health.concurrencyLimit);
  }

  /** On a failing hook, a manual attempt starts only when no other attempt is in flight (C22). */
  #canStartManual(now: number): boolean {
    if (this.#hasEnded || this.#hasStaleSecrets || computeRemainingPauseMs(this.#health, now) > 0) return false;
    return this.#inFlightAttempts.size < (this.failures > 0 ? 1 : MAX_IN_FLIGHT_PER_HOOK);
  }

  async #readSecrets(source: HookSource): Promise<void> {
    // Cleared before the read, so that a rotation that commits during the read marks the secrets as stale again.
    this.#hasStaleSecrets = false;
    this.#secrets = await source.findSecrets().catch((error: unknown) => {
      this.#hasStaleSecrets = true;
      throw error;
    });
  }

  #abortUnsent(): void {
    for (const attempt of this.#inFlightAttempts.values()) attempt.abortUnsent();
  }

  /**
   * Removes a delivered delivery, or puts a pending one back, so that it is sent again. Ends the queue if the hook has
   * ended. Returns the new state of the delivery.
   */
  #applyDecisionToDelivery(row: PendingDelivery, decision: Decision): Completion['deliveryState'] {
    switch (decision.is) {
      case 'delivered':
        this.#buffer.removePending(row.deliveryId);
        return 'delivered';
      case 'delivered_during_backoff':
        return 'delivered';
      case 'wait':
      case 'part_of_counted_failure':
      case 'retry_local_error':
        this.#buffer.putBack(row, this.#health.stored.retryDeliveryId);
        return 'pending';
      case 'manual_failed':
        return getStateWithoutRetry(row);
      case 'ended':
        this.end();
        return getStateWithoutRetry(row);
    }
  }

  /**
   * Returns the ids of the manual attempts that this attempt completes: its own if it is manual. A successful regular
   * attempt also completes the manual attempts of the same delivery that are still waiting, and removes them.
   */
  #takeCompletedManualAttemptIds(
    { manualAttemptId, deliveryId }: PendingDelivery,
    decision: Decision,
    deliveryState: Completion['deliveryState'],
  ): number[] {
    if (manualAttemptId !== null) return decision.is === 'retry_local_error' ? [] : [manualAttemptId];
    return deliveryState === 'delivered' ? this.#buffer.removeManualAttempts(deliveryId) : [];
  }
}

function hostAndPortOf(target: string): string {
  const { protocol, hostname, port } = new URL(target);
  return `${hostname}:${port === '' ? (protocol === 'https:' ? 443 : 80) : port}`;
}

/**
 * Returns the state of a delivery after an attempt that is not retried: a test is dropped, any other delivery stays
 * pending.
 */
function getStateWithoutRetry(row: PendingDelivery): Completion['deliveryState'] {
  return row.position === null ? 'dropped' : 'pending';
}

function isCountedFailure(decision: Decision): boolean {
  return decision.is === 'wait' || (decision.is === 'ended' && decision.reason === 'three_failures');
}
