import assert from 'node:assert/strict';
import { after } from 'node:test';
import { converse, requestText } from '../../test/harness/conversation.ts';
import { stores } from '../../test/harness/stores.ts';

for (const { test, testService } of stores) {
  const carillon = await testService({ after });
  const owner = await carillon.account('acme.test');
  const credentials = [`key: ${owner.key}`, `domain: ${owner.domain}`];

  const CLIENT = '{"client_name":"Smuggled"}';
  const LENGTH = `content-length: ${CLIENT.length}`;
  const CHUNK = `${CLIENT.length.toString(16)}\r\n${CLIENT}\r\n0\r\n\r\n`;

  /** What a smuggler hides behind a request that is read in two ways. */
  const HIDDEN = requestText(['DELETE /v2/clients/1 HTTP/1.1', 'host: x', ...credentials]);

  const post = (lines: readonly string[], body: string) =>
    requestText(['POST /v2/clients HTTP/1.1', 'host: x', ...credentials, ...lines], body) + HIDDEN;
  const get = (...lines: string[]) => requestText(['GET /v2/user HTTP/1.1', ...lines, ...credentials]) + HIDDEN;

  const before = await owner.carillon.clients.list();

  /** What no honest client sends, and what two readers of HTTP might read in two ways. */
  const malformed: Readonly<Record<string, string>> = {
    'a length and chunks': post([LENGTH, 'transfer-encoding: chunked'], CHUNK),
    'chunks and a length': post(['transfer-encoding: chunked', 'content-length: 4'], CHUNK),
    'two lengths': post([LENGTH, 'content-length: 4'], CLIENT),
    'the same length twice': post([LENGTH, LENGTH], CLIENT),
    'a list of lengths': post([`${LENGTH}, ${CLIENT.length}`], CLIENT),
    'a length with a sign': post([`content-length: +${CLIENT.length}`], CLIENT),
    'a length in hexadecimal': post(['content-length: 0x1a'], CLIENT),
    'a negative length': post(['content-length: -1'], CLIENT),
    'a length that is none': post(['content-length: many'], CLIENT),
    'a chunk whose size is none': post(['transfer-encoding: chunked'], `zz\r\n${CLIENT}\r\n0\r\n\r\n`),
    'a chunk longer than its size': post(['transfer-encoding: chunked'], `2\r\n${CLIENT}\r\n0\r\n\r\n`),
    'chunks with bare line feeds': post(['transfer-encoding: chunked'], CHUNK.replaceAll('\r\n', '\n')),
    'a line feed in a chunk extension': post(['transfer-encoding: chunked'], CHUNK.replace('\r\n', ';a\nb\r\n')),
    'two transfer codings': post(['transfer-encoding: chunked', 'transfer-encoding: identity'], CHUNK),
    'a transfer coding that only looks like chunked': post(['transfer-encoding: xchunked'], CHUNK),
    'a transfer coding around chunked': post(['transfer-encoding: gzip, chunked'], CHUNK),
    'a transfer coding behind chunked': post(['transfer-encoding: chunked, identity'], CHUNK),
    'a space before the colon': post(['transfer-encoding : chunked', LENGTH], CLIENT),
    'two hosts': get('host: x', 'host: y'),
    'the same host twice': get('host: x', 'HOST: x'),
    'no host': get(),
    'a folded header': get('host: x', 'x: a', ' b'),
    'bare line feeds': get('host: x').replaceAll('\r\n', '\n'),
    'bare carriage returns': get('host: x').replaceAll('\r\n', '\r'),
    'NUL in a header': get('host: x', 'x: a\0b'),
    'a space in the name of a header': get('host: x', 'x y: z'),
    'a header without a colon': get('host: x', 'xyz'),
    'HTTP/0.9': 'GET /v2/user\r\n\r\n',
    'HTTP/1.2': requestText(['GET /v2/user HTTP/1.2', 'host: x', ...credentials]),
    'HTTP/2.0 in words': requestText(['GET /v2/user HTTP/2.0', 'host: x', ...credentials]),
    'the beginning of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'the beginning of TLS': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
    'a space in the address': requestText(['GET /v2/us er HTTP/1.1', 'host: x', ...credentials]),
    'bytes that are no address': requestText(['GET /v2/\xff\xfe HTTP/1.1', 'host: x', ...credentials]),
    'a tunnel': requestText(['CONNECT elsewhere.example:443 HTTP/1.1', 'host: elsewhere.example:443', ...credentials]),
    'no HTTP at all': 'hello there\r\n\r\n',
  };

  for (const [what, bytes] of Object.entries(malformed)) {
    test(`C6 ${what}: 400, the connection ends, and nothing behind it is answered`, async () => {
      const { text, statuses, closed } = await converse(carillon.baseUrl, bytes);
      assert.deepEqual(statuses, [400]);
      assert.equal(closed, true);
      assert.match(text, /\r\ncontent-type: application\/problem\+json(; charset=utf-8)?\r\n/i);
      assert.equal(JSON.parse(text.slice(text.indexOf('\r\n\r\n'))).code, 'malformed_request');
    });
  }

  test('C6 nothing of all that was done', async () => {
    const now = await owner.carillon.clients.list();
    assert.deepEqual(now, before);
  });

  const once = (first: string, lines: readonly string[] = credentials, body = '') =>
    converse(carillon.baseUrl, requestText([`${first} HTTP/1.1`, 'host: x', 'connection: close', ...lines], body));

  test('C4 a method that is unknown, to us or to all the world: 404 with a key, 401 without', async () => {
    for (const method of ['PATCH', 'PROPFIND', 'PURGE', 'QUERY', 'TRACE', 'OPTIONS', 'RING', 'get', 'X-Y_Z']) {
      const [known, unknown] = [await once(`${method} /v2/clients`), await once(`${method} /v2/clients`, [])];
      assert.deepEqual(known.statuses, [404], method);
      assert.match(known.text, /"code":"not_found"/);
      assert.deepEqual(unknown.statuses, [401], method);
      assert.match(unknown.text, /\r\nwww-authenticate: Key realm="carillon"\r\n/i);
      assert.match(unknown.text, /"code":"unauthorized"/);
      // Outside of the doors nobody is asked for a key.
      assert.deepEqual((await once(`${method} /nowhere`, [])).statuses, [404], method);
    }
  });

  test('C4 what is not there is 404 before its body is looked at', async () => {
    const lines = [...credentials, 'content-type: text/plain', 'content-length: 3'];
    for (const first of ['POST /v2/nowhere', 'PUT /v2/clients', 'QUERY /v2/clients'])
      assert.deepEqual((await once(first, lines, 'abc')).statuses, [404], first);
  });

  test('C4 HEAD answers what GET answers, without a body', async () => {
    const { client_id } = await owner.carillon.clients.create({ client_name: 'ACME' });
    for (const path of ['/v2/user', `/v2/clients/${client_id}`, '/v2/clients', '/v2/nowhere', '/healthz']) {
      const [get, head] = [await once(`GET ${path}`), await once(`HEAD ${path}`)];
      assert.deepEqual(head.statuses, get.statuses, path);
      const [headers, body] = head.text.split('\r\n\r\n');
      assert.equal(body, '', path);
      const length = /content-length: (\d+)/i.exec(headers ?? '')?.[1];
      assert.equal(length, String(Buffer.byteLength(get.text.split('\r\n\r\n')[1] ?? '', 'latin1')), path);
    }
    assert.deepEqual((await once('HEAD /v2/user', [])).statuses, [401]);
  });

  test('C10 a host header, a whole address or a forwarded one changes no address in an answer', async () => {
    const { client_id } = await owner.carillon.clients.create({ client_name: 'Host' });
    const body = JSON.stringify({ client_name: 'Host' });
    const strange = ['x-forwarded-host: evil.example', 'x-forwarded-proto: https', 'forwarded: host=evil.example'];
    const lines = [...credentials, ...strange, `content-length: ${body.length}`];
    const created = await once('POST http://evil.example/v2/clients', lines, body);
    assert.deepEqual(created.statuses, [201]);
    assert.match(
      created.text,
      new RegExp(`\\r\\nlocation: ${carillon.baseUrl}/v2/clients/${Number(client_id) + 1}\\r\\n`, 'i'),
    );
    assert.doesNotMatch(created.text, /evil/);
  });

  test('C4 an expectation is met or passed over, and an upgrade is not taken', async () => {
    const lines = [...credentials, LENGTH];
    assert.deepEqual((await once('POST /v2/clients', [...lines, 'expect: 100-continue'], CLIENT)).statuses, [100, 201]);
    assert.deepEqual((await once('POST /v2/clients', [...lines, 'expect: miracles'], CLIENT)).statuses, [201]);
    const upgrade = ['connection: upgrade', 'upgrade: websocket', 'sec-websocket-key: x'];
    assert.deepEqual((await once('GET /v2/user', [...credentials, ...upgrade])).statuses, [200]);
  });
}
