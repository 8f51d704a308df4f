import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AttemptOutcome } from './attempt-outcome.ts';
import type { Completion } from './complete-deliveries.ts';
import { HookQueue } from './hook-queue.ts';
import type { InFlightAttempt } from './in-flight-attempt.ts';
import type { HookQueueRow, PendingDelivery } from './queries.ts';
import { type Decision, decide, explainDecision, formatOutcome } from './retry-policy.ts';

const FIRST_WAIT_MS = 60_000;
const SECOND_WAIT_MS = 7_200_000;
const DAY_MS = 86_400_000;

const OK: AttemptOutcome = { kind: 'answered', status: 200, durationMs: 1 };
const UNSUBSCRIBE: AttemptOutcome = { kind: 'answered', status: 401, durationMs: 1 };
const SERVER_ERROR: AttemptOutcome = { kind: 'answered', status: 500, durationMs: 1 };
const LOCAL_ERROR: AttemptOutcome = { kind: 'local_error', code: 'no_resolver', durationMs: 1 };
const STOPPED: AttemptOutcome = { kind: 'local_error', code: 'stopped', durationMs: 1 };

const newHookRow: HookQueueRow = {
  hookId: 1,
  accountId: 1,
  target: 'http://127.0.0.1:9/',
  generation: 7,
  failures: 0,
  dueAt: null,
  retryDeliveryId: null,
  lastOutcome: '',
  secrets: [],
};

/** The pending delivery at a feed position. Its id is higher by 10. */
const pendingAt = (position: number): PendingDelivery => ({
  deliveryId: position + 10,
  position,
  kind: 'new_event',
  recordId: 1,
  createdAt: 0,
  manualAttemptId: null,
});
let manualAttemptCount = 0;
const asManualAttempt = (row: PendingDelivery): PendingDelivery => {
  manualAttemptCount += 1;
  return { ...row, manualAttemptId: manualAttemptCount };
};
const hookTest: PendingDelivery = { ...pendingAt(90), position: null, kind: 'test', manualAttemptId: 900 };

/** Drives a queue like the dispatcher does, with its own clock. */
class QueueDriver {
  readonly queue: HookQueue;
  now = 1_000;

  constructor(row: Partial<HookQueueRow> = {}, pendingCount = 0) {
    this.queue = new HookQueue({ ...newHookRow, ...row }, 0, DAY_MS);
    this.queue.addPendingDeliveries(Array.from({ length: pendingCount }, (_, index) => pendingAt(index + 1)));
  }

  /** Starts all attempts that may start now. */
  beginAll(): InFlightAttempt[] {
    const begun: InFlightAttempt[] = [];
    for (;;) {
      const row = this.queue.takeNextManualAttempt(this.now) ?? this.queue.takeNextPendingDelivery(this.now);
      if (row === undefined) return begun;
      begun.push(this.queue.beginAttempt(row, this.now));
    }
  }

  beginOne(): InFlightAttempt {
    const row = this.queue.takeNextPendingDelivery(this.now);
    if (row === undefined) throw new Error('nothing may begin');
    return this.queue.beginAttempt(row, this.now);
  }

  finish(flight: InFlightAttempt, outcome: AttemptOutcome): Completion & { decision: Decision['is'] } {
    const { queue, now } = this;
    const decision = decide({
      outcome,
      failures: queue.failures,
      isPartOfFailure: queue.isPartOfFailure(flight),
      isManual: flight.pendingDelivery.manualAttemptId !== null,
      localErrorCount: queue.countLocalErrorsBefore(flight),
      retryDelaysMs: [FIRST_WAIT_MS, SECOND_WAIT_MS],
      jitterFraction: 0,
    });
    const completion = queue.finishAttempt({
      attempt: flight,
      decision,
      outcome: formatOutcome(outcome),
      reason: explainDecision(decision),
      durationMs: outcome.durationMs,
      outcomeAt: now,
    });
    return { ...completion, decision: decision.is };
  }

