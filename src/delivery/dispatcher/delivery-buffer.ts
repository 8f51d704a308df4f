import type { Completion, InFlightAttempt } from './in-flight-attempt.ts';
import type { ManualAttemptPage, PendingDelivery } from './queries.ts';
import type { Decision } from './retry-policy.ts';

/**
 * Maximum number of deliveries that commit events push into the buffer until the next read. Further deliveries are read
 * from the database instead.
 */
const MAX_PUSHED_DELIVERIES = 32;

/** Reads the rows of one hook, a page at a time. */
export type DeliverySource = {
  /** Reads pending deliveries after a feed position, in the order of their positions. */
  findNextPendingDeliveries(
    afterPosition: number,
  ): Promise<{ readonly pendingDeliveries: readonly PendingDelivery[]; readonly isLastPage: boolean }>;
  findPendingDelivery(deliveryId: number): Promise<PendingDelivery | undefined>;
  /** Reads manual attempts after an id, in the order of their ids. */
  findManualAttempts(afterId: number): Promise<ManualAttemptPage>;
};

/**
 * The deliveries of one hook that are in memory and not in flight: pending deliveries and manual attempts, each in
 * sending order. Reads fill the buffer (prefetch), and commit events push new deliveries into it. A delivery that comes
 * both ways is added once.
 */
export class DeliveryBuffer {
  /** Attempts in flight by delivery id. */
  readonly #inFlightAttempts: ReadonlyMap<number, InFlightAttempt>;
  readonly #pendingDeliveries: PendingDelivery[] = [];
  readonly #manualAttempts: PendingDelivery[] = [];

  /** Whether the database may contain pending deliveries after `#readPosition` that are not in memory. */
  #hasUnreadPending = true;
  /** Whether the database may contain manual attempts after `#lastReadManualAttemptId`. */
  #hasUnreadManual = true;
  /** Feed position up to which all pending deliveries have been read. */
  #readPosition = 0;
  /** Manual attempts are read once, in the order of their ids. */
  #lastReadManualAttemptId = 0;
  /** Id of the delivery that was in backoff when the hook was claimed, until it is read. It is read first (C18). */
  #unreadRetryDeliveryId: number | null;

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

  constructor(inFlightAttempts: ReadonlyMap<number, InFlightAttempt>, retryDeliveryId: number | null) {
    this.#inFlightAttempts = inFlightAttempts;
    this.#unreadRetryDeliveryId = retryDeliveryId;
  }

  get isPrefetching(): boolean {
    return this.#isPrefetching;
  }

  /** Number of deliveries whose results are not committed. */
  get uncommittedCount(): number {
    return this.#uncommittedDeliveryIds.size;
  }

  get pendingCount(): number {
    return this.#pendingDeliveries.length;
  }

  get manualAttemptCount(): number {
    return this.#manualAttempts.length;
  }

  /** Whether pending deliveries have to be read. They are read a page at a time, when those in memory have started. */
  get needsPendingDeliveries(): boolean {
    return this.#hasUnreadPending && this.#pendingDeliveries.length === 0;
  }

  /** Whether manual attempts have to be read, a page at a time as well. */
  get needsManualAttempts(): boolean {
    return this.#hasUnreadManual && this.#manualAttempts.length === 0;
  }

  /** Called when the database may contain work that is not in memory. */
  markUnread(workType: 'pending' | 'manual'): void {
    if (workType === 'pending') this.#hasUnreadPending = true;
    else this.#hasUnreadManual = true;
  }

