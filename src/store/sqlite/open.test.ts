import assert from 'node:assert/strict';
import {
  existsSync,
  linkSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { createTestClock } from '../../../test/kit/clock.ts';
import { openOptionsOf } from '../../../test/kit/database/database.ts';
import { createTemporaryFolder } from '../../../test/kit/service/service.ts';
import { Problem } from '../../problems.ts';
import type { StoreOptions } from '../database-url.ts';
import { loadMigrations, migrate } from '../migrate.ts';
import { openStore } from '../open.ts';
import { DatabaseLostError, type Store, StoreError } from '../store.ts';
import { readMountPoints } from './file-lock.ts';
import { dialect } from './open.ts';

const newPath = (t: TestContext) => join(createTemporaryFolder(t), 'carillon.db');

function open(path: string, openAs: StoreOptions['openAs'] = 'service'): Promise<Store> {
  return openStore({ ...openOptionsOf(`sqlite:${path}`), openAs });
}

/** Matches an error for the operator: a text on one line. */
const isStoreError = (words: RegExp) => (error: unknown) =>
  error instanceof StoreError && words.test(error.message) && !error.message.includes('\n');

test('a new database and its folder are created, readable by their owner only', async (t) => {
  const path = join(createTemporaryFolder(t), 'some', 'where', 'carillon.db');
  const store = await open(path);
  await store.probe();
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.equal(statSync(`${path}-wal`).mode & 0o777, 0o600);
  await store.close();
});

test('a second service on the same file is rejected in one line; a command works concurrently with the first', async (t) => {
  const path = newPath(t);
  const first = await open(path);
  await assert.rejects(open(path), isStoreError(/Another service is running on .*carillon\.db/));
  const command = await open(path, 'command');
  await command.probe();
  await command.close();
  await first.probe();
  await first.close();
  const next = await open(path);
  await next.close();
});

test('a second service is also rejected if it opens a symbolic link to the file or its folder', async (t) => {
  const folder = createTemporaryFolder(t);
  mkdirSync(join(folder, 'data'));
  const path = join(folder, 'data', 'carillon.db');
  const first = await open(path);
  symlinkSync(path, join(folder, 'link.db'));
  symlinkSync('link.db', join(folder, 'link-of-a-link.db'));
  symlinkSync(join(folder, 'data'), join(folder, 'folder'));
  const others = [join(folder, 'link.db'), join(folder, 'link-of-a-link.db'), join(folder, 'folder', 'carillon.db')];
  for (const other of others) await assert.rejects(open(other), isStoreError(/Another service is running on /), other);
  await first.close();
  // The other way round: the first service opens the link, the second one the file.
  const second = await open(join(folder, 'link.db'));
  await assert.rejects(open(path), isStoreError(/Another service is running on /));
  await second.close();
});

test('C20 a database file with a hard link is rejected under both names, for services and commands', async (t) => {
  const folder = createTemporaryFolder(t);
  const path = join(folder, 'carillon.db');
  const other = join(folder, 'other.db');
  const twoNames = isStoreError(/has 2 names .*hard links.*other\.db|has 2 names .*hard links.*carillon\.db/);
  const first = await open(path);
  linkSync(path, other);
  for (const openAs of ['service', 'command'] as const) await assert.rejects(open(other, openAs), twoNames);
  assert.ok(!existsSync(`${other}-wal`), 'nothing was opened under the other name');
  await first.probe();
  await first.close();
  await assert.rejects(open(path), twoNames);
  rmSync(other);
  await (await open(path)).close();
});

test('a database of a newer version is rejected in one line and unchanged', async (t) => {
  const path = newPath(t);
  await (await open(path)).close();
  const database = new DatabaseSync(path);
  const newer = loadMigrations(dialect).length + 1;
  database.prepare('insert into migrations (version, name) values (?, ?)').run(newer, 'from_the_future');
  database.close();
  for (const openAs of ['service', 'command'] as const) {
    await assert.rejects(open(path, openAs), isStoreError(/newer Carillon.*Update Carillon/));
  }
  const after = new DatabaseSync(path, { readOnly: true });
  assert.equal(after.prepare('select max(version) as version from migrations').get()?.version, newer);
  after.close();
});

test('a file that is not a database, or not a file, is rejected in one line', async (t) => {
  const folder = createTemporaryFolder(t);
  const text = join(folder, 'notes.txt');
  writeFileSync(text, 'Dear diary, today I was mistaken for a database. '.repeat(100));
  mkdirSync(join(folder, 'folder.db'));
  for (const path of [text, join(folder, 'folder.db')]) {
    await assert.rejects(open(path), isStoreError(/cannot be opened/));
  }
  assert.ok(!existsSync(join(folder, 'folder.db', 'carillon.db')));
});

test('a read error of the disk is storage_unavailable', async (t) => {
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

test('two processes that open a new file concurrently both succeed', async (t) => {
  const path = newPath(t);
  const stores = await Promise.all([open(path), open(path, 'command'), open(path, 'command')]);
  for (const store of stores) await store.probe();
  for (const store of stores) await store.close();
});

test('opening again does not migrate again', async (t) => {
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

test('a failed migration changes nothing', () => {
  const database = new DatabaseSync(':memory:');
  // This table conflicts with one of the last statements of the migrations.
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
    loadMigrations(dialect).map(({ version, name }) => ({ version, name })),
  );
  database.close();
});

test('an unknown word in a migration is found before anything changes', () => {
  const database = new DatabaseSync(':memory:');
  assert.throws(() => migrate(database, { name: 'poor', templateValues: {} }), /unknown word \{\w+\} in a migration/);
  assert.deepEqual(database.prepare('select name from sqlite_master').all(), []);
  database.close();
});

test('C5 ids are never issued again, also after the newest record was deleted and the file was reopened', async (t) => {
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

test('reads see commits of this and of other processes immediately; the external change number shows the latter in the next iteration', async (t) => {
  const path = newPath(t);
  const store = await open(path);
  const domains = async () =>
    (await store.read.selectFrom('accounts').select('domain').orderBy('domain').execute()).map(({ domain }) => domain);
  const elsewhere = new DatabaseSync(path);
  const before = store.getExternalChangeNumber();
  assert.deepEqual(await domains(), []);
  elsewhere.exec("insert into accounts (domain, company_name, date_created) values ('a.test', '', 0)");
  assert.deepEqual(await domains(), ['a.test']);
  await new Promise((resolve) => setImmediate(resolve));
  const afterOther = store.getExternalChangeNumber();
  assert.notEqual(afterOther, before);
  const heard: Promise<string[]>[] = [];
  store.onCommitted(() => void heard.push(domains()));
  await store.write(async ({ queries }) => {
    await queries.insertInto('accounts').values({ domain: 'b.test', company_name: '', date_created: 0 }).execute();
    assert.deepEqual(await domains(), ['a.test'], 'before the commit');
  });
  assert.deepEqual(await Promise.all(heard), [['a.test', 'b.test']]);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(store.getExternalChangeNumber(), afterOther, 'the own commit is no external change');
  elsewhere.close();
  await store.close();
});

/** Opens a database whose files are changed by other programs, and records the errors that the store reports. */
async function openWatched(t: TestContext) {
  const path = newPath(t);
  const clock = createTestClock();
  const fatal: unknown[] = [];
  const store = await openStore({
    ...openOptionsOf(`sqlite:${path}`),
    realClock: clock,
    onFatal: (error) => void fatal.push(error),
  });
  const add = (domain: string) =>
    store.write(({ queries }) =>
      queries.insertInto('accounts').values({ domain, company_name: '', date_created: 0 }).execute(),
    );
  await add('before.test');
  return { path, clock, fatal, store, add };
}

const isUnavailable = (error: unknown) => error instanceof Problem && error.code === 'storage_unavailable';

/** Changes to the files of an open database by other programs. */
const fileChanges: Readonly<Record<string, (path: string) => void>> = {
  'the database is removed': (path) => rmSync(path),
  'the database is renamed': (path) => renameSync(path, `${path}.old`),
  'the database is replaced': (path) => {
    writeFileSync(`${path}.new`, '');
    renameSync(`${path}.new`, path);
  },
  'the log is removed': (path) => rmSync(`${path}-wal`),
  'the log is replaced': (path) => {
    rmSync(`${path}-wal`);
    writeFileSync(`${path}-wal`, '');
  },
  'the index of the log is removed': (path) => rmSync(`${path}-shm`),
  'the lock is removed': (path) => rmSync(`${path}.lock`),
};

for (const [name, lose] of Object.entries(fileChanges)) {
  test(`C20 ${name} while it is open: no further write is acknowledged, and onFatal is called`, async (t) => {
    const { path, fatal, store, add } = await openWatched(t);
    const told: unknown[] = [];
    store.onCommitted((news) => void told.push(news));
    lose(path);
    const writes = await Promise.allSettled(['a.test', 'b.test', 'c.test'].map(add));
    assert.deepEqual(
      writes.map(({ status }) => status),
      ['rejected', 'rejected', 'rejected'],
    );
    await assert.rejects(add('d.test'), isUnavailable);
    await assert.rejects(store.probe(), isUnavailable);
    assert.deepEqual(told, [], 'nobody hears of what was not kept');
    assert.deepEqual(
      fatal.map((error) => error instanceof DatabaseLostError),
      [true],
    );
    assert.match(String(fatal[0]), /carillon\.db.* (removed|replaced)/);
    const left = existsSync(`${path}-wal`);
    await store.close();
    assert.equal(existsSync(`${path}-wal`), left, 'the files that are there now belong to somebody else');
  });

  test(`C20 ${name} without writes: it is found within a second`, async (t) => {
    const { path, clock, fatal, store, add } = await openWatched(t);
    await clock.advance(10_000);
    assert.deepEqual(fatal, []);
    lose(path);
    await clock.advance(1_000);
    assert.equal(fatal.length, 1);
    await assert.rejects(add('a.test'), isUnavailable);
    await clock.advance(10_000);
    assert.equal(fatal.length, 1, 'said once');
    await store.close();
    assert.deepEqual(clock.remainingDelaysMs, []);
  });
}

test('a file mounted on its own is found in the Linux mount table; other systems have no table', () => {
  const table = [
    '22 1 254:0 / / rw,relatime - ext4 /dev/vda rw',
    '97 22 254:0 /srv/a\\040b/carillon.db /data/a\\040b/carillon.db rw - ext4 /dev/vda rw',
    '',
  ].join('\n');
  assert.deepEqual(
    readMountPoints(() => table),
    ['/', '/data/a b/carillon.db', ''],
  );
  const fails = () => {
    throw new Error('ENOENT');
  };
  assert.deepEqual(readMountPoints(fails), []);
});
