import assert from 'node:assert/strict';
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { atEnd, type Cleanup } from '../../../test/kit/cleanup.ts';
import { copyDatabase, createMigratedSqlite, queryRows } from '../../../test/kit/database/database.ts';
import { startTarget } from '../../../test/kit/network/target.ts';
import { runCarillon, runCarillonJson } from '../../../test/kit/service/command.ts';
import { createReleaseDatabase, type Release, releases } from '../../../test/kit/service/packages.ts';
import { createTemporaryFolder, type Json } from '../../../test/kit/service/service.ts';
import { type StartedProcess, startProcess, startServiceProcess } from '../../../test/kit/service/service-process.ts';
import { everyStore } from '../../../test/kit/service/stores.ts';
import { getNewestSchemaVersion } from '../../store/migrate.ts';

const event = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };
const contentsOf = (path: string) => {
  const database = new DatabaseSync(path, { readOnly: true });
  const row = database
    .prepare('select (select count(*) from events) as events, (select max(version) from migrations) as version')
    .get();
  database.close();
  return { ...row };
};

async function startFilledService(context: Cleanup, events: number) {
  const folder = createTemporaryFolder(context);
  const path = join(folder, 'carillon.db');
  await createMigratedSqlite(path);
  const service = await startServiceProcess(context, `sqlite:${path}`);
  for (let number = 0; number < events; number += 1) await service.carillon.events.create(event);
  return { folder, path, service, environment: { CARILLON_DATABASE: `sqlite:${path}` } };
}

test('backup writes one complete file, readable only by its owner, while the service runs, and prints its contents', async (t) => {
  const { folder, path, service, environment } = await startFilledService(t, 5);
  const to = join(folder, 'copy.db');
  const said = await runCarillonJson(['backup', '--to', to], { environment });
  assert.deepEqual(
    { ...said, seconds: 0 },
    {
      file: to,
      bytes: statSync(to).size,
      version: getNewestSchemaVersion(),
      accounts: 1,
      occurrences: 5,
      position: 5,
      seconds: 0,
    },
  );
  assert.ok(said.seconds >= 0 && said.seconds < 15);
  assert.equal(statSync(to).mode & 0o777, 0o600);
  assert.deepEqual(contentsOf(to), { events: 5, version: getNewestSchemaVersion() });
  assert.deepEqual(
    readdirSync(folder).filter((file) => !file.startsWith('carillon.db')),
    ['copy.db'],
    'nothing beside it',
  );
  await service.carillon.events.create(event);
  assert.deepEqual([contentsOf(to).events, contentsOf(path).events], [5, 6], 'a copy, and no link');

  const spoken = await runCarillon(['backup'], { environment });
  const lines = `^file: .*carillon\\.db\\.backup-\\d{8}T\\d{6}\nsize: 0\\.\\d MiB\nversion: ${getNewestSchemaVersion()}\n`;
  assert.match(spoken.stdout, new RegExp(lines));
  mkdirSync(join(folder, 'backups'));
  await runCarillonJson(['backup', '--to', join(folder, 'backups')], { environment });
  assert.match(readdirSync(join(folder, 'backups')).join(), /^carillon-backup-\d{8}T\d{6}\.db$/);
});

test('a backup contains what a killed service left in its write-ahead log', async (t) => {
  const { folder, service, environment } = await startFilledService(t, 3);
  await service.stop('SIGKILL');
  const to = join(folder, 'copy.db');
  await runCarillonJson(['backup', '--to', to], { environment });
  assert.equal(contentsOf(to).events, 3);
});

test('backup does not migrate an old database', async (t) => {
  const path = createReleaseDatabase(t, releases[0] as Release);
  const to = `${path}.copy`;
  const said = await runCarillonJson(['backup', '--database', `sqlite:${path}`, '--to', to]);
  assert.deepEqual([said.version, said.accounts, said.occurrences], [1, 2, 16]);
  assert.deepEqual([contentsOf(path).version, contentsOf(to).version], [1, 1]);
  assert.ok(!readdirSync(join(path, '..')).some((file) => file.includes('.before-')));
});

