import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { apiKey, Carillon } from '../../../packages/sdk/src/index.ts';
import { openStore } from '../../../src/store/open.ts';
import { openOptionsOf, queryRows } from '../../kit/database/database.ts';
import { cleanEnvironment } from '../../kit/environment.ts';
import { eventually } from '../../kit/eventually.ts';
import { formatRequest } from '../../kit/network/raw-http.ts';
import { startTarget } from '../../kit/network/target.ts';
import { createTemporaryFolder } from '../../kit/service/service.ts';
import { startProcess } from '../../kit/service/service-process.ts';
import { stores } from '../../kit/service/stores.ts';

for (const { test, serviceProcess } of stores) {
  test('C19 C20 after a kill in the middle of an attempt, the attempt is made again with the same id, and no failure counts', async (t) => {
    const open: ServerResponse[] = [];
    const target = await startTarget(t, (response) => void open.push(response), 200);
    const first = await serviceProcess(t);
    const { id } = await first.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
    const event = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };
    const { event_id } = await first.carillon.events.create(event);
    await target.waitForArrivals(1);
    assert.equal(await first.stop('SIGKILL'), null);

    const second = await startProcess({ CARILLON_DATABASE: first.database, CARILLON_PORT: '0' });
    t.after(() => second.process.kill('SIGKILL'));
    assert.deepEqual([second.domain, second.key], [undefined, undefined], 'no account is made a second time');
    const [before, after] = await target.waitForArrivals(2);
    assert.equal(after?.deliveryId, before?.deliveryId);
    assert.equal(after?.resourceUrl, `${second.baseUrl}/v2/events/${event_id}`);
    const auth = apiKey({ domain: first.domain ?? '', key: first.key ?? '' });
    const carillon = new Carillon({ baseUrl: second.baseUrl, auth });
    const hook = await eventually(
      () => carillon.hooks.get(id),
      (one) => one.last_outcome === '200',
    );
    assert.deepEqual([hook.state, hook.failures], ['live', '0']);
    const { attempts } = await carillon.deliveries.get(after?.deliveryId ?? '');
    assert.deepEqual(
      attempts.map((attempt) => attempt.outcome),
      ['200'],
    );
  });
}

