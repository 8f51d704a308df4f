import { maskTarget } from '../../log.ts';
import type { Secret } from '../transport/signature.ts';
import type { Completion } from './complete-deliveries.ts';
import { InFlightAttempt } from './in-flight-attempt.ts';
import type { HookQueueRow, PendingDelivery } from './queries.ts';
import { DELIVERED, type Decision, remainingMs } from './retry-policy.ts';

/** The most attempts that a healthy lane has in flight; it begins with one and earns the others by its 200s (C22). */
const MAX_IN_FLIGHT_PER_HOOK = 8;

/**
 * It does not run further ahead of what is written down: a crash would tell all of that once more. As much as a lane tells
 * while one commit of a busy service is gathered and made, and more.
 */
const MAX_UNCOMMITTED = 128;

/** Of what is handed to it, it remembers so much until it reads again. */
const MAX_PUSHED = 32;

/** How an attempt has ended, for `Lane.finish`. */
export type Finished = {
  readonly flight: InFlightAttempt;
  readonly decision: Decision;
  /** The outcome in one word, and what it meant, in a sentence. */
  readonly outcome: string;
  readonly reason: string;
  readonly ms: number;
  /** Milliseconds since the epoch. */
  readonly now: number;
};

/**
 * A hook with something pending, in memory: what may begin now, and what each decision does to it. Reads and writes
 * nothing; the engine does what it says.
 */
export class HookQueue {
  readonly hookId: number;
  readonly accountId: number;
  readonly target: string;
  /** Where that is: host and port. */
  readonly host: string;
  /** The target as it may stand in a log. */
  readonly maskedTarget: string;
  /** As it was taken up; fences what is written down. */
  readonly generation: number;

  /** The database may hold more behind `readUpTo` than was handed. */
  hasUnread = true;
  /** When it was taken up, or something was last begun on it, milliseconds since the epoch. */
  usedAt: number;
  /** The database is being asked what it holds. */
  isPrefetching = false;
  /** The database may hold something asked for. */
  hasUnreadManual = true;
  #readPosition = 0;
  /** Asks are read once, and in order. */
  manualReadPosition = 0;
  /** The delivery that failed before a restart, to be read first (C18). */
  retryToRead: number | null;
  /** What its notifications are signed by (X8). */
  secrets: readonly Secret[];
  /** They have changed: nothing begins before they are read anew. */
  secretsAreStale = false;

  /** Read and not begun yet, in the order in which they will be. */
  readonly #waiting: PendingDelivery[] = [];
  readonly #manual: PendingDelivery[] = [];
  /** By delivery: the same one is never in flight twice at once. */
  readonly #inFlight = new Map<number, InFlightAttempt>();
  /** Handed, and perhaps behind `readUpTo`: not to be taken once more by what is read. */
  readonly #pushed = new Set<number>();
  #pushedUpTo = 0;
  /** Told, or given up, and not written down yet: the database still says that they are pending. */
  readonly #uncommitted = new Set<number>();
  readonly #longestWaitMs: number;
  #failures: number;
  #dueAt: number | null;
  #retryDeliveryId: number | null;
  #lastOutcome: string;
  #concurrency = 1;
  #failureEpoch = 0;
  #localErrors = 0;
  #lastLocalErrorAt = 0;
  #pausedUntil = 0;
  #ended = false;
  #cancelTimer: () => void = () => undefined;

  /** @param longestWaitMs what a stored retry can be away at most */
  constructor(row: HookQueueRow, now: number, longestWaitMs: number) {
    this.#longestWaitMs = longestWaitMs;
    this.usedAt = now;
    this.hookId = row.hookId;
    this.accountId = row.accountId;
    this.target = row.target;
    this.host = hostOf(row.target);
    this.maskedTarget = maskTarget(row.target);
    this.generation = row.generation;
    this.#failures = row.failures;
    this.#dueAt = row.dueAt;
    this.#retryDeliveryId = row.retryDeliveryId;
    this.retryToRead = row.retryDeliveryId;
    this.#lastOutcome = row.lastOutcome;
    this.secrets = row.secrets;
  }

  get failures(): number {
    return this.#failures;
  }

  /** Its target answered 200 the last time. */
  get isProven(): boolean {
    return this.#failures === 0 && this.#lastOutcome === DELIVERED;
  }

