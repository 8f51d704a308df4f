import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { HookQueue, type HookSource } from '../../src/delivery/dispatcher/hook-queue.ts';
import type { InFlightAttempt } from '../../src/delivery/dispatcher/in-flight-attempt.ts';
import type { PendingDelivery } from '../../src/delivery/dispatcher/queries.ts';

/** Number of rows of a full page: few, so that most reads are of several pages. */
const PAGE_SIZE = 4;

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
  fields: null,
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
      settings: { secrets: [], headers: [], isEnabled: true },
    },
    0,
    0,
  );
  readonly delivered: (number | null)[] = [];
  committed = 0;
  #pending: PendingDelivery[] = [];
  readonly #unacknowledged: (readonly PendingDelivery[] | undefined)[] = [];
  #reading: { readonly arrival: PromiseWithResolvers<void>; readonly filling: Promise<void> } | undefined;
  readonly #inFlight: InFlightAttempt[] = [];
  readonly #unwritten: PendingDelivery[] = [];
  readonly #written: PendingDelivery[] = [];

  /** Performs a step and returns whether it had an effect. */
  async do([what, which]: Step): Promise<boolean> {
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
        const row = this.queue.takeNextDelivery(0);
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
    if (rows === undefined) this.queue.markUnread('pending');
    else this.queue.pushDeliveries(rows, 0);
    return true;
  }

  /** Begins a read. Its rows are selected now, and arrive with `#finishRead`. */
  #beginRead(): boolean {
    if (this.queue.status(0) !== 'unread') return false;
    const arrival = Promise.withResolvers<void>();
    const source: HookSource = {
      findSettings: async () => ({ secrets: [], headers: [], isEnabled: true, generation: 1 }),
      findPendingDelivery: async () => undefined,
      findManualAttempts: async (afterId) => ({ manualAttempts: [], lastId: afterId, isLastPage: true }),
      findNextPendingDeliveries: async (afterPosition) => {
        const unread = this.#pending.filter((row) => Number(row.position) > afterPosition);
        await arrival.promise;
        return { pendingDeliveries: unread.slice(0, PAGE_SIZE), isLastPage: unread.length < PAGE_SIZE };
      },
    };
    this.#reading = { arrival, filling: this.queue.fill(source, { now: () => 0 }, true) };
    return true;
  }

  async #finishRead(): Promise<boolean> {
    if (this.#reading === undefined) return false;
    this.#reading.arrival.resolve();
    await this.#reading.filling;
    this.#reading = undefined;
    return true;
  }

  #completeAttempt(which: number): boolean {
    const [flight] = this.#inFlight.splice(which % Math.max(1, this.#inFlight.length), 1);
    if (flight === undefined) return false;
    this.delivered.push(flight.pendingDelivery.position);
    const retryOptions = { retryDelaysMs: [1, 1], jitterFraction: 0 } as const;
    this.queue.finishAttempt(flight, { kind: 'answered', status: 200, durationMs: 1 }, 0, retryOptions);
    this.#unwritten.push(flight.pendingDelivery);
    return true;
  }
}

test('C20 a delivery that is pushed to a hook queue, read by it, or both, is sent once, in any order of commit events', async () => {
  const step = fc.tuple(fc.constantFrom(...steps), fc.nat(100));
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 120, size: 'max' }), async (some) => {
      const model = new QueueModel();
      for (const one of some) await model.do(one);
      const rest = steps.filter((what) => !what.startsWith('commit'));
      for (let hasProgress = true; hasProgress; ) {
        hasProgress = false;
        for (const what of rest) if (await model.do([what, 0])) hasProgress = true;
      }
      const each = Array.from({ length: model.committed }, (_, index) => index + 1);
      assert.deepEqual(
        model.delivered.toSorted((one, other) => Number(one) - Number(other)),
        each,
      );
    }),
    { numRuns: 3_000 },
  );
});
