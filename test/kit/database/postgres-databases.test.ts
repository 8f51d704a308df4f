import assert from 'node:assert/strict';
import pg from 'pg';
import { withCleanup } from '../cleanup.ts';
import { TEST_CLOCK_START } from '../clock.ts';
import { sharedStores } from '../service/stores.ts';
import { newServiceDatabase } from './postgres-databases.ts';

type Rows = Record<string, unknown>[];

/** Runs statements on a test database that is released afterwards. */
async function runInTestDatabase(...statements: string[]): Promise<{ found: Rows[]; address: string }> {
  return withCleanup(async (context) => {
    const address = await newServiceDatabase(context);
    const client = new pg.Client({ connectionString: address });
    // The connection stays open, like the connection of a killed service.
    client.on('error', () => undefined);
    await client.connect();
    const found: Rows[] = [];
    for (const statement of statements) found.push((await client.query<Rows[number]>(statement)).rows);
    return { found, address };
  });
}

const COUNT_COLUMNS = "select count(*)::int as columns from information_schema.columns where table_name = 'accounts'";
const INSERT_ACCOUNT =
  "insert into accounts (domain, company_name, date_created) values ('one', 'One', 0) returning account_id";

for (const { test } of sharedStores) {
  test('a test database starts empty with ids from 1, even after another test used it', async () => {
    for (const _ of [1, 2, 3]) {
      const { found } = await runInTestDatabase('select count(*)::int as accounts from accounts', INSERT_ACCOUNT);
      assert.deepEqual(found, [[{ accounts: 0 }], [{ account_id: '1' }]]);
    }
  });

  test('partitions that a test added are removed from a reused database, those of the template stay', async () => {
    const weeks = "select relname from pg_class where relname ~ '^attempts_w[0-9]+$' order by 1";
    const far = 'create table attempts_w1 partition of attempts for values from (604800000) to (1209600000)';
    const [before = []] = (await runInTestDatabase(weeks)).found;
    for (const now of [Date.now(), TEST_CLOCK_START])
      assert.ok(
        before.some(({ relname }) => relname === `attempts_w${Math.floor(now / 604_800_000)}`),
        String(now),
      );
    for (const _ of [1, 2, 3]) assert.deepEqual((await runInTestDatabase(weeks, far)).found[0], before);
  });

  test('a database whose schema or settings were changed is not reused', async () => {
    const [before] = (await runInTestDatabase(COUNT_COLUMNS)).found;
    for (const change of [
      'alter table accounts add column odd text',
      'create index odd on accounts (phone)',
      'delete from migrations where version = 3',
      'alter table accounts alter column phone drop not null',
      `do $$ begin execute format('alter database %I set work_mem = ''1MB''', current_database()); end $$`,
    ]) {
      await runInTestDatabase(change);
    }
    for (const _ of [1, 2, 3, 4, 5, 6]) {
      const { found } = await runInTestDatabase(
        COUNT_COLUMNS,
        "select 1 from pg_indexes where indexname = 'odd'",
        'select 1 from migrations where version = 3',
        "select 1 from information_schema.columns where table_name = 'accounts' and column_name = 'phone' and is_nullable = 'NO'",
        "select 1 from pg_settings where name = 'work_mem' and setting = '1024'",
      );
      assert.deepEqual(
        found.map((rows) => rows.length),
        [1, 0, 1, 1, 0],
      );
      assert.deepEqual(found[0], before);
    }
  });

  test('concurrent tests have separate databases', async () => {
    const all = await Promise.all([1, 2, 3, 4, 5, 6].map(() => runInTestDatabase(INSERT_ACCOUNT)));
    assert.deepEqual(
      all.map(({ found }) => found),
      all.map(() => [[{ account_id: '1' }]]),
    );
  });
}
