import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openStoreAt } from '../../test/kit/database/database.ts';
import {
  exportToFile,
  importFromFile,
  readLines,
  runKilledImport,
  silentProgress,
} from '../../test/kit/service/export-import.ts';
import { fillAccount, type RecordIdRange, readAllRows } from '../../test/kit/service/full-accounts.ts';
import { createTemporaryFolder } from '../../test/kit/service/service.ts';
import { everyStore } from '../../test/kit/service/stores.ts';
import { systemClock } from '../clock.ts';
import type { Store } from '../store/store.ts';
import { exportTo } from './export.ts';
import { type ExportedRow, exportedTables, exportRules } from './exported-tables.ts';
import { convertFormat1Row } from './format.ts';
import { findIncompleteTransfer } from './incomplete-transfers.ts';
import { removeExportedAccount, undoImport } from './remove.ts';

/** A file that `carillon export` has written in format 1. */
const FORMAT_1 = fileURLToPath(new URL('../../test/releases/export-format-1.jsonl', import.meta.url));

const ACME: RecordIdRange = { accountId: 1, first: 2_001, count: 9 };
const OTHER: RecordIdRange = { accountId: 2, first: 7_001, count: 6 };

/** Fills a database with two accounts, which have rows in every table. */
async function fillAccounts(store: Store): Promise<void> {
  await fillAccount(store, 'acme.test', ACME);
  await fillAccount(store, 'other.test', OTHER);
}

/** Returns the expected rows after an import: all exported rows, without leases. */
async function rowsWithoutLeases(store: Store): ReturnType<typeof readAllRows> {
  const rows = await readAllRows(store);
  return { ...rows, hooks: (rows.hooks ?? []).map((hook) => ({ ...hook, lease_owner: 0, unacknowledged: 0 })) };
}

async function highestIds(store: Store): Promise<Map<string, number>> {
  const all = await store.sequences.readAll(store.read);
  return new Map(all.filter(({ table }) => Object.hasOwn(exportRules, table)).map(({ table, last }) => [table, last]));
}

test('a file in format 1 keeps its audit entries, under the current names of their actions', () => {
  const entry = { audit_id: 7, action: 'hook.made', subject: 'hook 3' };
  assert.equal(convertFormat1Row('audit', JSON.stringify(entry)), JSON.stringify({ ...entry, action: 'hook.created' }));
  const unchanged = JSON.stringify({ ...entry, action: 'key.issued' });
  assert.equal(convertFormat1Row('audit', unchanged), unchanged);
});

for (const { test, database } of everyStore) {
  test('a file in format 1, with the names before migration 0014, is imported with all values', async (t) => {
    const lines = readLines(FORMAT_1).map((line) => JSON.parse(line));
    const [deliveries, finalized, manual, assigned, hooks] = ['owed', 'settled', 'asks', 'assignments', 'hooks'].map(
      (name) => lines.filter(({ table }) => table === name).map(({ row }) => row),
    );
    const destination = await openStoreAt(t, await database(t));
    await importFromFile(destination, FORMAT_1);
    const rows = await readAllRows(destination);
    const named = (all: readonly ExportedRow[] | undefined, names: Readonly<Record<string, string>>) =>
      all?.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [names[name] ?? name, value])));
    const withFields = (all: readonly object[] | undefined) => all?.map((row) => ({ ...row, fields: null }));
    assert.deepEqual(rows.pending_deliveries, withFields(named(deliveries, { owed_at: 'created_at' })));
    const times = { owed_at: 'created_at', settled_at: 'finalized_at' };
    assert.deepEqual(rows.finalized_deliveries, withFields(named(finalized, times)));
    assert.deepEqual(rows.manual_attempts, named(manual, { ask_id: 'manual_attempt_id' }));
    assert.deepEqual(rows.assignments, named(assigned, { noun: 'resource_type' }));
    assert.equal(rows.hooks?.length, hooks?.length);
    // A new export of the imported data is in format 2, and it can be imported.
    const again = join(createTemporaryFolder(t), 'again.jsonl');
    const end = await exportToFile(destination, again);
    assert.equal(JSON.parse(readLines(again)[0] ?? '').carillon, 2);
    assert.deepEqual((await importFromFile(await openStoreAt(t, await database(t)), again)).totals, end);
  });
}

