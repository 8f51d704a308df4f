import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { sql } from 'kysely';
import pg from 'pg';
import { atEnd } from '../../../test/kit/cleanup.ts';
import { createTestClock, TEST_CLOCK_START } from '../../../test/kit/clock.ts';
import { openStoreAt, queryRows } from '../../../test/kit/database/database.ts';
import { eventually } from '../../../test/kit/eventually.ts';
import { sharedStores } from '../../../test/kit/service/stores.ts';
import { Problem } from '../../problems.ts';
import { type Store, StoreError } from '../store.ts';

for (const { test, database } of sharedStores) {
  const WEEK_MS = 7 * 24 * 3_600_000;
  const LONG_AGO = Math.floor(TEST_CLOCK_START / WEEK_MS) + 20;

  const weeksOf = async (address: string, table: string): Promise<number[]> => {
    const rows = await queryRows(
      address,
      `select relname as name from pg_class where relname like '${table}\\_w%' and relkind = 'r'`,
    );
    const weeks = rows.map(({ name }) => Number(name.split('_w')[1])).sort((a, b) => a - b);
    // The observer opens the database as well, which creates partitions of the current weeks. Leave them out.
    return weeks.filter((week) => week < LONG_AGO);
  };

  test('a database that may lose acknowledged writes is rejected in one line, unless the operator allows it', async (t) => {
    const address = await database(t);
    const name = new URL(address).pathname.slice(1);
    await queryRows(address, `alter database ${name} set synchronous_commit = off`);
    await assert.rejects(openStoreAt(t, address, { durability: 'full' }), (error) => {
      assert.ok(error instanceof StoreError);
      assert.match(
        error.message,
        /^The database may lose acknowledged writes: synchronous_commit off\..*--durability any\.$/,
      );
      return true;
    });
    await (await openStoreAt(t, address, { durability: 'any' })).probe();
    await queryRows(address, `alter database ${name} reset synchronous_commit`);
    await (await openStoreAt(t, address, { durability: 'full' })).probe();
  });

  test('a database that is missing or denies access is reported in one line', async (t) => {
    const url = new URL(await database(t));
    for (const change of [
      () => {
        url.pathname = '/nowhere';
      },
      () => {
        url.password = 'wrong-and-secret';
      },
    ]) {
      change();
      await assert.rejects(openStoreAt(t, url.href), (error) => {
        assert.ok(error instanceof StoreError);
        assert.match(error.message, /^The database cannot be opened: [^\n]+\.$/);
        assert.doesNotMatch(error.message, /secret/);
        return true;
      });
    }
  });

  test('too few connections are reported in one line with the required number and the setting; five are enough', async (t) => {
    const address = await database(t);
    const { pathname } = new URL(address);
    const few = new URL(address);
    [few.username, few.password] = [`few_${process.pid}`, 'secret'];
    const admin = new pg.Client({ connectionString: address });
    await admin.connect();
    const ask = (query: string) => admin.query(query);
    atEnd(t, async () => {
      await ask(`reassign owned by ${few.username} to current_user`);
      await ask(`drop owned by ${few.username}`);
      await ask(`drop role ${few.username}`);
      await admin.end();
    });
    await ask(`create role ${few.username} login password 'secret'`);
    await ask(`alter database ${pathname.slice(1)} owner to ${few.username}`);
    for (const limit of [1, 3, 4]) {
      await ask(`alter role ${few.username} connection limit ${limit}`);
      await assert.rejects(openStoreAt(t, few.href), (error) => {
        assert.ok(error instanceof StoreError, String(error));
        assert.match(
          error.message,
          /^The database has too few connections left: a service needs 5 to start and opens up to 24\./,
        );
        assert.match(
          error.message,
          / Raise max_connections, .* --database a smaller pool, such as postgres:.*pool=2\.$/,
        );
        return true;
      });
      // Wait until the opened connections are closed.
      const open = `select count(*)::int as count from pg_stat_activity where usename = '${few.username}'`;
      await eventually(
        async () => (await ask(open)).rows[0].count,
        (count) => count === 0,
      );
    }
    await ask(`alter role ${few.username} connection limit 5`);
    const store = await openStoreAt(t, few.href);
    await store.probe();
    await store.close();
  });

  test('writes beyond the waiting limit are rejected with `overloaded`; those that wait are committed', async (t) => {
    const store = await openStoreAt(t, `${await database(t)}?pool=1`);
    const held = Promise.withResolvers<void>();
    const first = store.write(async () => held.promise);
    let made = 0;
    const results = Promise.allSettled(
      Array.from({ length: 4_100 }, () =>
        store.write(async () => {
          made += 1;
        }),
      ),
    );
    // The first write waits only for this promise. Writes beyond the limit are rejected earlier.
    held.resolve();
    await first;
    const refused = (await results).filter((one) => one.status === 'rejected');
    assert.ok(refused.length > 0);
    for (const { reason } of refused) assert.ok(reason instanceof Problem && reason.code === 'overloaded');
    assert.equal(made, 4_100 - refused.length);
  });

  test('consecutive snapshots leave no state on their shared connection', async (t) => {
    const store = await openStoreAt(t, `${await database(t)}?pool=1`);
    const warnings: string[] = [];
    const onWarning = ({ name }: Error) => warnings.push(name);
    process.on('warning', onWarning);
    t.after(() => process.off('warning', onWarning));
    for (let count = 0; count < 12; count += 1)
      await store.readInSnapshot((queries) => sql`select 1 as one`.execute(queries));
    await turn();
    assert.deepEqual(warnings, []);
  });

  test('X3 history tables have weekly partitions: five are ready, an old one is dropped whole, and pending deliveries are kept', async (t) => {
    const address = await database(t);
    const clock = createTestClock();
    const addAttempt = (store: Store, at: number) =>
      store.write(({ queries }) =>
        queries
          .insertInto('attempts')
          .values({
            ...{ account_id: 1, hook_id: 1, delivery_id: 1, attempted_at: at },
            ...{ outcome: '200', milliseconds: 1, counted: 0, reason: '' },
          })
          .execute(),
      );
    const first = await openStoreAt(t, address, { clock });
    const week = Math.floor(clock.now() / WEEK_MS);
    const five = (from: number) => Array.from({ length: 5 }, (_, index) => from + index);
    for (const table of ['attempts', 'finalized_deliveries', 'occurrences'])
      assert.deepEqual(await weeksOf(address, table), five(week));
    await addAttempt(first, clock.now());
    await addAttempt(first, clock.now() + WEEK_MS);
    await first.close();

    await clock.advance(6 * WEEK_MS);
    const later = await openStoreAt(t, address, { clock });
    assert.deepEqual(await weeksOf(address, 'attempts'), [...five(week), ...five(week + 6)]);
    const whole = (week + 1) * WEEK_MS;
    assert.equal(await later.dropOldRows('attempts', whole - 1, () => false), 0, 'a week that is not past whole stays');
    assert.equal(await later.dropOldRows('attempts', whole, () => false), 1);
    assert.deepEqual(await weeksOf(address, 'attempts'), [...five(week).slice(1), ...five(week + 6)]);
    const { rows } = await sql<{ count: number }>`select count(*) as count from attempts`.execute(later.read);
    assert.equal(rows[0]?.count, 1);
    assert.deepEqual(await weeksOf(address, 'pending_deliveries'), [], 'what is pending lies in no range');
  });
}
