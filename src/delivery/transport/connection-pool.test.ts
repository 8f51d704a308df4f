import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createTestClock } from '../../../test/kit/clock.ts';
import { eventually } from '../../../test/kit/eventually.ts';
import { systemClock } from '../../clock.ts';
import type { AttemptOutcome } from '../dispatcher/retry-policy.ts';
import { type AttemptRequest, createAttemptSender } from './attempt.ts';
import { ConnectionPool, IdleConnectionLimit } from './connection-pool.ts';
import { createSsrfGuard } from './ssrf-guard.ts';

const BODY = '{"resource_url":"x"}';
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';

/**
 * Starts a target with a scripted response to the n-th notification on its m-th connection. It records the
 * notifications.
 */
async function startTarget(t: TestContext, answers: (connection: number, request: number, socket: Socket) => string) {
  const requests: string[] = [];
  const sockets: Socket[] = [];
  let open = 0;
  const server = createServer((socket) => {
    const connection = sockets.push(socket);
    let count = 0;
    let text = '';
    open += 1;
    socket.on('error', () => undefined);
    socket.on('close', () => {
      open -= 1;
    });
    socket.on('data', (chunk) => {
      text += chunk;
      if (!text.endsWith('}')) return;
      requests.push(text);
      text = '';
      count += 1;
      socket.write(answers(connection, count, socket));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  return { url, requests, sockets, connections: () => sockets.length, open: () => open };
}

/** Simulates one hook queue: attempts that share a connection pool. */
function createQueue(t: TestContext, url: string, capacity = new IdleConnectionLimit(systemClock)) {
  const kept = new ConnectionPool(capacity);
  t.after(() => kept.end());
  const guard = createSsrfGuard({ resolve: async () => ({ addresses: [] }), allowRules: [], isLoopbackAllowed: true });
  const attempt = createAttemptSender({ guard, userAgent: 'Carillon/test', clock: capacity.clock });
  const tell = (order: Partial<AttemptRequest> = {}) => {
    const signal = new AbortController().signal;
    return attempt({
      target: url,
      body: BODY,
      deliveryId: '42',
      timeoutMs: 5_000,
      signal,
      connectionPool: kept,
      ...order,
    });
  };
  return { kept, tell };
}

const withoutVariableParts = ({ durationMs: _, note: _note, ...rest }: AttemptOutcome) => rest;
const delivered = { kind: 'answered', status: 200 };
const runIterations = async (count: number) => {
  for (let turn = 0; turn < count; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
};

test('C22 attempts of one hook share a connection one after another; another hook has its own', async (t) => {
  const hook = await startTarget(t, () => OK);
  const [one, other] = [createQueue(t, hook.url), createQueue(t, hook.url)];
  for (let round = 0; round < 3; round += 1) {
    assert.deepEqual(withoutVariableParts(await one.tell()), delivered);
    await runIterations(3);
  }
  assert.equal(hook.connections(), 1);
  assert.match(hook.requests[0] ?? '', /\r\nconnection: keep-alive\r\n/i);
  await other.tell();
  assert.equal(hook.connections(), 2);
});

test('concurrent attempts have a connection each', async (t) => {
  const hook = await startTarget(t, () => OK);
  const { tell } = createQueue(t, hook.url);
  await Promise.all([tell(), tell(), tell()]);
  assert.equal(hook.connections(), 3);
  await runIterations(3);
  await Promise.all([tell(), tell(), tell()]);
  assert.equal(hook.connections(), 3);
});

test('C17 a kept connection that the target has closed is not a failure', async (t) => {
  const hook = await startTarget(t, () => OK);
  const { tell } = createQueue(t, hook.url);
  await tell();
  await runIterations(3);
  hook.sockets[0]?.end();
  assert.deepEqual(withoutVariableParts(await tell()), delivered);
  await eventually(hook.open, (open) => open === 1);
  hook.sockets[1]?.resetAndDestroy();
  assert.deepEqual(withoutVariableParts(await tell()), delivered);
  assert.equal(hook.requests.length, 3);
});

test('C17 a kept connection that breaks during the request is dialled again once, and then counts as a failure', async (t) => {
  const breaks = (socket: Socket) => {
    socket.resetAndDestroy();
    return '';
  };
  const first = await startTarget(t, (connection, request, socket) =>
    connection === 1 && request === 2 ? breaks(socket) : OK,
  );
  const { tell } = createQueue(t, first.url);
  await tell();
  await runIterations(3);
  assert.deepEqual(withoutVariableParts(await tell()), delivered);
  assert.deepEqual([first.connections(), first.requests.length], [2, 3]);

  const always = await startTarget(t, (connection, request, socket) =>
    connection > 1 || request > 1 ? breaks(socket) : OK,
  );
  const doomed = createQueue(t, always.url);
  await doomed.tell();
  await runIterations(3);
  assert.deepEqual(withoutVariableParts(await doomed.tell()), { kind: 'failed', cause: 'reset' });
  assert.deepEqual([always.connections(), always.requests.length], [2, 3]);
});

test('C17 a kept connection that breaks within a response is a failure', async (t) => {
  const hook = await startTarget(t, (_, request, socket) => {
    if (request === 1) return OK;
    socket.end('HTTP/1.1 200');
    return '';
  });
  const { tell } = createQueue(t, hook.url);
  await tell();
  await runIterations(3);
  assert.equal((await tell()).kind, 'failed');
  assert.equal(hook.connections(), 1);
});

test('C13 an attempt that is aborted while a dead connection is replaced is never sent', async (t) => {
  const hook = await startTarget(t, (connection, request, socket) => {
    if (connection === 1 && request === 2) socket.resetAndDestroy();
    return OK;
  });
  const { tell } = createQueue(t, hook.url);
  await tell();
  await runIterations(3);
  const stop = new AbortController();
  const calls: string[] = [];
  const outcome = await tell({
    signal: stop.signal,
    onBeforeSend: () => calls.push('dialled'),
    onNotSent() {
      calls.push('undialled');
      stop.abort();
    },
  });
  assert.deepEqual(withoutVariableParts(outcome), { kind: 'local_error', code: 'stopped' });
  await runIterations(3);
  assert.deepEqual(calls, ['dialled', 'undialled']);
  assert.deepEqual([hook.connections(), hook.requests.length], [1, 2]);
});

const endings: readonly (readonly [what: string, answer: string])[] = [
  ['other than 200', 'HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n'],
  ['with Connection: close', 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n'],
  ['of HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n'],
  ['with extra bytes', `${OK}HTTP/1.1 200 OK\r\n`],
  ['without a length', 'HTTP/1.1 200 OK\r\n\r\nand so on'],
  ['that is too large', `HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n${'x'.repeat(20_000)}`],
];
for (const [what, answer] of endings) {
  test(`C21 after a response ${what} the connection is closed`, async (t) => {
    const hook = await startTarget(t, () => answer);
    const { tell } = createQueue(t, hook.url);
    await tell();
    await eventually(hook.open, (open) => open === 0);
    await tell();
    assert.equal(hook.connections(), 2);
  });
}

test('an idle connection is closed after a second', async (t) => {
  const hook = await startTarget(t, () => OK);
  const clock = createTestClock();
  const { tell } = createQueue(t, hook.url, new IdleConnectionLimit(clock));
  await tell();
  await runIterations(3);
  void clock.advance(999);
  await runIterations(3);
  assert.equal(hook.open(), 1);
  void clock.advance(1);
  await eventually(hook.open, (open) => open === 0);
});

test('C11 an address is checked again after ten seconds, however busy its connection is', async (t) => {
  const hook = await startTarget(t, () => OK);
  const clock = createTestClock();
  const { tell } = createQueue(t, hook.url, new IdleConnectionLimit(clock));
  for (let second = 0; second < 20; second += 0.5) {
    await tell();
    await runIterations(3);
    void clock.advance(500);
  }
  assert.equal(hook.connections(), 2);
});

test('no connection is kept beyond the limit or after the queue has ended', async (t) => {
  const hook = await startTarget(t, () => OK);
  const room = new IdleConnectionLimit(systemClock, 1);
  const [one, other] = [createQueue(t, hook.url, room), createQueue(t, hook.url, room)];
  await one.tell();
  await runIterations(3);
  await other.tell();
  await eventually(hook.open, (open) => open === 1);
  one.kept.end();
  await eventually(hook.open, (open) => open === 0);
  await one.tell();
  await eventually(hook.open, (open) => open === 0);
  await other.tell();
  await runIterations(3);
  assert.equal(hook.open(), 1);
});
