import { maskTarget } from '../../log.ts';
import type { SigningSecret } from '../transport/signature.ts';
import type { Completion } from './complete-deliveries.ts';
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
 * Maximum number of deliveries that commit events push into the queue until the next read. Further deliveries are read
 * from the database instead.
 */
const MAX_PUSHED_DELIVERIES = 32;

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

/** The parts of a committed completion that concern its queue. */
type CommittedResult = Pick<Completion, 'generation' | 'deliveryState' | 'pendingDelivery'>;

/**
 * The pending deliveries of one hook, in the memory of the node that holds its lease. A state machine without
 * I/O: the prefetcher fills it, the dispatcher starts what it returns and applies decisions, the completer
 * commits its results.
 *
 * States; several can hold at the same time, and the first one in this list decides what may start:
 *
 * - ENDED: the hook has ended, or the lease is lost or released. Nothing starts; attempts that have sent nothing are aborted
 *   (C13).
 * - STALE SECRETS: the signing secrets were rotated. Nothing starts until they are read again (X8).
 * - PAUSED: local errors delay all attempts, with exponential backoff (C19).
 * - BACKOFF: the target failed once or twice in a row. Only manual attempts start. After the backoff, deliveries
 *   start one at a time, the one that failed first before the others (C18).
 * - SATURATED: MAX_UNCOMMITTED_DELIVERIES deliveries are in flight or not committed. Waits for the completer.
 * - UNREAD: no delivery is in memory, but the outbox may contain more. Waits for the prefetcher.
 * - READY: up to `concurrencyLimit` attempts are in flight at a time.
 * - IDLE: no delivery is pending. The lease may be released once all results are committed.
 *
 * The table of `applyDecision` in `hook-health.ts` shows how decisions change failures, backoff, pause and concurrency.
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

  /** Whether the database may contain pending deliveries after `feedReadPosition` that are not in memory. */
  hasUnreadPendingDeliveries = true;
  /** When this queue was claimed or last started an attempt, milliseconds since the epoch. */
  lastUsedAt: number;
  /** Whether the database may contain manual attempts after `lastReadManualAttemptId`. */
  hasUnreadManualAttempts = true;
  /** See the getter `feedReadPosition`. */
  #feedReadPosition = 0;
  /** Manual attempts are read once, in the order of their ids. */
  lastReadManualAttemptId = 0;
  /** Id of the delivery that was in backoff when this queue was claimed, until it is read. It is read first (C18). */
  unreadRetryDeliveryId: number | null;
  /** The signing secrets of the hook, newest first (X8). */
  secrets: readonly SigningSecret[];
  /** Whether the secrets were rotated. Then no attempt starts until they are read again. */
  hasStaleSecrets = false;

  /** Pending deliveries that were read and are not in flight, in sending order. */
  readonly #waitingDeliveries: PendingDelivery[] = [];
  /** Manual attempts that were read and are not in flight, in sending order. */
  readonly #manualAttempts: PendingDelivery[] = [];
  /** Attempts in flight by delivery id. A delivery is never in flight twice at the same time. */
  readonly #inFlightAttempts = new Map<number, InFlightAttempt>();
  /** Ids of deliveries that commit events have pushed. If the next read returns them again, they are skipped. */
  readonly #pushedDeliveryIds = new Set<number>();
  /** The highest feed position of a delivery that a commit event has pushed. */
  #maxPushedPosition = 0;
  /**
   * Ids of deliveries that were delivered or dropped, but not committed: the database still returns them as pending.
   */
  readonly #uncommittedDeliveryIds = new Set<number>();
  /**
   * Ids of deliveries whose result was committed during the current prefetch. A page that was read before the commit may
   * still contain them as pending, so they stay in `#uncommittedDeliveryIds` until the prefetch ends.
   */
  readonly #committedDuringPrefetch = new Set<number>();
  #isPrefetching = false;
  readonly #maxRetryDelayMs: number;
  #health: HookHealth;
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
    this.lastUsedAt = now;
    this.hookId = row.hookId;
    this.accountId = row.accountId;
    this.target = row.target;
    this.host = hostAndPortOf(row.target);
    this.maskedTarget = maskTarget(row.target);
    this.generation = row.generation;
    const { failures, dueAt, retryDeliveryId, lastOutcome } = row;
    this.#health = createHealth({ failures, dueAt, retryDeliveryId, lastOutcome });
    this.unreadRetryDeliveryId = retryDeliveryId;
    this.secrets = row.secrets;
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
   * Returns the number of consecutive local errors before this attempt. The local errors of attempts that were in
   * flight at the same time count as one.
   */
  countLocalErrorsBefore(attempt: InFlightAttempt): number {
    return countLocalErrorsBefore(this.#health, attempt.beganAt);
  }

  /** Whether the queue has ended: nothing starts any more (state ENDED). */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Whether deliveries are in memory, in flight, not committed, or being read. */
  get isActive(): boolean {
    const deliveryCount =
      this.#inFlightAttempts.size +
      this.#waitingDeliveries.length +
      this.#manualAttempts.length +
      this.#uncommittedDeliveryIds.size;
    return this.isPrefetching || deliveryCount > 0;
  }

  /**
   * Whether the queue has nothing to do: no delivery is pending and no attempt is in flight. Its lease can be released
   * once its results are committed.
   */
  isIdle(now: number): boolean {
    return (
      !this.isActive &&
      this.failures === 0 &&
      computeRemainingPauseMs(this.#health, now) <= 0 &&
      !this.hasUnreadPendingDeliveries &&
      !this.hasUnreadManualAttempts
    );
  }

  /** Whether attempts are in flight or results are not committed. */
  get hasUnfinishedAttempts(): boolean {
    return this.#inFlightAttempts.size + this.#uncommittedDeliveryIds.size > 0;
  }

  /** Whether an attempt may start although no running attempt, commit or prefetch will schedule this queue. */
  needsScheduling(now: number): boolean {
    return !this.hasUnfinishedAttempts && !this.isPrefetching && this.computeNextWaitMs(now) <= 0;
  }

  /** Whether results have to be committed before more attempts start. */
  get isSaturated(): boolean {
    return this.#inFlightAttempts.size + this.#uncommittedDeliveryIds.size >= MAX_UNCOMMITTED_DELIVERIES;
  }

  /** Returns the milliseconds until a pending delivery may start; 0 or less if one may start now. */
  computePendingWaitMs(now: number): number {
    return computeRemainingWaitMs(this.#health, now, this.#maxRetryDelayMs);
  }

  /**
   * Returns the milliseconds until the next attempt may start; 0 or less if it may start now. Manual attempts ignore
   * the backoff, but not the pause (X1).
   */
  computeNextWaitMs(now: number): number {
    return this.#manualAttempts.length > 0
      ? computeRemainingPauseMs(this.#health, now)
      : this.computePendingWaitMs(now);
  }

  /** Whether one more pending delivery may start now. */
  canStartPendingDelivery(now: number): boolean {
    if (this.#hasEnded || this.hasStaleSecrets || this.computePendingWaitMs(now) > 0 || this.isSaturated) return false;
    return this.#inFlightAttempts.size < (this.failures > 0 ? 1 : this.#health.concurrencyLimit);
  }

  /** Whether a prefetch may load secrets or deliveries that let an attempt start now. */
  needsPrefetch(now: number): boolean {
    if (this.#hasEnded) return false;
    return (
      this.hasStaleSecrets ||
      this.needsManualAttempts ||
      (this.hasNoWaitingDeliveries && this.hasUnreadPendingDeliveries && this.canStartPendingDelivery(now))
    );
  }

  /** Whether manual attempts have to be read. They are read a page at a time, when those in memory have started. */
  get needsManualAttempts(): boolean {
    return this.hasUnreadManualAttempts && this.#manualAttempts.length === 0;
  }

  /** Whether no pending delivery is in memory. */
  get hasNoWaitingDeliveries(): boolean {
    return this.#waitingDeliveries.length === 0;
  }

  /** Feed position up to which all pending deliveries have been read. */
  get feedReadPosition(): number {
    return this.#feedReadPosition;
  }

  /** Adds deliveries that were read, except those that are already in memory. */
  addPendingDeliveries(rows: readonly PendingDelivery[]): void {
    for (const row of rows) if (!this.#isInMemory(row.deliveryId)) this.#waitingDeliveries.push(row);
  }

  /**
   * Adds the deliveries that were read after `feedReadPosition`.
   *
   * @param isLastPage whether the read returned all pending deliveries that were committed at that time
   */
  addReadPage(rows: readonly PendingDelivery[], isLastPage: boolean): void {
    this.addPendingDeliveries(rows);
    this.#feedReadPosition = rows.at(-1)?.position ?? this.#feedReadPosition;
    if (!isLastPage) {
      this.hasUnreadPendingDeliveries = true;
      return;
    }
    // The pushed deliveries were committed before this read, and so were all deliveries with a lower feed position.
    this.#feedReadPosition = Math.max(this.#feedReadPosition, this.#maxPushedPosition);
    this.#pushedDeliveryIds.clear();
  }

  /**
   * Adds deliveries from a commit event without a read, if no earlier delivery has to be read first and one more may
   * start. Otherwise the next read loads them. `feedReadPosition` is not advanced, because the commit event of an
   * earlier commit may arrive later.
   */
  pushDeliveries(rows: readonly PendingDelivery[], now: number): void {
    const isPushLimitReached = this.#pushedDeliveryIds.size + rows.length > MAX_PUSHED_DELIVERIES;
    if (
      this.hasUnreadPendingDeliveries ||
      this.isPrefetching ||
      isPushLimitReached ||
      !this.canStartPendingDelivery(now)
    ) {
      this.hasUnreadPendingDeliveries = true;
      return;
    }
    for (const row of rows) {
      // A read may have returned this delivery before its commit event arrived.
      if (Number(row.position) <= this.#feedReadPosition) continue;
      this.#waitingDeliveries.push(row);
      this.#pushedDeliveryIds.add(row.deliveryId);
      this.#maxPushedPosition = Math.max(this.#maxPushedPosition, Number(row.position));
    }
  }

  /** Adds manual attempts. They start before all pending deliveries, also during a backoff (X1). */
  addManualAttempts(rows: readonly PendingDelivery[]): void {
    this.#manualAttempts.push(...rows);
  }

  /** Removes and returns the next pending delivery, if it may start now. */
  takeNextPendingDelivery(now: number): PendingDelivery | undefined {
    return this.canStartPendingDelivery(now) ? this.#takeFirst(this.#waitingDeliveries) : undefined;
  }

  /**
   * Removes and returns the next manual attempt, if it may start now. On a failing hook, a manual attempt starts only
   * when no other attempt is in flight (C22).
   */
  takeNextManualAttempt(now: number): PendingDelivery | undefined {
    if (this.#hasEnded || this.hasStaleSecrets || computeRemainingPauseMs(this.#health, now) > 0) return undefined;
    return this.#inFlightAttempts.size < (this.failures > 0 ? 1 : MAX_IN_FLIGHT_PER_HOOK)
      ? this.#takeFirst(this.#manualAttempts)
      : undefined;
  }

  /**
   * Called when a result was committed. A result of an earlier lease, or of a delivery that stays pending, says nothing
   * about the results of this queue that are not committed yet.
   */
  onResultCommitted({ generation, deliveryState, pendingDelivery: { deliveryId } }: CommittedResult): void {
    if (generation !== this.generation || deliveryState === 'pending') return;
    if (this.#isPrefetching) this.#committedDuringPrefetch.add(deliveryId);
    else this.#uncommittedDeliveryIds.delete(deliveryId);
  }

  /** Whether a prefetch is running. */
  get isPrefetching(): boolean {
    return this.#isPrefetching;
  }

  beginPrefetch(): void {
    this.#isPrefetching = true;
  }

  endPrefetch(): void {
    this.#isPrefetching = false;
    for (const deliveryId of this.#committedDuringPrefetch) this.#uncommittedDeliveryIds.delete(deliveryId);
    this.#committedDuringPrefetch.clear();
  }

  /** Records that the attempt of a delivery begins now, and returns it. The caller sends it. */
  beginAttempt(row: PendingDelivery, now: number): InFlightAttempt {
    const { stored, pausedUntil, failureCountSinceClaim } = this.#health;
    const dueAt = row.manualAttemptId !== null ? now : Math.max(row.createdAt, stored.dueAt ?? 0, pausedUntil);
    const attempt = new InFlightAttempt(row, now, dueAt, failureCountSinceClaim);
    this.#inFlightAttempts.set(row.deliveryId, attempt);
    this.lastUsedAt = now;
    return attempt;
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
    if (deliveryState !== 'pending') this.#uncommittedDeliveryIds.add(deliveryId);
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
    this.hasStaleSecrets = true;
    this.#abortUnsent();
  }

  #abortUnsent(): void {
    for (const attempt of this.#inFlightAttempts.values()) attempt.abortUnsent();
  }

  /** Cancels the current retry timer, and keeps the function that cancels the new one. */
  replaceRetryTimer(cancelTimer: () => void): void {
    this.#cancelTimer();
    this.#cancelTimer = cancelTimer;
  }

  cancelRetryTimer(): void {
    this.replaceRetryTimer(() => undefined);
  }

  /**
   * Removes a delivered delivery, or puts a pending one back, so that it is sent again. Ends the queue if the hook has
   * ended. Returns the new state of the delivery.
   */
  #applyDecisionToDelivery(row: PendingDelivery, decision: Decision): Completion['deliveryState'] {
    switch (decision.is) {
      case 'delivered':
        removeDelivery(this.#waitingDeliveries, row.deliveryId);
        return 'delivered';
      case 'delivered_during_backoff':
        return 'delivered';
      case 'wait':
      case 'part_of_counted_failure':
      case 'retry_local_error':
        this.#requeue(row);
        return 'pending';
      case 'manual_failed':
        return getStateWithoutRetry(row);
      case 'ended':
        this.end();
        return getStateWithoutRetry(row);
    }
  }

  /**
   * Returns the ids of the completed manual attempts: the id of this attempt if it is manual. After a regular delivery,
   * removes all waiting manual attempts of the same delivery and returns their ids.
   */
  #takeCompletedManualAttemptIds(
    { manualAttemptId, deliveryId }: PendingDelivery,
    decision: Decision,
    deliveryState: Completion['deliveryState'],
  ): number[] {
    const ownManualAttemptIds =
      manualAttemptId === null || decision.is === 'retry_local_error' ? [] : [manualAttemptId];
    if (deliveryState !== 'delivered' || manualAttemptId !== null) return ownManualAttemptIds;
    const otherManualAttemptIds: number[] = [];
    for (
      let row = removeDelivery(this.#manualAttempts, deliveryId);
      row !== undefined;
      row = removeDelivery(this.#manualAttempts, deliveryId)
    ) {
      if (row.manualAttemptId !== null) otherManualAttemptIds.push(row.manualAttemptId);
    }
    return otherManualAttemptIds;
  }

  /** Puts a delivery back at the front of the queue, but behind the delivery that is to be retried first (C18). */
  #requeue(row: PendingDelivery): void {
    const { retryDeliveryId } = this.#health.stored;
    if (row.manualAttemptId !== null) this.#manualAttempts.unshift(row);
    else if (row.deliveryId === retryDeliveryId || this.#waitingDeliveries[0]?.deliveryId !== retryDeliveryId)
      this.#waitingDeliveries.unshift(row);
    else this.#waitingDeliveries.splice(1, 0, row);
  }

  /** Removes and returns the first delivery that is not in flight. */
  #takeFirst(rows: PendingDelivery[]): PendingDelivery | undefined {
    const index = rows.findIndex((row) => !this.#inFlightAttempts.has(row.deliveryId));
    return index < 0 ? undefined : rows.splice(index, 1)[0];
  }

  #isInMemory(deliveryId: number): boolean {
    const attempt = this.#inFlightAttempts.get(deliveryId);
    // A delivery whose manual attempt is in flight is still pending, and has to be sent regularly as well.
    const isPendingInFlight = attempt !== undefined && attempt.pendingDelivery.manualAttemptId === null;
    return (
      isPendingInFlight ||
      this.#uncommittedDeliveryIds.has(deliveryId) ||
      this.#pushedDeliveryIds.has(deliveryId) ||
      this.#waitingDeliveries.some((row) => row.deliveryId === deliveryId)
    );
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

function removeDelivery(rows: PendingDelivery[], deliveryId: number): PendingDelivery | undefined {
  const index = rows.findIndex((row) => row.deliveryId === deliveryId);
  return index < 0 ? undefined : rows.splice(index, 1)[0];
}
