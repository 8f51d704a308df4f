import assert from 'node:assert/strict';
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import type { Cleanup } from '../../../test/kit/cleanup.ts';
import { carillon, carillonJson } from '../../../test/kit/service/command.ts';
import { load, type Release, releases } from '../../../test/kit/service/packages.ts';
import { temporaryFolder } from '../../../test/kit/service/service.ts';
import { startServiceProcess } from '../../../test/kit/service/service-process.ts';
import { newestVersion } from '../../store/migrate.ts';

const event = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };
const tables = (path: string) => {
  const database = new DatabaseSync(path, { readOnly: true });
  const row = database
    .prepare('select (select count(*) from events) as events, (select max(version) from migrations) as version')
    .get();
  database.close();
  return { ...row };
};

async function filled(context: Cleanup, events: number) {
  const folder = temporaryFolder(context);
  const path = join(folder, 'carillon.db');
  const service = await startServiceProcess(context, `sqlite:${path}`);
  for (let number = 0; number < events; number += 1) await service.carillon.events.create(event);
  return { folder, path, service, environment: { CARILLON_DATABASE: `sqlite:${path}` } };
}

test('backup writes one complete file, readable only by its owner, while the service runs, and prints its contents', async (t) => {
  const { folder, path, service, environment } = await filled(t, 5);
  const to = join(folder, 'copy.db');
  const said = await carillonJson(['backup', '--to', to], { environment });
  assert.deepEqual(
    { ...said, seconds: 0 },
    {
      file: to,
      bytes: statSync(to).size,
      version: newestVersion(),
      accounts: 1,
      occurrences: 5,
      position: 5,
      seconds: 0,
    },
  );
  assert.ok(said.seconds >= 0 && said.seconds < 15);
  assert.equal(statSync(to).mode & 0o777, 0o600);
  assert.deepEqual(tables(to), { events: 5, version: newestVersion() });
  assert.deepEqual(
    readdirSync(folder).filter((file) => !file.startsWith('carillon.db')),
    ['copy.db'],
    'nothing beside it',
  );
  await service.carillon.events.create(event);
  assert.deepEqual([tables(to).events, tables(path).events], [5, 6], 'a copy, and no link');

  const spoken = await carillon(['backup'], { environment });
  const lines = `^file: .*carillon\\.db\\.backup-\\d{8}T\\d{6}\nsize: 0\\.\\d MiB\nversion: ${newestVersion()}\n`;
  assert.match(spoken.stdout, new RegExp(lines));
  mkdirSync(join(folder, 'backups'));
  await carillonJson(['backup', '--to', join(folder, 'backups')], { environment });
  assert.match(readdirSync(join(folder, 'backups')).join(), /^carillon-backup-\d{8}T\d{6}\.db$/);
});

test('a backup contains what a killed service left in its write-ahead log', async (t) => {
  const { folder, service, environment } = await filled(t, 3);
  await service.stop('SIGKILL');
  const to = join(folder, 'copy.db');
  await carillonJson(['backup', '--to', to], { environment });
  assert.equal(tables(to).events, 3);
});

test('backup does not migrate an old database', async (t) => {
  const path = load(t, releases[0] as Release);
  const to = `${path}.copy`;
  const said = await carillonJson(['backup', '--database', `sqlite:${path}`, '--to', to]);
  assert.deepEqual([said.version, said.accounts, said.occurrences], [1, 2, 16]);
  assert.deepEqual([tables(path).version, tables(to).version], [1, 1]);
  assert.ok(!readdirSync(join(path, '..')).some((file) => file.includes('.before-')));
});

test('backup overwrites nothing, and reports errors in one line', async (t) => {
  const { folder, path, service, environment } = await filled(t, 1);
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
    const { code, stdout, faults } = await carillon(['backup', ...args], { environment });
    assert.deepEqual([code, stdout, faults.length], [1, '', 1], args.join(' '));
    assert.match(faults[0] ?? '', line);
  }
  assert.equal(statSync(there).size, 'Dear diary'.length);
  assert.ok(!existsSync(join(folder, 'none.db')));
  await service.carillon.events.create(event);
});

test('a damaged database is not backed up: one line, and no file', async (t) => {
  const { folder, path, service } = await filled(t, 1);
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
    const { code, faults } = await carillon(['backup', '--database', `sqlite:${damaged}`, '--to', to]);
    assert.deepEqual([code, faults.length], [1, 1], damaged);
    assert.match(faults[0] ?? '', line);
    assert.ok(!existsSync(to));
    assert.ok(!readdirSync(folder).some((file) => file.includes('.part-')));
  }
});