  /** Makes one attempt as early as possible. */
  deliver(outcome: AttemptOutcome) {
    this.now += Math.max(0, this.queue.computePendingWaitMs(this.now));
    return this.finish(this.beginOne(), outcome);
  }
}

/** Returns a queue whose concurrency was raised to `concurrency` by deliveries. */
function withConcurrency(concurrency: number, pendingCount: number): QueueDriver {
  const drive = new QueueDriver({}, pendingCount + concurrency - 1);
  for (let earned = 1; earned < concurrency; earned += 1) drive.deliver(OK);
  return drive;
}

const deliveryIdsOf = (flights: readonly InFlightAttempt[]) =>
  flights.map((flight) => flight.pendingDelivery.deliveryId);

test('C22 a new queue starts with a concurrency of 1, and each 200 adds 1, up to 8', () => {
  const drive = new QueueDriver({}, 100);
  for (const window of [1, 2, 3, 4, 5, 6, 7, 8, 8, 8]) {
    const begun = drive.beginAll();
    assert.equal(begun.length, window);
    // All attempts but one end with a local error, so that each round has one 200.
    const [first, ...others] = begun;
    for (const flight of others) {
      drive.finish(flight, LOCAL_ERROR);
      drive.now += 60_000;
    }
    if (first !== undefined) drive.finish(first, OK);
  }
});

test('C22 a failure resets the concurrency to 1', () => {
  const drive = withConcurrency(8, 30);
  const [first, ...others] = drive.beginAll();
  assert.equal(others.length, 7);
  if (first !== undefined) drive.finish(first, SERVER_ERROR);
  for (const flight of others) drive.finish(flight, OK);
  drive.now += FIRST_WAIT_MS;
  const retry = drive.beginAll();
  assert.equal(retry.length, 1);
  if (retry[0] !== undefined) drive.finish(retry[0], OK);
  assert.equal(drive.beginAll().length, 2);
});

test('C18 failures of attempts in flight together count once, and nothing starts until the backoff is over', () => {
  const drive = withConcurrency(8, 20);
  const flights = drive.beginAll();
  const decisions = flights.map((flight) => drive.finish(flight, SERVER_ERROR).decision);
  assert.deepEqual(decisions, ['wait', ...Array(7).fill('part_of_counted_failure')]);
  assert.equal(drive.queue.failures, 1);
  drive.now += FIRST_WAIT_MS - 1;
  assert.deepEqual(drive.beginAll(), []);
  drive.now += 1;
  assert.deepEqual(deliveryIdsOf(drive.beginAll()), deliveryIdsOf(flights.slice(0, 1)));
});

test('C18 the delivery that failed first is retried first, in whatever order the others fail', () => {
  const drive = withConcurrency(4, 10);
  const [a, b, c, d] = drive.beginAll();
  assert.ok(a && b && c && d);
  drive.finish(c, SERVER_ERROR);
  drive.finish(a, SERVER_ERROR);
  drive.finish(d, LOCAL_ERROR);
  drive.finish(b, SERVER_ERROR);
  drive.now += FIRST_WAIT_MS;
  assert.deepEqual(deliveryIdsOf(drive.beginAll()), [c.pendingDelivery.deliveryId]);
});

test('C18 the same delivery is retried after each failure, and the others are pending when it is delivered', () => {
  const drive = new QueueDriver({}, 3);
  for (const outcome of [SERVER_ERROR, SERVER_ERROR])
    assert.equal(drive.deliver(outcome).pendingDelivery.deliveryId, 11);
  const told = drive.deliver(OK);
  assert.equal(told.pendingDelivery.deliveryId, 11);
  assert.deepEqual(told.hookState, { failures: 0, dueAt: null, retryDeliveryId: null, lastOutcome: '200' });
  assert.deepEqual(deliveryIdsOf(drive.beginAll()), [12, 13]);
});

