import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { TestContext } from 'node:test';
import { eventually } from '../../../test/kit/eventually.ts';
import { formatRequest } from '../../../test/kit/network/raw-http.ts';
import type { ApiUser, TestService } from '../../../test/kit/service/service.ts';
import { sqlite } from '../../../test/kit/service/stores.ts';
import { createProxyMatcher } from './client-network.ts';
import { defaultTimeouts } from './resource-limits.ts';

const { test, testService } = sqlite;

/** Opens a connection from an address of this host, and collects the text received over it. */
async function openConnection(t: TestContext, { baseUrl }: TestService, localAddress = '127.0.0.1') {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect({ host: hostname, port: Number(port), localAddress }).setEncoding('latin1');
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

const ALIVE = formatRequest(['GET /healthz HTTP/1.1', 'host: x']);
const isAlive = (text: string) => text.includes('{"status":"alive"}');

/** Blocks the event loop, as a long garbage collection or a pause of the process would. */
function blockEventLoop(forMs: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, forMs);
}

test('a network has a quarter of --max-connections; more are rejected with 503, and other networks connect', async (t) => {
  const carillon = await testService(t, { options: { maxConnections: '16' } });
  const four = await Promise.all(Array.from({ length: 4 }, () => openConnection(t, carillon)));
  for (const { socket } of four) socket.write(ALIVE);
  for (const one of four) await eventually(() => one.text, isAlive);
  const fifth = await openConnection(t, carillon);
  await eventually(() => fifth.closed, Boolean);
  assert.match(fifth.text, /^HTTP\/1\.1 503 .*"code":"overloaded"/s);
  const other = await openConnection(t, carillon, '127.0.0.2');
  other.socket.write(ALIVE);
  await eventually(() => other.text, isAlive);
  four[0]?.socket.destroy();
  await eventually(async () => {
    const again = await openConnection(t, carillon);
    again.socket.write(ALIVE);
    await eventually(() => again.closed || isAlive(again.text), Boolean);
    return again.text;
  }, isAlive);
});

test('a trusted proxy is not limited like a single network', async (t) => {
  const carillon = await testService(t, { options: { maxConnections: '16', trustProxy: '127.0.0.0/8' } });
  const many = await Promise.all(Array.from({ length: 10 }, () => openConnection(t, carillon)));
  for (const { socket } of many) socket.write(ALIVE);
  for (const one of many) await eventually(() => one.text, isAlive);
});

test('proxies are configured by address or CIDR, for IPv4 and IPv6', () => {
  const isProxy = createProxyMatcher(['10.0.0.0/8', '192.0.2.7', '2001:db8::/32', '::1']);
  for (const address of ['10.1.2.3', '192.0.2.7', '2001:db8:5::1', '::1', '::ffff:10.1.2.3'])
    assert.equal(isProxy(address), true, address);
  for (const address of ['11.0.0.1', '192.0.2.8', '2001:db9::1', '::2', '', 'unknown'])
    assert.equal(isProxy(address), false, address);
  assert.equal(createProxyMatcher([])('127.0.0.1'), false);
});

test('data that arrived while the process was paused is read before deadlines are checked', async (t) => {
  const hasty = {
    ...defaultTimeouts,
    drainMs: 0,
    headersMs: 600,
    bodyGraceMs: 600,
    keepAliveMs: 600,
    deadlineCheckIntervalMs: 20,
  };
  const carillon = await testService(t, { deps: { timeouts: hasty } });
  const owner = await carillon.createAccount('acme.test');
  const known = [`key: ${owner.key}`, `domain: ${owner.domain}`];
  const body = '{"client_name":"ACME"}';
  const post = formatRequest(['POST /v2/clients HTTP/1.1', 'host: x', ...known, `content-length: ${body.length}`]);
  const [head, sending, idle] = [
    await openConnection(t, carillon),
    await openConnection(t, carillon),
    await openConnection(t, carillon),
  ];
  idle.socket.write(ALIVE);
  await eventually(() => idle.text, isAlive);
  head.socket.write(ALIVE.slice(0, 20));
  sending.socket.write(post + body.slice(0, 5));
  // Wait until the service has received the data.
  await carillon.call(undefined, 'GET', '/healthz');
  idle.text = '';
  head.socket.write(ALIVE.slice(20));
  sending.socket.write(body.slice(5));
  idle.socket.write(ALIVE);
  blockEventLoop(1_500);
  await eventually(() => [head.text, idle.text].every(isAlive) && sending.text.startsWith('HTTP/1.1 201 '), Boolean);
});

const shortTimeouts = { ...defaultTimeouts, drainMs: 0, stallMs: 300, deadlineCheckIntervalMs: 20 };
/** Limit of unread responses in MiB. An eighth of it (10 MiB) is for one user: about six responses of `LIST`. */
const MAX_UNREAD = { maxUnread: '80' };

/** Opens a connection, sends the bytes, and reads nothing until the socket is resumed. */
async function openWithoutReading(t: TestContext, { baseUrl }: TestService, bytes: string) {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname).setEncoding('latin1');
  t.after(() => socket.destroy());
  socket.on('error', () => undefined);
  const received = { socket, text: '', closed: false };
  socket.on('close', () => {
    received.closed = true;
  });
  await once(socket, 'connect');
  socket.pause();
  socket.on('data', (text: string) => {
    received.text += text;
  });
  socket.pause();
  socket.write(bytes);
  return received;
}

