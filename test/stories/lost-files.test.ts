import assert from 'node:assert/strict';
import { linkSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { carillon, carillonJson, serve } from '../kit/command.ts';
import { startTestService, temporaryFolder } from '../kit/service.ts';

const event = JSON.stringify({ event_name: 'Launch', start_date: '20270101', due_date: '20270102' });

/** Starts a service in a child process. `create` returns a status, or undefined for a broken connection. */
async function started(t: Parameters<typeof serve>[0]) {
  const path = join(temporaryFolder(t), 'carillon.db');
  const environment = { CARILLON_DATABASE: `sqlite:${path}` };
  const served = await serve(t, [], { environment });
  const headers = {
    domain: String(served.said('domain')),
    key: String(served.said('key')),
    'content-type': 'application/json',
  };
  const create = async () => {
    const sent = fetch(`${served.baseUrl}/v2/events`, { method: 'POST', headers, body: event });
    return sent.then(({ status }) => status).catch(() => undefined);
  };
  return { path, environment, served, create };
}

test('C20 a service whose database is removed under load acknowledges nothing more, logs a fatal line with the reason, and exits with 1', async (t) => {
  const { path, served, create } = await started(t);
  assert.equal(await create(), 201);
  let removed = false;
  const late: (number | undefined)[] = [];
  let going = true;
  const callers = Array.from({ length: 8 }, async () => {
    while (going) {
      const begunAfter = removed;
      const status = await create();
      if (begunAfter) late.push(status);
      if (status === undefined) await pause(5);
    }
  });
  for (let times = 0; times < 20; times += 1) await create();
  rmSync(path);
  removed = true;
  const code = await served.exited;
  going = false;
  await Promise.all(callers);
  assert.equal(code, 1);
  assert.ok(late.length > 0);
  assert.deepEqual(
    [...new Set(late)].filter((status) => status !== 503 && status !== undefined),
    [],
  );
  const fatal = served.logged().filter((line) => line.includes('"fatal"'));
  assert.equal(fatal.length, 1);
  assert.match(fatal[0] ?? '', /carillon\.db was removed/);
});

test('C20 a service whose database was replaced does not touch the new files when it exits', async (t) => {
  const { path, served, create } = await started(t);
  assert.equal(await create(), 201);
  const other = await started(t);
  assert.equal(await other.create(), 201);
  await other.served.kill();
  for (const end of ['-wal', '-shm', '']) renameSync(other.path + end, path + end);
  assert.equal(await served.exited, 1);
  const database = new DatabaseSync(path);
  t.after(() => database.close());
  assert.equal(database.prepare('select count(*) as count from events').get()?.count, 1, 'the WAL is complete');
});

test('X6 /readyz is 503 as soon as the files are found missing, even if it was 200 just before', async (t) => {
  const path = join(temporaryFolder(t), 'carillon.db');
  const fatal: unknown[] = [];
  const service = await startTestService(t, `sqlite:${path}`, {
    ports: { onFatal: (error) => void fatal.push(error) },
  });
  const owner = await service.account('acme.test');
  const statusOf = async (address: string) => (await service.call(undefined, 'GET', address)).status;
  assert.equal(await statusOf('/readyz'), 200);
  renameSync(path, `${path}.elsewhere`);
  const written = await service.call(owner, 'POST', '/v2/events', event);
  assert.deepEqual([written.status, written.json.code], [503, 'storage_unavailable']);
  assert.deepEqual([await statusOf('/readyz'), await statusOf('/healthz')], [503, 200]);
  assert.equal(fatal.length, 1);
});

test('C20 a second service or a command that opens the database through a hard link is rejected in one line with exit code 1', async (t) => {
  const { path, served, create } = await started(t);
  assert.equal(await create(), 201);
  const link = `${path}.link`;
  linkSync(path, link);
  const commands = [
    ['serve', '--port', '0'],
    ['keys', 'list', '--domain', String(served.said('domain'))],
    ['backup', '--to', `${path}.backup`],
  ];
  for (const words of commands) {
    const { code, stdout, faults } = await carillon([...words, '--database', `sqlite:${link}`]);
    assert.deepEqual([code, stdout, faults.length], [1, '', 1], faults.join('\n'));
    assert.match(faults[0] ?? '', /has 2 names \(hard links, carillon\.db among them\)/);
  }
  const findings = await carillon(['doctor', '--offline', '--json', '--database', `sqlite:${link}`]);
  assert.match(findings.stdout, /has 2 names/);
  assert.equal(await create(), 201, 'the first service still works');
  rmSync(link);
  const keys = await carillonJson(['keys', 'list', '--domain', String(served.said('domain'))], {
    environment: { CARILLON_DATABASE: `sqlite:${path}` },
  });
  assert.equal(keys.length, 1);
});