test('C18 a 200 of an attempt that was in flight at a failure delivers, and does not end the backoff', () => {
  const drive = withConcurrency(3, 10);
  const [failing, other] = drive.beginAll();
  assert.ok(failing && other);
  const failure = drive.finish(failing, SERVER_ERROR);
  const told = drive.finish(other, OK);
  assert.equal(told.decision, 'delivered_during_backoff');
  assert.equal(told.deliveryState, 'delivered');
  assert.equal(told.hookState, undefined, 'the hook state stays as the failure left it');
  assert.equal(failure.hookState?.dueAt, drive.now + FIRST_WAIT_MS);
  assert.equal(drive.queue.failures, 1);
  assert.deepEqual(drive.beginAll(), []);
});

test('C18 a 401 of an attempt that was in flight at a failure ends the hook', () => {
  const drive = withConcurrency(3, 10);
  const [failing, other] = drive.beginAll();
  assert.ok(failing && other);
  drive.finish(failing, SERVER_ERROR);
  assert.equal(drive.finish(other, UNSUBSCRIBE).endedReason, 'answered_401');
  assert.ok(drive.queue.hasEnded);
});

test('C18 an attempt in flight since before the first failure is part of it, even after the retry has started', () => {
  const drive = withConcurrency(2, 10);
  const [failing, straggler] = drive.beginAll();
  assert.ok(failing && straggler);
  drive.finish(failing, SERVER_ERROR);
  drive.now += FIRST_WAIT_MS;
  assert.deepEqual(drive.beginAll(), [], 'a failing queue has one attempt in flight, and the straggler is it');
  assert.equal(drive.finish(straggler, SERVER_ERROR).decision, 'part_of_counted_failure');
  const [retry] = drive.beginAll();
  assert.ok(retry);
  assert.equal(retry.pendingDelivery.deliveryId, failing.pendingDelivery.deliveryId);
  assert.equal(drive.finish(retry, SERVER_ERROR).decision, 'wait');
  assert.equal(drive.queue.failures, 2);
});

test('C18 the third failure in a row ends the hook; a 200 in between resets the count', () => {
  const drive = new QueueDriver({}, 3);
  const decisions = [SERVER_ERROR, SERVER_ERROR, OK, SERVER_ERROR, SERVER_ERROR, SERVER_ERROR].map(
    (outcome) => drive.deliver(outcome).decision,
  );
  assert.deepEqual(decisions, ['wait', 'wait', 'delivered', 'wait', 'wait', 'ended']);
});

test('C13 C18 an ended queue starts nothing, not even manual attempts, and aborts attempts that have sent nothing', () => {
  for (const end of [
    (drive: QueueDriver) => drive.queue.end(),
    (drive: QueueDriver, flight: InFlightAttempt) => void drive.finish(flight, UNSUBSCRIBE),
  ]) {
    const drive = withConcurrency(3, 10);
    const [first, unsent, sent] = drive.beginAll();
    assert.ok(first && unsent && sent);
    sent.markSending();
    drive.queue.addManualAttempts([asManualAttempt(pendingAt(50))]);
    end(drive, first);
    assert.ok(unsent.signal.aborted);
    assert.ok(!sent.signal.aborted, 'what may be with the target already is heard out');
    drive.now += 365 * 24 * 3_600_000;
    assert.deepEqual(drive.beginAll(), []);
    assert.equal(drive.queue.canStartPendingDelivery(drive.now), false);
    assert.equal(drive.queue.takeNextManualAttempt(drive.now), undefined);
  }
});

