import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, test } from 'node:test';
import type { FastifyReply } from 'fastify';
import { createTestClock } from '../../../test/kit/clock.ts';
import { eventually } from '../../../test/kit/eventually.ts';
import { createSlowResolver } from '../../../test/kit/network/nameserver.ts';
import { formatRequest, sendRawBytes } from '../../../test/kit/network/raw-http.ts';
import { sqlite, stores } from '../../../test/kit/service/stores.ts';
import { Quota } from '../../async/quota.ts';
import { type Clock, systemClock } from '../../clock.ts';
import { ReasonCounter } from './admission.ts';
import { ActiveRequests } from './request-slots.ts';
import { defaultTimeouts } from './resource-limits.ts';
import { MIN_LARGE_RESPONSE_BYTES, ResponseSizes } from './response-buffers.ts';

for (const { test, testService } of stores) {
  const carillon = await testService({ after });
  const owner = await carillon.createAccount('acme.test');
  const credentials = [`key: ${owner.key}`, `domain: ${owner.domain}`];

  const KIB = 1_024;
  const statusesOf = async (bytes: string) => (await sendRawBytes(carillon.baseUrl, bytes, 2_000)).statuses;
  const head = (first: string, ...lines: string[]) =>
    formatRequest([`${first} HTTP/1.1`, 'host: x', 'connection: close', ...credentials, ...lines]);

  test('headers of more than 16 KiB are 431, and the connection ends', async () => {
    assert.deepEqual(await statusesOf(head('GET /v2/user', `x: ${'x'.repeat(15 * KIB)}`)), [200]);
    const { statuses, isClosed, text } = await sendRawBytes(
      carillon.baseUrl,
      head('GET /v2/user', `x: ${'x'.repeat(17 * KIB)}`),
    );
    assert.deepEqual([statuses, isClosed], [[431], true]);
    assert.match(text, /"code":"headers_too_large"/);
  });

  test('a URL of more than 8 KiB is 414', async () => {
    const address = (length: number) => `/v2/user?x=${'x'.repeat(length - '/v2/user?x='.length)}`;
    assert.deepEqual(await statusesOf(head(`GET ${address(8 * KIB)}`)), [200]);
    const { statuses, text } = await sendRawBytes(carillon.baseUrl, head(`GET ${address(8 * KIB + 1)}`));
    assert.deepEqual(statuses, [414]);
    assert.match(text, /"code":"uri_too_long"/);
  });

  test('a body of more than 64 KiB is 413, announced or in chunks, and nothing is written', async () => {
    const body = (length: number) => {
      const [begin, end] = ['{"client_name":"ACME","notes":"', '"}'];
      return `${begin}${' '.repeat(length - begin.length - end.length)}${end}`;
    };
    const whole = (length: number) => head('POST /v2/clients', `content-length: ${length}`) + body(length);
    const chunked = (length: number) =>
      `${head('POST /v2/clients', 'transfer-encoding: chunked')}${length.toString(16)}\r\n${body(length)}\r\n0\r\n\r\n`;
    assert.deepEqual(await statusesOf(whole(64 * KIB)), [201]);
    assert.deepEqual(await statusesOf(chunked(64 * KIB)), [201]);
    assert.deepEqual(await statusesOf(whole(64 * KIB + 1)), [413]);
    assert.deepEqual(await statusesOf(chunked(64 * KIB + 1)), [413]);
    // The declared length is sufficient: the request is rejected without waiting for its body.
    assert.deepEqual(await statusesOf(head('POST /v2/clients', 'content-length: 999999999999')), [413]);
    assert.equal((await owner.carillon.clients.list()).paging.total_records, 2);
  });

  test('a client that stops sending within its headers or a required body gets 408', async (t) => {
    const hasty = {
      ...defaultTimeouts,
      headersMs: 60,
      bodyGraceMs: 120,
      visitorBodyMs: 120,
      deadlineCheckIntervalMs: 20,
    };
    const service = await testService(t, { deps: { timeouts: hasty } });
    const person = await service.createAccount('acme.test');
    const known = [`key: ${person.key}`, `domain: ${person.domain}`];
    const own = `origin: ${service.baseUrl}`;
    const slow = {
      'within its headers': 'GET /healthz HTTP/1.1\r\nhost: x\r\nx: ',
      'within its body': formatRequest(['POST /v2/clients HTTP/1.1', 'host: x', ...known, 'content-length: 10'], 'abc'),
      'within its body, without a key': formatRequest(
        ['POST /console/session HTTP/1.1', 'host: x', own, 'content-length: 10'],
        'abc',
      ),
    };
    for (const [where, bytes] of Object.entries(slow)) {
      const { statuses, isClosed, text } = await sendRawBytes(service.baseUrl, bytes);
      assert.deepEqual([statuses, isClosed], [[408], true], where);
      assert.match(text, /"code":"request_timeout"/);
    }
    const { text } = await service.call(undefined, 'GET', '/metrics');
    assert.match(text, /^carillon_connections_closed_total\{reason="head_timeout"\} 1$/m);
    assert.match(text, /^carillon_connections_closed_total\{reason="body_timeout"\} 2$/m);
    await service.stop();
    const closed = service.logged.filter(({ event }) => event === 'connections.closed');
    assert.ok(closed.length > 0 && closed.length <= 3, 'one line a second');
  });

  test('the timeouts have these defaults', () => {
    assert.deepEqual(defaultTimeouts, {
      headersMs: 10_000,
      bodyGraceMs: 10_000,
      minBodyBytesPerS: 8_192,
      visitorBodyMs: 5_000,
      dropMs: 5_000,
      stallMs: 30_000,
      keepAliveMs: 65_000,
      requestTimeoutMs: 30_000,
      deadlineCheckIntervalMs: 1_000,
      drainMs: 250,
    });
  });

  test('beyond --max-requests callers are shed with 503 and Retry-After until there is room; probes and visitors are not', async (t) => {
    const origin = 'https://app.example';
    const names = createSlowResolver();
    const options = { maxRequests: '1', corsOrigins: origin };
    const small = await testService(t, { options, deps: { resolve: names.resolve } });
    const caller = await small.createAccount('acme.test');
    const waiting = names.subscribe(small, caller);
    await eventually(names.countWaitingSubscriptions, (count) => count === 1);
    const shed = await small.call(caller, 'GET', '/v2/user', undefined, { origin });
    assert.equal(shed.status, 503);
    assert.equal(shed.headers.get('access-control-allow-origin'), origin, 'a page can read that it is to wait');
    assert.equal(shed.json.code, 'overloaded');
    assert.equal(shed.headers.get('retry-after'), '1');
    assert.match(String(shed.headers.get('content-type')), /^application\/problem\+json/);
    for (const path of ['/healthz', '/readyz', '/', '/openapi.json'])
      assert.equal((await small.call(undefined, 'GET', path)).status, 200, path);
    const { text } = await small.call(undefined, 'GET', '/metrics');
    assert.match(text, /^carillon_requests_shed_total\{reason="requests"\} 1$/m);

    names.release();
    assert.equal((await waiting).status, 201);
    assert.equal((await small.call(caller, 'GET', '/v2/user')).status, 200);
  });

  test('a caller that disconnects in the middle of a request holds no slot', async (t) => {
    const names = createSlowResolver();
    const small = await testService(t, { options: { maxRequests: '1' }, deps: { resolve: names.resolve } });
    const caller = await small.createAccount('acme.test');
    const { hostname, port } = new URL(small.baseUrl);
    const socket = connect(Number(port), hostname);
    t.after(() => socket.destroy());
    const body = JSON.stringify({ target_url: 'http://slow.example/', event: 'new_event' });
    const known = [`key: ${caller.key}`, `domain: ${caller.domain}`, `content-length: ${body.length}`];
    socket.write(formatRequest(['POST /v2/hooks HTTP/1.1', 'host: x', ...known], body));
    await eventually(names.countWaitingSubscriptions, (count) => count === 1);
    assert.equal((await small.call(caller, 'GET', '/v2/user')).status, 503);
    socket.destroy();
    const { status } = await eventually(
      () => small.call(caller, 'GET', '/v2/user'),
      (one) => one.status !== 503,
    );
    assert.equal(status, 200);
  });
}

