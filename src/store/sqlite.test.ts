import assert from 'node:assert/strict';
import { existsSync, mkdirSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { openingOf } from '../../test/harness/database.ts';
import { temporaryFolder } from '../../test/harness/service.ts';
import { Problem } from '../problems.ts';
import type { OpenOptions } from './location.ts';
import { migrate, migrations } from './migrate.ts';
import { openStore } from './open.ts';
import { dialect } from './sqlite.ts';
import { type Store, StoreFault } from './store.ts';

const newPath = (t: TestContext) => join(temporaryFolder(t), 'carillon.db');

function open(path: string, as: OpenOptions['as'] = 'service'): Promise<Store> {
  return openStore({ ...openingOf(`sqlite:${path}`), as });
}

/** One line for the operator: what it says, and that it is one. */
const isFault = (words: RegExp) => (error: unknown) =>
  error instanceof StoreFault && words.test(error.message) && !error.message.includes('\n');

test('a new database is made with its folder, for its owner’s eyes alone', async (t) => {
  const path = join(temporaryFolder(t), 'some', 'where', 'carillon.db');
  const store = await open(path);
  await store.probe();
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.equal(statSync(`${path}-wal`).mode & 0o777, 0o600);
  await store.close();
});

test('a second service on the same file is refused in one line; a command works beside the first', async (t) => {
  const path = newPath(t);
  const first = await open(path);
  await assert.rejects(open(path), isFault(/Another service is running on .*carillon\.db/));
  const command = await open(path, 'command');
  await command.probe();
  await command.close();
  await first.probe();
  await first.close();
  const next = await open(path);
  await next.close();
});

test('a second service is refused also where it comes by a link to the file or to its folder', async (t) => {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, 'data'));
  const path = join(folder, 'data', 'carillon.db');
  const first = await open(path);
  symlinkSync(path, join(folder, 'link.db'));
  symlinkSync('link.db', join(folder, 'link-of-a-link.db'));
  symlinkSync(join(folder, 'data'), join(folder, 'folder'));
  const others = [join(folder, 'link.db'), join(folder, 'link-of-a-link.db'), join(folder, 'folder', 'carillon.db')];
  for (const other of others) await assert.rejects(open(other), isFault(/Another service is running on /), other);
  await first.close();
  // And the other way round.
  const second = await open(join(folder, 'link.db'));
  await assert.rejects(open(path), isFault(/Another service is running on /));
  await second.close();
});

test('a database from a newer version is refused in one line, and left as it is', async (t) => {
  const path = newPath(t);
  await (await open(path)).close();
  const database = new DatabaseSync(path);
  const newer = migrations(dialect).length + 1;
  database.prepare('insert into migrations (version, name) values (?, ?)').run(newer, 'from_the_future');
  database.close();
  for (const as of ['service', 'command'] as const) {
    await assert.rejects(open(path, as), isFault(/newer Carillon.*Update Carillon/));
  }
  const after = new DatabaseSync(path, { readOnly: true });
  assert.equal(after.prepare('select max(version) as version from migrations').get()?.version, newer);
  after.close();
});

test('what is no database, or no file, is refused in one line', async (t) => {
  const folder = temporaryFolder(t);
  const text = join(folder, 'notes.txt');
  writeFileSync(text, 'Dear diary, today I was mistaken for a database. '.repeat(100));
  mkdirSync(join(folder, 'folder.db'));
  for (const path of [text, join(folder, 'folder.db')]) {
    await assert.rejects(open(path), isFault(/cannot be opened/));
  }
  assert.ok(!existsSync(join(folder, 'folder.db', 'carillon.db')));
});

test('what the disk does not give is storage_unavailable to whoever reads, and no fault of the service', async (t) => {
  const path = newPath(t);
  const store = await open(path);
  t.after(() => store.close());
  const disk = new DatabaseSync(path);
  disk.exec('pragma wal_checkpoint(truncate)');
  disk.close();
  truncateSync(path, 4_096);
  await assert.rejects(
    store.read.selectFrom('events').selectAll().execute(),
    (error) => error instanceof Problem && error.code === 'storage_unavailable',
  );
});

