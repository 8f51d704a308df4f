import assert from 'node:assert/strict';
import { openStoreAt } from '../../../test/kit/database/database.ts';
import { insertHook } from '../../../test/kit/service/full-accounts.ts';
import { everyStore } from '../../../test/kit/service/stores.ts';
import { createAccount } from '../../resources/accounts/actions.ts';
import { systemRandom } from '../../secrets.ts';
import { type Store, StoreError } from '../store.ts';
import { beginEpoch } from './epoch.ts';

const BEGUN = Date.parse('2027-01-01T00:00:00Z');
const DAY_MS = 86_400_000;
/** The start of the epoch: a million ids per second since the beginning of 2025. */
const START = 2 * 365 * DAY_MS * 1_000;

const add = (store: Store, domain: string) =>
  store.write((tx) => createAccount(tx, { domain, email: `owner@${domain}` }, BEGUN, systemRandom));
const begin = (store: Store, at: number) => store.write((tx) => beginEpoch(tx.queries, store.sequences, at));

async function positionsOf(store: Store): Promise<number[][]> {
  const rows = await store.read.selectFrom('positions').selectAll().orderBy('account_id').execute();
  return rows.map((row) => [row.position, row.epoch_start]);
}

for (const { test, database } of everyStore) {
  test('C5 an epoch raises all ids and positions to a million per second since 2025', async (t) => {
    const store = await openStoreAt(t, await database(t));
    await add(store, 'a.test');
    await add(store, 'b.test');
    const before = await store.sequences.readAll(store.read);
    const issuing =
      'accounts api_keys attempts audit clients events hooks manual_attempts nodes pending_deliveries projects subtasks tasks users';
    assert.deepEqual(
      before.map(({ table }) => table).filter((table) => issuing.split(' ').includes(table)),
      issuing.split(' '),
      'every table that issues ids, those without a row too',
    );

    assert.deepEqual(await begin(store, BEGUN), { start: START, accountCount: 2 });
    for (const { table, last } of await store.sequences.readAll(store.read)) {
      // Node ids must fit into 32 bits.
      assert.equal(last, table === 'nodes' ? 0 : START, table);
    }
    assert.deepEqual(await positionsOf(store), [
      [START, START],
      [START, START],
    ]);
    const { user_id } = await add(store, 'c.test');
    assert.equal(user_id, START + 1);
    const hook = { account_id: 1, user_id: 1, events: 'new_event', target: 'http://target.test/' };
    const { hook_id } = await store.write(({ queries }) => insertHook(queries, hook));
    assert.equal(hook_id, START + 1, 'also where there was no row');
  });

  test('C5 epochs in quick succession, also of copies of another backup, do not overlap', async (t) => {
    const [old, recent] = [await openStoreAt(t, await database(t)), await openStoreAt(t, await database(t))];
    for (const store of [old, recent]) await add(store, 'a.test');
    await add(recent, 'b.test');
    const [first, second] = [await begin(old, BEGUN), await begin(recent, BEGUN + 1)];
    assert.equal(second.start, first.start + 1_000);
    assert.equal((await begin(old, BEGUN + 2)).start, second.start + 1_000);
  });

  test('C5 a clock that is behind or centuries ahead is rejected in one line, and nothing changes', async (t) => {
    const store = await openStoreAt(t, await database(t));
    await add(store, 'a.test');
    const refused = (words: RegExp) => (error: unknown) =>
      error instanceof StoreError && words.test(error.message) && !error.message.includes('\n');
    await assert.rejects(
      begin(store, Date.UTC(2024, 11, 31)),
      refused(
        /^The clock of this machine is wrong: it is at 2024-12-31T00:00:00\.000Z, and ids are at \d+\. Correct it/,
      ),
    );
    await assert.rejects(begin(store, Date.UTC(2225, 0, 1)), refused(/2225-01-01/));
    assert.deepEqual(await positionsOf(store), [[0, 0]]);
    assert.equal((await store.sequences.readAll(store.read)).find(({ table }) => table === 'users')?.last, 1);
    await begin(store, BEGUN);
    await assert.rejects(begin(store, BEGUN), refused(/ids are at 63072000000000\. Correct it/));
    await assert.rejects(begin(store, BEGUN - DAY_MS), refused(/2026-12-31/));
  });
}
