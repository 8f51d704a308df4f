import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { AttemptOutcome } from '../../../src/delivery/dispatcher/retry-policy.ts';
import type { SendAttempt } from '../../../src/delivery/transport/attempt.ts';
import type { Queries } from '../../../src/store/store.ts';
import { type Tables, tableColumns } from '../../../src/store/tables.ts';
import { createTestClock, fixedJitterRandom, type TestClock } from '../../kit/clock.ts';
import { eventually } from '../../kit/eventually.ts';
import { setRetentionClock } from '../../kit/service/occurrences.ts';
import type { TestService } from '../../kit/service/service.ts';
import { stores } from '../../kit/service/stores.ts';

const [SECOND_MS, HOUR_MS, DAY_MS] = [1_000, 3_600_000, 86_400_000];
const CLOCK_ERROR_MS = 400 * DAY_MS;
const event = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };

const SUCCESS: AttemptOutcome = { kind: 'answered', status: 200, durationMs: 1 };
const FAILURE: AttemptOutcome = { kind: 'answered', status: 500, durationMs: 1 };

/** Counts the rows of all tables, except tables of the service that belong to no account. */
async function countRows({ read }: { readonly read: Queries }): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of Object.keys(tableColumns) as (keyof Tables)[]) {
    if (['nodes', 'probes', 'retention_clock'].includes(table)) continue;
    const row = await read
      .selectFrom(table)
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow();
    counts[table] = Number(row.count);
  }
  return counts;
}

/** Tables from which retention deletes old rows. */
const EXPIRING_TABLES = [
  'attempts',
  'finalized_deliveries',
  'occurrences',
  'read_receipts',
  'hook_alerts',
  'idempotency',
  'sessions',
  'invitations',
];

/** Advances the clock until the next retention run has finished. */
async function runRetention(clock: TestClock, waitMs: number): Promise<void> {
  await clock.advance(waitMs);
  await eventually(
    () => clock.remainingDelaysMs,
    (pending) => pending.some((ms) => ms > HOUR_MS - SECOND_MS),
  );
}