test('backup overwrites nothing, and reports errors in one line', async (t) => {
  const { folder, path, service, environment } = await startFilledService(t, 1);
  const there = join(folder, 'notes.txt');
  writeFileSync(there, 'Dear diary');
  const other = join(folder, 'text.db');
  writeFileSync(other, 'Dear diary, today I was mistaken for a database. '.repeat(100));
  const empty = join(folder, 'empty.db');
  new DatabaseSync(empty).close();
  const mistakes: [string[], RegExp][] = [
    [['--to', there], /notes\.txt already exists and is not overwritten\.$/],
    [['--to', path], /carillon\.db already exists/],
    [['--database', `sqlite:${join(folder, 'none.db')}`], /^There is no database .*none\.db\.$/],
    [['--database', `sqlite:${other}`], /^The database .*text\.db cannot be read: file is not a database\.$/],
    [['--database', `sqlite:${empty}`], /empty\.db is not a database of Carillon\.$/],
    [['--database', 'postgres://db.test/carillon'], /^Back up PostgreSQL with its own tools, such as pg_dump/],
    [['--database', 'mysql:x'], /^--database must be sqlite: /],
  ];
  for (const [args, line] of mistakes) {
    const { code, stdout, stderrLines } = await runCarillon(['backup', ...args], { environment });
    assert.deepEqual([code, stdout, stderrLines.length], [1, '', 1], args.join(' '));
    assert.match(stderrLines[0] ?? '', line);
  }
  assert.equal(statSync(there).size, 'Dear diary'.length);
  assert.ok(!existsSync(join(folder, 'none.db')));
  await service.carillon.events.create(event);
});

test('a damaged database is not backed up: one line, and no file', async (t) => {
  const { folder, path, service } = await startFilledService(t, 1);
  await service.stop('SIGTERM');
  const lost = join(folder, 'lost.db');
  copyFileSync(path, lost);
  const database = new DatabaseSync(lost);
  database.exec('delete from events');
  database.close();
  const torn = join(folder, 'torn.db');
  copyFileSync(path, torn);
  const { rootpage } = {
    ...new DatabaseSync(torn).prepare("select rootpage from sqlite_master where name = 'events'").get(),
  };
  const handle = openSync(torn, 'r+');
  writeSync(handle, Buffer.alloc(4_096, 'x'), 0, 4_096, (Number(rootpage) - 1) * 4_096);
  closeSync(handle);
  for (const [damaged, line] of [
    [lost, /^1 occurrences have no record; run carillon doctor on the database\.$/],
    [torn, /^The database .*torn\.db cannot be read: database disk image is malformed\.$/],
  ] as const) {
    const to = `${damaged}.copy`;
    const { code, stderrLines } = await runCarillon(['backup', '--database', `sqlite:${damaged}`, '--to', to]);
    assert.deepEqual([code, stderrLines.length], [1, 1], damaged);
    assert.match(stderrLines[0] ?? '', line);
    assert.ok(!existsSync(to));
    assert.ok(!readdirSync(folder).some((file) => file.includes('.part-')));
  }
});

const filesNamed = (folder: string, word: string) => readdirSync(folder).filter((file) => file.includes(word));

/** Starts a service with two events: one from before a backup, and one created after the backup. */
async function startBackedUpService(context: Cleanup) {
  const folder = createTemporaryFolder(context);
  const path = join(folder, 'carillon.db');
  const environment = { CARILLON_DATABASE: `sqlite:${path}` };
  await createMigratedSqlite(path);
  const service = await startServiceProcess(context, `sqlite:${path}`);
  await service.carillon.events.create({ ...event, event_name: 'Before' });
  const backup = join(folder, 'backup.db');
  await runCarillonJson(['backup', '--to', backup], { environment });
  await service.carillon.events.create({ ...event, event_name: 'Since' });
  return { folder, path, backup, service, environment };
}

/** Starts a service on an existing database. Such a start prints no key. */
async function startAgain(context: Cleanup, database: string) {
  const started = await startProcess({ CARILLON_DATABASE: database, CARILLON_PORT: '0' });
  atEnd(context, () => started.process.kill('SIGKILL'));
  return started;
}

const eventNamesIn = (path: string) => {
  const database = new DatabaseSync(path, { readOnly: true });
  const names = database.prepare('select event_name from events order by event_id').all();
  database.close();
  return names.map((row) => row.event_name);
};