test('C18 C20 a queue claimed after a restart continues with its failures, its backoff and its first failed delivery', () => {
  const drive = new QueueDriver({ failures: 2, dueAt: 500_000, retryDeliveryId: 13, lastOutcome: '500' });
  assert.equal(drive.queue.unreadRetryDeliveryId, 13, 'the prefetcher reads it before the others');
  drive.queue.addPendingDeliveries([pendingAt(3)]);
  drive.queue.addPendingDeliveries([pendingAt(1), pendingAt(2), pendingAt(3)]);
  assert.deepEqual(drive.beginAll(), []);
  drive.now = 500_000;
  const [retry, ...others] = drive.beginAll();
  assert.equal(retry?.pendingDelivery.deliveryId, 13);
  assert.deepEqual(others, []);
  assert.ok(retry);
  assert.equal(drive.finish(retry, SERVER_ERROR).endedReason, 'three_failures');
});

test('C18 a stored retry time beyond the longest delay counts as due: the clock was ahead when it was stored', () => {
  const now = 1_000;
  for (const [dueAt, waitMs] of [
    [now + DAY_MS, DAY_MS],
    [now + DAY_MS + 1, 0],
    [now + 400 * DAY_MS, 0],
  ] as const) {
    const drive = new QueueDriver({ failures: 1, dueAt, retryDeliveryId: 11 }, 1);
    assert.equal(drive.queue.computeNextWaitMs(now), waitMs);
    assert.equal(drive.beginAll().length, waitMs === 0 ? 1 : 0);
  }
  const drive = new QueueDriver({}, 2);
  drive.now += 400 * DAY_MS;
  drive.deliver(SERVER_ERROR);
  assert.equal(drive.beginAll().length, 0);
  // The clock is corrected while the queue waits.
  drive.now -= 400 * DAY_MS;
  assert.ok(drive.queue.needsScheduling(drive.now));
  assert.deepEqual(deliveryIdsOf(drive.beginAll()), [11]);
});

test('C19 a local error is not counted, pauses the queue, and the same delivery is retried first', () => {
  const drive = new QueueDriver({}, 2);
  const completion = drive.finish(drive.beginOne(), LOCAL_ERROR);
  assert.equal(completion.decision, 'retry_local_error');
  assert.equal(completion.deliveryState, 'pending');
  assert.equal(completion.attempt.isCountedAsFailure, false);
  assert.equal(completion.hookState, undefined);
  assert.deepEqual(drive.beginAll(), []);
  assert.equal(drive.queue.computePendingWaitMs(drive.now), 1_000);
  drive.now += 1_000;
  assert.deepEqual(deliveryIdsOf(drive.beginAll()), [11]);
});

/** A queue with a concurrency of 4 and 4 attempts in flight. */
function startFourAttempts(): { drive: QueueDriver; flights: InFlightAttempt[] } {
  const drive = withConcurrency(4, 8);
  const flights = drive.beginAll();
  assert.equal(flights.length, 4);
  return { drive, flights };
}

test('C19 local errors of attempts in flight together count as one: the queue pauses once', () => {
  const { drive, flights } = startFourAttempts();
  for (const flight of flights) drive.finish(flight, LOCAL_ERROR);
  assert.equal(drive.queue.computePendingWaitMs(drive.now), 1_000);
  drive.now += 1_000;
  drive.finish(drive.beginOne(), LOCAL_ERROR);
  assert.equal(drive.queue.computePendingWaitMs(drive.now), 2_000, 'the next one is another');
});

test('C19 setting the clock back neither lengthens the pause after a local error nor removes the next one', () => {
  const drive = new QueueDriver({}, 1);
  drive.now = 3_600_000;
  drive.finish(drive.beginOne(), LOCAL_ERROR);
  drive.now = 1_000;
  assert.ok(drive.queue.computePendingWaitMs(drive.now) <= 0);
  drive.finish(drive.beginOne(), LOCAL_ERROR);
  assert.ok(drive.queue.computePendingWaitMs(drive.now) > 0);
  assert.ok(drive.queue.computePendingWaitMs(drive.now) <= 60_000);
});

