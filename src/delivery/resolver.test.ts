import assert from 'node:assert/strict';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Clock, systemClock } from '../clock.ts';
import { createResolver } from './resolver.ts';

const A = 1;
const AAAA = 28;

/** What the name server says to a question; `silence` never answers. */
type Reply = { rcode: number; addresses?: Buffer[] } | 'silence';

const OK = (...addresses: Buffer[]): Reply => ({ rcode: 0, addresses });
const NO_DATA: Reply = { rcode: 0 };
const SERVER_FAILURE: Reply = { rcode: 2 };
const NO_SUCH_NAME: Reply = { rcode: 3 };
const REFUSED: Reply = { rcode: 5 };

type Question = { name: string; type: number };

/** A name server on loopback. */
async function nameServer(t: TestContext, { a, aaaa }: { a: Reply; aaaa: Reply }, clock = systemClock) {
  return answeringServer(t, async ({ type }) => (type === A ? a : aaaa), clock);
}

async function answeringServer(t: TestContext, replyTo: (question: Question) => Promise<Reply>, clock = systemClock) {
  const asked: Question[] = [];
  const socket: Socket = createSocket('udp4');
  socket.on('message', async (query, peer) => {
    const question = readQuestion(query);
    asked.push({ name: question.name, type: question.type });
    const reply = await replyTo(question);
    if (reply !== 'silence') socket.send(answer(query, question.end, question.type, reply), peer.port, peer.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  t.after(() => socket.close());
  const { port } = socket.address();
  const resolve = createResolver({ servers: [`127.0.0.1:${port}`], hostsFile: '/nonexistent', clock });
  return { asked, resolve };
}

function readQuestion(query: Buffer) {
  const labels: string[] = [];
  let at = 12;
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.'), type: query.readUInt16BE(at + 1), end: at + 5 };
}

function answer(query: Buffer, end: number, type: number, reply: { rcode: number; addresses?: Buffer[] }): Buffer {
  const addresses = reply.addresses ?? [];
  const header = Buffer.from(query.subarray(0, 12));
  header.writeUInt16BE(0x8180 | reply.rcode, 2);
  header.writeUInt16BE(addresses.length, 6);
  header.writeUInt16BE(0, 8);
  header.writeUInt16BE(0, 10);
  const records = addresses.map((address) => {
    const record = Buffer.alloc(12);
    record.writeUInt16BE(0xc00c, 0);
    record.writeUInt16BE(type, 2);
    record.writeUInt16BE(1, 4);
    record.writeUInt32BE(60, 6);
    record.writeUInt16BE(address.length, 10);
    return Buffer.concat([record, address]);
  });
  return Buffer.concat([header, query.subarray(12, end), ...records]);
}

const V4 = Buffer.from([93, 184, 216, 34]);
const V6 = Buffer.from('26062800022000010248189325c81946', 'hex');

test('a name has the addresses of both families, IPv4 first', async (t) => {
  const { resolve, asked } = await nameServer(t, { a: OK(V4), aaaa: OK(V6) });
  assert.deepEqual(await resolve('Target.Example.', 2_000), {
    addresses: ['93.184.216.34', '2606:2800:220:1:248:1893:25c8:1946'],
  });
  assert.deepEqual(asked.map(({ name, type }) => `${name} ${type}`).sort(), [
    `target.example ${A}`,
    `target.example ${AAAA}`,
  ]);
});

test('each lookup asks anew: nothing is cached', async (t) => {
  const { resolve, asked } = await nameServer(t, { a: OK(V4), aaaa: NO_DATA });
  await resolve('target.example', 2_000);
  await resolve('target.example', 2_000);
  assert.equal(asked.filter(({ type }) => type === A).length, 2);
});

test('one family is enough, whatever becomes of the other', async (t) => {
  for (const aaaa of [NO_DATA, SERVER_FAILURE, NO_SUCH_NAME, 'silence'] as const) {
    const { resolve } = await nameServer(t, { a: OK(V4), aaaa });
    assert.deepEqual(await resolve('target.example', 300), { addresses: ['93.184.216.34'] });
  }
  const { resolve } = await nameServer(t, { a: 'silence', aaaa: OK(V6) });
  assert.deepEqual(await resolve('target.example', 300), { addresses: ['2606:2800:220:1:248:1893:25c8:1946'] });
});

test('C19 a name that does not exist, or has no address, is the target’s fault', async (t) => {
  for (const reply of [NO_SUCH_NAME, NO_DATA]) {
    const { resolve } = await nameServer(t, { a: reply, aaaa: reply });
    assert.deepEqual(await resolve('target.example', 2_000), { failure: 'no_such_name' });
  }
  const { resolve, asked } = await nameServer(t, { a: OK(V4), aaaa: OK(V6) });
  assert.deepEqual(await resolve(`${'a'.repeat(64)}.example`, 2_000), { failure: 'no_such_name' });
  assert.deepEqual(await resolve('.', 2_000), { failure: 'no_such_name' });
  assert.deepEqual(asked, []);
});

test('C19 a resolver that does not answer, refuses, or has lost its upstream is silent', async (t) => {
  for (const reply of ['silence', REFUSED, SERVER_FAILURE] as const) {
    const { resolve } = await nameServer(t, { a: reply, aaaa: reply });
    assert.deepEqual(await resolve('target.example', 300), { failure: 'resolver_silent' });
  }
  const { resolve } = await nameServer(t, { a: NO_DATA, aaaa: 'silence' });
  assert.deepEqual(await resolve('target.example', 300), { failure: 'resolver_silent' });
});

test('C21 the time limit ends what c-ares would still wait for', { timeout: 5_000 }, async (t) => {
  const { resolve } = await nameServer(t, { a: 'silence', aaaa: 'silence' }, { ...systemClock, after: soon });
  assert.deepEqual(await resolve('target.example', 600_000), { failure: 'resolver_silent' });
});

/** A clock for whom every wait is short. */
const soon: Clock['after'] = (_waitMs, run) => systemClock.after(10, run);

test('C19 a port where no resolver listens is a silent resolver', async () => {
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const { port } = socket.address();
  socket.close();
  await once(socket, 'close');
  const resolve = createResolver({ servers: [`127.0.0.1:${port}`], hostsFile: '/nonexistent' });
  assert.deepEqual(await resolve('target.example', 2_000), { failure: 'resolver_silent' });
});

test('C22 giving up on one name cuts no other', async (t) => {
  const first = Promise.withResolvers<void>();
  const { resolve } = await answeringServer(t, async ({ name, type }) => {
    if (name === 'one.example') return 'silence';
    await first.promise;
    return type === A ? OK(V4) : NO_DATA;
  });
  const second = resolve('two.example', 5_000);
  assert.deepEqual(await resolve('one.example', 50), { failure: 'resolver_silent' });
  first.resolve();
  assert.deepEqual(await second, { addresses: ['93.184.216.34'] });
});

test('localhost and everything below it is loopback, and no name server is asked', async (t) => {
  const { resolve, asked } = await nameServer(t, { a: OK(V4), aaaa: OK(V6) });
  for (const name of ['localhost', 'LOCALHOST.', 'app.localhost', 'a.b.localhost.']) {
    assert.deepEqual(await resolve(name, 2_000), { addresses: ['127.0.0.1', '::1'] });
  }
  assert.deepEqual(asked, []);
  assert.deepEqual(await resolve('notlocalhost', 2_000), {
    addresses: ['93.184.216.34', '2606:2800:220:1:248:1893:25c8:1946'],
  });
});

test('the hosts file comes before the name server, and is read again when it has changed', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'carillon-hosts-'));
  t.after(() => rm(folder, { recursive: true }));
  const hostsFile = join(folder, 'hosts');
  await writeFile(
    hostsFile,
    '# 192.0.2.9 commented\n10.0.0.5\tApp.Internal app # the app\r\nfd00::5 app.internal\nbad line\n',
  );
  const resolve = createResolver({ servers: ['127.0.0.1:1'], hostsFile });

  assert.deepEqual(await resolve('app.internal', 200), { addresses: ['10.0.0.5', 'fd00::5'] });
  assert.deepEqual(await resolve('APP.', 200), { addresses: ['10.0.0.5'] });
  assert.deepEqual(await resolve('commented', 200), { failure: 'resolver_silent' });
  assert.deepEqual(await resolve('line', 200), { failure: 'resolver_silent' });

  await writeFile(hostsFile, '10.0.0.66 app.internal\n');
  assert.deepEqual(await resolve('app.internal', 200), { addresses: ['10.0.0.66'] });
  await rm(hostsFile);
  assert.deepEqual(await resolve('app.internal', 200), { failure: 'resolver_silent' });
});