  /** Faults of our own in a row before an attempt: those of one burst are one. */
  localErrorsBefore(flight: InFlightAttempt): number {
    return this.#isRepeatedLocalError(flight) ? this.#localErrors - 1 : this.#localErrors;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Something was read, or is being read, that is not told yet, or not written down. */
  get isActive(): boolean {
    const rows = this.#inFlight.size + this.#waiting.length + this.#manual.length + this.#uncommitted.size;
    return this.isPrefetching || rows > 0;
  }

  /** Nothing pending, nothing known that the database does not say as well. */
  get isIdle(): boolean {
    return !this.isActive && this.#failures + this.#pausedUntil === 0 && !this.hasUnread && !this.hasUnreadManual;
  }

  /** Something is in flight, or not written down yet. */
  get isBusy(): boolean {
    return this.#inFlight.size + this.#uncommitted.size > 0;
  }

  /** Something could begin, and nothing is under way whose end would bring it to its turn. */
  isUnused(now: number): boolean {
    return !this.isBusy && !this.isPrefetching && this.wakeMs(now) <= 0;
  }

  /** What was told, or is being told, has to be written down before more is. */
  get isSaturated(): boolean {
    return this.#inFlight.size + this.#uncommitted.size >= MAX_UNCOMMITTED;
  }

  /** How long nothing may begin on this lane, milliseconds; 0 or less: now. */
  waitMs(now: number): number {
    return Math.max(remainingMs(this.#dueAt, now, this.#longestWaitMs), this.#pauseMs(now));
  }

  /** How long until something may begin that waits; what was asked for waits for no retry (X1). */
  wakeMs(now: number): number {
    return this.#manual.length > 0 ? this.#pauseMs(now) : this.waitMs(now);
  }

  /** Whether one more of what is pending may begin. */
  canDispatch(now: number): boolean {
    if (this.#ended || this.secretsAreStale || this.waitMs(now) > 0 || this.isSaturated) return false;
    return this.#inFlight.size < (this.#failures > 0 ? 1 : this.#concurrency);
  }

  /** Whether reading more may bring something that can begin now. */
  isUnread(now: number): boolean {
    if (this.#ended) return false;
    return this.secretsAreStale || this.hasUnreadManual || (this.isEmpty && this.hasUnread && this.canDispatch(now));
  }

  /** Whether more has to be read before one more can begin. */
  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Everything that is pending up to this position was read. */
  get readPosition(): number {
    return this.#readPosition;
  }

  /** Takes what was read, but for what is known already. */
  add(rows: readonly PendingDelivery[]): void {
    for (const row of rows) if (!this.#knows(row.deliveryId)) this.#waiting.push(row);
  }

  /**
   * Takes the next of what was read behind `readUpTo`.
   *
   * @param isAll nothing else was committed behind it when it was read
   */
  addNext(rows: readonly PendingDelivery[], isAll: boolean): void {
    this.add(rows);
    this.#readPosition = rows.at(-1)?.position ?? this.#readPosition;
    if (!isAll) {
      this.hasUnread = true;
      return;
    }
    // What was handed had been committed, and so had all before it.
    this.#readPosition = Math.max(this.#readPosition, this.#pushedUpTo);
    this.#pushed.clear();
  }

  /**
   * Takes what a commit has just made pending, as if it had been read, where nothing else is to be read before it and one
   * more may begin; otherwise it is to be read. `readUpTo` stays: what another has committed before may be heard of
   * after.
   */
  push(rows: readonly PendingDelivery[], now: number): void {
    const isFull = this.#pushed.size + rows.length > MAX_PUSHED;
    if (this.hasUnread || this.isPrefetching || isFull || !this.canDispatch(now)) {
      this.hasUnread = true;
      return;
    }
    for (const row of rows) {
      // It may have been read before it was heard of.
      if (Number(row.position) <= this.#readPosition) continue;
      this.#waiting.push(row);
      this.#pushed.add(row.deliveryId);
      this.#pushedUpTo = Math.max(this.#pushedUpTo, Number(row.position));
    }
  }

  /** Takes what was asked for; it goes before everything, and during a wait too (X1). */
  addManual(rows: readonly PendingDelivery[]): void {
    this.#manual.push(...rows);
  }

  /** What is pending and may begin now. */
  next(now: number): PendingDelivery | undefined {
    return this.canDispatch(now) ? this.#take(this.#waiting) : undefined;
  }

  /** What was asked for and may begin now: beside what is in flight, but on a failing lane alone (C22). */
  nextManual(now: number): PendingDelivery | undefined {
    if (this.#ended || this.secretsAreStale || this.#pauseMs(now) > 0) return undefined;
    return this.#inFlight.size < (this.#failures > 0 ? 1 : MAX_IN_FLIGHT_PER_HOOK)
      ? this.#take(this.#manual)
      : undefined;
  }

  /** What has come of a delivery is written down. */
  onCompleted(deliveryId: number): void {
    this.#uncommitted.delete(deliveryId);
  }

  begin(row: PendingDelivery, now: number): InFlightAttempt {
    const dueAt = row.manualAttemptId !== null ? now : Math.max(row.createdAt, this.#dueAt ?? 0, this.#pausedUntil);
    const flight = new InFlightAttempt(row, now, dueAt, this.#failureEpoch);
    this.#inFlight.set(row.deliveryId, flight);
    this.usedAt = now;
    return flight;
  }

  /** Whether the lane has failed since an attempt began: then both belong to one burst (C18). */
  isPartOfFailure(flight: InFlightAttempt): boolean {
    return flight.failureEpoch < this.#failureEpoch;
  }

  /** Does what a decision says; answers what is to be written down. */
  finish({ flight, decision, outcome, reason, ms, now }: Finished): Completion {
    const { row } = flight;
    this.#inFlight.delete(row.deliveryId);
    const before = this.#state();
    const delivery = this.#apply(flight, decision, outcome, now);
    if (delivery !== 'pending') this.#uncommitted.add(row.deliveryId);
    const after = this.#state();
    const changed =
      before.failures !== after.failures || before.dueAt !== after.dueAt || before.lastOutcome !== after.lastOutcome;
    return {
      hookId: this.hookId,
      accountId: this.accountId,
      generation: this.generation,
      row,
      attempt: { at: flight.beganAt, outcome, ms: Math.round(ms), counted: isCounted(decision), reason },
      delivery,
      asks: this.#answeredManual(row, decision, delivery),
      ...(changed ? { queue: after } : {}),
      ...(decision.is === 'ended' ? { ended: decision.reason } : {}),
    };
  }

  /** The hook has ended: nothing begins any more, and what has not gone out yet does not go out (C13). */
  end(): void {
    this.#ended = true;
    this.forget();
    this.#abortUnsent();
  }

  /** What signs has changed: nothing begins before it is read, and what has not gone out yet begins anew (X8). */
  invalidateSecrets(): void {
    this.secretsAreStale = true;
    this.#abortUnsent();
  }

  #abortUnsent(): void {
    for (const flight of this.#inFlight.values()) flight.abortUnsent();
  }

  setTimer(cancel: () => void): void {
    this.#cancelTimer();
    this.#cancelTimer = cancel;
  }

  /** Lets go of its timer. */
  forget(): void {
    this.setTimer(() => undefined);
  }

  #state() {
    return {
      failures: this.#failures,
      dueAt: this.#dueAt,
      retryDeliveryId: this.#retryDeliveryId,
      lastOutcome: this.#lastOutcome,
    };
  }

  #apply(flight: InFlightAttempt, decision: Decision, outcome: string, now: number): Completion['delivery'] {
    const { row } = flight;
    if (decision.is !== 'retry_local_error') this.#localErrors = 0;
    switch (decision.is) {
      case 'delivered':
        this.#recover(row);
        remove(this.#waiting, row.deliveryId);
        this.#lastOutcome = outcome;
        return 'delivered';
      case 'delivered_during_backoff':
        return 'delivered';
      case 'wait':
        this.#fail(row, decision.failures, now + decision.waitMs);
        this.#lastOutcome = outcome;
        return 'pending';
      case 'part_of_counted_failure':
        this.#putBack(row);
        return 'pending';
      case 'retry_local_error':
        if (decision.waitMs > 0) this.#pause(flight, now, decision.waitMs);
        this.#putBack(row);
        return 'pending';
      case 'manual_failed':
        this.#lastOutcome = outcome;
        return afterAsked(row);
      case 'ended':
        this.#failures = decision.failures;
        this.#dueAt = null;
        this.#lastOutcome = outcome;
        this.end();
        return afterAsked(row);
    }
  }

  /** An attempt that was made answers its ask; a 200 answers whatever else was asked of that delivery before. */
  #answeredManual(
    { manualAttemptId, deliveryId }: PendingDelivery,
    decision: Decision,
    delivery: Completion['delivery'],
  ): number[] {
    const own = manualAttemptId === null || decision.is === 'retry_local_error' ? [] : [manualAttemptId];
    if (delivery !== 'delivered' || manualAttemptId !== null) return own;
    const others: number[] = [];
    for (let row = remove(this.#manual, deliveryId); row !== undefined; row = remove(this.#manual, deliveryId)) {
      if (row.manualAttemptId !== null) others.push(row.manualAttemptId);
    }
    return others;
  }

  #recover(row: PendingDelivery): void {
    this.#failures = 0;
    this.#dueAt = null;
    this.#retryDeliveryId = null;
    this.#pausedUntil = 0;
    if (row.manualAttemptId === null) this.#concurrency = Math.min(this.#concurrency + 1, MAX_IN_FLIGHT_PER_HOOK);
  }

  /** It was in flight at the last fault of our own: nothing begins between a fault and the end of its pause. */
  #isRepeatedLocalError({ beganAt }: InFlightAttempt): boolean {
    return this.#localErrors > 0 && beganAt <= this.#lastLocalErrorAt;
  }

  #pause(flight: InFlightAttempt, now: number, waitMs: number): void {
    const isSetBack = now < this.#lastLocalErrorAt;
    if (isSetBack || !this.#isRepeatedLocalError(flight)) {
      this.#localErrors += 1;
      this.#lastLocalErrorAt = now;
    }
    this.#pausedUntil = Math.max(isSetBack ? 0 : this.#pausedUntil, now + waitMs);
  }

  /** How long the pause after a fault of our own goes on; not at all where the clock has been set back behind the fault. */
  #pauseMs(now: number): number {
    return now < this.#lastLocalErrorAt ? 0 : this.#pausedUntil - now;
  }

  #fail(row: PendingDelivery, failures: number, dueAt: number): void {
    this.#failures = failures;
    this.#dueAt = dueAt;
    this.#retryDeliveryId = row.deliveryId;
    this.#failureEpoch += 1;
    this.#concurrency = 1;
    this.#putBack(row);
  }

  /** Back into line: what failed first is tried again first (C18). */
  #putBack(row: PendingDelivery): void {
    if (row.manualAttemptId !== null) this.#manual.unshift(row);
    else if (row.deliveryId === this.#retryDeliveryId || this.#waiting[0]?.deliveryId !== this.#retryDeliveryId)
      this.#waiting.unshift(row);
    else this.#waiting.splice(1, 0, row);
  }

  /** The first of a line that is not in flight at this moment. */
  #take(rows: PendingDelivery[]): PendingDelivery | undefined {
    const index = rows.findIndex((row) => !this.#inFlight.has(row.deliveryId));
    return index < 0 ? undefined : rows.splice(index, 1)[0];
  }

  #knows(deliveryId: number): boolean {
    const flight = this.#inFlight.get(deliveryId);
    // In flight because it was asked for, it is pending all the same.
    const pending = flight !== undefined && flight.row.manualAttemptId === null;
    return (
      pending ||
      this.#uncommitted.has(deliveryId) ||
      this.#pushed.has(deliveryId) ||
      this.#waiting.some((row) => row.deliveryId === deliveryId)
    );
  }
}

function hostOf(target: string): string {
  const { protocol, hostname, port } = new URL(target);
  return `${hostname}:${port === '' ? (protocol === 'https:' ? 443 : 80) : port}`;
}

/** After an attempt that was asked for and failed: a test has had its answer; anything else is as it was. */
function afterAsked(row: PendingDelivery): Completion['delivery'] {
  return row.position === null ? 'dropped' : 'pending';
}

function isCounted(decision: Decision): boolean {
  return decision.is === 'wait' || (decision.is === 'ended' && decision.reason === 'three_failures');
}

function remove(rows: PendingDelivery[], deliveryId: number): PendingDelivery | undefined {
  const index = rows.findIndex((row) => row.deliveryId === deliveryId);
  return index < 0 ? undefined : rows.splice(index, 1)[0];
}