test('C5 restore puts the backup in place, keeps the old file, and issues no id twice', async (t) => {
  const { folder, path, backup, service, environment } = await startBackedUpService(t);
  const bytes = readFileSync(backup);
  const hook = await service.carillon.hooks.create({ target_url: 'http://127.0.0.1:9/x', event: 'new_task' });
  await service.stop('SIGTERM');
  const said = await runCarillonJson(['restore', '--from', backup, '--force'], { environment });
  assert.deepEqual(Object.keys(said), ['database', 'from', 'kept', 'accounts', 'epoch']);
  // A new epoch starts at one million ids per second since 2025.
  assert.ok(said.epoch > 1_000 * (Date.now() - 60_000 - Date.UTC(2025, 0, 1)));
  assert.deepEqual(eventNamesIn(path), ['Before']);
  assert.deepEqual(eventNamesIn(said.kept), ['Before', 'Since']);
  assert.match(said.kept, /carillon\.db\.replaced-\d{8}T\d{6}$/);
  assert.deepEqual([statSync(path).mode & 0o777, statSync(said.kept).mode & 0o777], [0o600, 0o600]);
  assert.deepEqual(readFileSync(backup), bytes, 'the backup is only read');
  assert.deepEqual(filesNamed(folder, '.restoring'), []);

  const [position] = await queryRows(`sqlite:${path}`, 'select position, epoch_start from positions');
  assert.deepEqual({ ...position }, { position: said.epoch, epoch_start: said.epoch });
  const [entry] = await queryRows(`sqlite:${path}`, "select * from audit where action = 'database.restored'");
  assert.deepEqual(
    [entry.account_id, entry.source, JSON.parse(entry.detail)],
    [0, 'command line', { from: backup, epoch: said.epoch }],
  );

  const again = await startAgain(t, `sqlite:${path}`);
  const { headers } = service;
  const post = async (at: string, body: Json): Promise<Json> => {
    const init = {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    };
    return (await fetch(`${again.baseUrl}/v2/${at}`, init)).json();
  };
  const next = (await post('events', event)).data.event_id;
  assert.equal(next, String(said.epoch + 1), 'behind every id that was issued, and every one that could have been');
  assert.ok(
    Number((await post('hooks', { target_url: 'http://127.0.0.1:9/x', event: 'new_task' })).id) > Number(hook.id),
  );
  const since = await queryRows(`sqlite:${path}`, `select position from occurrences where record_id = ${next}`);
  assert.equal(since[0].position, said.epoch + 1);
});

test('restore fails while a service runs on the database, also through a link to it, and changes nothing', async (t) => {
  const { folder, path, backup, service, environment } = await startBackedUpService(t);
  symlinkSync(path, join(folder, 'link.db'));
  for (const database of [`sqlite:${path}`, `sqlite:${join(folder, 'link.db')}`]) {
    const ended = await runCarillon(['restore', '--database', database, '--from', backup, '--force']);
    assert.deepEqual([ended.code, ended.stderrLines.length], [1, 1]);
    assert.match(ended.stderrLines[0] ?? '', /^Another service is running on .*\.db\.$/);
  }
  const alone = await runCarillon(['restore', '--after-restore'], { environment });
  assert.match(alone.stderrLines.join('\n'), /^Another service is running on .*\.db\.$/);
  await service.carillon.events.create(event);
  assert.equal(eventNamesIn(path).length, 3);
  assert.deepEqual(filesNamed(folder, '.replaced-'), []);
});

