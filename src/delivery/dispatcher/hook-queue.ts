import type { Clock } from '../../clock.ts';
import { maskTarget } from '../../log.ts';
import { hostAndPortOf } from './concurrency-limiter.ts';
import { DeliveryBuffer, type DeliverySource } from './delivery-buffer.ts';
import {
  applyDecision,
  computeRemainingWaitMs,
  concurrencyLimitOf,
  countLocalErrorsBefore,
  countsAsDueFrom,
  createHealth,
  type HookHealth,
  isProven,
  type QueueStatus,
} from './hook-health.ts';
import { CachedSettings, type HookSettings, type ReadSettings } from './hook-settings.ts';
import { type Completion, createCompletion, InFlightAttempt } from './in-flight-attempt.ts';
import type { HookQueueRow, PendingDelivery } from './queries.ts';
import { type AttemptOutcome, type Decision, decide, formatOutcome, type RetryOptions } from './retry-policy.ts';

/**
 * Maximum number of deliveries of one hook that are in flight, or sent and not committed: at most this many are sent
 * again after a crash. The number is large enough that a hook does not wait for a commit of a busy service.
 */
const MAX_UNCOMMITTED_DELIVERIES = 128;

/** Reads the settings and deliveries of one hook. */
export type HookSource = DeliverySource & { findSettings(): Promise<ReadSettings | undefined> };

/** The parts of a committed completion that concern its queue. */
type CommittedResult = Pick<Completion, 'generation' | 'deliveryState' | 'pendingDelivery'>;

