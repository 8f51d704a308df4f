import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import type { Server } from 'node:http';
import { connect, Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { createTestClock } from '../../../test/kit/clock.ts';
import { eventually } from '../../../test/kit/eventually.ts';
import { createSlowResolver } from '../../../test/kit/network/nameserver.ts';
import { formatRequest } from '../../../test/kit/network/raw-http.ts';
import type { ApiUser, TestService } from '../../../test/kit/service/service.ts';
import { sqlite } from '../../../test/kit/service/stores.ts';
import { waitForNextIteration } from '../routes/pagination.ts';
import { ConnectionTracker } from './connections.ts';
import { UnreadResponseQuota } from './response-buffers.ts';

const { test, testService } = sqlite;

const MIB = 2 ** 20;

/** Opens a connection to the service, and collects the text received over it. */
async function openConnection(t: TestContext, { baseUrl }: TestService) {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname).setEncoding('latin1');
  t.after(() => socket.destroy());
  const received = { socket, text: '', closed: false };
  socket.on('data', (text: string) => {
    received.text += text;
  });
  socket.on('close', () => {
    received.closed = true;
  });
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return received;
}

function getText(path: string, { headers }: Pick<ApiUser, 'headers'>, ...more: readonly string[]): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return formatRequest([`GET ${path} HTTP/1.1`, 'host: x', ...lines, ...more]);
}

test('garbage behind a waiting request is not read, and a flood of requests behind a rejected one is disconnected', async (t) => {
  const carillon = await testService(t);
  const owner = await carillon.createAccount('acme.test');
  const waiting = getText('/v2/notifications?wait=30', owner);
  const nonsense = await openConnection(t, carillon);
  nonsense.socket.write(`${waiting}nonsense\r\n\r\n`);
  for (let count = 0; count < 32; count += 1) nonsense.socket.write(Buffer.alloc(MIB));
  // Wait until the buffers are full and the client can send nothing more.
  let [left, looks] = [-1, 0];
  await eventually(
    () => {
      looks = nonsense.socket.writableLength === left ? looks + 1 : 0;
      left = nonsense.socket.writableLength;
      return looks;
    },
    (same) => same === 20,
  );
  assert.ok(left > 16 * MIB, `${left}`);

  const refused = await openConnection(t, carillon);
  refused.socket.write(waiting + getText('/v2/user', owner, 'host: y') + getText('/v2/user', owner).repeat(200));
  await eventually(
    () => refused.closed,
    (closed) => closed,
  );
  assert.equal(refused.text, '');
});

test('a client that sends more while the response to a wrong key is delayed is disconnected', async (t) => {
  const carillon = await testService(t, { options: { wrongKeys: '1/h' } });
  const owner = await carillon.createAccount('acme.test');
  const wrong = { headers: { ...owner.headers, key: `carillon_${'x'.repeat(43)}` } };
  assert.equal((await carillon.call(wrong, 'GET', '/v2/user')).status, 401);
  const held = () =>
    carillon.store.read.selectFrom('audit').select('action').where('action', 'like', 'denied%').execute();
  for (const more of [getText('/v2/user', owner), 'nonsense\r\n\r\n']) {
    const atOnce = await openConnection(t, carillon);
    atOnce.socket.write(getText('/v2/user', wrong) + more);
    const later = await openConnection(t, carillon);
    later.socket.write(getText('/v2/user', wrong));
    await eventually(held, (rows) => rows.length > 0);
    await eventually(
      () => atOnce.closed,
      (closed) => closed,
    );
    later.socket.write(more);
    await eventually(
      () => later.closed,
      (closed) => closed,
    );
    assert.deepEqual([atOnce.text, later.text], ['', '']);
  }
  // A client that waits for its response is not disconnected.
  const patient = await openConnection(t, carillon);
  patient.socket.write(getText('/v2/user', wrong));
  await carillon.call(owner, 'GET', '/v2/user');
  await carillon.stop();
  assert.match(patient.text, /^HTTP\/1\.1 401 .*\r\nconnection: close\r\n/is);
});

test('a request that is shed during a shutdown closes its connection, and nothing is logged after the stop', async (t) => {
  const names = createSlowResolver();
  const carillon = await testService(t, { options: { maxRequests: '1' }, deps: { resolve: names.resolve } });
  const owner = await carillon.createAccount('acme.test');
  const user = getText('/v2/user', owner);
  // Begin a request before the stop, so that the stop waits for it.
  const late = await openConnection(t, carillon);
  late.socket.write(user.slice(0, -2));
  const inTheWay = names.subscribe(carillon, owner);
  await eventually(names.countWaitingSubscriptions, (count) => count === 1);
  assert.equal((await carillon.call(owner, 'GET', '/v2/user')).status, 503);
  const stopping = carillon.stop();
  await eventually(
    () => carillon.logged.some(({ event }) => event === 'stopping'),
    (isLogged) => isLogged,
  );
  late.socket.write('\r\n');
  await eventually(
    () => late.closed,
    (closed) => closed,
  );
  assert.match(late.text, /^HTTP\/1\.1 503 .*\r\nconnection: close\r\n/is);
  names.release();
  assert.equal((await inTheWay).status, 201);
  await stopping;
  const events = carillon.logged.map(({ event }) => event);
  assert.deepEqual([events.filter((event) => event === 'requests.shed').length > 0, events.at(-1)], [true, 'stopped']);
});

test('connections that expire together are closed over several event-loop iterations', async () => {
  const clock = createTestClock();
  const closed: string[] = [];
  const connections = new ConnectionTracker({
    clock,
    deadlines: {
      headersMs: 10_000,
      keepAliveMs: 60_000,
      dropMs: 5_000,
      stallMs: 30_000,
      deadlineCheckIntervalMs: 1_000,
    },
    maxConnections: 1_000,
    networkQuotaOwnerOf: () => undefined,
    unreadResponseQuota: new UnreadResponseQuota(MIB, () => undefined),
    rejectAmbiguous: () => undefined,
    closeWithProblem: (socket) => socket.destroy(),
    onForcedClose: (reason) => closed.push(reason),
  });
  const server = new EventEmitter();
  connections.trackConnections(server as Server, () => undefined);
  const sockets = Array.from({ length: 120 }, () => new Socket());
  for (const socket of sockets) server.emit('connection', socket);
  await clock.advance(10_000);
  assert.equal(closed.length, 0);
  const perIteration: number[] = [];
  const advancing = clock.advance(1_000);
  for (let count = 0; count < 5; count += 1) {
    perIteration.push(closed.length);
    await waitForNextIteration();
  }
  await advancing;
  server.emit('close');
  assert.deepEqual(perIteration, [50, 100, 120, 120, 120]);
  assert.deepEqual(new Set(closed), new Set(['head_timeout']));
  assert.ok(sockets.every(({ destroyed }) => destroyed));
});
