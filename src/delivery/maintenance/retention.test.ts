import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { createTestClock } from '../../../test/kit/clock.ts';
import { openStoreAt } from '../../../test/kit/database/database.ts';
import { eventually } from '../../../test/kit/eventually.ts';
import { insertHook } from '../../../test/kit/service/full-accounts.ts';
import { setRetentionClock } from '../../../test/kit/service/occurrences.ts';
import { everyStore } from '../../../test/kit/service/stores.ts';
import { createLog } from '../../log.ts';
import { applyRetention, startRetention } from './retention.ts';

for (const { test, database } of everyStore) {
  const DAY_MS = 24 * 3_600_000;
  const NOW = Date.UTC(2026, 0, 1);

  /** A number of rows that needs several batches. */
  const MANY = 1_300;

  type Hook = { hookId: number; endedAt: number | null; pending: number };

  async function openWith(t: TestContext, ...hooks: Hook[]) {
    const store = await openStoreAt(t, await database(t), { clock: createTestClock(NOW) });
    t.after(() => store.close());
    const account_id = 1;
    await store.write(async ({ queries }) => {
      await queries
        .insertInto('accounts')
        .values({ account_id, domain: 'a.test', company_name: 'A', date_created: 0 })
        .execute();
      const user = { account_id, user_id: 1, email: 'a@a.test', first_name: '', last_name: '', role: 'owner' };
      await queries
        .insertInto('users')
        .values({ ...user, date_created: 0, date_modified: null, date_deleted: null })
        .execute();
      for (const { hookId: hook_id, endedAt: date_ended, pending } of hooks) {
        const hook = { hook_id, account_id, user_id: 1, events: 'new_event', target: 'http://a.test/' };
        await insertHook(queries, { ...hook, date_ended });
        for (let position = 1; position <= pending; position += 1) {
          const delivery = {
            account_id,
            user_id: 1,
            hook_id,
            position,
            kind: 'new_event',
            record_id: 1,
            created_at: 0,
          };
          await queries.insertInto('pending_deliveries').values(delivery).execute();
        }
      }
    });
    const count = async (
      table:
        | 'hooks'
        | 'pending_deliveries'
        | 'finalized_deliveries'
        | 'attempts'
        | 'occurrences'
        | 'read_receipts'
        | 'hook_alerts',
    ) => (await store.read.selectFrom(table).selectAll().execute()).length;
    return { store, count };
  }

  test('C20 C23 a hook that ended 30 days ago is dropped with its pending deliveries; those of a live hook are kept', async (t) => {
    const { store, count } = await openWith(
      t,
      { hookId: 1, endedAt: NOW - 30 * DAY_MS - 1, pending: MANY },
      { hookId: 2, endedAt: NOW - 30 * DAY_MS, pending: 3 },
      { hookId: 3, endedAt: null, pending: 4 },
      { hookId: 4, endedAt: NOW - 300 * DAY_MS, pending: 0 },
    );
    assert.ok((await applyRetention(store, NOW)) > 0);
    const hooks = await store.read.selectFrom('hooks').select('hook_id').orderBy('hook_id').execute();
    assert.deepEqual(
      hooks.map((hook) => hook.hook_id),
      [2, 3],
    );
    assert.equal(await count('pending_deliveries'), 7);
    assert.equal(await applyRetention(store, NOW), 0, 'nothing is left to drop');
    await applyRetention(store, NOW + 1_000 * DAY_MS);
    assert.deepEqual([await count('hooks'), await count('pending_deliveries')], [1, 4]);
  });

  test('X3 attempts and finalized deliveries are kept for 30 days, occurrences for 90, to the millisecond', async (t) => {
    const { store, count } = await openWith(t, { hookId: 1, endedAt: null, pending: 0 });
    await store.write(async ({ queries }) => {
      const [account_id, hook_id, user_id, kind, record_id] = [1, 1, 1, 'new_event', 1] as const;
      for (let index = 1; index <= MANY; index += 1) {
        const isOld = index <= MANY - 2;
        const at = NOW - 30 * DAY_MS - (isOld ? 1 : 0);
        const attempt = { outcome: '200', milliseconds: 1, counted: 0, reason: '' };
        await queries
          .insertInto('attempts')
          .values({ account_id, hook_id, delivery_id: index, attempted_at: at, ...attempt })
          .execute();
        await queries
          .insertInto('finalized_deliveries')
          .values({
            ...{ account_id, hook_id, user_id, kind, record_id, created_at: 0, state: 'delivered' },
            ...{ delivery_id: index, position: index, finalized_at: at },
          })
          .execute();
        const occurred_at = at - 60 * DAY_MS;
        await queries
          .insertInto('occurrences')
          .values({ account_id, position: index, kind, user_id, record_id, occurred_at })
          .execute();
      }
    });
    await applyRetention(store, NOW);
    assert.deepEqual(
      [await count('attempts'), await count('finalized_deliveries'), await count('occurrences')],
      [2, 2, 2],
    );
    assert.equal(await applyRetention(store, NOW), 0, 'nothing is left to drop');
  });

  test('read receipts are kept for 30 days, to the millisecond', async (t) => {
    const { store, count } = await openWith(t);
    await store.write(async ({ queries }) => {
      const rows = Array.from({ length: MANY }, (_, index) => ({
        ...{ account_id: 1, user_id: 1, resource_type: 'event', record_id: index + 1 },
        fetched_at: NOW - 30 * DAY_MS - (index < MANY - 2 ? 1 + index : 0),
      }));
      await queries.insertInto('read_receipts').values(rows).execute();
    });
    assert.equal(await applyRetention(store, NOW), MANY - 2);
    assert.equal(await count('read_receipts'), 2);
    assert.equal(await applyRetention(store, NOW), 0, 'nothing is left to drop');
  });

  test('X10 alerts that were not mailed within a week are dropped, those of a mail that is still retried are kept', async (t) => {
    const { store, count } = await openWith(t);
    await store.write(async ({ queries }) => {
      for (const noted_at of [NOW - 7 * DAY_MS - 1, NOW - 7 * DAY_MS, NOW])
        await queries
          .insertInto('hook_alerts')
          .values({ account_id: 1, user_id: 1, hook_id: 1, what: 'failing', noted_at })
          .execute();
    });
    assert.equal(await applyRetention(store, NOW), 1);
    assert.equal(await count('hook_alerts'), 2);
  });

  test('X3 attempts made while the clock was wrong are dropped by their own time and do not block others', async (t) => {
    const { store } = await openWith(t, { hookId: 1, endedAt: null, pending: 0 });
    const [old, ahead, behind] = [NOW - 31 * DAY_MS, NOW + 400 * DAY_MS, NOW - 40 * DAY_MS];
    const times = [...Array<number>(600).fill(ahead), old, NOW - 2, behind, NOW - 1, ...Array<number>(3).fill(old)];
    await store.write(async ({ queries }) => {
      for (const [index, attempted_at] of times.entries()) {
        const of = { account_id: 1, hook_id: 1, delivery_id: index + 1, attempted_at };
        const attempt = { outcome: '200', milliseconds: 1, counted: 0, reason: '' };
        await queries
          .insertInto('attempts')
          .values({ ...of, ...attempt })
          .execute();
      }
    });
    await store.dropOldRows('attempts', NOW - 30 * DAY_MS, () => false);
    const left = await store.read.selectFrom('attempts').select('attempted_at').orderBy('attempt_id').execute();
    assert.deepEqual(
      left.map((row) => row.attempted_at),
      [...Array<number>(600).fill(ahead), NOW - 2, NOW - 1],
    );
  });

  test('retention deletes in batches and stops between two writes', async (t) => {
    const { store, count } = await openWith(t, { hookId: 1, endedAt: 0, pending: MANY });
    const nothing = await openWith(t);
    let steps = 0;
    nothing.store.onGroupCommit(() => {
      steps += 1;
    });
    await applyRetention(nothing.store, NOW);
    let writes = 0;
    store.onGroupCommit(() => {
      writes += 1;
    });
    // Each step checks once whether to stop. The last step has dropped the first batch of pending deliveries.
    await applyRetention(store, NOW, () => writes >= steps);
    assert.equal(await count('pending_deliveries'), MANY - 500);
    assert.equal(await count('hooks'), 1, 'the hook goes last');
  });

  test('C23 retention runs soon after the start and then every hour, until it is stopped', async (t) => {
    const { store, count } = await openWith(
      t,
      { hookId: 1, endedAt: NOW - 40 * DAY_MS, pending: 1 },
      { hookId: 2, endedAt: NOW - 30 * DAY_MS + 1_800_000, pending: 1 },
    );
    await setRetentionClock(store, NOW);
    const clock = createTestClock(NOW);
    const pruning = startRetention({ store, clock, log: createLog('silent') });
    assert.equal(await count('hooks'), 2);
    await clock.advance(10_000);
    await eventually(
      () => clock.remainingDelaysMs,
      (pending) => pending.length === 1,
    );
    assert.equal(await count('hooks'), 1);
    assert.deepEqual(clock.remainingDelaysMs, [3_600_000]);
    await clock.advance(3_600_000);
    await eventually(
      () => count('hooks'),
      (left) => left === 0,
    );
    await pruning.stop();
    await eventually(
      () => clock.remainingDelaysMs,
      (pending) => pending.length === 0,
    );
  });
}
