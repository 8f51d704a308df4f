import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer as createHttpServer, type Server as HttpServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { text as readAll } from 'node:stream/consumers';
import { afterEach, type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createServer as createTlsServer, Server as TlsServer } from 'node:tls';
import { addressesByName, forbiddenTargets } from '../../../test/corpus/targets.ts';
import { certificate, privateKey } from '../../../test/kit/network/tls.ts';
import { type Clock, systemClock } from '../../clock.ts';
import type { AttemptOutcome } from '../dispatcher/retry-policy.ts';
import { type AttemptRequest, createAttemptSender } from './attempt.ts';
import type { ResolveName } from './dns-resolver.ts';
import { type CheckedAddress, createSsrfGuard, type SsrfGuard } from './ssrf-guard.ts';

const BODY = '{"resource_url":"http://127.0.0.1:8080/v2/events/1"}';
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';
const NOW = Date.UTC(2026, 0, 2, 3, 4, 5);

/** A deadline that is never reached. */
const AMPLE_MS = 20_000;
const SHORT_MS = 200;

const resolveLoopback: ResolveName = async () => ({ addresses: ['127.0.0.1'] });
const silentResolve: ResolveName = () => new Promise(() => {});

function guardWith(resolve: ResolveName): SsrfGuard {
  return createSsrfGuard({ resolve, allowRules: [], isLoopbackAllowed: true });
}

/** Creates a guard that allows every target and resolves it to these addresses. */
function guardFor(...addresses: string[]): SsrfGuard {
  const checked = addresses.map((address): CheckedAddress => ({ address, family: address.includes(':') ? 6 : 4 }));
  return { checkTarget: async () => ({ allowed: true, addresses: checked }) };
}

type Setup = Partial<AttemptRequest> & { guard?: SsrfGuard; ca?: string; clock?: Clock };

function attempt(
  target: string,
  { guard = guardWith(resolveLoopback), ca, clock = systemClock, ...order }: Setup = {},
): Promise<AttemptOutcome> {
  const post = createAttemptSender({
    guard,
    userAgent: 'Carillon/test',
    clock: { ...clock, now: () => NOW },
    ...(ca === undefined ? {} : { ca }),
  });
  const signal = new AbortController().signal;
  return post({ target, body: BODY, deliveryId: '42', timeoutMs: AMPLE_MS, signal, ...order });
}

/** Returns an outcome without the parts that differ between runs. */
function withoutVariableParts({ durationMs, note: _note, ...rest }: AttemptOutcome) {
  assert.ok(Number.isInteger(durationMs) && durationMs >= 0);
  return rest;
}

const failed = (cause: string) => ({ kind: 'failed', cause });
const localError = (code: string) => ({ kind: 'local_error', code });
const answered = (status: number) => ({ kind: 'answered', status });

type Target = { url: string; port: number; connections: () => number; received: () => string };

/** Starts a server on loopback that calls `behave` for each connection. `received` returns all its input. */
async function startTarget(
  t: TestContext,
  behave: (socket: Socket) => void,
  server: Server = createTcpServer(),
): Promise<Target> {
  let connections = 0;
  let received = '';
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
  });
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1');
    });
    behave(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `http://127.0.0.1:${port}/hook`, port, connections: () => connections, received: () => received };
}

/** Sends the parts as response when the notification is complete. */
function respondWith(...parts: (string | Buffer)[]): (socket: Socket) => void {
  return (socket) => whenComplete(socket, () => parts.forEach((part) => void socket.write(part)));
}

function whenComplete(socket: Socket, then: () => void): void {
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
    if (text.endsWith('}')) then();
  });
}

/** Waits, one event-loop iteration at a time, until the condition holds; fails after a limit. */
async function waitUntil(condition: () => boolean, what: string): Promise<void> {
  const startedAt = performance.now();
  while (!condition()) {
    assert.ok(performance.now() - startedAt < 5_000, what);
    await nextTurn();
  }
}