test('C19 attempts aborted before they were sent do not pause the queue, and nothing is lost', () => {
  const { drive, flights } = startFourAttempts();
  for (const flight of flights) assert.equal(drive.finish(flight, STOPPED).deliveryState, 'pending');
  assert.equal(drive.queue.computePendingWaitMs(drive.now) <= 0, true);
  const again = drive.beginAll().map(({ pendingDelivery }) => pendingDelivery.deliveryId);
  assert.deepEqual(again.sort(), flights.map(({ pendingDelivery }) => pendingDelivery.deliveryId).sort());
});

test('C19 local errors between failures neither count nor reset the count', () => {
  const drive = new QueueDriver({}, 1);
  const decisions = [SERVER_ERROR, LOCAL_ERROR, SERVER_ERROR, LOCAL_ERROR, LOCAL_ERROR].map(
    (outcome) => drive.deliver(outcome).decision,
  );
  assert.deepEqual(decisions, ['wait', 'retry_local_error', 'wait', 'retry_local_error', 'retry_local_error']);
  assert.equal(drive.queue.failures, 2);
  assert.equal(drive.deliver(SERVER_ERROR).endedReason, 'three_failures');
});

test('X1 a test is sent immediately, also during a backoff; outcomes other than 200 and 401 change nothing', () => {
  const drive = new QueueDriver({}, 2);
  drive.deliver(SERVER_ERROR);
  const before = drive.queue.computePendingWaitMs(drive.now);
  drive.queue.addManualAttempts([hookTest]);
  const [flight, ...others] = drive.beginAll();
  assert.ok(flight);
  assert.deepEqual(others, []);
  const completion = drive.finish(flight, SERVER_ERROR);
  assert.equal(completion.decision, 'manual_failed');
  assert.equal(completion.deliveryState, 'dropped', 'a test has had its answer');
  assert.equal(completion.attempt.isCountedAsFailure, false);
  assert.equal(drive.queue.failures, 1);
  assert.equal(drive.queue.computePendingWaitMs(drive.now), before);
  assert.deepEqual(drive.beginAll(), []);
});

test('X1 a 200 to a test makes what is pending due at once', () => {
  const drive = new QueueDriver({}, 2);
  drive.deliver(SERVER_ERROR);
  drive.queue.addManualAttempts([hookTest]);
  const [flight] = drive.beginAll();
  assert.ok(flight);
  assert.equal(drive.finish(flight, OK).decision, 'delivered');
  assert.equal(drive.queue.failures, 0);
  assert.deepEqual(deliveryIdsOf(drive.beginAll()), [11]);
});

test('X1 a test with a local error is retried, before other deliveries', () => {
  const drive = new QueueDriver({}, 2);
  drive.deliver(SERVER_ERROR);
  drive.queue.addManualAttempts([hookTest]);
  const [flight] = drive.beginAll();
  assert.ok(flight);
  assert.equal(drive.finish(flight, LOCAL_ERROR).decision, 'retry_local_error');
  assert.deepEqual(drive.beginAll(), []);
  assert.equal(drive.queue.computeNextWaitMs(drive.now), 1_000, 'the dispatcher sets its timer by this');
  drive.now += 1_000;
  assert.deepEqual(deliveryIdsOf(drive.beginAll()), [hookTest.deliveryId]);
});

test('X3 a manual attempt starts first, once, and in addition to the concurrency', () => {
  const drive = new QueueDriver({}, 3);
  drive.beginOne();
  drive.queue.addManualAttempts([
    asManualAttempt(pendingAt(3)),
    asManualAttempt(pendingAt(3)),
    asManualAttempt(pendingAt(7)),
  ]);
  assert.deepEqual(deliveryIdsOf(drive.beginAll()), [13, 17]);
  assert.deepEqual(deliveryIdsOf(drive.beginAll()), []);
});

