import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HookQueue, type HookSource } from './hook-queue.ts';
import type { HookSettings, ReadSettings } from './hook-settings.ts';
import type { Completion, InFlightAttempt } from './in-flight-attempt.ts';
import type { HookQueueRow, PendingDelivery } from './queries.ts';
import type { AttemptOutcome, Decision } from './retry-policy.ts';

const FIRST_WAIT_MS = 60_000;
const SECOND_WAIT_MS = 7_200_000;
const DAY_MS = 86_400_000;
/** Number of rows of a full page. */
const PAGE_SIZE = 32;

const OK: AttemptOutcome = { kind: 'answered', status: 200, durationMs: 1 };
const UNSUBSCRIBE: AttemptOutcome = { kind: 'answered', status: 401, durationMs: 1 };
const SERVER_ERROR: AttemptOutcome = { kind: 'answered', status: 500, durationMs: 1 };
const LOCAL_ERROR: AttemptOutcome = { kind: 'local_error', code: 'no_resolver', durationMs: 1 };
const STOPPED: AttemptOutcome = { kind: 'local_error', code: 'stopped', durationMs: 1 };

const newHookSettings: HookSettings = { secrets: [], headers: [], isEnabled: true };

const newHookRow: HookQueueRow = {
  hookId: 1,
  accountId: 1,
  target: 'http://127.0.0.1:9/',
  generation: 7,
  failures: 0,
  dueAt: null,
  retryDeliveryId: null,
  lastOutcome: '',
  settings: newHookSettings,
};

/** The pending delivery at a feed position. Its id is higher by 10. */
const pendingAt = (position: number): PendingDelivery => ({
  deliveryId: position + 10,
  position,
  kind: 'new_event',
  recordId: 1,
  fields: null,
  createdAt: 0,
  manualAttemptId: null,
});
let manualAttemptCount = 0;
const asManualAttempt = (row: PendingDelivery): PendingDelivery => {
  manualAttemptCount += 1;
  return { ...row, manualAttemptId: manualAttemptCount };
};
const hookTest: PendingDelivery = { ...pendingAt(90), position: null, kind: 'test', manualAttemptId: 900 };

/** The rows of a hook in a database, from which its queue reads. */
class HookRows implements HookSource {
  pending: PendingDelivery[] = [];
  manual: PendingDelivery[] = [];
  /** Number of reads of pending deliveries. */
  readCount = 0;
  /** Called after pending deliveries were selected, before they arrive. */
  onRead: () => void = () => undefined;
  /** The settings at the next read. */
  settings: ReadSettings = { ...newHookSettings, generation: newHookRow.generation };
  settingsError: Error | undefined;

  async findSettings() {
    if (this.settingsError !== undefined) throw this.settingsError;
    return this.settings;
  }

  async findPendingDelivery(deliveryId: number) {
    return this.pending.find((row) => row.deliveryId === deliveryId);
  }

  async findNextPendingDeliveries(afterPosition: number) {
    this.readCount += 1;
    const pendingDeliveries = this.pending
      .filter(({ position }) => Number(position) > afterPosition)
      .slice(0, PAGE_SIZE);
    this.onRead();
    return { pendingDeliveries, isLastPage: pendingDeliveries.length < PAGE_SIZE };
  }

  async findManualAttempts(afterId: number) {
    const rows = this.manual.filter(({ manualAttemptId }) => Number(manualAttemptId) > afterId);
    const manualAttempts = rows.slice(0, PAGE_SIZE);
    const lastId = manualAttempts.at(-1)?.manualAttemptId ?? afterId;
    return { manualAttempts, lastId, isLastPage: manualAttempts.length < PAGE_SIZE };
  }
}

/** Drives a queue like the dispatcher does, with its own clock. */
class QueueDriver {
  readonly queue: HookQueue;
  readonly rows = new HookRows();
  now = 1_000;

  constructor(row: Partial<HookQueueRow> = {}, pendingCount = 0) {
    this.queue = new HookQueue({ ...newHookRow, ...row }, 0, DAY_MS);
    this.rows.pending = Array.from({ length: pendingCount }, (_, index) => pendingAt(index + 1));
  }

  get status() {
    return this.queue.status(this.now);
  }