function openSockets(): string[] {
  return process.getActiveResourcesInfo().filter((name) => /^(TCP|TLS)(Socket)?W(rap|RAP)$/i.test(name));
}

/** Counts the client sockets that are created from now on. */
function countDials(t: TestContext, onSocket: (socket: Socket) => void = () => {}): () => number {
  let dials = 0;
  const count = (message: unknown) => {
    dials += 1;
    onSocket((message as { socket: Socket }).socket);
  };
  subscribe('net.client.socket', count);
  t.after(() => unsubscribe('net.client.socket', count));
  return () => dials;
}

const unhandled: unknown[] = [];
process.on('unhandledRejection', (error) => unhandled.push(error));
process.on('uncaughtException', (error) => unhandled.push(error));

afterEach(async () => {
  await waitUntil(() => openSockets().length === 0, `left open: ${openSockets()}`);
  assert.deepEqual(unhandled, []);
});

test('C15 the request has exactly these bytes', async (t) => {
  const hook = await startTarget(t, respondWith(OK));
  assert.deepEqual(withoutVariableParts(await attempt(`${hook.url}?token=a%20b&c=d#part`)), answered(200));
  assert.equal(
    hook.received(),
    [
      'POST /hook?token=a%20b&c=d HTTP/1.1',
      `host: 127.0.0.1:${hook.port}`,
      'connection: close',
      'content-type: application/json',
      'user-agent: Carillon/test',
      'webhook-id: 42',
      `content-length: ${BODY.length}`,
      '',
      BODY,
    ].join('\r\n'),
  );
});

test('C15 the host header is the name of the target, not the address that was dialled', async (t) => {
  const hook = await startTarget(t, respondWith(OK));
  await attempt(`http://Target.Example.:${hook.port}`);
  assert.match(hook.received(), new RegExp(`^POST / HTTP/1.1\r\nhost: target.example.:${hook.port}\r\n`));
});

test('C15 a non-ASCII body is sent as UTF-8, with its length in bytes', async (t) => {
  const hook = await startTarget(t, respondWith(OK));
  await attempt(hook.url, { body: '{"resource_url":"ü"}' });
  assert.match(hook.received(), /content-length: 21\r\n\r\n\{"resource_url":"Ã¼"\}$/);
});

test('C17 interim responses are ignored, including 100', async (t) => {
  const interim = [
    'HTTP/1.1 100 Continue\r\n\r\n',
    'HTTP/1.1 100 Continue\r\nX-Note: a\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n',
    'HTTP/1.1 102 Processing\r\n\r\n',
    'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n',
    'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n',
  ];
  for (const text of interim) {
    const together = await startTarget(t, respondWith(text + OK));
    assert.deepEqual(withoutVariableParts(await attempt(together.url)), answered(200), text);
    const apart = await startTarget(t, (socket) => {
      socket.setNoDelay(true);
      whenComplete(socket, async () => {
        for (const byte of text + OK) {
          socket.write(byte);
          await nextTurn();
        }
      });
    });
    assert.deepEqual(withoutVariableParts(await attempt(apart.url)), answered(200), text);
  }
});

test('C17 a closed port is a failure', async () => {
  const { port } = await closedPort();
  const outcome = await attempt(`http://127.0.0.1:${port}/`);
  assert.deepEqual(withoutVariableParts(outcome), failed('refused'));
  assert.match(outcome.note ?? '', /ECONNREFUSED/);
});

async function closedPort(): Promise<{ port: number }> {
  const server = createTcpServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return { port };
}

test('C17 a malformed status line that starts like an interim response fails immediately', async (t) => {
  for (const status of ['1', '10', '1000', '1a0', '10\n0']) {
    const hook = await startTarget(t, respondWith(`HTTP/1.1 ${status} OK\r\nContent-Length: 0\r\n\r\n`));
    assert.deepEqual(withoutVariableParts(await attempt(hook.url, { timeoutMs: 2_000 })), failed('protocol'), status);
  }
});

