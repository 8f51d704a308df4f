import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { test as plainTest, type TestContext } from 'node:test';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { eventually } from '../../../test/kit/eventually.ts';
import { formatRequest } from '../../../test/kit/network/raw-http.ts';
import type { ApiUser, TestService } from '../../../test/kit/service/service.ts';
import { sqlite } from '../../../test/kit/service/stores.ts';
import { Quota } from '../../async/quota.ts';
import { defaultTimeouts } from '../server/resource-limits.ts';
import { BodyReader } from './read-body.ts';
import { GrowingBuffer } from './temporary-file.ts';

const { test, testService } = sqlite;

const IMPORT = '/v2/events/import';
const MIB = 2 ** 20;

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

const postText = (path: string, { headers }: Pick<ApiUser, 'headers'>, ...more: string[]) =>
  formatRequest([
    `POST ${path} HTTP/1.1`,
    'host: x',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...more,
  ]);

/** The temporary text files that this process has open, on systems that list them. */
function openTextFiles(): readonly string[] {
  if (!existsSync('/proc/self/fd')) return [];
  const links = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return '';
    }
  });
  return links.filter((link) => link.includes('/carillon-text-'));
}

plainTest('pieces of any size make one buffer', () => {
  const buffer = new GrowingBuffer();
  for (let piece = 0; piece < 1_000; piece += 1) buffer.append(Buffer.from([piece % 256]));
  buffer.append(Buffer.alloc(5_000, 7));
  assert.equal(buffer.length, 6_000);
  assert.deepEqual([...buffer.bytes().subarray(998, 1_002)], [998 % 256, 999 % 256, 7, 7]);
});

test('declared bodies count in bytes: a user has a share, other users are not affected, and a disconnect releases the bytes', async (t) => {
  const carillon = await testService(t);
  const owner = await carillon.createAccount('acme.test');
  const colleague = await carillon.createUser(owner, 'admin');
  // A user may occupy 16 MiB with files, which is enough for two of these three bodies.
  const held = await Promise.all([0, 1, 2].map(() => openConnection(t, carillon)));
  for (const { socket } of held) {
    socket.write(postText(IMPORT, owner, `content-length: ${6 * MIB}`));
    await carillon.call(undefined, 'GET', '/healthz');
  }
  const refused = await eventually(
    () => held.find(({ text }) => text !== ''),
    (one) => one !== undefined,
  );
  assert.match(refused?.text ?? '', /^HTTP\/1\.1 503 .*retry-after: 1\r\n.*"code":"overloaded"/is);
  const { status } = await carillon.call(colleague, 'POST', IMPORT, { ics: 'no calendar' });
  assert.equal(status, 400, 'others of the account go on');
  assert.equal((await carillon.call(owner, 'POST', '/v2/clients', { client_name: 'ACME' })).status, 201);
  for (const { socket } of held) socket.destroy();
  await eventually(
    () => carillon.call(owner, 'POST', IMPORT, JSON.stringify({ ics: 'x'.repeat(7 * MIB) })),
    (answer) => answer.status === 400,
  );
});

test('a client that expects 100-continue gets its response without a body that is not needed, and 100 Continue otherwise', async (t) => {
  const carillon = await testService(t);
  const owner = await carillon.createAccount('acme.test');
  const expecting = ['content-length: 22', 'expect: 100-continue'];
  const stranger = await openConnection(t, carillon);
  stranger.socket.write(postText('/v2/clients', { headers: {} }, ...expecting));
  await eventually(() => stranger.closed, Boolean);
  assert.match(stranger.text, /^HTTP\/1\.1 401 /);
  const caller = await openConnection(t, carillon);
  caller.socket.write(postText('/v2/clients', owner, ...expecting));
  await eventually(
    () => caller.text,
    (text) => text === 'HTTP/1.1 100 Continue\r\n\r\n',
  );
  caller.socket.write('{"client_name":"ACME"}');
  await eventually(
    () => caller.text,
    (text) => text.includes('HTTP/1.1 201 '),
  );
});

test('the JSON around a long text has at most 64 KiB, and the whole body 8 MiB', async (t) => {
  const carillon = await testService(t);
  const owner = await carillon.createAccount('acme.test');
  const statusOf = async (body: string) => (await carillon.call(owner, 'POST', IMPORT, body)).status;
  const ics = 'BEGIN:VCALENDAR\\r\\nEND:VCALENDAR\\r\\n';
  assert.equal(await statusOf(`{"unknown":"${'x'.repeat(65_000)}","ics":"${ics}"}`), 200);
  assert.equal(await statusOf(`{"unknown":"${'x'.repeat(66_000)}","ics":"${ics}"}`), 413);
  assert.equal(await statusOf(`{"ics":"${ics}${' '.repeat(7 * MIB)}"}`), 200);
  assert.equal(await statusOf(`{"ics":"${ics}${' '.repeat(8 * MIB)}"}`), 413);
});

test('a long text that is cut off, too slow or malformed leaves no file open', async (t) => {
  const hasty = { ...defaultTimeouts, drainMs: 0, bodyGraceMs: 100, deadlineCheckIntervalMs: 20 };
  const carillon = await testService(t, { deps: { timeouts: hasty } });
  const owner = await carillon.createAccount('acme.test');
  const slow = await openConnection(t, carillon);
  slow.socket.write(`${postText(IMPORT, owner, 'content-length: 1000')}{"ics":"BEGIN:VCALENDAR`);
  await eventually(() => slow.closed, Boolean);
  assert.match(slow.text, /^HTTP\/1\.1 408 /);
  for (let round = 0; round < 20; round += 1) {
    const gone = await openConnection(t, carillon);
    gone.socket.write(`${postText(IMPORT, owner, 'content-length: 1000')}{"ics":"BEGIN`, () => gone.socket.destroy());
    await eventually(() => gone.closed, Boolean);
  }
  assert.equal((await carillon.call(owner, 'POST', IMPORT, '{"ics":"BEGIN:VCALENDAR"')).status, 400);
  await eventually(openTextFiles, (texts) => texts.length === 0);
});

plainTest('each chunk of a long body waits for the turn of its sender before it is scanned', async (t) => {
  const turns: string[] = [];
  const quota = new Quota({ maxTotal: MIB });
  const bodies = new BodyReader({
    memoryQuota: quota,
    fileQuota: quota,
    deadlines: defaultTimeouts,
    connectionTracker: {
      findConnection: () => undefined,
      setPendingBody: () => undefined,
      runAfterResponse: () => undefined,
    },
    scheduler: { waitForTurn: async (owner) => void turns.push(owner) },
  });
  const server = createServer(async (raw, response) => {
    const [request, reply] = [{ raw, headers: raw.headers }, { raw: response }] as unknown as [
      FastifyRequest,
      FastifyReply,
    ];
    const sender = { owner: { group: 1, member: 7 }, isAuthenticated: true };
    const body = await bodies.readWithStreamedField(request, reply, sender, { name: 'ics', maxBytes: MIB }, '');
    await body?.textFile?.close();
    response.end(String(turns.length));
  });
  t.after(() => server.close().closeAllConnections());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const sent = JSON.stringify({ ics: 'x'.repeat(MIB / 2) });
  const response = await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body: sent });
  // Node reads a socket in chunks of at most 64 KiB, so the body of 512 KiB arrives in at least 8 chunks.
  assert.ok(Number(await response.text()) >= 8);
  assert.deepEqual([...new Set(turns)], ['body of 7']);
});