for (const from of everyStore) {
  for (const to of everyStore) {
    from.test(`a whole service is moved to ${to.name} and back with identical rows`, async (t) => {
      const path = join(createTemporaryFolder(t), 'service.jsonl');
      const source = await openStoreAt(t, await from.database(t));
      await fillAccounts(source);
      await source.write(({ queries }) =>
        queries.updateTable('hooks').set({ lease_owner: 77, unacknowledged: 1 }).execute(),
      );
      const rows = await rowsWithoutLeases(source);
      for (const table of exportedTables) assert.ok((rows[table]?.length ?? 0) >= 2, table);
      const end = await exportToFile(source, path);

      const destination = await openStoreAt(t, await to.database(t));
      assert.deepEqual((await importFromFile(destination, path)).totals, end);
      assert.deepEqual(await readAllRows(destination), rows);
      assert.equal(await findIncompleteTransfer(destination.read), undefined);

      const again = await exportToFile(destination, `${path}.back`);
      assert.deepEqual(again.tables, end.tables);
      const third = await openStoreAt(t, await from.database(t));
      await importFromFile(third, `${path}.back`);
      assert.deepEqual(await readAllRows(third), rows);
    });

    from.test(`C5 ids are not issued again after a move to ${to.name}, deleted or not`, async (t) => {
      const path = join(createTemporaryFolder(t), 'service.jsonl');
      const source = await openStoreAt(t, await from.database(t));
      await fillAccounts(source);
      const event = { account_id: 2, event_name: 'x', start_date: '', due_date: '', project_id: 0, user_id: 1 };
      const make = (store: Store) =>
        store.write(({ queries }) =>
          queries
            .insertInto('events')
            .values({ ...event, date_created: 1, date_modified: null })
            .returning('event_id')
            .executeTakeFirstOrThrow(),
        );
      await source.write(async ({ queries }) => {
        for (const sequence of await source.sequences.readAll(queries))
          await source.sequences.raise(queries, sequence, 9_000);
      });
      const { event_id } = await make(source);
      assert.equal(event_id, 9_001);
      await source.write(({ queries }) => queries.deleteFrom('events').where('event_id', '=', event_id).execute());
      await exportToFile(source, path);
      const destination = await openStoreAt(t, await to.database(t));
      await importFromFile(destination, path);
      assert.deepEqual(await highestIds(destination), await highestIds(source));
      assert.equal((await make(destination)).event_id, 9_002);
    });
  }
}