test('C21 C22 a flood of bytes without a final response is cut off long before the deadline', async (t) => {
  const floods = ['HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n', '\r\n'];
  for (const text of floods) {
    const part = text.repeat(100);
    let written = 0;
    const flood = await startTarget(t, (socket) =>
      whenComplete(socket, () => {
        const pour = () => {
          while (!socket.destroyed && socket.write(part)) written += part.length;
        };
        socket.on('drain', pour);
        pour();
      }),
    );
    assert.deepEqual(withoutVariableParts(await attempt(flood.url)), failed('protocol'), text);
    await waitUntil(() => openSockets().length === 0, 'the connection was not cut');
    assert.ok(written < 16_000_000, `${written} bytes were written`);
  }
});

test('C21 the status counts while the body hangs, and the connection is closed after a second', async (t) => {
  let closed = false;
  const hook = await startTarget(t, (socket) => {
    socket.on('close', () => {
      closed = true;
    });
    whenComplete(socket, () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345'));
  });
  assert.deepEqual(withoutVariableParts(await attempt(hook.url)), answered(200));
  assert.equal(closed, false);
  await waitUntil(() => closed, 'the connection was not cut');
});

test('C15 a redirect is not followed: its status is the outcome', async (t) => {
  const other = await startTarget(t, respondWith(OK));
  for (const status of [301, 302, 303, 307, 308]) {
    const hook = await startTarget(
      t,
      respondWith(`HTTP/1.1 ${status} Moved\r\nLocation: ${other.url}\r\nContent-Length: 0\r\n\r\n`),
    );
    assert.deepEqual(withoutVariableParts(await attempt(hook.url)), answered(status));
  }
  assert.equal(other.connections(), 0);
});

test('C15 proxies of the environment are not used, and cookies are not sent back', async (t) => {
  const proxy = await startTarget(t, respondWith(OK));
  const hook = await startTarget(t, respondWith('HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n'));
  const variables = ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'NODE_USE_ENV_PROXY'];
  for (const name of variables) process.env[name] = name === 'NODE_USE_ENV_PROXY' ? '1' : proxy.url;
  t.after(() => {
    for (const name of variables) delete process.env[name];
  });
  await attempt(hook.url);
  await attempt(hook.url);
  assert.equal(proxy.connections(), 0);
  assert.doesNotMatch(hook.received(), /cookie/i);
});

test('C22 an attempt without a connection pool closes its connection, even if the target would keep it', async (t) => {
  let served = 0;
  const server: HttpServer = createHttpServer({ keepAlive: true }, (request, response) => {
    request.resume();
    request.on('end', () => {
      served += 1;
      response.setHeader('Connection', 'keep-alive');
      response.end('thank you');
    });
  });
  const hook = await startTarget(t, () => {}, server);
  for (let round = 0; round < 3; round += 1)
    assert.deepEqual(withoutVariableParts(await attempt(hook.url)), answered(200));
  assert.deepEqual([served, hook.connections()], [3, 3]);
});