for (const { test, testService } of stores) {
  /** Creates a hook whose attempts have scripted outcomes, and 200 after the script. */
  async function startScripted(t: TestContext, script: AttemptOutcome[]) {
    const clock = createTestClock();
    const attempt: SendAttempt = async () => script.shift() ?? SUCCESS;
    const setup = {
      options: { retryWaits: '1m,2h' },
      deps: { clock, sendAttempt: attempt, random: fixedJitterRandom() },
    };
    const carillon = await testService(t, setup);
    const owner = await carillon.createAccount('acme.test');
    const { id } = await owner.carillon.hooks.create({ target_url: 'http://127.0.0.1:9/', event: 'new_event' });
    const attempts = async (of: Pick<TestService, 'store'>, count: number) => {
      const rows = () => of.store.read.selectFrom('attempts').select('outcome').orderBy('attempt_id').execute();
      const made = await eventually(rows, ({ length }) => length >= count);
      return made.map(({ outcome }) => outcome);
    };
    return { clock, setup, carillon, owner, hook: () => owner.carillon.hooks.get(id), attempts };
  }

  test('C18 a hook that failed while the clock was 400 days ahead is retried as soon as the clock is corrected', async (t) => {
    const { clock, carillon, owner, hook, attempts } = await startScripted(t, [FAILURE, FAILURE]);
    clock.jump(CLOCK_ERROR_MS);
    await owner.carillon.events.create(event);
    await attempts(carillon, 1);
    clock.jump(-CLOCK_ERROR_MS);
    await clock.advance(61 * SECOND_MS);
    await attempts(carillon, 2);
    // The second wait begins with the corrected clock and has its full length.
    await clock.advance(HOUR_MS);
    assert.equal((await hook()).failures, '2');
    await clock.advance(HOUR_MS + 61 * SECOND_MS);
    assert.deepEqual(await attempts(carillon, 3), ['500', '500', '200']);
  });

  test('C18 a hook that failed while the clock was ahead is retried after a restart with the corrected clock', async (t) => {
    const { clock, setup, carillon, owner, attempts } = await startScripted(t, [FAILURE]);
    clock.jump(CLOCK_ERROR_MS);
    await owner.carillon.events.create(event);
    await attempts(carillon, 1);
    await carillon.stop();
    clock.jump(-CLOCK_ERROR_MS);
    const again = await testService(t, { ...setup, database: carillon.database });
    assert.deepEqual(await attempts(again, 2), ['500', '200']);
  });

  test('C18 C23 a wait of 24 hours is kept over a restart: only longer waits, which no Retry-After can set, are shortened', async (t) => {
    const patient: AttemptOutcome = { ...FAILURE, retryAfterMs: DAY_MS };
    const { clock, setup, carillon, owner, attempts } = await startScripted(t, [patient]);
    await owner.carillon.events.create(event);
    await attempts(carillon, 1);
    await carillon.stop();
    const again = await testService(t, { ...setup, database: carillon.database });
    await clock.advance(DAY_MS - HOUR_MS);
    assert.deepEqual(await attempts(again, 1), ['500']);
    await clock.advance(HOUR_MS + 61 * SECOND_MS);
    assert.deepEqual(await attempts(again, 2), ['500', '200']);
  });

  test('C23 X2 X3 X4 a clock that jumps 400 days ahead drops no row of any table, nor does a start with the wrong clock', async (t) => {
    const clock = createTestClock();
    const attempt: SendAttempt = async ({ target }) => ({ ...SUCCESS, status: target.endsWith('/gone') ? 401 : 200 });
    // No mail server listens at this address, so mails stay in the queue.
    const options = { smtpUrl: 'smtp://127.0.0.1:9', mailFrom: 'bells@acme.test' };
    const setup = { options, deps: { clock, sendAttempt: attempt } };
    const first = await testService(t, setup);
    const owner = await first.createAccount('acme.test');
    for (const path of ['told', 'gone', 'ended']) {
      await owner.carillon.hooks.create({ target_url: `http://127.0.0.1:9/${path}`, event: 'new_event' });
    }
    const { data } = await owner.carillon.hooks.list();
    await owner.carillon.hooks.delete(data.find(({ target_url }) => target_url.endsWith('/ended'))?.id ?? '');
    const body = { ...event };
    const { json } = await first.call(owner, 'POST', '/v2/events', body, { 'idempotency-key': 'once' });
    await first.call(owner, 'GET', `/v2/events/${json.data.event_id}`);
    await first.signIn(owner);
    await first.createInvitationLink(owner);
    await setRetentionClock(first.store, clock.now());
    await clock.advance(9 * SECOND_MS);
    const before = await eventually(
      () => countRows(first.store),
      (counts) => EXPIRING_TABLES.every((table) => (counts[table] ?? 0) > 0),
    );
    const dropped = async ({ store }: Pick<TestService, 'store'>) => {
      const now = await countRows(store);
      return Object.keys(before).filter((table) => (now[table] ?? 0) < (before[table] ?? 0));
    };

    clock.jump(CLOCK_ERROR_MS);
    await runRetention(clock, 2 * SECOND_MS);
    assert.deepEqual(await dropped(first), [], 'in the first retention run');
    await runRetention(clock, HOUR_MS);
    assert.deepEqual(await dropped(first), [], 'an hour later');
    await first.stop();

    const wrong = await testService(t, { ...setup, database: first.database });
    await runRetention(clock, 11 * SECOND_MS);
    assert.deepEqual(await dropped(wrong), [], 'after a start with the wrong clock');
    await wrong.stop();

    clock.jump(-CLOCK_ERROR_MS);
    const right = await testService(t, { ...setup, database: first.database });
    await runRetention(clock, 11 * SECOND_MS);
    assert.deepEqual(await dropped(right), [], 'after a start with the right clock');
  });
}