test('restore replaces a database only with --force and only by a backup; otherwise nothing changes', async (t) => {
  const { folder, path, backup, service, environment } = await startBackedUpService(t);
  await service.stop('SIGTERM');
  const text = join(folder, 'text.db');
  writeFileSync(text, 'Dear diary, today I was mistaken for a database. '.repeat(100));
  const empty = join(folder, 'empty.db');
  new DatabaseSync(empty).close();
  const newer = join(folder, 'newer.db');
  writeFileSync(newer, readFileSync(backup));
  const database = new DatabaseSync(newer);
  database.exec("insert into migrations values (99, 'from_the_future')");
  database.close();
  const mistakes: [string[], RegExp][] = [
    [['--from', backup], /^There is a database .*\. With --force it is replaced, and kept as .*\.replaced-\d+T\d+\.$/],
    [['--from', join(folder, 'none.db'), '--force'], /^There is no backup .*none\.db\.$/],
    [['--from', text, '--force'], /^The backup .*text\.db cannot be read: file is not a database\.$/],
    [['--from', empty, '--force'], /empty\.db is not a backup of Carillon\.$/],
    [['--from', newer, '--force'], /^The database is at version 99, from a newer Carillon; .* Update Carillon\.$/],
    [['--from', path, '--force'], /carillon\.db is the database itself, not a backup of it\.$/],
    [['--force'], /^Give the backup with --from\.$/],
    [['--from', backup, '--after-restore'], /^--after-restore and --from cannot be combined\.$/],
    [['--database', 'postgres://db.test/x', '--from', backup], /^Restore PostgreSQL with its own tools/],
  ];
  const files = readdirSync(folder).sort();
  for (const [args, line] of mistakes) {
    const { code, stdout, stderrLines } = await runCarillon(['restore', ...args], { environment });
    assert.deepEqual([code, stdout, stderrLines.length], [1, '', 1], args.join(' '));
    assert.match(stderrLines[0] ?? '', line);
  }
  assert.deepEqual(readdirSync(folder).sort(), files);
  assert.deepEqual(eventNamesIn(path), ['Before', 'Since']);
});

test('restore creates a missing database with its folder; no second first account is created', async (t) => {
  const { folder, backup, service } = await startBackedUpService(t);
  const path = join(folder, 'elsewhere', 'carillon.db');
  const said = await runCarillonJson(['restore', '--database', `sqlite:${path}`, '--from', backup]);
  assert.equal(said.kept, null);
  const other = await startAgain(t, `sqlite:${path}`);
  assert.equal(other.key, undefined);
  const answer = await fetch(`${other.baseUrl}/v2/events`, { headers: service.headers });
  const { data } = (await answer.json()) as Json;
  assert.deepEqual(
    data.map((one: Json) => one.event_name),
    ['Before'],
  );
});

test('a damaged database is set aside unchanged, with its write-ahead log', async (t) => {
  const { folder, path, backup, service, environment } = await startBackedUpService(t);
  await service.stop('SIGKILL');
  assert.ok(existsSync(`${path}-wal`));
  // Overwrite both files: SQLite would recreate the database from the write-ahead log alone.
  for (const file of [path, `${path}-wal`]) writeFileSync(file, 'x'.repeat(8_192));
  const said = await runCarillonJson(['restore', '--from', backup, '--force'], { environment });
  assert.equal(readFileSync(said.kept, 'utf8').slice(0, 3), 'xxx');
  assert.equal(readFileSync(`${said.kept}-wal`, 'utf8').slice(0, 3), 'xxx');
  assert.deepEqual(eventNamesIn(path), ['Before']);
  assert.deepEqual(filesNamed(folder, 'carillon.db-'), [], 'no log that the new file could take for its own');
});

test('C20 a service does not start with a new database if an old write-ahead log exists; a restore sets the log aside', async (t) => {
  const { folder, path, backup, service, environment } = await startBackedUpService(t);
  await service.stop('SIGKILL');
  rmSync(path);
  const log = readFileSync(`${path}-wal`);
  assert.ok(log.length > 0);
  const started = await runCarillon(['serve', '--port', '0'], { environment });
  assert.deepEqual([started.code, started.stdout, started.stderrLines.length], [1, '', 1]);
  assert.match(
    started.stderrLines[0] ?? '',
    /^The database .*carillon\.db is missing, but its log .*carillon\.db-wal is there/,
  );
  assert.deepEqual(readFileSync(`${path}-wal`), log, 'what it holds of the old database is kept');
  assert.ok(!existsSync(path));
  await runCarillonJson(['restore', '--from', backup], { environment });
  assert.deepEqual(filesNamed(folder, 'carillon.db-'), [], 'no log that the new file could take for its own');
  const [kept = ''] = filesNamed(folder, '-wal');
  assert.deepEqual(readFileSync(join(folder, kept)), log);
  assert.deepEqual(eventNamesIn(path), ['Before']);
  const [sound] = await queryRows(`sqlite:${path}`, 'pragma integrity_check');
  assert.equal(sound.integrity_check, 'ok');
});