test('C18 Retry-After is read in seconds and as a date, between 0 and 24 h', async (t) => {
  const day = 86_400_000;
  // The oldest of the three date forms has no zone and means UTC, whatever the local zone.
  const zone = process.env.TZ;
  process.env.TZ = 'America/New_York';
  t.after(() => {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  });
  const cases: [string, number | undefined][] = [
    ['0', 0],
    ['120', 120_000],
    [' 7 ', 7_000],
    ['86400', day],
    ['86401', day],
    ['9'.repeat(400), day],
    ['Fri, 02 Jan 2026 03:05:05 GMT', 60_000],
    ['Friday, 02-Jan-26 03:05:05 GMT', 60_000],
    ['Fri Jan  2 03:05:05 2026', 60_000],
    ['Fri, 02 Jan 2026 03:00:00 GMT', 0],
    ['Fri, 02 Jan 2099 03:00:00 GMT', day],
    ['', undefined],
    ['-1', undefined],
    ['1.5', undefined],
    ['1e3', undefined],
    ['soon', undefined],
    ['2026', 2_026_000],
    ['2026-01-02T03:05:05Z', undefined],
    ['Fri, 99 Foo 2026 03:05:05 GMT', undefined],
  ];
  for (const [text, retryAfterMs] of cases) {
    const hook = await startTarget(
      t,
      respondWith(`HTTP/1.1 503 Busy\r\nRetry-After: ${text}\r\nContent-Length: 0\r\n\r\n`),
    );
    const expected = retryAfterMs === undefined ? answered(503) : { ...answered(503), retryAfterMs };
    assert.deepEqual(withoutVariableParts(await attempt(hook.url)), expected, text);
  }
  const twice = await startTarget(t, respondWith('HTTP/1.1 503 Busy\r\nRetry-After: 5\r\nRetry-After: 9\r\n\r\n'));
  assert.deepEqual(withoutVariableParts(await attempt(twice.url)), { ...answered(503), retryAfterMs: 5_000 });
});

test('C11 C17 a target that the guard rejects is a failure and gets no connection', async (t) => {
  const hook = await startTarget(t, respondWith(OK));
  const guard = createSsrfGuard({ resolve: resolveLoopback, allowRules: [], isLoopbackAllowed: false });
  const spellings = ['127.0.0.1', '127.1', '2130706433', '0x7f.1', '[::ffff:127.0.0.1]', 'localhost', 'target.example'];
  for (const host of spellings) {
    const outcome = await attempt(`http://${host}:${hook.port}/`, { guard });
    assert.deepEqual(withoutVariableParts(outcome), failed('forbidden'), host);
    assert.match(outcome.note ?? '', /CARILLON_ALLOW_TARGETS=127\.0\.0\.1\/32:/);
  }
  assert.equal(hook.connections(), 0);
});

test('C17 every spelling of a forbidden address is rejected at delivery', async (t) => {
  const dials = countDials(t);
  const resolve: ResolveName = async (hostname) => ({ addresses: addressesByName[hostname] ?? [] });
  const guard = createSsrfGuard({ resolve, allowRules: [], isLoopbackAllowed: false });
  for (const place of forbiddenTargets) {
    assert.deepEqual(withoutVariableParts(await attempt(place, { guard })), failed('forbidden'), place);
  }
  assert.equal(dials(), 0);
});

test('the next address of a name is tried when one refuses the connection, and one that works is enough', async (t) => {
  const hook = await startTarget(t, respondWith(OK));
  const url = `http://target.example:${hook.port}/`;
  for (const addresses of [
    ['::1', '127.0.0.1'],
    ['127.0.0.1', '::1'],
    ['::1', '::1', '::ffff:127.0.0.1'],
  ]) {
    assert.deepEqual(withoutVariableParts(await attempt(url, { guard: guardFor(...addresses) })), answered(200));
  }
  assert.equal(hook.connections(), 3);
  const { port } = await closedPort();
  const guard = guardFor('::1', '127.0.0.1', '::1');
  assert.deepEqual(withoutVariableParts(await attempt(`http://target.example:${port}/`, { guard })), failed('refused'));
});

test('C21 a hanging address uses its share of the time, and the next one has the rest', async (t) => {
  const hook = await startTarget(t, respondWith(OK));
  let isFirst = true;
  const dials = countDials(t, (socket) => {
    const { emit } = socket;
    const hangs = isFirst;
    isFirst = false;
    socket.emit = (event: string | symbol, ...args: unknown[]) =>
      !(hangs && event === 'connect') && emit.call(socket, event, ...args);
  });
  // Timers for the first half of the deadline fire immediately, others do not.
  const after: Clock['after'] = (waitMs, run) =>
    systemClock.after(waitMs > AMPLE_MS / 4 && waitMs <= AMPLE_MS / 2 ? 0 : waitMs, run);
  const guard = guardFor('127.0.0.1', '127.0.0.1');
  assert.deepEqual(
    withoutVariableParts(await attempt(hook.url, { guard, clock: { ...systemClock, after } })),
    answered(200),
  );
  assert.equal(dials(), 2);
});