  fill(): Promise<void> {
    return this.queue.fill(this.rows, { now: () => this.now }, true);
  }

  /** Stores manual attempts, of which a commit event tells the queue. */
  addManualAttempts(...attempts: readonly PendingDelivery[]): void {
    this.rows.manual.push(...attempts);
    this.queue.markUnread('manual');
  }

  /** Starts all attempts that may start now. */
  async beginAll(): Promise<InFlightAttempt[]> {
    const begun: InFlightAttempt[] = [];
    for (;;) {
      if (this.status === 'unread') await this.fill();
      const { status } = this;
      const row = this.queue.takeNextDelivery(this.now);
      assert.equal(status === 'ready', row !== undefined, status);
      if (row === undefined) return begun;
      begun.push(this.queue.beginAttempt(row, this.now));
    }
  }

  async beginOne(): Promise<InFlightAttempt> {
    if (this.status === 'unread') await this.fill();
    const row = this.queue.takeNextDelivery(this.now);
    if (row === undefined) throw new Error('nothing may begin');
    return this.queue.beginAttempt(row, this.now);
  }

  finish(flight: InFlightAttempt, outcome: AttemptOutcome): Completion & { decision: Decision['is'] } {
    const retryOptions = { retryDelaysMs: [FIRST_WAIT_MS, SECOND_WAIT_MS], jitterFraction: 0 } as const;
    const { completion, decision } = this.queue.finishAttempt(flight, outcome, this.now, retryOptions);
    return { ...completion, decision: decision.is };
  }

  /** Makes one attempt as early as possible. */
  async deliver(outcome: AttemptOutcome) {
    this.now += Math.max(0, this.queue.computeWaitMs(this.now));
    return this.finish(await this.beginOne(), outcome);
  }

  /** Makes one attempt for each outcome, and returns the decisions. */
  async decideAll(outcomes: readonly AttemptOutcome[]): Promise<Decision['is'][]> {
    const decisions: Decision['is'][] = [];
    for (const outcome of outcomes) decisions.push((await this.deliver(outcome)).decision);
    return decisions;
  }
}

/** Returns a queue whose concurrency was raised to `concurrency` by deliveries. */
async function withConcurrency(concurrency: number, pendingCount: number): Promise<QueueDriver> {
  const drive = new QueueDriver({}, pendingCount + concurrency - 1);
  for (let earned = 1; earned < concurrency; earned += 1) await drive.deliver(OK);
  return drive;
}

const deliveryIdsOf = (flights: readonly InFlightAttempt[]) =>
  flights.map((flight) => flight.pendingDelivery.deliveryId);