for (const { test, serviceProcess } of stores) {
  const main = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));

  const event = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };

  test('C19 C20 SIGTERM while targets hang: exit code 0 within ten seconds, and no failure is counted', async (t) => {
    const service = await serviceProcess(t, { CARILLON_ATTEMPT_TIMEOUT: '60s' });
    const target = await startTarget(t, () => undefined);
    for (const path of ['/a', '/b', '/c']) {
      await service.carillon.hooks.create({ target_url: target.urlOf(path), event: 'new_event' });
    }
    await service.carillon.events.create(event);
    await target.waitForArrivals(3);
    const began = performance.now();
    assert.equal(await service.stop('SIGTERM'), 0);
    const tookMs = performance.now() - began;
    assert.ok(tookMs < 10_000, `${tookMs} ms`);
    assert.equal((await queryRows(service.database, 'select * from pending_deliveries')).length, 3);
    assert.equal((await queryRows(service.database, 'select * from attempts')).length, 0);
    assert.deepEqual(
      (await queryRows(service.database, 'select failures, date_ended from hooks')).map((row) => ({ ...row })),
      Array(3).fill({ failures: 0, date_ended: null }),
    );
  });

  test('C20 clients that are connected when a stop begins get their responses, however many wait to be accepted', async (t) => {
    const service = await serviceProcess(t);
    const { hostname, port } = new URL(service.baseUrl);
    const line = { host: hostname, port: Number(port) };
    service.process.kill('SIGSTOP');
    const sockets = Array.from({ length: 100 }, () => connect(line));
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    const responses = sockets.map((socket) => {
      socket.write(formatRequest(['GET /healthz HTTP/1.1', 'host: x']));
      return text(socket).catch((error: Error) => error.message);
    });
    const exited = service.stop('SIGTERM');
    service.process.kill('SIGCONT');
    const firstLines = (await Promise.all(responses)).map((response) => response.split('\r\n')[0]);
    assert.deepEqual(firstLines, Array(100).fill('HTTP/1.1 200 OK'));
    assert.equal(await exited, 0);
  });

  test('C20 a second signal changes nothing: attempts in flight finish, exit code 0', async (t) => {
    const service = await serviceProcess(t);
    const openResponses: ServerResponse[] = [];
    const target = await startTarget(t, (response) => void openResponses.push(response));
    await service.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
    await service.carillon.events.create(event);
    await target.waitForArrivals(1);
    const exited = service.stop('SIGTERM');
    const refuses = () =>
      fetch(service.baseUrl).then(
        () => false,
        () => true,
      );
    await eventually(refuses, (refused) => refused);
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGTERM'] as const) service.process.kill(signal);
    openResponses[0]?.end();
    assert.equal(await exited, 0);
    const attempts = await queryRows(service.database, 'select outcome from attempts');
    assert.deepEqual(
      attempts.map((row) => row.outcome),
      ['200'],
    );
    assert.equal((await queryRows(service.database, 'select * from finalized_deliveries')).length, 1);
    assert.equal((await queryRows(service.database, 'select * from pending_deliveries')).length, 0);
  });

  test('a signal during the start stops the service as soon as it has started: exit code 0, and the key was printed', async (t) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const path = join(createTemporaryFolder(t), 'carillon.db');
      // The service reports the unknown variable CARILLON_PROT at its very beginning. Then the start is in progress.
      const environment = {
        ...process.env,
        CARILLON_DATABASE: `sqlite:${path}`,
        CARILLON_PORT: '0',
        CARILLON_PROT: '1',
      };
      const child = spawn(process.execPath, [main, 'serve'], { env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
      t.after(() => child.kill('SIGKILL'));
      let [output, errors] = ['', ''];
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        errors += text;
      });
      const closed = once(child, 'close');
      await once(child.stderr, 'data');
      assert.match(errors, /^CARILLON_PROT /);
      assert.equal(output, '', 'the service has not started yet');
      child.kill(signal);
      assert.deepEqual(await closed, [0, null]);
      assert.match(output, /^key: carillon_/m, 'the key, which is printed only once');
      assert.match(errors, /"event":"stopped"/);
    }
  });
}

const root = fileURLToPath(new URL('../../..', import.meta.url));

test('C20 npm start on SIGTERM leaves no process behind and releases the database', async (t) => {
  const path = join(createTemporaryFolder(t), 'carillon.db');
  const npm = spawn('npm', ['start'], {
    cwd: root,
    // npm gets its own process group, so that remaining processes can be ended with the test.
    detached: true,
    env: {
      ...cleanEnvironment,
      CARILLON_DATABASE: `sqlite:${path}`,
      CARILLON_PORT: '0',
      npm_config_update_notifier: 'false',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => endGroup(npm.pid));
  let output = '';
  npm.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const exited = once(npm, 'exit');
  const ended = exited.then(() => 'ended');
  while (!/^console: .*\n/m.test(output))
    assert.notEqual(await Promise.race([once(npm.stdout, 'data'), ended]), 'ended');
  const baseUrl = /^console: (.*)\/#\/welcome\/[\w-]{43}$/m.exec(output)?.[1] ?? '';
  assert.equal((await fetch(`${baseUrl}/healthz`)).status, 200);

  npm.kill('SIGTERM');
  await exited;
  await assert.rejects(fetch(`${baseUrl}/healthz`), 'the port is closed');
  // The store can be opened only after all processes of the service have exited, because they hold the file lock.
  const next = await openStore(openOptionsOf(`sqlite:${path}`));
  assert.equal((await next.read.selectFrom('accounts').selectAll().execute()).length, 1);
  await next.close();
  assert.equal(isGroupAlive(npm.pid), false);
});

function isGroupAlive(pid: number | undefined): boolean {
  return pid !== undefined && signalGroup(pid, 0);
}

function endGroup(pid: number | undefined): void {
  if (pid !== undefined) signalGroup(pid, 'SIGKILL');
}

/** Sends a signal to a process group, and returns whether the group has a process. */
function signalGroup(pid: number, signal: 'SIGKILL' | 0): boolean {
  try {
    process.kill(-pid, signal);
    return true;
  } catch {
    return false;
  }
}
