import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { pino } from 'pino';
import { createTestClock } from '../../../test/kit/clock.ts';
import { openStoreAt } from '../../../test/kit/database/database.ts';
import { eventually } from '../../../test/kit/eventually.ts';
import { everyStore } from '../../../test/kit/service/stores.ts';
import { ReadReceipts } from './read-receipts.ts';

for (const { test, database } of everyStore) {
  async function open(t: TestContext) {
    const store = await openStoreAt(t, await database(t));
    const clock = createTestClock();
    const logged: Record<string, unknown>[] = [];
    const log = pino({ base: null }, { write: (line: string) => void logged.push(JSON.parse(line)) });
    const state = { writes: 0, writable: true };
    const writeInBackground: typeof store.writeInBackground = (work) => {
      state.writes += 1;
      return state.writable ? store.writeInBackground(work) : Promise.reject(new Error('the disk is full'));
    };
    const fetches = new ReadReceipts({ store: { ...store, writeInBackground }, clock, log });
    const rows = () => store.read.selectFrom('read_receipts').selectAll().orderBy('record_id').execute();
    return { clock, fetches, rows, logged, state, store, log };
  }

  const reader = { accountId: 1, userId: 2 };

  test('receipts are flushed together after a second, with the latest time of each record', async (t) => {
    const { clock, fetches, rows, state } = await open(t);
    fetches.add(reader, '/events/{event_id}', { event_id: 7 });
    await clock.advance(500);
    fetches.add(reader, '/events/{event_id}', { event_id: 7 });
    fetches.add({ ...reader, userId: 3 }, '/tasks/{task_id}', { task_id: 8 });
    assert.deepEqual(await rows(), []);
    await clock.advance(500);
    const found = await eventually(rows, (all) => all.length === 2);
    const began = clock.now() - 1_000;
    assert.deepEqual(
      found.map((row) => ({ ...row })),
      [
        { account_id: 1, user_id: 2, resource_type: 'event', record_id: 7, fetched_at: began + 500 },
        { account_id: 1, user_id: 3, resource_type: 'task', record_id: 8, fetched_at: began + 500 },
      ],
    );
    assert.equal(state.writes, 1);
    assert.deepEqual(clock.remainingDelaysMs, [], 'nothing is done while nobody fetches');
  });

  test('records that no notification can name have no receipts', async (t) => {
    const { clock, fetches } = await open(t);
    for (const path of ['/users/{user_id}', '/hooks/{hook_id}', '/keys/{key_id}', '/deliveries/{delivery_id}']) {
      fetches.add(reader, path, { id: 1 });
    }
    fetches.add(reader, '/company', {});
    fetches.add(reader, '/overview', {});
    assert.deepEqual(clock.remainingDelaysMs, []);
  });

  test('an older receipt that is written later changes nothing', async (t) => {
    const { clock, fetches, rows, store, log } = await open(t);
    const behind = { ...clock, now: () => clock.now() - 60_000 };
    const other = new ReadReceipts({ store, log, clock: behind });
    for (const one of [fetches, other]) {
      one.add(reader, '/events/{event_id}', { event_id: 7 });
      await one.flush();
    }
    assert.deepEqual(
      (await rows()).map(({ fetched_at }) => fetched_at),
      [clock.now()],
    );
  });

  test('at most 10,000 receipts are buffered and written in batches; a failed write is retried', async (t) => {
    const { fetches, rows, logged, state } = await open(t);
    for (let event_id = 1; event_id <= 10_003; event_id += 1) {
      fetches.add(reader, '/events/{event_id}', { event_id });
    }
    fetches.add(reader, '/events/{event_id}', { event_id: 1 });
    await fetches.flush();
    assert.equal((await rows()).length, 10_000);
    assert.equal(state.writes, 20);
    assert.deepEqual(
      logged.map(({ event, count }) => [event, count]),
      [['read_receipts.missed', 3]],
    );
    state.writable = false;
    fetches.add(reader, '/events/{event_id}', { event_id: 10_001 });
    await fetches.flush();
    assert.equal(logged.at(-1)?.event, 'read_receipts.failed');
    assert.equal((await rows()).length, 10_000);
    state.writable = true;
    await fetches.flush();
    assert.equal((await rows()).at(-1)?.record_id, 10_001);
  });
}
