import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createServer as createTlsServer } from 'node:tls';
import { createPausableClock, type PausableClock } from '../../../test/kit/clock.ts';
import { certificate, privateKey } from '../../../test/kit/network/tls.ts';
import type { AttemptOutcome } from '../dispatcher/retry-policy.ts';
import { type AttemptRequest, createAttemptSender } from './attempt.ts';
import { ConnectionPool, IdleConnectionLimit } from './connection-pool.ts';
import { createSsrfGuard, type SsrfGuard } from './ssrf-guard.ts';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';
const DEADLINE_MS = 15_000;
const LONG_PAUSE_MS = 16_000;

/** Starts a target on loopback that calls a function for each complete notification. */
async function startTarget(t: TestContext, onNotification: (socket: Socket, count: number) => void, secure = false) {
  let told = 0;
  const sockets = new Set<Socket>();
  const behave = (socket: Socket) => {
    sockets.add(socket);
    let text = '';
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      text += chunk;
      if (!text.endsWith('}')) return;
      text = '';
      told += 1;
      onNotification(socket, told);
    });
  };
  const server: Server = secure
    ? createTlsServer({ key: privateKey, cert: certificate }, behave)
    : createServer({ noDelay: true }, behave);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http${secure ? 's' : ''}://127.0.0.1:${port}/`, told: () => told, sockets };
}

const openGuard = createSsrfGuard({
  resolve: async () => ({ addresses: ['127.0.0.1'] }),
  allowRules: [],
  isLoopbackAllowed: true,
});

function createTestAttempt(clock: PausableClock, guard: SsrfGuard = openGuard) {
  const attempt = createAttemptSender({ guard, userAgent: 'Carillon/test', clock, ca: certificate });
  return async (url: string, order: Partial<AttemptRequest> = {}) => {
    const signal = new AbortController().signal;
    const outcome = await attempt({
      target: url,
      body: '{}',
      deliveryId: '1',
      timeoutMs: DEADLINE_MS,
      signal,
      ...order,
    });
    return withoutVariableParts(outcome);
  };
}

const withoutVariableParts = ({ durationMs: _ms, note: _note, ...rest }: AttemptOutcome) => rest;
const answered = (status: number) => ({ kind: 'answered', status });
const paused = { kind: 'local_error', code: 'process_paused' };
const timedOut = { kind: 'failed', cause: 'timeout' };

/** Advances the time to the deadline in steps, like a busy process, whose timers are all late. */
function runLate(clock: PausableClock): void {
  for (const end = clock.monotonic() + DEADLINE_MS; clock.monotonic() < end; ) clock.pause(900);
}

for (const secure of [false, true]) {
  const over = secure ? 'TLS' : 'TCP';

  test(`C19 a response that arrived during a process pause counts, over ${over}: it is read before the deadline fires`, async (t) => {
    const clock = createPausableClock();
    for (const status of [200, 401, 500]) {
      const hook = await startTarget(
        t,
        (socket) => {
          socket.write(`HTTP/1.1 ${status} Known\r\nContent-Length: 0\r\n\r\n`);
          clock.pause(LONG_PAUSE_MS);
        },
        secure,
      );
      assert.deepEqual(await createTestAttempt(clock)(hook.url), answered(status));
    }
  });

  test(`C19 a process pause until after the deadline does not count against the target, over ${over}`, async (t) => {
    const clock = createPausableClock();
    const hook = await startTarget(
      t,
      (_, count) => (count === 1 ? clock.pause(LONG_PAUSE_MS) : runLate(clock)),
      secure,
    );
    const attempt = createTestAttempt(clock);
    assert.deepEqual(await attempt(hook.url), paused);
    // A pause does not excuse attempts that start after it.
    assert.deepEqual(await attempt(hook.url), timedOut);
  });
}

test('C19 a pause that ends before the deadline excuses a timeout too', async (t) => {
  const clock = createPausableClock();
  const hook = await startTarget(t, () => {
    clock.pause(DEADLINE_MS - 300);
    clock.pause(300);
  });
  assert.deepEqual(await createTestAttempt(clock)(hook.url), paused);
});

test('C19 a reset while this process is paused or the machine suspended does not count against the target', async (t) => {
  for (const how of ['pause', 'suspend'] as const) {
    const clock = createPausableClock();
    const hook = await startTarget(t, (socket, count) => {
      if (count === 1) clock[how](60_000);
      socket.resetAndDestroy();
    });
    assert.deepEqual(await createTestAttempt(clock)(hook.url), paused, how);
    assert.deepEqual(await createTestAttempt(clock)(hook.url), { kind: 'failed', cause: 'reset' }, how);
  }
});

test('C19 a process that was paused while it connected sends nothing after the deadline', async (t) => {
  const hook = await startTarget(t, () => undefined);
  const clock = createPausableClock();
  const guard: SsrfGuard = {
    async checkTarget(url, timeoutMs) {
      clock.pause(LONG_PAUSE_MS);
      return openGuard.checkTarget(url, timeoutMs);
    },
  };
  assert.deepEqual(await createTestAttempt(clock, guard)(hook.url), paused);
  for (let turn = 0; turn < 20; turn += 1) await nextTurn();
  assert.equal(hook.told(), 0);
});

test('C17 a hanging target fails on a busy process too: event-loop delays of less than a second excuse nothing', async (t) => {
  const clock = createPausableClock();
  const hook = await startTarget(t, () => runLate(clock));
  for (let tries = 0; tries < 3; tries += 1) assert.deepEqual(await createTestAttempt(clock)(hook.url), timedOut);
});

test('C19 a kept connection is not used after a process pause: a close by the target may be unread', async (t) => {
  const clock = createPausableClock();
  const hook = await startTarget(t, (socket) => socket.write(OK));
  const connectionPool = new ConnectionPool(new IdleConnectionLimit({ ...clock, after: () => () => undefined }));
  t.after(() => connectionPool.end());
  const attempt = createTestAttempt(clock);
  assert.deepEqual(await attempt(hook.url, { connectionPool }), answered(200));
  for (let turn = 0; turn < 3; turn += 1) await nextTurn();
  // Some servers send this response when they close an idle connection.
  for (const socket of hook.sockets) socket.end('HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n');
  clock.pause(5_000);
  assert.deepEqual(await attempt(hook.url, { connectionPool }), answered(200));
  assert.equal(hook.sockets.size, 2);
});
