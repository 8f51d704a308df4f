import assert from 'node:assert/strict';
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { pino } from 'pino';
import { createTestClock } from '../../../test/kit/clock.ts';
import { openOptionsOf, openStoreAt } from '../../../test/kit/database/database.ts';
import { createReleaseDatabase, type Release, releases } from '../../../test/kit/service/packages.ts';
import { createTemporaryFolder } from '../../../test/kit/service/service.ts';
import { openStore } from '../open.ts';
import { StoreError } from '../store.ts';
import { backUpBeforeMigration } from './pre-migration-backup.ts';

const [oldest] = releases as readonly [Release];

const filesInFolderOf = (path: string) =>
  readdirSync(dirname(path))
    .filter((file) => file !== basename(path))
    .sort();
const versionIn = (path: string) => {
  const database = new DatabaseSync(path, { readOnly: true });
  const row = database.prepare('select max(version) as version from migrations').get();
  database.close();
  return row?.version;
};

test('a migration backs up the database, readable by its owner only, and logs that; later starts make no backup', async (t) => {
  const path = createReleaseDatabase(t, oldest);
  const lines: Record<string, unknown>[] = [];
  const log = pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  await (await openStoreAt(t, `sqlite:${path}`, { log })).close();
  const [kept = ''] = filesInFolderOf(path).filter((file) => file.includes('.before-'));
  const file = `${dirname(path)}/${kept}`;
  const said = lines.filter(({ event }) => event === 'database.kept');
  assert.deepEqual(
    said.map(({ file, version, bytes }) => [file, version, bytes]),
    [[file, 1, statSync(file).size]],
  );
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.deepEqual([versionIn(file), versionIn(path) !== 1], [1, true]);

  await (await openStoreAt(t, `sqlite:${path}`, { log })).close();
  assert.equal(lines.filter(({ event }) => event === 'database.kept').length, 1);
  assert.deepEqual(
    filesInFolderOf(path).filter((one) => one.includes('.before-')),
    [kept],
  );
});

test('a new database is not backed up', async (t) => {
  const path = `${createTemporaryFolder(t)}/carillon.db`;
  await (await openStoreAt(t, `sqlite:${path}`)).close();
  assert.deepEqual(
    filesInFolderOf(path).filter((file) => !file.startsWith('carillon.db.lock')),
    [],
  );
});

test('the last three backups are kept, and no other files are touched', async (t) => {
  const path = createReleaseDatabase(t, oldest);
  const others = ['carillon.db.before-0002-notes', 'other.db.before-0002-20200101T000000', 'carillon.db.backup-1'];
  for (const name of others) writeFileSync(`${dirname(path)}/${name}`, '');
  const database = new DatabaseSync(path);
  t.after(() => database.close());
  const clock = createTestClock();
  const keep = () => backUpBeforeMigration(database, { path, newestVersion: 2, clock, log: pino({ level: 'silent' }) });
  const made: string[] = [];
  for (let round = 0; round < 5; round += 1) {
    await keep();
    made.push(
      ...filesInFolderOf(path).filter(
        (file) => /before-0002-2\d{7}T/.test(file) && !made.includes(file) && !others.includes(file),
      ),
    );
    await clock.advance(60_000);
  }
  assert.equal(made.length, 5);
  assert.deepEqual(
    filesInFolderOf(path).filter((file) => made.includes(file)),
    made.slice(2),
  );
  for (const name of others) assert.ok(existsSync(`${dirname(path)}/${name}`), name);
});

test('without space for the backup nothing is migrated: one line, and the database is unchanged', async (t) => {
  const path = createReleaseDatabase(t, oldest);
  const database = new DatabaseSync(path);
  t.after(() => database.close());
  const keeping = {
    path,
    newestVersion: 2,
    clock: createTestClock(),
    log: pino({ level: 'silent' }),
    getFreeBytes: () => 1_000_000,
  };
  await assert.rejects(backUpBeforeMigration(database, keeping), (error) => {
    assert.ok(error instanceof StoreError);
    assert.match(
      error.message,
      /^The database is at version 1 and is not migrated without a copy of it: .* may need 0\.\d MiB, and 1\.0 MiB are free there\.$/,
    );
    return true;
  });
  assert.equal(versionIn(path), 1);
  assert.deepEqual(
    filesInFolderOf(path).filter((file) => file.includes('.before-')),
    [],
  );
});

test('two processes that open an old file concurrently both find it migrated', async (t) => {
  const path = createReleaseDatabase(t, oldest);
  const opening = (openAs: 'service' | 'command') => openStore({ ...openOptionsOf(`sqlite:${path}`), openAs });
  const opened = await Promise.all([opening('service'), opening('command'), opening('command')]);
  for (const store of opened) await store.probe();
  for (const store of opened) await store.close();
  const kept = filesInFolderOf(path).filter((file) => file.includes('.before-'));
  assert.ok(kept.length > 0);
  for (const file of kept)
    assert.match(file, /^carillon\.db\.before-0002-\d{8}T\d{6}$/, 'no part of one is left behind');
  assert.equal(versionIn(`${dirname(path)}/${kept[0]}`), 1);
});
