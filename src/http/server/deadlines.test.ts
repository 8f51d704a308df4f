import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { TestContext } from 'node:test';
import { eventually } from '../../../test/kit/eventually.ts';
import { formatRequest } from '../../../test/kit/network/raw-http.ts';
import type { TestService } from '../../../test/kit/service/service.ts';
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
