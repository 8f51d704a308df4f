import assert from 'node:assert/strict';
import pg from 'pg';
import { atEnd } from '../../../test/kit/cleanup.ts';
import { openStoreAt } from '../../../test/kit/database/database.ts';
import { eventually } from '../../../test/kit/eventually.ts';
import { sharedStores } from '../../../test/kit/service/stores.ts';
import { systemClock } from '../../clock.ts';
import { getNewestSchemaVersion } from '../migrate.ts';

/** Key of the advisory lock of a migration. */
const MIGRATION_LOCK = 0x43_41_52_4d;

for (const { test, database } of sharedStores) {
  test('a migration that deadlocks with an older node is retried, and the start continues', async (t) => {
    const address = await database(t);
    const older = new pg.Client({ connectionString: address });
    await older.connect();
    atEnd(t, () => older.end());
    await older.query('create table migrations (version integer primary key, name text not null)');
    await older.query('begin');
    await older.query('lock table migrations in share mode');

    // Shorten the delays between retries.
    const clock = { ...systemClock, after: (_ms: number, run: () => void) => systemClock.after(20, run) };
    const opened = openStoreAt(t, address, { clock });
    // Count only locks of this database: tests on other databases wait for locks as well.
    const here = '(select oid from pg_database where datname = current_database())';
    const waiting = async () =>
      (await older.query(`select 1 from pg_locks where not granted and database = ${here}`)).rowCount;
    await eventually(waiting, (count) => count === 1);
    // This closes a deadlock. PostgreSQL aborts the migration, which has waited longer.
    await older.query(`select pg_advisory_xact_lock(${MIGRATION_LOCK})`);
    await older.query('rollback');

    await opened;
    const { rows } = await older.query<{ version: number }>('select max(version) as version from migrations');
    assert.deepEqual(rows, [{ version: getNewestSchemaVersion() }]);
  });
}