test('a route that sent a user a large response is expected to send as much again, until it sends less', () => {
  const sizes = new ResponseSizes();
  sizes.recordSize(1, '/tasks', 10);
  assert.equal(sizes.expectedBytesOf(1, '/tasks'), 0);
  sizes.recordSize(1, '/tasks', 1_000_000);
  assert.deepEqual(
    [sizes.expectedBytesOf(1, '/tasks'), sizes.expectedBytesOf(2, '/tasks'), sizes.expectedBytesOf(1, '/a')],
    [1e6, 0, 0],
  );
  sizes.recordSize(1, '/tasks', MIN_LARGE_RESPONSE_BYTES);
  assert.equal(sizes.expectedBytesOf(1, '/tasks'), MIN_LARGE_RESPONSE_BYTES);
  sizes.recordSize(1, '/tasks', MIN_LARGE_RESPONSE_BYTES - 1);
  assert.equal(sizes.expectedBytesOf(1, '/tasks'), 0);
});

test('beyond ten thousand entries the oldest is evicted', () => {
  const sizes = new ResponseSizes();
  for (let user = 0; user <= 10_000; user += 1) sizes.recordSize(user, '/tasks', 1_000_000);
  assert.deepEqual([sizes.expectedBytesOf(0, '/tasks'), sizes.expectedBytesOf(1, '/tasks')], [0, 1_000_000]);
});