test('a database that another process has open is not replaced', async (t) => {
  const { path, backup, service, environment } = await startBackedUpService(t);
  await service.stop('SIGTERM');
  const open = new DatabaseSync(path);
  t.after(() => open.close());
  open.exec('pragma journal_mode = wal; begin; select * from events');
  const { code, stderrLines } = await runCarillon(['restore', '--from', backup, '--force'], { environment });
  assert.deepEqual([code, stderrLines.length], [1, 1]);
  assert.match(stderrLines[0] ?? '', /^Another process has .*carillon\.db open\. End it, and try again\.$/);
  assert.deepEqual(eventNamesIn(path), ['Before', 'Since']);
});

test('a backup of an older version is migrated during the restore, and itself stays unchanged', async (t) => {
  const backup = createReleaseDatabase(t, releases[0] as Release);
  const path = join(createTemporaryFolder(t), 'carillon.db');
  chmodSync(backup, 0o400);
  await runCarillonJson(['restore', '--database', `sqlite:${path}`, '--from', backup]);
  const versionIn = (file: string) => {
    const database = new DatabaseSync(file, { readOnly: true });
    const row = database.prepare('select max(version) as version from migrations').get();
    database.close();
    return row?.version;
  };
  assert.deepEqual([versionIn(backup), versionIn(path)], [1, getNewestSchemaVersion()]);
  const [account] = await queryRows(
    `sqlite:${path}`,
    'select count(*) as count from positions where epoch_start = position',
  );
  assert.equal(account.count, 2);
});

for (const { test, serviceProcess } of everyStore) {
  test('C5 X1 a copy put in place by other means begins a new epoch: lost ids and Webhook-Ids are not issued again; ended hooks still get what they missed', async (t) => {
    const target = await startTarget(t);
    const first = await serviceProcess(t);
    const { id } = await first.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
    const { event_id: told } = await first.carillon.events.create(event);
    await target.waitForArrivals(1);
    await first.carillon.hooks.delete(id);
    const { event_id: missed } = await first.carillon.events.create(event);
    assert.equal(await first.stop('SIGTERM'), 0);
    const copy = await copyDatabase(t, first.database);

    const send = async (at: StartedProcess, path: string, body: Json): Promise<Json> => {
      const headers = { ...first.headers, 'content-type': 'application/json' };
      return (await fetch(`${at.baseUrl}/v2/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).json();
    };
    const lost = await startAgain(t, first.database);
    await send(lost, `hooks/${id}/restore`, {});
    const forgotten = (await send(lost, 'events', event)).data.event_id;
    const before = (await target.waitForArrivals(3)).map((one) => Number(one.deliveryId));
    assert.equal(await lost.stop('SIGTERM'), 0);

    const environment = { CARILLON_DATABASE: copy };
    const said = await runCarillonJson(['restore', '--after-restore'], { environment });
    assert.deepEqual(Object.keys(said), ['accounts', 'epoch']);
    const [position] = await queryRows(copy, 'select position, epoch_start from positions');
    assert.deepEqual([position.position, position.epoch_start], [said.epoch, said.epoch]);

    const again = await startAgain(t, copy);
    const { data } = await send(again, 'events', event);
    assert.ok(Number(data.event_id) > said.epoch && Number(forgotten) < said.epoch);
    await send(again, `hooks/${id}/restore`, {});
    const all = await target.waitForArrivals(5);
    assert.deepEqual(
      all.map((one) => new URL(one.resourceUrl).pathname),
      [told, missed, forgotten, missed, data.event_id].map((one) => `/v2/events/${one}`),
    );
    const ids = all.slice(3).map((one) => Number(one.deliveryId));
    for (const one of ids) assert.ok(one > said.epoch && !before.includes(one), `${one} was issued before`);
    const wanted = ['audit', '--domain', String(first.domain), '--action', 'database.restored'];
    assert.equal((await runCarillonJson(wanted, { environment })).length, 1);
    const running = await runCarillon(['restore', '--after-restore'], { environment });
    assert.deepEqual([running.code, running.stderrLines.length], [1, 1]);
    assert.match(running.stderrLines[0] ?? '', /running on /);
  });
}