test('X3 a failed redelivery is done, and leaves the state of its delivery unchanged', () => {
  const drive = new QueueDriver({}, 1);
  const [one, other] = [asManualAttempt(pendingAt(1)), asManualAttempt(pendingAt(5))];
  drive.queue.addManualAttempts([one, other]);
  const [first, second] = drive.beginAll();
  assert.ok(first && second);
  for (const [flight, row] of [
    [second, other],
    [first, one],
  ] as const) {
    const completion = drive.finish(flight, SERVER_ERROR);
    assert.equal(completion.deliveryState, 'pending');
    assert.deepEqual(completion.manualAttemptIds, [row.manualAttemptId]);
  }
  assert.equal(drive.queue.failures, 0);
  assert.deepEqual(deliveryIdsOf(drive.beginAll()), [11]);
});

test('X3 a redelivery with a 200 delivers: the pending delivery is not sent again', () => {
  const drive = new QueueDriver({}, 1);
  drive.queue.addManualAttempts([asManualAttempt(pendingAt(1))]);
  const [flight] = drive.beginAll();
  assert.ok(flight);
  const completion = drive.finish(flight, OK);
  assert.equal(completion.deliveryState, 'delivered');
  assert.deepEqual(drive.beginAll(), []);
  drive.queue.addPendingDeliveries([pendingAt(1)]);
  assert.deepEqual(drive.beginAll(), [], 'the database says that it is pending until this is written down');
  drive.queue.onResultCommitted(completion);
  drive.queue.addPendingDeliveries([pendingAt(1)]);
  assert.deepEqual(deliveryIdsOf(drive.beginAll()), [11]);
});

test('C20 a page that was read before a result was committed, and arrives after it, does not send the delivery again', () => {
  const drive = new QueueDriver({}, 1);
  drive.queue.addManualAttempts([asManualAttempt(pendingAt(1))]);
  const [attempt] = drive.beginAll();
  assert.ok(attempt);
  const completion = drive.finish(attempt, OK);
  drive.queue.beginPrefetch();
  drive.queue.onResultCommitted(completion);
  drive.queue.addPendingDeliveries([pendingAt(1), pendingAt(2)]);
  drive.queue.endPrefetch();
  assert.deepEqual(deliveryIdsOf(drive.beginAll()), [12]);
});

test('C20 only the committed result that ends a delivery makes a later page send it again', () => {
  const drive = new QueueDriver({}, 1);
  drive.queue.addManualAttempts([asManualAttempt(pendingAt(1))]);
  const [manual] = drive.beginAll();
  assert.ok(manual);
  const failed = drive.finish(manual, SERVER_ERROR);
  assert.equal(failed.deliveryState, 'pending');
  const delivered = drive.deliver(OK);
  drive.queue.onResultCommitted(failed);
  drive.queue.onResultCommitted({ ...delivered, generation: delivered.generation - 1 });
  drive.queue.addPendingDeliveries([pendingAt(1)]);
  assert.deepEqual(drive.beginAll(), [], 'its result is not committed yet');
  assert.equal(drive.queue.hasUnfinishedAttempts, true);
  drive.queue.onResultCommitted(delivered);
  assert.equal(drive.queue.hasUnfinishedAttempts, false);
});

test('X3 a hundred thousand manual attempts are read a page at a time, when those in memory have started', () => {
  const { queue } = new QueueDriver();
  queue.hasUnreadPendingDeliveries = false;
  assert.equal(queue.needsManualAttempts, true);
  queue.addManualAttempts([asManualAttempt(pendingAt(1))]);
  assert.equal(queue.needsManualAttempts, false);
  assert.equal(queue.needsPrefetch(1_000), false);
  assert.ok(queue.takeNextManualAttempt(1_000));
  assert.equal(queue.needsPrefetch(1_000), true);
});

