import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openStoreAt } from '../../test/kit/database/database.ts';
import { everyStore } from '../../test/kit/service/stores.ts';
import { tableColumns } from '../store/tables.ts';
import { exportedColumnsOf, exportedTables, tablesNotExported } from './exported-tables.ts';

/** Tables that are not exported, because they belong to the database or their rows are not valid at another service. */
const NOT_EXPORTED: readonly string[] = [
  'migrations',
  'nodes',
  'transfers',
  'probes',
  'retention_clock',
  ...tablesNotExported,
];

for (const store of everyStore) {
  store.test('every table of the database is exported, with every column, except the listed ones', async (t) => {
    const { read } = await openStoreAt(t, await store.database(t));
    const all = await read.introspection.getTables();
    // The name of a partition begins with the name of its table and an underscore.
    const isPartition = (name: string) =>
      exportedTables.some((table) => name.startsWith(`${table}_`)) && /_(rest|w\d+)$/.test(name);
    const found = all.filter(({ name, isView }) => !isView && !isPartition(name));
    const names = found.map(({ name }) => name).filter((name) => !name.startsWith('sqlite_'));
    assert.deepEqual(names.filter((name) => !NOT_EXPORTED.includes(name)).sort(), [...exportedTables].sort());
    for (const table of exportedTables) {
      const names = found.find(({ name }) => name === table)?.columns.map(({ name }) => name) ?? [];
      assert.deepEqual(names.sort(), Object.keys(tableColumns[table]).sort(), table);
      const left = names.filter((name) => !exportedColumnsOf(table).includes(name));
      assert.deepEqual(left, table === 'hooks' ? ['headers', 'lease_owner', 'unacknowledged'] : [], table);
    }
  });
}

test('hooks and credentials are imported last: until then nothing is sent and no one can sign in', () => {
  assert.deepEqual(exportedTables.slice(-6), [
    'pending_deliveries',
    'manual_attempts',
    'api_keys',
    'calendars',
    'passphrases',
    'idempotency',
  ]);
});
