import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { TestContext } from 'node:test';
import { eventually } from '../../../test/kit/eventually.ts';
import { formatRequest } from '../../../test/kit/network/raw-http.ts';
import type { ApiUser, TestService } from '../../../test/kit/service/service.ts';
import { sqlite } from '../../../test/kit/service/stores.ts';
import { defaultTimeouts } from './resource-limits.ts';

const { test, testService } = sqlite;

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
