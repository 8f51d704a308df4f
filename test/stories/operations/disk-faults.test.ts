import assert from 'node:assert/strict';
import { linkSync, renameSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../../kit/eventually.ts';
import { sendRawRequest } from '../../kit/network/raw-http.ts';
import { startTarget } from '../../kit/network/target.ts';
import { runCarillon, runCarillonJson, serve } from '../../kit/service/command.ts';
import { createTemporaryFolder, startTestService } from '../../kit/service/service.ts';

const fullDiskEvent = { event_name: 'x'.repeat(255), start_date: '20270101', due_date: '20270102' };

test('C20 X6 with a full disk writes and /readyz are 503, reads work, nothing acknowledged is lost, and writes work again after space is freed', async (t) => {
  const fatal: unknown[] = [];
  const deps = { maxPages: 180, onFatal: (error: unknown) => void fatal.push(error) };
  const path = join(createTemporaryFolder(t), 'carillon.db');
  const carillon = await startTestService(t, `sqlite:${path}`, { deps });
  const filler = new DatabaseSync(path, { timeout: 5_000 });
  t.after(() => filler.close());
  filler.exec('create table filler (bytes blob); insert into filler values (zeroblob(120000))');
  const owner = await carillon.createAccount('acme.test');
  const target = await startTarget(t);
  const hook = await owner.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
  const create = () => carillon.call(owner, 'POST', '/v2/events', fullDiskEvent);

  const acknowledged: string[] = [];
  for (let refused = 0; refused < 3; ) {
    const responses = await Promise.all(Array.from({ length: 8 }, create));
    for (const { status, json, headers } of responses) {
      if (status === 201) acknowledged.push(json.data.event_id);
      else {
        refused += 1;
        assert.deepEqual([status, json.code], [503, 'storage_unavailable']);
        assert.equal(headers.get('retry-after'), '1');
      }
    }
    assert.ok(acknowledged.length < 10_000, 'the disk never fills');
  }
  assert.ok(acknowledged.length > 20);

  const list = await carillon.call(owner, 'GET', '/v2/events');
  assert.equal(list.status, 200);
  const listed = list.json.data.map((one: { event_id: string }) => one.event_id);
  assert.deepEqual(listed.sort(), [...acknowledged].sort(), 'exactly what was acknowledged');
  assert.equal((await carillon.call(owner, 'GET', `/v2/events/${acknowledged[0]}`)).status, 200);
  assert.equal((await carillon.call(undefined, 'GET', '/healthz')).status, 200);
  // Free space for one page is not enough for a write, so the service is not ready (X6).
  const ready = await carillon.call(undefined, 'GET', '/readyz');
  assert.deepEqual([ready.status, ready.json.code], [503, 'storage_unavailable']);

  filler.exec('delete from filler');
  const again = await create();
  assert.equal(again.status, 201);
  acknowledged.push(again.json.data.event_id);
  await eventually(
    () => carillon.call(undefined, 'GET', '/readyz'),
    ({ status }) => status === 200,
  );
  const wanted = acknowledged.map((id) => `${carillon.baseUrl}/v2/events/${id}`).sort();
  await eventually(
    () => owner.carillon.deliveries.list({ hook_id: hook.id, state: 'pending' }),
    ({ paging }) => paging.total_records === 0,
    20_000,
  );
  const delivered = target.received.map((one) => one.resourceUrl).sort();
  assert.deepEqual([...new Set(delivered)], wanted, 'each is delivered, and nothing that was rejected');
  assert.equal(
    delivered.length,
    wanted.length,
    'each is delivered once: results that could not be stored were kept in memory',
  );
  assert.deepEqual(fatal, [], 'a full disk does not end the process');
});

test('X6 every request is 503 while the disk fails, and a log line names the reason', async (t) => {
  const path = join(createTemporaryFolder(t), 'carillon.db');
  const deps = { onFatal: () => undefined };
  const carillon = await startTestService(t, `sqlite:${path}`, { deps });
  const owner = await carillon.createAccount('acme.test');
  const disk = new DatabaseSync(path);
  disk.exec('pragma wal_checkpoint(truncate)');
  disk.close();
  truncateSync(path, 4_096);
  // An invalid path and an unknown method are rejected before routing.
  for (const line of ['GET /v2/events', 'GET /v2/%zz', 'FROB /v2/events']) {
    const before = carillon.logged.length;
    const credentials = [`domain: ${owner.domain}`, `key: ${owner.key}`];
    const { status, body } = await sendRawRequest(carillon.baseUrl, [`${line} HTTP/1.1`, 'host: x', ...credentials]);
    assert.deepEqual([status, JSON.parse(body).code], [503, 'storage_unavailable'], line);
    const logLine = await eventually(
      () => carillon.logged.slice(before).find(({ event }) => event === 'request.failed'),
      (found) => found !== undefined,
    );
    assert.match(JSON.stringify(logLine), /disk|malformed|SQLITE/i, line);
  }
});

const event = JSON.stringify({ event_name: 'Launch', start_date: '20270101', due_date: '20270102' });

/** Starts a service in a child process. `create` returns a status, or undefined for a broken connection. */
async function startServed(t: Parameters<typeof serve>[0]) {
  const path = join(createTemporaryFolder(t), 'carillon.db');
  const environment = { CARILLON_DATABASE: `sqlite:${path}` };
  const served = await serve(t, [], { environment });
  const headers = {
    domain: String(served.greetingField('domain')),
    key: String(served.greetingField('key')),
    'content-type': 'application/json',
  };
  const create = async () => {
    const sent = fetch(`${served.baseUrl}/v2/events`, { method: 'POST', headers, body: event });
    return sent.then(({ status }) => status).catch(() => undefined);
  };
  return { path, environment, served, create };
}

test('C20 a service whose database is removed under load acknowledges nothing more, logs a fatal line with the reason, and exits with 1', async (t) => {
  const { path, served, create } = await startServed(t);
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
  const fatal = served.stderrLog().filter((line) => line.includes('"fatal"'));
  assert.equal(fatal.length, 1);
  assert.match(fatal[0] ?? '', /carillon\.db was removed/);
});

test('C20 a service whose database was replaced does not touch the new files when it exits', async (t) => {
  const { path, served, create } = await startServed(t);
  assert.equal(await create(), 201);
  const other = await startServed(t);
  assert.equal(await other.create(), 201);
  await other.served.kill();
  for (const end of ['-wal', '-shm', '']) renameSync(other.path + end, path + end);
  assert.equal(await served.exited, 1);
  const database = new DatabaseSync(path);
  t.after(() => database.close());
  assert.equal(database.prepare('select count(*) as count from events').get()?.count, 1, 'the WAL is complete');
});

test('X6 /readyz is 503 as soon as the files are found missing, even if it was 200 just before', async (t) => {
  const path = join(createTemporaryFolder(t), 'carillon.db');
  const fatal: unknown[] = [];
  const service = await startTestService(t, `sqlite:${path}`, {
    deps: { onFatal: (error) => void fatal.push(error) },
  });
  const owner = await service.createAccount('acme.test');
  const statusOf = async (address: string) => (await service.call(undefined, 'GET', address)).status;
  assert.equal(await statusOf('/readyz'), 200);
  renameSync(path, `${path}.elsewhere`);
  const written = await service.call(owner, 'POST', '/v2/events', event);
  assert.deepEqual([written.status, written.json.code], [503, 'storage_unavailable']);
  assert.deepEqual([await statusOf('/readyz'), await statusOf('/healthz')], [503, 200]);
  assert.equal(fatal.length, 1);
});

test('C20 a second service or a command that opens the database through a hard link is rejected in one line with exit code 1', async (t) => {
  const { path, served, create } = await startServed(t);
  assert.equal(await create(), 201);
  const link = `${path}.link`;
  linkSync(path, link);
  const commands = [
    ['serve', '--port', '0'],
    ['keys', 'list', '--domain', String(served.greetingField('domain'))],
    ['backup', '--to', `${path}.backup`],
  ];
  for (const words of commands) {
    const { code, stdout, stderrLines } = await runCarillon([...words, '--database', `sqlite:${link}`]);
    assert.deepEqual([code, stdout, stderrLines.length], [1, '', 1], stderrLines.join('\n'));
    assert.match(stderrLines[0] ?? '', /has 2 names \(hard links, carillon\.db among them\)/);
  }
  const findings = await runCarillon(['doctor', '--offline', '--json', '--database', `sqlite:${link}`]);
  assert.match(findings.stdout, /has 2 names/);
  assert.equal(await create(), 201, 'the first service still works');
  rmSync(link);
  const keys = await runCarillonJson(['keys', 'list', '--domain', String(served.greetingField('domain'))], {
    environment: { CARILLON_DATABASE: `sqlite:${path}` },
  });
  assert.equal(keys.length, 1);
});
