import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { sql } from 'kysely';
import type { AttemptOutcome, LocalErrorCode } from '../../../src/delivery/dispatcher/retry-policy.ts';
import type { SendAttempt } from '../../../src/delivery/transport/attempt.ts';
import type { ResolveName } from '../../../src/delivery/transport/dns-resolver.ts';
import type { Store } from '../../../src/store/store.ts';
import { createTestClock, fixedJitterRandom } from '../../kit/clock.ts';
import { eventually } from '../../kit/eventually.ts';
import { startTarget } from '../../kit/network/target.ts';
import { everyStore, sharedStores } from '../../kit/service/stores.ts';

for (const { test, testService } of everyStore) {
  const event = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };
  const ok: AttemptOutcome = { kind: 'answered', status: 200, durationMs: 1 };
  const failed = (cause: 'refused' | 'timeout' | 'no_such_name'): AttemptOutcome => ({
    kind: 'failed',
    cause,
    durationMs: 1,
  });
  const localError = (code: LocalErrorCode): AttemptOutcome => ({ kind: 'local_error', code, durationMs: 1 });

  /** Starts a service whose attempts have scripted outcomes, and the outcome 200 after the script. */
  async function startScripted(t: TestContext, script: readonly (AttemptOutcome | Error)[]) {
    const clock = createTestClock();
    const started: { at: number; deliveryId: string }[] = [];
    const attempt: SendAttempt = async ({ deliveryId }) => {
      const next = script[started.length] ?? ok;
      started.push({ at: clock.now(), deliveryId });
      if (next instanceof Error) throw next;
      return next;
    };
    const deps = { clock, sendAttempt: attempt, random: fixedJitterRandom() };
    const carillon = await testService(t, { options: { retryWaits: '1m,2h' }, deps });
    const owner = await carillon.createAccount('acme.test');
    const { id } = await owner.carillon.hooks.create({ target_url: 'http://127.0.0.1:9/', event: 'new_event' });
    await owner.carillon.events.create(event);
    const { data } = await owner.carillon.deliveries.list({ hook_id: id });
    const delivery = () => owner.carillon.deliveries.get(data[0]?.id ?? '');
    return {
      clock,
      started,
      delivery,
      hook: () => owner.carillon.hooks.get(id),
      attempted: (count: number) => eventually(delivery, (one) => one.attempts.length === count),
    };
  }

  test('C19 local errors never count, however many: the attempt is repeated until the target responds', async (t) => {
    const localErrors: LocalErrorCode[] = [
      'no_file_handle',
      'no_local_port',
      'no_route',
      'no_resolver',
      'no_memory',
      'broken',
    ];
    const script = localErrors.map((fault) => (fault === 'broken' ? new Error('a bug') : localError(fault)));
    const { clock, started, delivery, hook, attempted } = await startScripted(t, script);
    for (const [index, fault] of localErrors.entries()) {
      const { attempts, state } = await attempted(index + 1);
      assert.deepEqual([attempts.at(-1)?.outcome, attempts.at(-1)?.counted, state], [fault, '0', 'pending']);
      const { state: alive, failures, next_attempt_at } = await hook();
      assert.deepEqual([alive, failures, next_attempt_at], ['live', '0', '0000-00-00 00:00:00']);
      await clock.advance(1_000 * 2 ** index);
    }
    const delivered = await eventually(delivery, (one) => one.state === 'delivered');
    assert.deepEqual(
      delivered.attempts.map((attempt) => attempt.outcome),
      [...localErrors, '200'],
    );
    assert.deepEqual(
      started.map(({ at }, index) => at - (started[index - 1]?.at ?? at)),
      [0, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000],
    );
    assert.equal(new Set(started.map((one) => one.deliveryId)).size, 1);
  });

  test('C19 an attempt in progress is not stored as a failure: nothing counts, however the service ends meanwhile', async (t) => {
    const result = Promise.withResolvers<AttemptOutcome>();
    const started = Promise.withResolvers<void>();
    const attempt: SendAttempt = () => {
      started.resolve();
      return result.promise;
    };
    const carillon = await testService(t, { deps: { sendAttempt: attempt } });
    const owner = await carillon.createAccount('acme.test');
    await owner.carillon.hooks.create({ target_url: 'http://127.0.0.1:9/', event: 'new_event' });
    await owner.carillon.events.create(event);
    await started.promise;
    // This write commits later than any write that the start of the attempt could have caused.
    await owner.carillon.events.create(event);
    const { failures } = await carillon.store.read.selectFrom('hooks').select('failures').executeTakeFirstOrThrow();
    result.resolve(ok);
    assert.equal(failures, 0);
  });

  test('C19 local errors between failures of a target neither count nor reset the count', async (t) => {
    const script = [
      failed('refused'),
      localError('no_resolver'),
      failed('timeout'),
      localError('no_route'),
      failed('no_such_name'),
    ];
    const { clock, hook, attempted } = await startScripted(t, script);
    const steps = [
      { failures: '1', wait: 60_000 },
      { failures: '1', wait: 1_000 },
      { failures: '2', wait: 7_200_000 },
      { failures: '2', wait: 1_000 },
    ];
    for (const [index, { failures, wait }] of steps.entries()) {
      await attempted(index + 1);
      assert.equal((await hook()).failures, failures);
      await clock.advance(wait);
    }
    const ended = await eventually(hook, (one) => one.state === 'ended');
    assert.deepEqual([ended.ended_reason, ended.last_outcome], ['three_failures', 'no_such_name']);
  });

  test('C19 a refused connection, a timeout and an unknown name count, each with its own outcome', async (t) => {
    const silent = await startTarget(t, () => undefined);
    const gone = await startTarget(t);
    await gone.close();
    const resolve: ResolveName = async (name) =>
      name === 'gone.test' ? { failure: 'no_such_name' } : { failure: 'resolver_silent' };
    const options = { attemptTimeout: '150ms', retryWaits: '1h,1h' };
    const carillon = await testService(t, { options, deps: { resolve } });
    const owner = await carillon.createAccount('acme.test');
    const targets = {
      refused: gone.url,
      timeout: silent.url,
      no_such_name: 'http://gone.test/',
      no_resolver: 'http://silent.test/',
    };
    for (const target_url of Object.values(targets)) {
      await owner.carillon.hooks.create({ target_url, event: 'new_event' });
    }
    await owner.carillon.events.create(event);
    for (const [outcome, target_url] of Object.entries(targets)) {
      const { data } = await owner.carillon.hooks.list();
      const id = data.find((hook) => hook.target_url === target_url)?.id ?? '';
      const { data: deliveries } = await eventually(
        () => owner.carillon.deliveries.list({ hook_id: id }),
        (list) => list.data[0]?.last_outcome === outcome,
      );
      const { attempts } = await owner.carillon.deliveries.get(deliveries[0]?.id ?? '');
      const counts = outcome === 'no_resolver' ? '0' : '1';
      assert.equal(attempts[0]?.counted, counts, outcome);
      assert.equal((await owner.carillon.hooks.get(id)).failures, counts, outcome);
    }
  });

  test('C19 C20 a stop in the middle of an attempt is not a failure: the attempt is repeated after the start', async (t) => {
    const orders: { deliveryId: string; signal: AbortSignal }[] = [];
    const attempt: SendAttempt = ({ deliveryId, signal }) => {
      orders.push({ deliveryId, signal });
      return new Promise((resolve) =>
        signal.addEventListener('abort', () => resolve({ ...localError('stopped'), durationMs: 0 })),
      );
    };
    const clock = createTestClock();
    const carillon = await testService(t, { deps: { sendAttempt: attempt, clock } });
    const owner = await carillon.createAccount('acme.test');
    await owner.carillon.hooks.create({ target_url: 'http://127.0.0.1:9/', event: 'new_event' });
    await owner.carillon.events.create(event);
    await eventually(
      () => orders.length,
      (count) => count === 1,
    );
    const stopped = carillon.stop();
    await eventually(
      () => clock.remainingDelaysMs,
      (pending) => pending.includes(8_000),
    );
    assert.equal(orders[0]?.signal.aborted, false, 'it may finish in its own time');
    await clock.advance(8_000);
    await stopped;
    assert.equal(orders[0]?.signal.aborted, true);

    const again = await testService(t, { database: carillon.database, deps: { sendAttempt: async () => ok } });
    const history = () => again.store.read.selectFrom('attempts').selectAll().execute();
    const [delivered, ...others] = await eventually(history, (rows) => rows.length > 0);
    assert.deepEqual(
      [String(delivered?.delivery_id), delivered?.outcome, others.length],
      [orders[0]?.deliveryId, '200', 0],
    );
    const hook = await again.store.read.selectFrom('hooks').selectAll().executeTakeFirstOrThrow();
    assert.deepEqual([hook.failures, hook.date_ended], [0, null]);
  });
}