for (const { test, database } of everyStore) {
  test('an export of one account contains all of it and nothing of another: no row, no id, no name', async (t) => {
    const path = join(createTemporaryFolder(t), 'acme.jsonl');
    const source = await openStoreAt(t, await database(t));
    await fillAccounts(source);
    const end = await exportToFile(source, path, 'ACME.test');
    const [, ...lines] = readLines(path);
    for (const line of lines) assert.doesNotMatch(line, /\b(?:70|65)\d\d\b|other\.test/);
    const accounts = lines.slice(0, -1).map((line) => JSON.parse(line).row.account_id);
    assert.deepEqual([...new Set(accounts)], [ACME.accountId]);
    for (const table of exportedTables) {
      const all = await source.read.selectFrom(table).select('account_id').where('account_id', '=', 1).execute();
      assert.equal(end.tables[table]?.rows, all.length, table);
    }
  });

  test('an account is imported next to others without conflicts, and they are unchanged', async (t) => {
    const path = join(createTemporaryFolder(t), 'acme.jsonl');
    const source = await openStoreAt(t, await database(t));
    await fillAccounts(source);
    const whole = await rowsWithoutLeases(source);
    await exportToFile(source, path, 'acme.test');
    const destination = await openStoreAt(t, await database(t));
    await fillAccount(destination, 'other.test', OTHER);
    await importFromFile(destination, path);
    assert.deepEqual(await rowsWithoutLeases(destination), whole);
  });

  test('an account with conflicts is rejected, with one line per kind, and nothing is written', async (t) => {
    const path = join(createTemporaryFolder(t), 'acme.jsonl');
    const source = await openStoreAt(t, await database(t));
    await fillAccounts(source);
    await exportToFile(source, path, 'acme.test');
    const destination = await openStoreAt(t, await database(t));
    await fillAccount(destination, 'acme.test', { accountId: 5, first: 2_009, count: 3 });
    const before = await readAllRows(destination);
    await assert.rejects(importFromFile(destination, path), (error: Error) => {
      const lines = error.message.split('\n');
      assert.ok(lines.includes('Taken in this database: the domain acme.test.'));
      assert.ok(lines.includes('Taken in this database: the ids in events 2009.'));
      assert.ok(lines.includes('Taken in this database: the targets with the hash target_hash 2009 ä😀.'));
      assert.ok(lines.includes('Taken in this database: the keys with the hash key_hash 2009 ä😀.'));
      assert.equal(lines.at(-1), 'Ids are kept, so this account needs an empty database.');
      return true;
    });
    assert.deepEqual(await readAllRows(destination), before);
    assert.equal(await findIncompleteTransfer(destination.read), undefined);
  });

  test('a pending delivery conflicts with a finalized one of the same id', async (t) => {
    const path = join(createTemporaryFolder(t), 'acme.jsonl');
    const source = await openStoreAt(t, await database(t));
    await fillAccount(source, 'acme.test', ACME);
    await exportToFile(source, path, 'acme.test');
    const destination = await openStoreAt(t, await database(t));
    await fillAccount(destination, 'other.test', { ...OTHER, first: ACME.first + 500 });
    await assert.rejects(
      importFromFile(destination, path),
      /the ids in pending_deliveries 2001, 2002, 2003, 2004, 2005 and 1 more\./,
    );
  });

  test('a whole service is only imported into an empty database', async (t) => {
    const path = join(createTemporaryFolder(t), 'service.jsonl');
    const source = await openStoreAt(t, await database(t));
    await fillAccounts(source);
    await exportToFile(source, path);
    const destination = await openStoreAt(t, await database(t));
    await fillAccount(destination, 'third.test', { accountId: 9, first: 90_001, count: 1 });
    const before = await readAllRows(destination);
    await assert.rejects(importFromFile(destination, path), {
      message: 'The database is not empty (it has third.test): a whole service can only be imported into an empty one.',
    });
    assert.deepEqual(await readAllRows(destination), before);
  });

  test('an export is a consistent snapshot, whatever is written while it runs', async (t) => {
    const source = await openStoreAt(t, await database(t));
    await fillAccounts(source);
    let text = '';
    let late = 0;
    const sink = {
      async write(more: string) {
        text += more;
        late += 1;
        await fillAccount(source, `late-${late}.test`, {
          accountId: 10 + late,
          first: 20_000 + late * 1_000,
          count: 1,
        });
      },
    };
    const end = await exportTo(sink, { store: source, domain: null, clock: systemClock, progress: silentProgress });
    assert.ok(late > exportedTables.length);
    assert.equal(end.tables.accounts?.rows, 2);
    assert.equal(end.tables.idempotency?.rows, ACME.count + OTHER.count);
    assert.doesNotMatch(text, /late-/);
    await assert.rejects(
      exportTo(sink, { store: source, domain: 'no.test', clock: systemClock, progress: silentProgress }),
      {
        message: 'There is no account with the domain no.test.',
      },
    );
  });

  test('an import killed at any time continues with --resume and has the same result', async (t) => {
    const path = join(createTemporaryFolder(t), 'service.jsonl');
    const source = await openStoreAt(t, await database(t));
    await fillAccounts(source);
    const rows = await rowsWithoutLeases(source);
    const { rows: total } = await exportToFile(source, path);
    const into = await database(t);
    const moments: [string, number][] = [
      ['checking the file', 5],
      ['a write', 1],
      ['a write', 2],
      ['import', 0],
      ['import', 1],
      ['a write', 4],
      ['a write', 7],
      ['import', Math.floor(total / 2)],
      ['import', total],
      ['comparing', 0],
      ['comparing', total],
    ];
    let line = 0;
    for (const moment of moments) {
      const [stage, after] = moment;
      assert.equal(await runKilledImport(into, path, stage, after), 'SIGKILL', `${stage} ${after}`);
      const store = await openStoreAt(t, into);
      const unfinished = await findIncompleteTransfer(store.read);
      assert.equal(unfinished === undefined, moments.indexOf(moment) < 2, `${stage} ${after}`);
      assert.ok((unfinished?.line ?? 0) >= line);
      line = unfinished?.line ?? 0;
      await store.close();
    }
    assert.equal(line, total + 1);
    const destination = await openStoreAt(t, into);
    await importFromFile(destination, path, { resume: true });
    assert.deepEqual(await readAllRows(destination), rows);
    assert.deepEqual(await highestIds(destination), await highestIds(source));
    assert.equal(await findIncompleteTransfer(destination.read), undefined);
  });

  test('an incomplete transfer can only be continued as it was started, or be undone completely', async (t) => {
    const folder = createTemporaryFolder(t);
    const [path, another] = [join(folder, 'acme.jsonl'), join(folder, 'again.jsonl')];
    const source = await openStoreAt(t, await database(t));
    await fillAccounts(source);
    await exportToFile(source, path, 'acme.test');
    await exportToFile(source, another, 'other.test');
    const into = await database(t);
    const first = await openStoreAt(t, into);
    await fillAccount(first, 'other.test', OTHER);
    const before = await readAllRows(first);
    await first.close();
    assert.equal(await runKilledImport(into, path, 'import', 40), 'SIGKILL');

    const destination = await openStoreAt(t, into);
    const { line = 0 } = (await findIncompleteTransfer(destination.read)) ?? {};
    assert.ok(line > 40);
    await assert.rejects(
      importFromFile(destination, path),
      /^TransferError: An import into this database is incomplete: /,
    );
    await assert.rejects(importFromFile(destination, another, { resume: true }), /is of another file than /);
    const deps = { store: destination, clock: systemClock, progress: silentProgress };
    await assert.rejects(
      removeExportedAccount(deps, another, 'other.test'),
      /An import into this database is incomplete/,
    );
    assert.equal(await undoImport(deps), line - 1);
    assert.deepEqual(await readAllRows(destination), before);
    await assert.rejects(undoImport(deps), { message: 'There is no incomplete import.' });
    await importFromFile(destination, path);
    assert.deepEqual(await readAllRows(destination), await rowsWithoutLeases(source));
  });

  test('after an import the database is compared with the file: a difference is reported, and no service can start', async (t) => {
    const path = join(createTemporaryFolder(t), 'service.jsonl');
    const source = await openStoreAt(t, await database(t));
    await fillAccounts(source);
    await exportToFile(source, path);
    const into = await database(t);
    assert.equal(await runKilledImport(into, path, 'comparing', 0), 'SIGKILL');
    const destination = await openStoreAt(t, into);
    await destination.write(async ({ queries }) => {
      await queries.updateTable('events').set({ event_name: 'another' }).where('event_id', '=', 2_003).execute();
      await queries.deleteFrom('manual_attempts').where('manual_attempt_id', '=', 2_004).execute();
    });
    await assert.rejects(importFromFile(destination, path, { resume: true }), {
      message: [
        'events: the rows in the database are not those of the file.',
        'manual_attempts: 14 rows in the database, 15 in the file.',
        'No service can start on this database: carillon import --undo removes the import.',
      ].join('\n'),
    });
    assert.equal((await findIncompleteTransfer(destination.read))?.work, 'import');
  });

  test('a moved account is removed if it matches its export, and the others are unchanged', async (t) => {
    const folder = createTemporaryFolder(t);
    const path = join(folder, 'acme.jsonl');
    const source = await openStoreAt(t, await database(t));
    await fillAccount(source, 'other.test', OTHER);
    const others = await readAllRows(source);
    await fillAccount(source, 'acme.test', ACME);
    const deps = { store: source, clock: systemClock, progress: silentProgress };
    await exportToFile(source, path, 'acme.test');
    await exportToFile(source, join(folder, 'service.jsonl'));

    await assert.rejects(removeExportedAccount(deps, path, 'other.test'), /is not an export of other\.test only/);
    await assert.rejects(
      removeExportedAccount(deps, join(folder, 'service.jsonl'), 'acme.test'),
      /is not an export of acme\.test only/,
    );

    const late = await source.write(({ queries }) =>
      queries.updateTable('tasks').set({ task_name: 'late' }).where('task_id', '=', 2_002).returningAll().execute(),
    );
    assert.equal(late.length, 1);
    const before = await readAllRows(source);
    await assert.rejects(
      removeExportedAccount(deps, path, 'acme.test'),
      /^TransferError: tasks: the rows .*\nNothing was removed/,
    );
    assert.deepEqual(await readAllRows(source), before);
    assert.equal(await findIncompleteTransfer(source.read), undefined);

    await exportToFile(source, path, 'acme.test');
    await removeExportedAccount(deps, path, 'acme.test');
    assert.deepEqual(await readAllRows(source), others);
    assert.equal(await findIncompleteTransfer(source.read), undefined);
  });
}