test('C22 a new queue starts with a concurrency of 1, and each 200 adds 1, up to 8', async () => {
  const drive = new QueueDriver({}, 100);
  for (const window of [1, 2, 3, 4, 5, 6, 7, 8, 8, 8]) {
    const begun = await drive.beginAll();
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

test('C22 a failure resets the concurrency to 1', async () => {
  const drive = await withConcurrency(8, 30);
  const [first, ...others] = await drive.beginAll();
  assert.equal(others.length, 7);
  if (first !== undefined) drive.finish(first, SERVER_ERROR);
  for (const flight of others) drive.finish(flight, OK);
  drive.now += FIRST_WAIT_MS;
  const retry = await drive.beginAll();
  assert.equal(retry.length, 1);
  if (retry[0] !== undefined) drive.finish(retry[0], OK);
  assert.equal((await drive.beginAll()).length, 2);
});

test('C18 failures of attempts in flight together count once, and nothing starts until the backoff is over', async () => {
  const drive = await withConcurrency(8, 20);
  const flights = await drive.beginAll();
  const decisions = flights.map((flight) => drive.finish(flight, SERVER_ERROR).decision);
  assert.deepEqual(decisions, ['wait', ...Array(7).fill('part_of_counted_failure')]);
  assert.equal(drive.queue.failures, 1);
  drive.now += FIRST_WAIT_MS - 1;
  assert.deepEqual(await drive.beginAll(), []);
  drive.now += 1;
  assert.deepEqual(deliveryIdsOf(await drive.beginAll()), deliveryIdsOf(flights.slice(0, 1)));
});

test('C18 the delivery that failed first is retried first, in whatever order the others fail', async () => {
  const drive = await withConcurrency(4, 10);
  const [a, b, c, d] = await drive.beginAll();
  assert.ok(a && b && c && d);
  drive.finish(c, SERVER_ERROR);
  drive.finish(a, SERVER_ERROR);
  drive.finish(d, LOCAL_ERROR);
  drive.finish(b, SERVER_ERROR);
  drive.now += FIRST_WAIT_MS;
  assert.deepEqual(deliveryIdsOf(await drive.beginAll()), [c.pendingDelivery.deliveryId]);
});

test('C18 the same delivery is retried after each failure, and the others are pending when it is delivered', async () => {
  const drive = new QueueDriver({}, 3);
  for (const outcome of [SERVER_ERROR, SERVER_ERROR])
    assert.equal((await drive.deliver(outcome)).pendingDelivery.deliveryId, 11);
  const told = await drive.deliver(OK);
  assert.equal(told.pendingDelivery.deliveryId, 11);
  assert.deepEqual(told.hookState, { failures: 0, dueAt: null, retryDeliveryId: null, lastOutcome: '200' });
  assert.deepEqual(deliveryIdsOf(await drive.beginAll()), [12, 13]);
});

test('C18 a 200 of an attempt that was in flight at a failure delivers, and does not end the backoff', async () => {
  const drive = await withConcurrency(3, 10);
  const [failing, other] = await drive.beginAll();
  assert.ok(failing && other);
  const failure = drive.finish(failing, SERVER_ERROR);
  const told = drive.finish(other, OK);
  assert.equal(told.decision, 'delivered_during_backoff');
  assert.equal(told.deliveryState, 'delivered');
  assert.equal(told.hookState, undefined, 'the hook state stays as the failure left it');
  assert.equal(failure.hookState?.dueAt, drive.now + FIRST_WAIT_MS);
  assert.equal(drive.queue.failures, 1);
  assert.deepEqual(await drive.beginAll(), []);
});

test('C18 a 401 of an attempt that was in flight at a failure ends the hook', async () => {
  const drive = await withConcurrency(3, 10);
  const [failing, other] = await drive.beginAll();
  assert.ok(failing && other);
  drive.finish(failing, SERVER_ERROR);
  assert.equal(drive.finish(other, UNSUBSCRIBE).endedReason, 'answered_401');
  assert.ok(drive.queue.hasEnded);
});

test('C18 an attempt in flight since before the first failure is part of it, even after the retry has started', async () => {
  const drive = await withConcurrency(2, 10);
  const [failing, straggler] = await drive.beginAll();
  assert.ok(failing && straggler);
  drive.finish(failing, SERVER_ERROR);
  drive.now += FIRST_WAIT_MS;
  assert.deepEqual(await drive.beginAll(), [], 'a failing queue has one attempt in flight, and the straggler is it');
  assert.equal(drive.finish(straggler, SERVER_ERROR).decision, 'part_of_counted_failure');
  const [retry] = await drive.beginAll();
  assert.ok(retry);
  assert.equal(retry.pendingDelivery.deliveryId, failing.pendingDelivery.deliveryId);
  assert.equal(drive.finish(retry, SERVER_ERROR).decision, 'wait');
  assert.equal(drive.queue.failures, 2);
});

test('C18 the third failure in a row ends the hook; a 200 in between resets the count', async () => {
  const drive = new QueueDriver({}, 3);
  const decisions = await drive.decideAll([
    ...[SERVER_ERROR, SERVER_ERROR, OK],
    ...[SERVER_ERROR, SERVER_ERROR, SERVER_ERROR],
  ]);
  assert.deepEqual(decisions, ['wait', 'wait', 'delivered', 'wait', 'wait', 'ended']);
});

test('C13 C18 an ended queue starts nothing, not even manual attempts, and aborts attempts that have sent nothing', async () => {
  for (const end of [
    (drive: QueueDriver) => drive.queue.end(),
    (drive: QueueDriver, flight: InFlightAttempt) => void drive.finish(flight, UNSUBSCRIBE),
  ]) {
    const drive = await withConcurrency(3, 10);
    const [first, unsent, sent] = await drive.beginAll();
    assert.ok(first && unsent && sent);
    sent.markSending();
    drive.addManualAttempts(asManualAttempt(pendingAt(50)));
    end(drive, first);
    assert.ok(unsent.signal.aborted);
    assert.ok(!sent.signal.aborted, 'what may be with the target already is heard out');
    drive.now += 365 * 24 * 3_600_000;
    assert.deepEqual(await drive.beginAll(), []);
    assert.equal(drive.status, 'ended');
  }
});

test('C18 C20 a queue claimed after a restart continues with its failures, its backoff and its first failed delivery', async () => {
  const drive = new QueueDriver({ failures: 2, dueAt: 500_000, retryDeliveryId: 13, lastOutcome: '500' }, 3);
  assert.deepEqual(await drive.beginAll(), []);
  drive.now = 500_000;
  const [retry, ...others] = await drive.beginAll();
  assert.equal(retry?.pendingDelivery.deliveryId, 13);
  assert.deepEqual(others, []);
  assert.ok(retry);
  assert.equal(drive.finish(retry, SERVER_ERROR).endedReason, 'three_failures');
});

test('C18 a stored retry time beyond the longest delay counts as due: the clock was ahead when it was stored', async () => {
  const now = 1_000;
  for (const [dueAt, waitMs] of [
    [now + DAY_MS, DAY_MS],
    [now + DAY_MS + 1, 0],
    [now + 400 * DAY_MS, 0],
  ] as const) {
    const drive = new QueueDriver({ failures: 1, dueAt, retryDeliveryId: 11 }, 1);
    assert.equal(drive.queue.computeWaitMs(now), waitMs);
    assert.equal((await drive.beginAll()).length, waitMs === 0 ? 1 : 0);
  }
  const drive = new QueueDriver({}, 2);
  drive.now += 400 * DAY_MS;
  await drive.deliver(SERVER_ERROR);
  assert.equal((await drive.beginAll()).length, 0);
  // The clock is corrected while the queue waits.
  drive.now -= 400 * DAY_MS;
  assert.ok(drive.queue.onPolled(drive.now), 'no timer will schedule it');
  assert.deepEqual(deliveryIdsOf(await drive.beginAll()), [11]);
});

test('C19 a local error is not counted, pauses the queue, and the same delivery is retried first', async () => {
  const drive = new QueueDriver({}, 2);
  const completion = drive.finish(await drive.beginOne(), LOCAL_ERROR);
  assert.equal(completion.decision, 'retry_local_error');
  assert.equal(completion.deliveryState, 'pending');
  assert.equal(completion.attempt.isCountedAsFailure, false);
  assert.equal(completion.hookState, undefined);
  assert.deepEqual(await drive.beginAll(), []);
  assert.equal(drive.queue.computeWaitMs(drive.now), 1_000);
  drive.now += 1_000;
  assert.deepEqual(deliveryIdsOf(await drive.beginAll()), [11]);
});

/** A queue with a concurrency of 4 and 4 attempts in flight. */
async function startFourAttempts(): Promise<{ drive: QueueDriver; flights: InFlightAttempt[] }> {
  const drive = await withConcurrency(4, 8);
  const flights = await drive.beginAll();
  assert.equal(flights.length, 4);
  return { drive, flights };
}

test('C19 local errors of attempts in flight together count as one: the queue pauses once', async () => {
  const { drive, flights } = await startFourAttempts();
  for (const flight of flights) drive.finish(flight, LOCAL_ERROR);
  assert.equal(drive.queue.computeWaitMs(drive.now), 1_000);
  drive.now += 1_000;
  drive.finish(await drive.beginOne(), LOCAL_ERROR);
  assert.equal(drive.queue.computeWaitMs(drive.now), 2_000, 'the next one is another');
});

test('C19 setting the clock back neither lengthens the pause after a local error nor removes the next one', async () => {
  const drive = new QueueDriver({}, 1);
  drive.now = 3_600_000;
  drive.finish(await drive.beginOne(), LOCAL_ERROR);
  drive.now = 1_000;
  assert.ok(drive.queue.computeWaitMs(drive.now) <= 0);
  drive.finish(await drive.beginOne(), LOCAL_ERROR);
  assert.ok(drive.queue.computeWaitMs(drive.now) > 0);
  assert.ok(drive.queue.computeWaitMs(drive.now) <= 60_000);
});

test('C19 attempts aborted before they were sent do not pause the queue, and nothing is lost', async () => {
  const { drive, flights } = await startFourAttempts();
  for (const flight of flights) assert.equal(drive.finish(flight, STOPPED).deliveryState, 'pending');
  assert.equal(drive.queue.computeWaitMs(drive.now) <= 0, true);
  const again = (await drive.beginAll()).map(({ pendingDelivery }) => pendingDelivery.deliveryId);
  assert.deepEqual(again.sort(), flights.map(({ pendingDelivery }) => pendingDelivery.deliveryId).sort());
});

test('C19 local errors between failures neither count nor reset the count', async () => {
  const drive = new QueueDriver({}, 1);
  const decisions = await drive.decideAll([SERVER_ERROR, LOCAL_ERROR, SERVER_ERROR, LOCAL_ERROR, LOCAL_ERROR]);
  assert.deepEqual(decisions, ['wait', 'retry_local_error', 'wait', 'retry_local_error', 'retry_local_error']);
  assert.equal(drive.queue.failures, 2);
  assert.equal((await drive.deliver(SERVER_ERROR)).endedReason, 'three_failures');
});

test('X1 a test is sent immediately, also during a backoff; outcomes other than 200 and 401 change nothing', async () => {
  const drive = new QueueDriver({}, 2);
  await drive.deliver(SERVER_ERROR);
  const before = drive.queue.computeWaitMs(drive.now);
  drive.addManualAttempts(hookTest);
  const [flight, ...others] = await drive.beginAll();
  assert.ok(flight);
  assert.deepEqual(others, []);
  const completion = drive.finish(flight, SERVER_ERROR);
  assert.equal(completion.decision, 'manual_failed');
  assert.equal(completion.deliveryState, 'dropped', 'a test has had its answer');
  assert.equal(completion.attempt.isCountedAsFailure, false);
  assert.equal(drive.queue.failures, 1);
  assert.equal(drive.queue.computeWaitMs(drive.now), before);
  assert.deepEqual(await drive.beginAll(), []);
});

test('X1 a 200 to a test makes what is pending due at once', async () => {
  const drive = new QueueDriver({}, 2);
  await drive.deliver(SERVER_ERROR);
  drive.addManualAttempts(hookTest);
  const [flight] = await drive.beginAll();
  assert.ok(flight);
  assert.equal(drive.finish(flight, OK).decision, 'delivered');
  assert.equal(drive.queue.failures, 0);
  assert.deepEqual(deliveryIdsOf(await drive.beginAll()), [11]);
});

test('X1 a test with a local error is retried, before other deliveries', async () => {
  const drive = new QueueDriver({}, 2);
  await drive.deliver(SERVER_ERROR);
  drive.addManualAttempts(hookTest);
  const [flight] = await drive.beginAll();
  assert.ok(flight);
  assert.equal(drive.finish(flight, LOCAL_ERROR).decision, 'retry_local_error');
  assert.deepEqual(await drive.beginAll(), []);
  assert.equal(drive.queue.computeWaitMs(drive.now), 1_000, 'the dispatcher sets its timer by this');
  drive.now += 1_000;
  assert.deepEqual(deliveryIdsOf(await drive.beginAll()), [hookTest.deliveryId]);
});

test('X3 a manual attempt starts first, once, and in addition to the concurrency', async () => {
  const drive = new QueueDriver({}, 3);
  await drive.beginOne();
  drive.addManualAttempts(asManualAttempt(pendingAt(3)), asManualAttempt(pendingAt(3)), asManualAttempt(pendingAt(7)));
  assert.deepEqual(deliveryIdsOf(await drive.beginAll()), [13, 17]);
  assert.deepEqual(deliveryIdsOf(await drive.beginAll()), []);
});

test('X3 a failed redelivery is done, and leaves the state of its delivery unchanged', async () => {
  const drive = new QueueDriver({}, 1);
  const [one, other] = [asManualAttempt(pendingAt(1)), asManualAttempt(pendingAt(5))];
  drive.addManualAttempts(one, other);
  const [first, second] = await drive.beginAll();
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
  assert.deepEqual(deliveryIdsOf(await drive.beginAll()), [11]);
});

/**
 * A queue with 33 pending deliveries, of which the first page was delivered, and the last one is not read yet but was
 * delivered by a manual attempt. `completion` is the result of the manual attempt.
 */
async function deliverLastManually(): Promise<{ drive: QueueDriver; completion: Completion }> {
  const drive = new QueueDriver({}, 33);
  drive.addManualAttempts(asManualAttempt(pendingAt(33)));
  const [manual, ...others] = await drive.beginAll();
  assert.ok(manual);
  assert.deepEqual(others, []);
  const completion = drive.finish(manual, OK);
  assert.equal(completion.deliveryState, 'delivered');
  for (let position = 1; position <= 32; position += 1) await drive.deliver(OK);
  assert.equal(drive.rows.readCount, 1);
  return { drive, completion };
}

test('X3 a redelivery with a 200 delivers: the pending delivery is not sent again', async () => {
  const { drive } = await deliverLastManually();
  assert.deepEqual(await drive.beginAll(), [], 'until the result is committed, the database returns it as pending');
  assert.equal(drive.rows.readCount, 2);
});

test('C20 a page that was read before a result was committed, and arrives after it, does not send the delivery again', async () => {
  const { drive, completion } = await deliverLastManually();
  drive.rows.pending.push(pendingAt(34));
  drive.rows.onRead = () => void drive.queue.onResultCommitted(completion);
  assert.deepEqual(deliveryIdsOf(await drive.beginAll()), [44]);
});

test('C20 a result that leaves its delivery pending, or of an earlier claim, does not stand for one that is not committed', async () => {
  const drive = new QueueDriver({}, 1);
  drive.addManualAttempts(asManualAttempt(pendingAt(1)));
  const [manual] = await drive.beginAll();
  assert.ok(manual);
  const failed = drive.finish(manual, SERVER_ERROR);
  assert.equal(failed.deliveryState, 'pending');
  const delivered = await drive.deliver(OK);
  drive.queue.onResultCommitted(failed);
  drive.queue.onResultCommitted({ ...delivered, generation: delivered.generation - 1 });
  assert.equal(drive.queue.hasUnfinishedAttempts, true);
  assert.equal(drive.status, 'busy');
  drive.queue.onResultCommitted(delivered);
  assert.equal(drive.queue.hasUnfinishedAttempts, false);
  assert.equal(drive.status, 'idle');
});

test('X3 a hundred thousand manual attempts are read a page at a time, when those in memory have started', async () => {
  const drive = new QueueDriver();
  drive.addManualAttempts(...Array.from({ length: 33 }, (_, index) => asManualAttempt(pendingAt(index + 1))));
  await drive.fill();
  for (let started = 0; started < 32; started += 1) {
    assert.equal(drive.status, 'ready');
    drive.finish(await drive.beginOne(), OK);
  }
  assert.equal(drive.status, 'unread');
});

test('X8 after a rotation of its secrets a queue starts nothing until they are read, also after a failed read', async () => {
  const drive = new QueueDriver({}, 1);
  await drive.fill();
  drive.queue.invalidateSettings();
  assert.equal(drive.status, 'unread');
  assert.equal(drive.queue.takeNextDelivery(drive.now), undefined);
  drive.rows.settingsError = new Error('the database is away');
  await assert.rejects(drive.fill(), /the database is away/);
  assert.equal(drive.status, 'unread');
  drive.rows.settingsError = undefined;
  assert.equal((await drive.beginAll()).length, 1);
});

test('C19 a queue is idle when its pause is over, also if the attempt that follows changes nothing', async () => {
  const drive = new QueueDriver();
  drive.addManualAttempts(asManualAttempt(pendingAt(1)));
  for (const outcome of [LOCAL_ERROR, SERVER_ERROR]) {
    const [attempt] = await drive.beginAll();
    assert.ok(attempt);
    drive.finish(attempt, outcome);
    drive.now += 60_000;
  }
  assert.equal(drive.status, 'idle');
});

test('X3 a redelivery requested during an attempt: a 200 completes it, after any other outcome it is made', async () => {
  for (const { outcome, followed } of [
    { outcome: OK, followed: false },
    { outcome: SERVER_ERROR, followed: true },
  ]) {
    const drive = new QueueDriver({}, 1);
    const flight = await drive.beginOne();
    const ask = asManualAttempt(pendingAt(1));
    drive.addManualAttempts(ask);
    assert.deepEqual(await drive.beginAll(), [], 'not twice at once');
    const { manualAttemptIds } = drive.finish(flight, outcome);
    assert.deepEqual(manualAttemptIds, followed ? [] : [ask.manualAttemptId]);
    assert.deepEqual(
      (await drive.beginAll()).map(({ pendingDelivery }) => pendingDelivery.manualAttemptId),
      followed ? [ask.manualAttemptId] : [],
    );
  }
});

test('C22 at most eight manual attempts are in flight at a time, and one if the hook is failing', async () => {
  const drive = new QueueDriver({}, 1);
  drive.addManualAttempts(...Array.from({ length: 20 }, (_, index) => asManualAttempt(pendingAt(index + 10))));
  const begun = await drive.beginAll();
  assert.equal(begun.length, 8);
  const failing = new QueueDriver({}, 1);
  await failing.deliver(SERVER_ERROR);
  failing.addManualAttempts(asManualAttempt(pendingAt(10)), asManualAttempt(pendingAt(11)));
  assert.equal((await failing.beginAll()).length, 1);
});

test('C20 a completion carries the generation of the claim, so that a late one is fenced', async () => {
  assert.equal((await new QueueDriver({}, 1).deliver(OK)).generation, newHookRow.generation);
});

test('C20 C22 an idle queue takes deliveries from commit events; a full one reads them later', async () => {
  const drive = new QueueDriver();
  drive.queue.pushDeliveries([pendingAt(1)], drive.now);
  assert.equal(drive.status, 'unread', 'an earlier delivery may have to be read first');
  assert.equal(drive.queue.takeNextDelivery(drive.now), undefined);
  await drive.fill();
  assert.equal(drive.status, 'idle');
  drive.queue.pushDeliveries([pendingAt(2), pendingAt(3)], drive.now);
  const flight = await drive.beginOne();
  assert.equal(flight.pendingDelivery.position, 2);
  drive.queue.pushDeliveries([pendingAt(4)], drive.now);
  assert.equal(drive.status, 'busy');
  assert.equal(drive.rows.readCount, 1);
  drive.rows.pending = [2, 3, 4].map(pendingAt);
  drive.finish(flight, OK);
  assert.deepEqual(deliveryIdsOf(await drive.beginAll()), [13, 14]);
  assert.equal(drive.rows.readCount, 2);
});

test('C20 C18 a failing queue reads the deliveries of commit events when it may send them', async () => {
  const drive = new QueueDriver({}, 1);
  await drive.deliver(SERVER_ERROR);
  drive.rows.pending.push(pendingAt(2));
  drive.queue.pushDeliveries([pendingAt(2)], drive.now);
  assert.equal(drive.status, 'waiting');
  await drive.deliver(OK);
  assert.deepEqual(deliveryIdsOf(await drive.beginAll()), [12]);
  assert.equal(drive.rows.readCount, 2);
});

test('C20 a queue that has taken 32 deliveries from commit events reads the next ones', async () => {
  const drive = new QueueDriver();
  await drive.fill();
  for (let position = 1; position <= 32; position += 1) {
    drive.queue.pushDeliveries([pendingAt(position)], drive.now);
    const completion = await drive.deliver(OK);
    assert.equal(completion.pendingDelivery.position, position);
    drive.queue.onResultCommitted(completion);
  }
  assert.equal(drive.rows.readCount, 1);
  drive.queue.pushDeliveries([pendingAt(33)], drive.now);
  assert.equal(drive.status, 'unread');
});

test('X13 what a disabled hook has held back counts as due from the claim on, and not as late', () => {
  const claimedAt = DAY_MS;
  const queue = new HookQueue(newHookRow, claimedAt, DAY_MS);
  const dueAtOf = (createdAt: number) =>
    queue.beginAttempt({ ...pendingAt(createdAt), createdAt }, claimedAt + 5_000).dueAt;
  assert.equal(dueAtOf(claimedAt - 3 * 3_600_000), claimedAt);
  assert.equal(dueAtOf(claimedAt - 30_000), claimedAt - 30_000, 'a late claim is late');
  assert.equal(dueAtOf(claimedAt + 1_000), claimedAt + 1_000);
});