  /**
   * Runs reads of this buffer. In the meantime, commit events push nothing, and deliveries with a result stay
   * excluded from the pages that are read.
   */
  async prefetch(read: () => Promise<void>): Promise<void> {
    this.#isPrefetching = true;
    try {
      await read();
    } finally {
      this.#isPrefetching = false;
      for (const deliveryId of this.#committedDuringPrefetch) this.#uncommittedDeliveryIds.delete(deliveryId);
      this.#committedDuringPrefetch.clear();
    }
  }

  async readManualAttempts(source: DeliverySource): Promise<void> {
    // Cleared before the read, so that a manual attempt that commits during the read sets the flag again.
    this.#hasUnreadManual = false;
    const page = await source.findManualAttempts(this.#lastReadManualAttemptId).catch((error: unknown) => {
      this.#hasUnreadManual = true;
      throw error;
    });
    this.#lastReadManualAttemptId = page.lastId;
    if (!page.isLastPage) this.#hasUnreadManual = true;
    this.#manualAttempts.push(...page.manualAttempts);
  }

  async readPendingDeliveries(source: DeliverySource): Promise<void> {
    if (this.#unreadRetryDeliveryId !== null) {
      const retryDelivery = await source.findPendingDelivery(this.#unreadRetryDeliveryId);
      this.#unreadRetryDeliveryId = null;
      if (retryDelivery !== undefined) this.#addUnlessInMemory([retryDelivery]);
    }
    // Cleared before the read, so that a delivery that commits during the read sets the flag again.
    this.#hasUnreadPending = false;
    const page = await source.findNextPendingDeliveries(this.#readPosition).catch((error: unknown) => {
      this.#hasUnreadPending = true;
      throw error;
    });
    this.#addUnlessInMemory(page.pendingDeliveries);
    this.#readPosition = page.pendingDeliveries.at(-1)?.position ?? this.#readPosition;
    if (!page.isLastPage) {
      this.#hasUnreadPending = true;
      return;
    }
    // The pushed deliveries were committed before this read, and so were all deliveries with a lower feed position.
    this.#readPosition = Math.max(this.#readPosition, this.#maxPushedPosition);
    this.#pushedDeliveryIds.clear();
  }