const HOOKS = 20;
const BURST = 100;

/** With this execution of a statement, PostgreSQL keeps a generic plan: it plans the first five for their values. */
const EXECUTIONS_FOR_GENERIC_PLAN = 6;

/** Returns the number of sequential scans and of index scans of a table. */
async function readScanCounts(store: Store, table: string) {
  const { rows } = await sql<{ sequential: number; indexed: number }>`
    select seq_scan::int as sequential, idx_scan::int as indexed from pg_stat_user_tables where relname = ${table}`.execute(
    store.read,
  );
  return rows[0] ?? assert.fail(`${table} is a table`);
}

for (const { test, testService } of sharedStores) {
  test('C20 a burst after a quiet time uses indexes, although plans are cached from a time without pending deliveries', async (t) => {
    const target = await startTarget(t);
    const { store, createAccount } = await testService(t);
    const { carillon } = await createAccount('acme.test');
    for (let hook = 0; hook < HOOKS; hook += 1)
      await carillon.hooks.create({ target_url: target.urlOf(`/${hook}`), event: 'new_event' });
    let expected = 0;
    const createAndAwait = async (events: number) => {
      const event = { event_name: 'Tick', start_date: '20270101', due_date: '20270101' };
      await Promise.all(Array.from({ length: events }, () => carillon.events.create(event)));
      expected += events * HOOKS;
      await target.waitForArrivals(expected);
      await eventually(
        () => store.read.selectFrom('pending_deliveries').select('delivery_id').limit(1).execute(),
        (rows) => rows.length === 0,
      );
    };
    const scans = () => readScanCounts(store, 'pending_deliveries');
    await createAndAwait(1);
    // Autovacuum does this in a quiet time: the statistics show an empty table, and every statement is planned again.
    await sql`vacuum analyze pending_deliveries`.execute(store.read);
    for (let turn = 0; turn < EXECUTIONS_FOR_GENERIC_PLAN; turn += 1) await createAndAwait(1);
    const before = await scans();
    await createAndAwait(BURST);
    // PostgreSQL publishes scan counters within a second of the last statement.
    const after = await eventually(scans, ({ indexed }) => indexed > before.indexed + HOOKS);
    assert.equal(
      after.sequential - before.sequential,
      0,
      `of ${after.indexed - before.indexed} scans of pending deliveries, sequential`,
    );
  });

  test('C20 an idle node scans no table of hooks sequentially, however few hooks there are', async (t) => {
    const { store, createAccount } = await testService(t);
    const { carillon } = await createAccount('acme.test');
    await carillon.hooks.create({ target_url: 'https://hooks.example/1', event: 'new_event' });
    await sql`vacuum analyze hooks`.execute(store.read);
    const afterMoreScans = async (more: number) => {
      const { indexed } = await readScanCounts(store, 'hooks');
      return eventually(
        () => readScanCounts(store, 'hooks'),
        (now) => now.indexed > indexed + more,
        20_000,
      );
    };
    const before = await afterMoreScans(EXECUTIONS_FOR_GENERIC_PLAN);
    const after = await afterMoreScans(4 * EXECUTIONS_FOR_GENERIC_PLAN);
    assert.equal(
      after.sequential - before.sequential,
      0,
      `of ${after.indexed - before.indexed} scans of hooks, sequential`,
    );
  });
}