test('C19 a queue is idle when its pause is over, also if the attempt that follows changes nothing', () => {
  const drive = new QueueDriver();
  drive.queue.hasUnreadPendingDeliveries = false;
  drive.queue.hasUnreadManualAttempts = false;
  drive.queue.addManualAttempts([asManualAttempt(pendingAt(1))]);
  for (const outcome of [LOCAL_ERROR, SERVER_ERROR]) {
    const [attempt] = drive.beginAll();
    assert.ok(attempt);
    drive.finish(attempt, outcome);
    drive.now += 60_000;
  }
  assert.equal(drive.queue.isIdle(drive.now), true);
});

test('X3 a redelivery requested during an attempt: a 200 completes it, after any other outcome it is made', () => {
  for (const { outcome, followed } of [
    { outcome: OK, followed: false },
    { outcome: SERVER_ERROR, followed: true },
  ]) {
    const drive = new QueueDriver({}, 1);
    const flight = drive.beginOne();
    const ask = asManualAttempt(pendingAt(1));
    drive.queue.addManualAttempts([ask]);
    assert.deepEqual(drive.beginAll(), [], 'not twice at once');
    const { manualAttemptIds } = drive.finish(flight, outcome);
    assert.deepEqual(manualAttemptIds, followed ? [] : [ask.manualAttemptId]);
    assert.deepEqual(
      drive.beginAll().map(({ pendingDelivery }) => pendingDelivery.manualAttemptId),
      followed ? [ask.manualAttemptId] : [],
    );
  }
});

test('C22 at most eight manual attempts are in flight at a time, and one if the hook is failing', () => {
  const drive = new QueueDriver({}, 1);
  drive.queue.addManualAttempts(Array.from({ length: 20 }, (_, index) => asManualAttempt(pendingAt(index + 10))));
  const begun = drive.beginAll();
  assert.equal(begun.length, 8);
  const failing = new QueueDriver({}, 1);
  failing.deliver(SERVER_ERROR);
  failing.queue.addManualAttempts([asManualAttempt(pendingAt(10)), asManualAttempt(pendingAt(11))]);
  assert.equal(failing.beginAll().length, 1);
});

test('C20 a completion carries the generation of the claim, so that a late one is fenced', () => {
  assert.equal(new QueueDriver({}, 1).deliver(OK).generation, newHookRow.generation);
});

test('C20 C22 an idle queue takes deliveries from commit events; a full or failing one reads them later', () => {
  const drive = new QueueDriver();
  drive.queue.pushDeliveries([pendingAt(1)], drive.now);
  assert.deepEqual(deliveryIdsOf(drive.beginAll()), [], 'something may be before it: nothing was read yet');
  drive.queue.hasUnreadPendingDeliveries = false;
  drive.queue.addReadPage([], true);
  drive.queue.pushDeliveries([pendingAt(2), pendingAt(3)], drive.now);
  assert.equal(drive.queue.hasUnreadPendingDeliveries, false);
  const [flight] = drive.beginAll();
  assert.equal(flight?.pendingDelivery.position, 2);
  drive.queue.pushDeliveries([pendingAt(4)], drive.now);
  assert.equal(drive.queue.hasUnreadPendingDeliveries, true, 'its window is full');
  drive.queue.hasUnreadPendingDeliveries = false;
  if (flight !== undefined) drive.finish(flight, SERVER_ERROR);
  drive.queue.pushDeliveries([pendingAt(5)], drive.now);
  assert.equal(drive.queue.hasUnreadPendingDeliveries, true, 'it waits');
});

test('C20 a queue that has taken 32 deliveries from commit events reads the next ones', () => {
  const drive = new QueueDriver();
  drive.queue.hasUnreadPendingDeliveries = false;
  for (let position = 1; !drive.queue.hasUnreadPendingDeliveries; position += 1) {
    drive.queue.pushDeliveries([pendingAt(position)], drive.now);
    if (!drive.queue.hasUnreadPendingDeliveries) {
      const completion = drive.deliver(OK);
      assert.equal(completion.pendingDelivery.position, position);
      drive.queue.onResultCommitted(completion);
    }
    assert.ok(position <= 33);
  }
});