test('counts are reported at most once a second, and on flush', async () => {
  const clock = createTestClock();
  const reports: unknown[] = [];
  const tally = new ReasonCounter<'a' | 'b'>(clock, (counts) => reports.push(counts));
  for (const reason of ['a', 'b', 'a'] as const) tally.count(reason);
  await clock.advance(999);
  assert.deepEqual(reports, []);
  await clock.advance(5_000);
  assert.deepEqual(reports, [{ a: 2, b: 1 }]);
  tally.count('b');
  tally.flush();
  tally.flush();
  assert.deepEqual([reports, clock.remainingDelaysMs], [[{ a: 2, b: 1 }, { b: 1 }], []]);
});

test('C20 a stopped service has no pending timers, so its process can exit immediately', async (t) => {
  const waiting = new Set<string>();
  const clock: Clock = {
    ...systemClock,
    after(waitMs, run) {
      const by = new Error(`${waitMs} ms`).stack ?? '';
      waiting.add(by);
      const cancel = systemClock.after(waitMs, () => {
        waiting.delete(by);
        run();
      });
      return () => {
        waiting.delete(by);
        cancel();
      };
    },
  };
  const carillon = await sqlite.testService(t, { deps: { clock } });
  const owner = await carillon.createAccount('acme.test');
  await owner.carillon.events.list();
  await carillon.stop();
  assert.deepEqual([...waiting], []);
});

test('a request holds a slot until it leaves, and times out unless its response was sent', async () => {
  const clock = createTestClock();
  const givenUp: FastifyReply[] = [];
  const activeRequests = new ActiveRequests(clock, 30_000, (reply) => givenUp.push(reply));
  const slots = new Quota({ maxTotal: 2 });
  const reply = (sent = false) => ({ sent }) as FastifyReply;
  const [first, second, third] = [reply(), reply(true), reply()];
  const owner = { group: 1 };
  assert.deepEqual(
    [first, second, third].map((one) => activeRequests.acquire(one, slots, owner)),
    [true, true, false],
  );
  await clock.advance(30_000);
  assert.deepEqual([givenUp, slots.usedAmount], [[], 2]);
  await clock.advance(1_000);
  assert.deepEqual([givenUp, slots.usedAmount, clock.remainingDelaysMs], [[first], 0, []]);
  assert.equal(activeRequests.acquire(third, slots, owner), true);
  activeRequests.release(third);
  activeRequests.release(third);
  await clock.advance(60_000);
  assert.deepEqual([givenUp.length, slots.usedAmount], [1, 0]);
});
