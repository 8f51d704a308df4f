import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { HookQueue } from '../../src/delivery/dispatcher/hook-queue.ts';
import type { InFlightAttempt } from '../../src/delivery/dispatcher/in-flight-attempt.ts';
import type { PendingDelivery } from '../../src/delivery/dispatcher/queries.ts';

const READ_CONCURRENCY = 4;

/** The kinds of steps. In a `Step`, `which` selects one of several candidates, such as an attempt in flight. */
const steps = [
  'commit',
  'commit elsewhere',
  'hear',
  'read',
  'have read',
  'begin',
  'answer',
  'write',
  'have written',
] as const;
type Step = readonly [what: (typeof steps)[number], which: number];

const pendingDeliveryAt = (position: number): PendingDelivery => ({
  deliveryId: position + 1_000,
  position,
  kind: 'new_event',
  recordId: 1,
  createdAt: 0,
  manualAttemptId: null,
});

/** Simulates a hook queue and its database. Reads and attempts take several steps, and other nodes commit as well. */
class QueueModel {
  readonly queue = new HookQueue(
    {
      hookId: 1,
      accountId: 1,
      target: 'http://127.0.0.1:9/',
      generation: 1,
      failures: 0,
      dueAt: null,
      retryDeliveryId: null,
      lastOutcome: '',
      secrets: [],
    },
    0,
    0,
  );
  readonly delivered: (number | null)[] = [];
  committed = 0;
  #pending: PendingDelivery[] = [];
  readonly #unacknowledged: (readonly PendingDelivery[] | undefined)[] = [];
  #reading: readonly PendingDelivery[] | undefined;
  readonly #inFlight: InFlightAttempt[] = [];
  readonly #unwritten: PendingDelivery[] = [];
  readonly #written: PendingDelivery[] = [];

  /** Performs a step and returns whether it had an effect. */
  do([what, which]: Step): boolean {
    switch (what) {
      case 'commit':
      case 'commit elsewhere': {
        const rows = Array.from({ length: 1 + (which % 3) }, (_, index) =>
          pendingDeliveryAt(this.committed + index + 1),
        );
        this.committed += rows.length;
        this.#pending.push(...rows);
        this.#unacknowledged.push(what === 'commit' ? rows : undefined);
        return true;
      }
      case 'hear':
        return this.#deliverCommitEvent(which);
      case 'read':
        return this.#beginRead();
      case 'have read':
        return this.#finishRead();
      case 'begin': {
        const row = this.queue.takeNextPendingDelivery(0);
        if (row !== undefined) this.#inFlight.push(this.queue.beginAttempt(row, 0));
        return row !== undefined;
      }
      case 'answer':
        return this.#completeAttempt(which);
      case 'write': {
        const rows = this.#unwritten.splice(0);
        this.#pending = this.#pending.filter((row) => !rows.includes(row));
        this.#written.push(...rows);
        return rows.length > 0;
      }
      case 'have written': {
        const rows = this.#written.splice(0);
        const { generation } = this.queue;
        for (const pendingDelivery of rows)
          this.queue.onResultCommitted({ generation, deliveryState: 'delivered', pendingDelivery });
        return rows.length > 0;
      }
    }
  }

  /** Delivers a commit event. Commit events may arrive in another order than their commits. */
  #deliverCommitEvent(which: number): boolean {
    if (this.#unacknowledged.length === 0) return false;
    const [rows] = this.#unacknowledged.splice(which % this.#unacknowledged.length, 1);
    if (rows === undefined) this.queue.hasUnreadPendingDeliveries = true;
    else this.queue.pushDeliveries(rows, 0);
    return true;
  }

  #beginRead(): boolean {
    const { queue } = this;
    if (
      queue.isPrefetching ||
      !queue.hasNoWaitingDeliveries ||
      !queue.hasUnreadPendingDeliveries ||
      !queue.canStartPendingDelivery(0)
    )
      return false;
    queue.beginPrefetch();
    queue.hasUnreadPendingDeliveries = false;
    this.#reading = this.#pending
      .filter((row) => Number(row.position) > queue.feedReadPosition)
      .slice(0, READ_CONCURRENCY);
    return true;
  }

  #finishRead(): boolean {
    if (this.#reading === undefined) return false;
    this.queue.addReadPage(this.#reading, this.#reading.length < READ_CONCURRENCY);
    this.#reading = undefined;
    this.queue.endPrefetch();
    return true;
  }

  #completeAttempt(which: number): boolean {
    const [flight] = this.#inFlight.splice(which % Math.max(1, this.#inFlight.length), 1);
    if (flight === undefined) return false;
    this.delivered.push(flight.pendingDelivery.position);
    this.queue.finishAttempt({
      attempt: flight,
      decision: { is: 'delivered' },
      outcome: '200',
      reason: '',
      durationMs: 1,
      outcomeAt: 0,
    });
    this.#unwritten.push(flight.pendingDelivery);
    return true;
  }
}

test('C20 a delivery that is pushed to a hook queue, read by it, or both, is sent once, in any order of commit events', () => {
  const step = fc.tuple(fc.constantFrom(...steps), fc.nat(100));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120, size: 'max' }), (some) => {
      const model = new QueueModel();
      for (const one of some) model.do(one);
      const rest = steps.filter((what) => !what.startsWith('commit'));
      while (rest.map((what) => model.do([what, 0])).includes(true));
      const each = Array.from({ length: model.committed }, (_, index) => index + 1);
      assert.deepEqual(
        model.delivered.toSorted((one, other) => Number(one) - Number(other)),
        each,
      );
    }),
    { numRuns: 3_000 },
  );
});
