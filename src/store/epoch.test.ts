import assert from 'node:assert/strict';
import { openAt } from '../../test/harness/database.ts';
import { stores } from '../../test/harness/stores.ts';
import { createAccount } from '../resources/accounts/actions.ts';
import { systemChance } from '../secrets.ts';
import { beginEpoch } from './epoch.ts';
import { type Store, StoreFault } from './store.ts';

const BEGUN = Date.parse('2026-01-01T00:00:00Z');
const DAY_MS = 86_400_000;

const add = (store: Store, domain: string, at: number) =>
  store.write((tx) => createAccount(tx, { domain, email: `owner@${domain}` }, at, systemChance));
const begin = (store: Store, at: number) => store.write((tx) => beginEpoch(tx.queries, store.sequences, at));

async function positionsOf(store: Store): Promise<number[][]> {
  const rows = await store.read.selectFrom('positions').selectAll().orderBy('account_id').execute();
  return rows.map((row) => [row.position, row.epoch_start]);
}

for (const { test, database } of stores) {
  test('C5 an epoch jumps every id and every position ahead: a thousand for each millisecond, a million at the least', async (t) => {
    const store = await openAt(t, await database(t));
    await add(store, 'a.test', BEGUN);
    const before = await store.sequences.all(store.read);
    const tables = before.map(({ table }) => table);
    const issuing =
      'accounts api_keys asks attempts audit clients events hooks nodes owed projects subtasks tasks users';
    assert.deepEqual([...tables].sort(), issuing.split(' '), 'every table that issues ids, those without a row too');

    const epoch = await begin(store, BEGUN + DAY_MS);
    assert.deepEqual(epoch, { jump: 1_000 * DAY_MS + 1_000_000, since: BEGUN, accounts: 1 });
    const after = await store.sequences.all(store.read);
    assert.deepEqual(
      after.map(({ table, last }) => [table, last]),
      before.map(({ table, last }) => [table, last + epoch.jump]),
    );
    assert.deepEqual(await positionsOf(store), [[epoch.jump, epoch.jump]]);
    const { user_id } = await add(store, 'b.test', BEGUN + DAY_MS);
    assert.equal(user_id, 1 + epoch.jump + 1);
    const { hook_id } = await store.write(({ queries }) =>
      queries
        .insertInto('hooks')
        .values({
          account_id: 1,
          user_id: 1,
          kind: 'new_event',
          target: 'http://target.test/',
          date_created: 0,
        } as never)
        .returning('hook_id')
        .executeTakeFirstOrThrow(),
    );
    assert.equal(hook_id, epoch.jump + 1, 'also where there was no row');
  });

  test('C5 two epochs from the same state do not meet, however soon one follows the other', async (t) => {
    const [first, second] = [await openAt(t, await database(t)), await openAt(t, await database(t))];
    for (const store of [first, second]) await add(store, 'a.test', BEGUN);
    const [sooner, later] = [await begin(first, BEGUN + 1), await begin(second, BEGUN + 2)];
    assert.deepEqual([sooner.jump, later.jump], [1_001_000, 1_002_000]);
    const again = await begin(first, BEGUN + 2);
    assert.deepEqual(await positionsOf(first), [[sooner.jump + again.jump, sooner.jump + again.jump]]);
  });

  test('C5 a moment ahead of the clock is not relied on: the jump is counted from the first account', async (t) => {
    const store = await openAt(t, await database(t));
    await add(store, 'a.test', BEGUN);
    await add(store, 'from-the-future.test', BEGUN + 9 * DAY_MS);
    const epoch = await begin(store, BEGUN + DAY_MS);
    assert.deepEqual(epoch, { jump: 1_000 * DAY_MS + 1_000_000, since: BEGUN, accounts: 2 });
  });

  test('C5 a clock from before the database, or ids that would leave 2^53: refused in one line, and nothing has jumped', async (t) => {
    const store = await openAt(t, await database(t));
    await add(store, 'a.test', BEGUN);
    const refused = (words: RegExp) => (error: unknown) =>
      error instanceof StoreFault && words.test(error.message) && !error.message.includes('\n');
    await assert.rejects(begin(store, BEGUN - 1), refused(/^The clock of this machine says 2025-12-31.*Set the clock/));
    const inCenturies = BEGUN + 150 * 365 * DAY_MS;
    await assert.rejects(begin(store, inCenturies), refused(/^accounts stands at 1, .* 2\^53/));
    assert.deepEqual(await positionsOf(store), [[0, 0]]);
    assert.equal((await store.sequences.all(store.read)).find(({ table }) => table === 'users')?.last, 1);
  });
}