test('two that open a new file at the same moment both find it whole', async (t) => {
  const path = newPath(t);
  const stores = await Promise.all([open(path), open(path, 'command'), open(path, 'command')]);
  for (const store of stores) await store.probe();
  for (const store of stores) await store.close();
});

test('opening again migrates nothing again', async (t) => {
  const path = newPath(t);
  const first = await open(path);
  await first.write(async ({ queries }) => {
    await queries.insertInto('accounts').values({ domain: 'a.test', company_name: 'A', date_created: 0 }).execute();
  });
  await first.close();
  const second = await open(path);
  assert.equal((await second.read.selectFrom('accounts').selectAll().execute()).length, 1);
  await second.close();
});

test('a migration that fails leaves nothing of itself', () => {
  const database = new DatabaseSync(':memory:');
  // In the way of one of the last statements.
  database.exec('create table attempts (something text)');
  assert.throws(() => migrate(database, dialect), /already exists/);
  const names = database.prepare('select name from sqlite_master').all();
  assert.deepEqual(
    names.map((row) => row.name),
    ['attempts'],
  );
  assert.equal(database.isTransaction, false);

  database.exec('drop table attempts');
  migrate(database, dialect);
  const rows = database.prepare('select version, name from migrations order by version').all();
  assert.deepEqual(
    rows.map((row) => ({ ...row })),
    migrations(dialect).map(({ version, name }) => ({ version, name })),
  );
  database.close();
});

test('a word that a dialect does not know is found before anything is touched', () => {
  const database = new DatabaseSync(':memory:');
  assert.throws(() => migrate(database, { name: 'poor', words: {} }), /unknown word \{\w+\} in a migration/);
  assert.deepEqual(database.prepare('select name from sqlite_master').all(), []);
  database.close();
});

test('C5 ids are never issued again, also after the newest record was deleted and the file was opened anew', async (t) => {
  const path = newPath(t);
  const add = async (store: Store) =>
    store.write(async ({ queries }) => {
      const row = { domain: 'a.test', company_name: 'A', date_created: 0 };
      const { account_id } = await queries
        .insertInto('accounts')
        .values(row)
        .returning('account_id')
        .executeTakeFirstOrThrow();
      await queries.deleteFrom('accounts').where('account_id', '=', account_id).execute();
      return account_id;
    });
  const first = await open(path);
  assert.deepEqual([await add(first), await add(first)], [1, 2]);
  await first.close();
  const second = await open(path);
  assert.equal(await add(second), 3);
  await second.close();
});

test('what is read in one turn of the event loop is of one moment; a commit of ours is seen at once, another’s in the next turn', async (t) => {
  const path = newPath(t);
  const store = await open(path);
  const domains = async () =>
    (await store.read.selectFrom('accounts').select('domain').orderBy('domain').execute()).map(({ domain }) => domain);
  const elsewhere = new DatabaseSync(path);
  assert.deepEqual(await domains(), []);
  elsewhere.exec("insert into accounts (domain, company_name, date_created) values ('a.test', '', 0)");
  assert.deepEqual(await domains(), [], 'of the same moment as what was read before in this turn');
  const before = store.foreignVersion();
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(await domains(), ['a.test']);
  // Whoever learns that something has changed elsewhere finds what it was, in this very turn.
  elsewhere.exec("insert into accounts (domain, company_name, date_created) values ('b.test', '', 0)");
  assert.notEqual(store.foreignVersion(), before);
  assert.deepEqual(await domains(), ['a.test', 'b.test']);
  // Whoever hears of a commit finds it, whatever was read in the turn that it was made in.
  const heard: Promise<string[]>[] = [];
  store.onCommitted(() => void heard.push(domains()));
  await store.write(async ({ queries }) => {
    assert.deepEqual(await domains(), ['a.test', 'b.test']);
    await queries.insertInto('accounts').values({ domain: 'c.test', company_name: '', date_created: 0 }).execute();
  });
  assert.deepEqual(await Promise.all(heard), [['a.test', 'b.test', 'c.test']]);
  elsewhere.close();
  await store.close();
});