test('C17 a connection that breaks before the request is sent is not dialled again', async (t) => {
  const hook = await startTarget(t, respondWith(OK));
  let asked = 0;
  const guard = guardWith(async () => {
    asked += 1;
    return { addresses: ['127.0.0.1'] };
  });
  const dials = countDials(t, (socket) => socket.once('connect', () => socket.destroy()));
  assert.deepEqual(
    withoutVariableParts(await attempt(`http://target.example:${hook.port}/`, { guard })),
    failed('reset'),
  );
  assert.deepEqual([asked, dials(), hook.received()], [1, 1, '']);
});

test('of a thousand addresses only a few are tried, of both families', async (t) => {
  const hook = await startTarget(t, respondWith(OK));
  const url = `http://target.example:${hook.port}/`;
  const many = Array.from({ length: 1_000 }, () => '::1');
  const dials = countDials(t);
  const outcome = await attempt(url, { guard: guardFor(...many, '::ffff:127.0.0.1') });
  assert.notEqual(outcome.kind, 'answered');
  assert.equal(dials(), 6);
  assert.deepEqual(withoutVariableParts(await attempt(url, { guard: guardFor(...many, '127.0.0.1') })), answered(200));
});

test('C19 no route is a local error, unless an address was reached', async () => {
  const { port } = await closedPort();
  const url = `http://target.example:${port}/`;
  // Every system rejects a connection to the broadcast address without sending anything.
  assert.deepEqual(
    withoutVariableParts(await attempt(url, { guard: guardFor('255.255.255.255') })),
    localError('no_route'),
  );
  assert.deepEqual(
    withoutVariableParts(await attempt(url, { guard: guardFor('255.255.255.255', '127.0.0.1') })),
    failed('refused'),
  );
});

