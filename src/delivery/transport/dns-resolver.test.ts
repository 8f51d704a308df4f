import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import {
  type DnsReply,
  NO_DATA,
  NO_SUCH_NAME,
  OK,
  REFUSED,
  SERVER_FAILURE,
  startNameServer,
} from '../../../test/kit/network/nameserver.ts';
import { type Clock, systemClock } from '../../clock.ts';
import { createResolver } from './dns-resolver.ts';

/**
 * Starts a name server on loopback with one scripted response per family. Returns a resolver that uses it, and the
 * queries that it gets.
 */
async function startNameServerAndResolver(t: TestContext, { a, aaaa }: { a: DnsReply; aaaa: DnsReply }, clock?: Clock) {
  const { queries, createResolver } = await startNameServer(t, ({ family }) => (family === 'A' ? a : aaaa));
  return { asked: queries, resolve: createResolver(clock) };
}

const V4 = '93.184.216.34';
const V6 = '2606:2800:220:1:248:1893:25c8:1946';

test('a name has the addresses of both families, IPv4 first', async (t) => {
  const { resolve, asked } = await startNameServerAndResolver(t, { a: OK(V4), aaaa: OK(V6) });
  assert.deepEqual(await resolve('Target.Example.', 2_000), {
    addresses: ['93.184.216.34', '2606:2800:220:1:248:1893:25c8:1946'],
  });
  assert.deepEqual(asked.map(({ name, family }) => `${name} ${family}`).sort(), [
    'target.example A',
    'target.example AAAA',
  ]);
});

test('each lookup queries again: nothing is cached', async (t) => {
  const { resolve, asked } = await startNameServerAndResolver(t, { a: OK(V4), aaaa: NO_DATA });
  await resolve('target.example', 2_000);
  await resolve('target.example', 2_000);
  assert.equal(asked.filter(({ family }) => family === 'A').length, 2);
});

test('one address family is enough, whatever the result of the other', async (t) => {
  for (const aaaa of [NO_DATA, SERVER_FAILURE, NO_SUCH_NAME, 'silence'] as const) {
    const { resolve } = await startNameServerAndResolver(t, { a: OK(V4), aaaa });
    assert.deepEqual(await resolve('target.example', 300), { addresses: ['93.184.216.34'] });
  }
  const { resolve } = await startNameServerAndResolver(t, { a: 'silence', aaaa: OK(V6) });
  assert.deepEqual(await resolve('target.example', 300), { addresses: ['2606:2800:220:1:248:1893:25c8:1946'] });
});

test('C19 a name that does not exist or has no address is a failure of the target', async (t) => {
  for (const reply of [NO_SUCH_NAME, NO_DATA]) {
    const { resolve } = await startNameServerAndResolver(t, { a: reply, aaaa: reply });
    assert.deepEqual(await resolve('target.example', 2_000), { failure: 'no_such_name' });
  }
  const { resolve, asked } = await startNameServerAndResolver(t, { a: OK(V4), aaaa: OK(V6) });
  assert.deepEqual(await resolve(`${'a'.repeat(64)}.example`, 2_000), { failure: 'no_such_name' });
  assert.deepEqual(await resolve('.', 2_000), { failure: 'no_such_name' });
  assert.deepEqual(asked, []);
});

test('C19 a resolver that does not respond, refuses or has lost its upstream is silent', async (t) => {
  for (const reply of ['silence', REFUSED, SERVER_FAILURE] as const) {
    const { resolve } = await startNameServerAndResolver(t, { a: reply, aaaa: reply });
    assert.deepEqual(await resolve('target.example', 300), { failure: 'resolver_silent' });
  }
  const { resolve } = await startNameServerAndResolver(t, { a: NO_DATA, aaaa: 'silence' });
  assert.deepEqual(await resolve('target.example', 300), { failure: 'resolver_silent' });
});

test('C21 the timeout ends a lookup that c-ares would continue', { timeout: 5_000 }, async (t) => {
  const { resolve } = await startNameServerAndResolver(
    t,
    { a: 'silence', aaaa: 'silence' },
    { ...systemClock, after: shortTimers },
  );
  assert.deepEqual(await resolve('target.example', 600_000), { failure: 'resolver_silent' });
});

/** Timers that all fire after 10 ms. */
const shortTimers: Clock['after'] = (_waitMs, run) => systemClock.after(10, run);

test('C19 a port where no resolver listens is a silent resolver', async () => {
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const { port } = socket.address();
  socket.close();
  await once(socket, 'close');
  const resolve = createResolver({ nameServers: [`127.0.0.1:${port}`], hostsFile: '/nonexistent' });
  assert.deepEqual(await resolve('target.example', 2_000), { failure: 'resolver_silent' });
});

test('C22 canceling one lookup does not cancel others', async (t) => {
  const first = Promise.withResolvers<void>();
  const { createResolver } = await startNameServer(t, async ({ name }) => {
    if (name === 'one.example') return 'silence';
    await first.promise;
    return OK(V4);
  });
  const resolve = createResolver();
  const second = resolve('two.example', 5_000);
  assert.deepEqual(await resolve('one.example', 50), { failure: 'resolver_silent' });
  first.resolve();
  assert.deepEqual(await second, { addresses: ['93.184.216.34'] });
});

test('localhost and its subdomains are loopback, without a query to a name server', async (t) => {
  const { resolve, asked } = await startNameServerAndResolver(t, { a: OK(V4), aaaa: OK(V6) });
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
  const resolve = createResolver({ nameServers: ['127.0.0.1:1'], hostsFile });

  assert.deepEqual(await resolve('app.internal', 200), { addresses: ['10.0.0.5', 'fd00::5'] });
  assert.deepEqual(await resolve('APP.', 200), { addresses: ['10.0.0.5'] });
  assert.deepEqual(await resolve('commented', 200), { failure: 'resolver_silent' });
  assert.deepEqual(await resolve('line', 200), { failure: 'resolver_silent' });

  await writeFile(hostsFile, '10.0.0.66 app.internal\n');
  assert.deepEqual(await resolve('app.internal', 200), { addresses: ['10.0.0.66'] });
  await rm(hostsFile);
  assert.deepEqual(await resolve('app.internal', 200), { failure: 'resolver_silent' });
});
