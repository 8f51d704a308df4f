import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, type TestContext } from 'node:test';
import { converse, requestText } from '../../test/harness/conversation.ts';
import { eventually } from '../../test/harness/eventually.ts';
import type { TestService } from '../../test/harness/service.ts';
import { stores } from '../../test/harness/stores.ts';
import { patience } from '../app.ts';

for (const { test, testService } of stores) {
  const carillon = await testService({ after });
  const owner = await carillon.account('acme.test');
  const credentials = [`key: ${owner.key}`, `domain: ${owner.domain}`];

  const KIB = 1_024;
  const statusesOf = async (bytes: string) => (await converse(carillon.baseUrl, bytes, 2_000)).statuses;
  const head = (first: string, ...lines: string[]) =>
    requestText([`${first} HTTP/1.1`, 'host: x', 'connection: close', ...credentials, ...lines]);

  test('headers of more than 16 KiB are 431, and the connection ends', async () => {
    assert.deepEqual(await statusesOf(head('GET /v2/user', `x: ${'x'.repeat(15 * KIB)}`)), [200]);
    const { statuses, closed, text } = await converse(
      carillon.baseUrl,
      head('GET /v2/user', `x: ${'x'.repeat(17 * KIB)}`),
    );
    assert.deepEqual([statuses, closed], [[431], true]);
    assert.match(text, /"code":"headers_too_large"/);
  });

  test('an address of more than 8 KiB is 414', async () => {
    const address = (length: number) => `/v2/user?x=${'x'.repeat(length - '/v2/user?x='.length)}`;
    assert.deepEqual(await statusesOf(head(`GET ${address(8 * KIB)}`)), [200]);
    const { statuses, text } = await converse(carillon.baseUrl, head(`GET ${address(8 * KIB + 1)}`));
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
    // Announced alone is enough: nobody waits for what is not wanted.
    assert.deepEqual(await statusesOf(head('POST /v2/clients', 'content-length: 999999999999')), [413]);
    assert.equal((await owner.carillon.clients.list()).paging.total_records, 2);
  });

  test('whoever sends nothing more is cut: within its headers, and within its body', async (t) => {
    const hasty = { ...patience, headersMs: 60, requestMs: 120, lookEveryMs: 20 };
    const { baseUrl } = await testService(t, { ports: { patience: hasty } });
    const slow = {
      'within its headers': 'GET /healthz HTTP/1.1\r\nhost: x\r\nx: ',
      'within its body': requestText(['POST /healthz HTTP/1.1', 'host: x', 'content-length: 10'], 'abc'),
    };
    for (const [where, bytes] of Object.entries(slow)) {
      const { statuses, closed, text } = await converse(baseUrl, bytes);
      assert.deepEqual([statuses, closed], [[408], true], where);
      assert.match(text, /"code":"request_timeout"/);
    }
  });

  test('the times that a service grants are these', () => {
    assert.deepEqual(patience, {
      headersMs: 10_000,
      requestMs: 30_000,
      keepAliveMs: 65_000,
      answerMs: 30_000,
      lookEveryMs: 5_000,
      drainMs: 250,
    });
  });

  /** A request that is under way until its body is sent. */
  async function held(t: TestContext, { baseUrl }: TestService, who: typeof owner): Promise<Socket> {
    const { hostname, port } = new URL(baseUrl);
    const socket = connect(Number(port), hostname);
    t.after(() => socket.destroy());
    await once(socket, 'connect');
    const lines = ['POST /v2/clients HTTP/1.1', 'host: x', 'connection: close', 'content-length: 22'];
    socket.write(requestText([...lines, `key: ${who.key}`, `domain: ${who.domain}`]));
    return socket;
  }

  test('beyond --max-requests callers are shed with 503 and Retry-After; probes are not, and it passes', async (t) => {
    const origin = 'https://app.example';
    const small = await testService(t, { options: { maxRequests: '1', corsOrigins: origin } });
    const caller = await small.account('acme.test');
    const socket = await held(t, small, caller);
    const shed = await eventually(
      () => small.call(caller, 'GET', '/v2/user', undefined, { origin }),
      ({ status }) => status === 503,
    );
    assert.equal(shed.headers.get('access-control-allow-origin'), origin, 'a page can read that it is to wait');
    assert.equal(shed.json.code, 'overloaded');
    assert.equal(shed.headers.get('retry-after'), '1');
    assert.match(String(shed.headers.get('content-type')), /^application\/problem\+json/);
    for (const probe of ['/healthz', '/readyz', '/metrics'])
      assert.equal((await small.call(undefined, 'GET', probe)).status, 200, probe);

    socket.write('{"client_name":"ACME"}');
    const [answer] = await once(socket, 'data');
    assert.match(String(answer), /^HTTP\/1\.1 201 /);
    const { status } = await eventually(
      () => small.call(caller, 'GET', '/v2/user'),
      (one) => one.status !== 503,
    );
    assert.equal(status, 200);
  });

  test('a caller who goes away in the middle of a request holds no place', async (t) => {
    const small = await testService(t, { options: { maxRequests: '1' } });
    const caller = await small.account('acme.test');
    const socket = await held(t, small, caller);
    await eventually(
      () => small.call(caller, 'GET', '/v2/user'),
      ({ status }) => status === 503,
    );
    socket.destroy();
    const { status } = await eventually(
      () => small.call(caller, 'GET', '/v2/user'),
      (one) => one.status !== 503,
    );
    assert.equal(status, 200);
  });
}