function getText(path: string, who?: Pick<ApiUser, 'headers'>): string {
  const lines = Object.entries(who?.headers ?? {}).map(([name, value]) => `${name}: ${value}`);
  return formatRequest([`GET ${path} HTTP/1.1`, 'host: x', ...lines]);
}

/** Creates comments of 1.6 MB in total. */
async function createLongComments({ carillon }: ApiUser): Promise<void> {
  const { project_id } = await carillon.projects.create({ project_name: 'Long' });
  for (let made = 0; made < 40; made += 1) await carillon.comments.create(project_id, { comment: 'é'.repeat(20_000) });
}

const LIST = '/v2/comments';
const responseCount = (text: string) => text.split('HTTP/1.1 200 OK').length - 1;

/** Number of finished responses in the service's log. */
const finishedResponses = ({ logged }: TestService, route: string) =>
  logged.filter((line) => line.event === 'request' && line.route === route).length;

const readMetric = async (service: TestService, name: string) => {
  const { text } = await service.call(undefined, 'GET', '/metrics');
  const line = text.split('\n').find((one) => one.startsWith(name));
  return Number(line?.split(' ').at(-1) ?? 0);
};

test('pipelined requests are processed one at a time, each after the previous response has left', async (t) => {
  const carillon = await testService(t);
  const owner = await carillon.createAccount('acme.test');
  await createLongComments(owner);
  const COUNT = 60;
  const reader = await openWithoutReading(t, carillon, getText(LIST, owner).repeat(COUNT));
  const before = await eventually(
    () => finishedResponses(carillon, LIST),
    (count) => count > 0,
  );
  // Meanwhile other connections are served, but the connection of the reader makes no progress.
  for (let calls = 0; calls < 20; calls += 1) await carillon.call(owner, 'GET', '/v2/user');
  const done = finishedResponses(carillon, LIST);
  assert.ok(before <= done && done < COUNT / 2, `${done} of ${COUNT}`);
  reader.socket.resume();
  await eventually(
    () => responseCount(reader.text),
    (count) => count === COUNT,
    20_000,
  );
});

test('a client that reads nothing is disconnected, and one that reads slowly is not', async (t) => {
  const carillon = await testService(t, { deps: { timeouts: shortTimeouts } });
  const owner = await carillon.createAccount('acme.test');
  await createLongComments(owner);
  const stalled = await openWithoutReading(t, carillon, getText(LIST, owner).repeat(30));
  const slow = await openWithoutReading(t, carillon, getText(LIST, owner).repeat(30));
  const reading = setInterval(() => {
    slow.socket.resume();
    setImmediate(() => slow.socket.pause());
  }, 10);
  t.after(() => clearInterval(reading));
  await eventually(
    () => readMetric(carillon, 'carillon_connections_closed_total{reason="unread"}'),
    (count) => count === 1,
  );
  assert.equal(slow.closed, false);
  stalled.socket.resume();
  await eventually(() => stalled.closed, Boolean);
  assert.ok(responseCount(stalled.text) < 30);
  await eventually(
    () => responseCount(slow.text),
    (count) => count === 30,
    30_000,
  );
});

test('a connection whose static response is not read is closed, too', async (t) => {
  const carillon = await testService(t, { deps: { timeouts: shortTimeouts } });
  const stalled = await openWithoutReading(t, carillon, getText('/openapi.json').repeat(90));
  await eventually(
    () => readMetric(carillon, 'carillon_connections_closed_total{reason="unread"}'),
    (count) => count === 1,
  );
  stalled.socket.resume();
  await eventually(() => stalled.closed, Boolean);
});

test('a user with too many unread bytes is rejected before any work is done, and other users are not', async (t) => {
  const carillon = await testService(t, { options: MAX_UNREAD });
  const owner = await carillon.createAccount('acme.test');
  const colleague = await carillon.createUser(owner, 'member');
  const neighbour = await carillon.createAccount('other.test');
  await createLongComments(owner);
  const readers = await Promise.all(
    Array.from({ length: 12 }, () => openWithoutReading(t, carillon, getText(LIST, owner).repeat(20))),
  );
  const list = (who: ApiUser) => carillon.call(who, 'GET', LIST);
  const refused = await eventually(
    () => list(owner),
    ({ status }) => status === 503,
  );
  assert.deepEqual([refused.json.code, refused.headers.get('retry-after')], ['overloaded', '1']);
  assert.equal((await carillon.call(owner, 'GET', '/v2/user')).status, 200, 'there is room for small responses');
  assert.deepEqual([(await list(colleague)).status, (await list(neighbour)).status], [200, 200]);
  assert.ok((await readMetric(carillon, 'carillon_requests_shed_total{reason="response_bytes"}')) > 0);
  for (const { socket } of readers) socket.resume();
  await eventually(
    () => list(owner),
    ({ status }) => status === 200,
  );
});

test('more than a hundred pipelined requests close the connection', async (t) => {
  const carillon = await testService(t);
  const owner = await carillon.createAccount('acme.test');
  const many = await openWithoutReading(t, carillon, getText('/v2/user', owner).repeat(150));
  many.socket.resume();
  await eventually(() => many.closed, Boolean);
  assert.equal(await readMetric(carillon, 'carillon_connections_closed_total{reason="pipelined"}'), 1);
});