/**
 * The queue of one hook, in the memory of the node that holds its lease. It returns the next delivery to attempt, and
 * decides after each attempt whether to complete, to retry or to pause (`applyDecision` in `hook-health.ts`).
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
  readonly #settings: CachedSettings;
  readonly #claimedAt: number;
  /** When this queue was claimed or last started an attempt, milliseconds since the epoch. */
  #lastUsedAt: number;
  #hasEnded = false;
  #isFenced = false;
  /** Whether the last attempt that started was manual. */
  #wasLastManual = false;
  #cancelTimer: () => void = () => undefined;

  /**
   * Creates the queue of a hook that was just claimed.
   *
   * @param maxRetryDelayMs maximum stored retry delay; a `dueAt` further ahead was stored while the clock was wrong
   */
  constructor(row: HookQueueRow, now: number, maxRetryDelayMs: number) {
    this.#maxRetryDelayMs = maxRetryDelayMs;
    this.#claimedAt = now;
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
    this.#settings = new CachedSettings(row.settings);
  }

  status(now: number): QueueStatus {
    const buffer = this.#buffer;
    if (this.#hasEnded) return 'ended';
    if (buffer.isPrefetching) return 'prefetching';
    if (this.#settings.areStale || buffer.needsManualAttempts) return 'unread';
    if (buffer.needsPendingDeliveries && this.#canStart('pending', now)) return 'unread';
    if (buffer.hasNextManual && this.#canStart('manual', now)) return 'ready';
    if (buffer.hasNextPending && this.#canStart('pending', now)) return 'ready';
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

  get lastUsedAt(): number {
    return this.#lastUsedAt;
  }

  get settings(): HookSettings {
    return this.#settings.current;
  }

  /** Whether the hook has got a new target since the claim: the queue must be discarded, and the hook claimed again. */
  get isFenced(): boolean {
    return this.#isFenced;
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
    const isManual = this.#buffer.manualAttemptCount > 0;
    return computeRemainingWaitMs(this.#health, isManual, now, this.#maxRetryDelayMs);
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
    this.#buffer.push(rows, this.#canStart('pending', now));
  }

  /**
   * Reads what the next attempt needs: changed settings, manual attempts, pending deliveries.
   *
   * @param mayReadSettings false while the acknowledgement of changed settings is not committed (X8)
   */
  async fill(source: HookSource, clock: Pick<Clock, 'now'>, mayReadSettings: boolean): Promise<void> {
    const buffer = this.#buffer;
    if (this.#hasEnded) return;
    await buffer.prefetch(async () => {
      if (this.#settings.areStale && mayReadSettings) {
        const generation = await this.#settings.read(() => source.findSettings());
        this.#isFenced = generation !== this.generation;
        if (this.#isFenced) return;
      }
      if (buffer.needsManualAttempts) await buffer.readManualAttempts(source);
      if (buffer.needsPendingDeliveries && this.#canStart('pending', clock.now()))
        await buffer.readPendingDeliveries(source);
    });
  }

  /**
   * Removes and returns the next delivery, if its attempt may start now. Manual and pending ones alternate, so that a
   * replay of thousands of deliveries does not keep new ones waiting.
   */
  takeNextDelivery(now: number): PendingDelivery | undefined {
    const buffer = this.#buffer;
    const takeManual = () => (this.#canStart('manual', now) ? buffer.takeNextManual() : undefined);
    const takePending = () => (this.#canStart('pending', now) ? buffer.takeNextPending() : undefined);
    const delivery = this.#wasLastManual ? (takePending() ?? takeManual()) : (takeManual() ?? takePending());
    this.#wasLastManual = delivery?.manualAttemptId != null;
    return delivery;
  }

  /** Records that the attempt of a delivery begins now, and returns it. The caller sends it. */
  beginAttempt(row: PendingDelivery, now: number): InFlightAttempt {
    const { stored, pausedUntil, failureCountSinceClaim } = this.#health;
    const since = countsAsDueFrom(row.createdAt, this.#claimedAt);
    const dueAt = row.manualAttemptId !== null ? now : Math.max(since, stored.dueAt ?? 0, pausedUntil);
    const attempt = new InFlightAttempt(row, now, dueAt, failureCountSinceClaim);
    this.#inFlightAttempts.set(row.deliveryId, attempt);
    this.#lastUsedAt = now;
    return attempt;
  }

  /** Ends an attempt with its outcome at `now`, ms since the epoch. Returns the decision and the result to commit. */
  finishAttempt(
    attempt: InFlightAttempt,
    outcome: AttemptOutcome,
    now: number,
    retryOptions: RetryOptions,
  ): { readonly decision: Decision; readonly completion: Completion } {
    const { pendingDelivery, beganAt } = attempt;
    const { deliveryId, manualAttemptId } = pendingDelivery;
    const isManual = manualAttemptId !== null;
    this.#inFlightAttempts.delete(deliveryId);
    const decision = decide({
      outcome,
      failures: this.failures,
      isPartOfFailure: attempt.failureCountAtStart < this.#health.failureCountSinceClaim,
      isManual,
      localErrorCount: countLocalErrorsBefore(this.#health, beganAt),
      ...retryOptions,
    });
    const storedBefore = this.#health.stored;
    const decidedAttempt = { deliveryId, isManual, beganAt, outcome: formatOutcome(outcome) };
    this.#health = applyDecision(this.#health, decision, decidedAttempt, now);
    const { stored } = this.#health;
    if (decision.is === 'ended') this.end();
    const completion = createCompletion(this, attempt, outcome, decision, {
      ...this.#buffer.applyDecision(pendingDelivery, decision, stored.retryDeliveryId),
      ...(stored === storedBefore ? {} : { hookState: stored }),
    });
    return { decision, completion };
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
   * Marks the settings as changed: no attempt starts until they are read again, and attempts that have sent nothing are
   * aborted and start again (X8, X13).
   */
  invalidateSettings(): void {
    this.#settings.invalidate();
    this.#abortUnsent();
  }

  cancelRetryTimer(): void {
    this.#cancelTimer();
  }

  /** Cancels the current retry timer, and keeps the function that cancels the new one. */
  replaceRetryTimer(cancelTimer: () => void): void {
    this.cancelRetryTimer();
    this.#cancelTimer = cancelTimer;
  }

  /** Number of deliveries that are in flight, or sent and not committed. */
  get #unfinishedCount(): number {
    return this.#inFlightAttempts.size + this.#buffer.uncommittedCount;
  }

  get #isSaturated(): boolean {
    return this.#unfinishedCount >= MAX_UNCOMMITTED_DELIVERIES;
  }

  #canStart(kind: 'pending' | 'manual', now: number): boolean {
    if (this.#hasEnded || this.#isFenced || this.#settings.areStale || !this.settings.isEnabled) return false;
    const isManual = kind === 'manual';
    if (!isManual && this.#isSaturated) return false;
    if (computeRemainingWaitMs(this.#health, isManual, now, this.#maxRetryDelayMs) > 0) return false;
    return this.#inFlightAttempts.size < concurrencyLimitOf(this.#health, isManual);
  }

  #abortUnsent(): void {
    for (const attempt of this.#inFlightAttempts.values()) attempt.abortUnsent();
  }
}