  /**
   * Adds deliveries from a commit event without a read, unless earlier deliveries have to be read first or there are
   * too many; then the next read returns them. The read position is not advanced, because the commit event of an
   * earlier commit may arrive later.
   *
   * @param canStart whether one more delivery may start now
   */
  push(rows: readonly PendingDelivery[], canStart: boolean): void {
    const isFull = this.#pushedDeliveryIds.size + rows.length > MAX_PUSHED_DELIVERIES;
    if (this.#hasUnreadPending || this.#isPrefetching || isFull || !canStart) {
      this.#hasUnreadPending = true;
      return;
    }
    for (const row of rows) {
      // A read may have returned this delivery before its commit event arrived.
      if (Number(row.position) <= this.#readPosition) continue;
      this.#pendingDeliveries.push(row);
      this.#pushedDeliveryIds.add(row.deliveryId);
      this.#maxPushedPosition = Math.max(this.#maxPushedPosition, Number(row.position));
    }
  }

  /** Whether a pending delivery is in memory that is not in flight as a manual attempt. */
  get hasNextPending(): boolean {
    return this.#findNextIndex(this.#pendingDeliveries) >= 0;
  }

  /** Whether a manual attempt is in memory whose delivery is not in flight. */
  get hasNextManual(): boolean {
    return this.#findNextIndex(this.#manualAttempts) >= 0;
  }

  takeNextPending(): PendingDelivery | undefined {
    return this.#takeNext(this.#pendingDeliveries);
  }

  takeNextManual(): PendingDelivery | undefined {
    return this.#takeNext(this.#manualAttempts);
  }

  /**
   * Applies the decision about an attempt: removes a delivered delivery, and puts back one that is sent again. Returns
   * the new state of the delivery, and the ids of the manual attempts that are done.
   *
   * @param retryDeliveryId the id of the delivery that is to be retried first; null if there is none
   */
  applyDecision(
    row: PendingDelivery,
    decision: Decision,
    retryDeliveryId: number | null,
  ): Pick<Completion, 'deliveryState' | 'manualAttemptIds'> {
    const deliveryState = stateAfter(row, decision);
    if (decision.is === 'delivered') removeDelivery(this.#pendingDeliveries, row.deliveryId);
    if (isSentAgain(decision)) this.#putBack(row, retryDeliveryId);
    if (deliveryState !== 'pending') this.#uncommittedDeliveryIds.add(row.deliveryId);
    if (row.manualAttemptId !== null)
      return { deliveryState, manualAttemptIds: decision.is === 'retry_local_error' ? [] : [row.manualAttemptId] };
    // A delivered delivery needs no redelivery, so the manual attempts that wait for it are done as well.
    const manualAttemptIds = deliveryState === 'delivered' ? this.#removeManualAttempts(row.deliveryId) : [];
    return { deliveryState, manualAttemptIds };
  }

  /** Puts a delivery back at the front, but behind the delivery that is to be retried first (C18). */
  #putBack(row: PendingDelivery, retryDeliveryId: number | null): void {
    if (row.manualAttemptId !== null) this.#manualAttempts.unshift(row);
    else if (row.deliveryId === retryDeliveryId || this.#pendingDeliveries[0]?.deliveryId !== retryDeliveryId)
      this.#pendingDeliveries.unshift(row);
    else this.#pendingDeliveries.splice(1, 0, row);
  }

  /** Removes the manual attempts of a delivery. Returns their ids. */
  #removeManualAttempts(deliveryId: number): number[] {
    const removedIds: number[] = [];
    for (
      let row = removeDelivery(this.#manualAttempts, deliveryId);
      row !== undefined;
      row = removeDelivery(this.#manualAttempts, deliveryId)
    ) {
      if (row.manualAttemptId !== null) removedIds.push(row.manualAttemptId);
    }
    return removedIds;
  }

  /** Called when the result of a delivery that is no longer pending was committed. */
  onResultCommitted(deliveryId: number): void {
    if (this.#isPrefetching) this.#committedDuringPrefetch.add(deliveryId);
    else this.#uncommittedDeliveryIds.delete(deliveryId);
  }

  #addUnlessInMemory(rows: readonly PendingDelivery[]): void {
    for (const row of rows) if (!this.#isInMemory(row.deliveryId)) this.#pendingDeliveries.push(row);
  }

  #isInMemory(deliveryId: number): boolean {
    const attempt = this.#inFlightAttempts.get(deliveryId);
    // A delivery whose manual attempt is in flight is still pending, and has to be sent regularly as well.
    const isPendingInFlight = attempt !== undefined && attempt.pendingDelivery.manualAttemptId === null;
    return (
      isPendingInFlight ||
      this.#uncommittedDeliveryIds.has(deliveryId) ||
      this.#pushedDeliveryIds.has(deliveryId) ||
      this.#pendingDeliveries.some((row) => row.deliveryId === deliveryId)
    );
  }

  /** Returns the index of the first delivery that is not in flight, or -1. */
  #findNextIndex(rows: readonly PendingDelivery[]): number {
    return rows.findIndex((row) => !this.#inFlightAttempts.has(row.deliveryId));
  }

  #takeNext(rows: PendingDelivery[]): PendingDelivery | undefined {
    const index = this.#findNextIndex(rows);
    return index < 0 ? undefined : rows.splice(index, 1)[0];
  }
}

/** Returns the state of a delivery after a decision. Without a retry, a test is dropped, any other stays pending. */
function stateAfter(row: PendingDelivery, decision: Decision): Completion['deliveryState'] {
  if (decision.is === 'delivered' || decision.is === 'delivered_during_backoff') return 'delivered';
  return row.position === null && !isSentAgain(decision) ? 'dropped' : 'pending';
}

/** Whether the attempt is repeated: the decisions about every other attempt are final. */
function isSentAgain({ is }: Decision): boolean {
  return is === 'wait' || is === 'part_of_counted_failure' || is === 'retry_local_error';
}

function removeDelivery(rows: PendingDelivery[], deliveryId: number): PendingDelivery | undefined {
  const index = rows.findIndex((row) => row.deliveryId === deliveryId);
  return index < 0 ? undefined : rows.splice(index, 1)[0];
}