test('C19 no file handles is a local error', async (t) => {
  const hook = await startTarget(t, respondWith('HTTP/1.1 400 Bad\r\nContent-Length: 0\r\n\r\n'));
  const program = `
    import { openSync } from 'node:fs';
    import { systemClock } from ${JSON.stringify(import.meta.resolve('../../clock.ts'))};
    import { createAttemptSender } from ${JSON.stringify(import.meta.resolve('./attempt.ts'))};
    const guard = { checkTarget: async () => ({ allowed: true, addresses: [{ address: '127.0.0.1', family: 4 }] }) };
    const attempt = createAttemptSender({ guard, userAgent: 'Carillon/test', clock: systemClock });
    const signal = new AbortController().signal;
    const order = { target: ${JSON.stringify(hook.url)}, body: '{}', deliveryId: '1', deadlineMs: 5000, signal };
    console.log(JSON.stringify(await attempt(order)));
    try { for (;;) openSync('/dev/null'); } catch {}
    process.stdout.write(JSON.stringify(await attempt(order)));
  `;
  const script = `ulimit -n 64 && exec "$0" --input-type=module -e "$1"`;
  const child = spawn('sh', ['-c', script, process.execPath, program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = (await readAll(child.stdout)).split('\n').map((line) => JSON.parse(line));
  assert.deepEqual(lines.map(withoutVariableParts), [answered(400), localError('no_file_handle')]);
  assert.equal(hook.connections(), 1);
});

test('C19 a name that does not exist is a failure, a silent resolver is a local error', async () => {
  const url = 'http://target.example/';
  const none = guardWith(async () => ({ failure: 'no_such_name' }));
  assert.deepEqual(withoutVariableParts(await attempt(url, { guard: none })), failed('no_such_name'));
  const silent = guardWith(async () => ({ failure: 'resolver_silent' }));
  assert.deepEqual(withoutVariableParts(await attempt(url, { guard: silent })), localError('no_resolver'));
  // The result is the same if the resolver ignores its timeout.
  const hanging = guardWith(silentResolve);
  assert.deepEqual(
    withoutVariableParts(await attempt(url, { guard: hanging, timeoutMs: SHORT_MS })),
    localError('no_resolver'),
  );
});

test('C21 DNS has half of the deadline, at most 5 s', async () => {
  const limits: number[] = [];
  const guard = guardWith(async (_hostname, timeoutMs) => {
    limits.push(timeoutMs);
    return { failure: 'no_such_name' };
  });
  for (const deadlineMs of [1_000, 15_000]) await attempt('http://target.example/', { guard, timeoutMs: deadlineMs });
  assert.deepEqual(limits, [500, 5_000]);
});

test('C19 an abort before the attempt, during DNS and in flight results in the local error stopped', async (t) => {
  const stopped = new AbortController();
  stopped.abort();
  let asked = 0;
  const counting = guardWith(async () => {
    asked += 1;
    return { addresses: ['127.0.0.1'] };
  });
  const hook = await startTarget(t, () => {});
  assert.deepEqual(
    withoutVariableParts(await attempt(hook.url, { signal: stopped.signal, guard: counting })),
    localError('stopped'),
  );
  assert.equal(asked, 0);

  const resolving = new AbortController();
  const answerLate = Promise.withResolvers<{ addresses: string[] }>();
  const guard = guardWith(() => answerLate.promise);
  const waiting = attempt(`http://target.example:${hook.port}/`, { signal: resolving.signal, guard });
  resolving.abort();
  assert.deepEqual(withoutVariableParts(await waiting), localError('stopped'));
  const dials = countDials(t);
  answerLate.resolve({ addresses: ['127.0.0.1'] });
  await nextTurn();
  assert.equal(dials(), 0);

  const flying = new AbortController();
  const flight = attempt(hook.url, { signal: flying.signal });
  await waitUntil(() => hook.received().endsWith(BODY), 'nothing arrived');
  flying.abort();
  assert.deepEqual(withoutVariableParts(await flight), localError('stopped'));
});

test('C19 an abort while dialling tries no other address', async (t) => {
  const hook = await startTarget(t, respondWith(OK));
  const stop = new AbortController();
  const guard = guardFor('127.0.0.1', '127.0.0.1', '127.0.0.1');
  const dials = countDials(t);
  const flight = attempt(hook.url, { signal: stop.signal, guard });
  while (dials() === 0) await undefined;
  stop.abort();
  assert.deepEqual(withoutVariableParts(await flight), localError('stopped'));
  await nextTurn();
  assert.equal(dials(), 1);
  assert.equal(hook.received(), '');
});

test('C13 an abort at the moment of the connection sends no byte', async (t) => {
  let ended = false;
  const hook = await startTarget(t, (socket) => {
    socket.resume();
    socket.on('close', () => {
      ended = true;
    });
  });
  const stop = new AbortController();
  const outcome = await attempt(hook.url, { signal: stop.signal, onBeforeSend: () => stop.abort() });
  assert.deepEqual(withoutVariableParts(outcome), localError('stopped'));
  await waitUntil(() => ended, 'the connection was not closed');
  assert.deepEqual([hook.received(), hook.connections()], ['', 1]);
});

test('onDialled is called once, when connected and before the first byte', async (t) => {
  const hook = await startTarget(t, respondWith(OK));
  const calls: string[] = [];
  await attempt(hook.url, { onBeforeSend: () => calls.push(hook.received()) });
  assert.deepEqual(calls, ['']);
  await attempt('http://target.example/', {
    guard: guardWith(async () => ({ failure: 'no_such_name' })),
    onBeforeSend: () => calls.push('never'),
  });
  assert.deepEqual(calls, ['']);
});

test('an abort after the head changes nothing and closes the connection immediately', async (t) => {
  let closed = false;
  const hook = await startTarget(t, (socket) => {
    socket.on('close', () => {
      closed = true;
    });
    whenComplete(socket, () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345'));
  });
  const stop = new AbortController();
  assert.deepEqual(withoutVariableParts(await attempt(hook.url, { signal: stop.signal })), answered(200));
  stop.abort();
  await waitUntil(() => closed, 'the connection was not cut');
});

test('a bug of this service is thrown and does not count against the target', async (t) => {
  const hook = await startTarget(t, respondWith(OK));
  const broken: SsrfGuard = {
    checkTarget: async () => {
      throw new TypeError('bug');
    },
  };
  await assert.rejects(attempt(hook.url, { guard: broken }), /bug/);
  await assert.rejects(attempt('no URL'), TypeError);
  await assert.rejects(attempt(hook.url, { deliveryId: 'two\r\nlines: 1' }), /invalid webhook-id header/);
  await assert.rejects(
    attempt(hook.url, {
      onBeforeSend: () => {
        throw new TypeError('bug');
      },
    }),
    /bug/,
  );
  assert.equal(hook.received(), '');
});

function tlsServer(): Server {
  return createTlsServer({ key: privateKey, cert: certificate });
}

test('C17 the TLS certificate must match the name or address of the URL', async (t) => {
  const hook = await startTarget(t, respondWith(OK), tlsServer());
  for (const host of ['target.test', 'TARGET.test.', 'localhost', '127.0.0.1']) {
    const outcome = await attempt(`https://${host}:${hook.port}/`, { ca: certificate });
    assert.deepEqual(withoutVariableParts(outcome), answered(200), host);
  }
  const before = hook.received();
  assert.deepEqual(
    withoutVariableParts(await attempt(`https://other.test:${hook.port}/`, { ca: certificate })),
    failed('tls'),
  );
  // Without the test authority, the certificate is an untrusted self-signed one.
  assert.deepEqual(withoutVariableParts(await attempt(`https://target.test:${hook.port}/`)), failed('tls'));
  const guard = guardFor('127.0.0.1');
  assert.deepEqual(
    withoutVariableParts(await attempt(`https://8.8.8.8:${hook.port}/`, { ca: certificate, guard })),
    failed('tls'),
  );
  assert.equal(hook.received(), before);
});

test('C17 NODE_TLS_REJECT_UNAUTHORIZED does not disable certificate checks', async (t) => {
  const hook = await startTarget(t, respondWith(OK), tlsServer());
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  t.after(() => {
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
  });
  assert.deepEqual(withoutVariableParts(await attempt(`https://target.test:${hook.port}/`)), failed('tls'));
});

test('C17 SNI is sent for names, never for addresses', async (t) => {
  const asked: string[] = [];
  const server = createTlsServer({
    key: privateKey,
    cert: certificate,
    SNICallback: (name, done) => {
      asked.push(name);
      done(null);
    },
  });
  const hook = await startTarget(t, respondWith(OK), server);
  for (const host of ['target.test.', '127.0.0.1']) {
    assert.deepEqual(
      withoutVariableParts(await attempt(`https://${host}:${hook.port}/`, { ca: certificate })),
      answered(200),
      host,
    );
  }
  assert.deepEqual(asked, ['target.test']);
});

test('C19 an abort during the TLS handshake', async (t) => {
  const hanging = await startTarget(t, () => {});
  const stop = new AbortController();
  const flight = attempt(`https://127.0.0.1:${hanging.port}/`, { signal: stop.signal });
  await waitUntil(() => hanging.connections() === 1, 'nobody came');
  stop.abort();
  assert.deepEqual(withoutVariableParts(await flight), localError('stopped'));
});
