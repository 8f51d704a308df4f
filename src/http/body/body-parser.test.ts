import assert from 'node:assert/strict';
import { after } from 'node:test';
import { sendRawRequest } from '../../../test/kit/network/raw-http.ts';
import { serializeTables } from '../../../test/kit/service/occurrences.ts';
import { stores } from '../../../test/kit/service/stores.ts';

for (const { test, testService } of stores) {
  const carillon = await testService({ after });
  const owner = await carillon.createAccount('acme.test');
  const client = await owner.carillon.clients.create({ client_name: 'Before' });
  const path = `/v2/clients/${client.client_id}`;
  const sent = '{"client_name":"After"}';

  const post = (body: string | Uint8Array, headers: Record<string, string> = {}) =>
    carillon.call(owner, 'POST', '/v2/clients', body, headers);

  /** Sends a request with exactly these header lines in addition to key and domain. */
  const sendRaw = (first: string, lines: readonly string[], body = '') =>
    sendRawRequest(
      carillon.baseUrl,
      [first, 'host: x', `key: ${owner.key}`, `domain: ${owner.domain}`, ...lines],
      body,
    );

  /** Asserts that a body is rejected as malformed by a creation and a change, and that nothing is written. */
  async function assertMalformed(body: string | Uint8Array): Promise<void> {
    const before = await serializeTables(carillon);
    for (const [method, at] of [
      ['POST', '/v2/clients'],
      ['PUT', path],
    ] as const) {
      const { status, json } = await carillon.call(owner, method, at, body);
      assert.deepEqual([status, json?.code], [400, 'malformed_body'], `${method} ${String(body).slice(0, 60)}`);
    }
    assert.equal(await serializeTables(carillon), before);
  }

  test('C4 a body without Content-Type is parsed as JSON', async () => {
    const length = `content-length: ${sent.length}`;
    assert.equal((await sendRaw('POST /v2/clients HTTP/1.1', [length], sent)).status, 201);
    assert.equal((await sendRaw(`PUT ${path} HTTP/1.1`, [length], sent)).status, 200);
    const chunked = `${sent.length.toString(16)}\r\n${sent}\r\n0\r\n\r\n`;
    assert.equal((await sendRaw('POST /v2/clients HTTP/1.1', ['transfer-encoding: chunked'], chunked)).status, 201);
    // An empty Content-Type counts as missing.
    for (const empty of ['content-type:', 'content-type: \t'])
      assert.equal((await sendRaw('POST /v2/clients HTTP/1.1', [length, empty], sent)).status, 201);
    const broken = await sendRaw('POST /v2/clients HTTP/1.1', ['content-length: 1'], '{');
    assert.deepEqual([broken.status, JSON.parse(broken.body).code], [400, 'malformed_body']);
  });

  test('C4 Content-Type: application/json on a GET or DELETE without a body is tolerated', async () => {
    for (const lines of [['content-type: application/json'], ['content-type: application/json', 'content-length: 0']]) {
      const { client_id } = await owner.carillon.clients.create({ client_name: 'Gone' });
      assert.equal((await sendRaw(`GET /v2/clients/${client_id} HTTP/1.1`, lines)).status, 200);
      assert.equal((await sendRaw(`DELETE /v2/clients/${client_id} HTTP/1.1`, lines)).status, 200);
      assert.equal((await sendRaw('GET /v2/clients HTTP/1.1', lines)).status, 200);
    }
  });

  test('C4 JSON in UTF-8 is accepted with any spelling of its media type', async () => {
    for (const type of [
      'application/json',
      'application/json; charset=utf-8',
      'application/json;charset=UTF-8',
      'application/json; charset="utf-8"',
      'Application/JSON; Charset=utf8',
      'application/json; profile=x',
    ]) {
      assert.equal((await post(sent, { 'content-type': type })).status, 201, type);
    }
    assert.equal((await post(sent, { 'content-encoding': 'Identity' })).status, 201);
  });

  test('C4 an unsupported media type is 415, and writes nothing', async () => {
    const before = await serializeTables(carillon);
    for (const type of [
      'text/plain',
      'text/json',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/problem+json',
      'application/jsonp',
      'application/json; charset=iso-8859-1',
      'application/json; charset=utf-16',
      'application/octet-stream',
      'nonsense',
      '*/*',
    ]) {
      const { status, json } = await post(sent, { 'content-type': type });
      assert.deepEqual([status, json.code], [415, 'unsupported_media_type'], type);
    }
    for (const coding of ['gzip', 'br', 'identity, gzip', 'x']) {
      const { status, json } = await post(sent, { 'content-encoding': coding });
      assert.deepEqual([status, json.code], [415, 'unsupported_media_type'], coding);
    }
    assert.equal(await serializeTables(carillon), before);
  });

  test('C4 a body that is not JSON is 400', async () => {
    for (const body of [
      '{',
      '{"client_name":"x"',
      "{'client_name':'x'}",
      '{client_name:"x"}',
      '{"client_name":"x"}}',
      '{"client_name":"x"} trailing',
      '{"client_name":"x",}',
      '{"client_name":NaN}',
      '{"client_name":"line\nbreak"}',
      '{"client_name":"\\x"}',
      'client_name=x',
      '<client/>',
      ' ',
      '',
    ]) {
      await assertMalformed(body);
    }
  });

  test('C4 a body that is JSON but not an object is 400', async () => {
    for (const body of ['null', 'true', '7', '"client_name"', '[]', '[{"client_name":"x"}]', '""']) {
      await assertMalformed(body);
    }
  });

  test('C4 a body that is not UTF-8 is 400', async () => {
    const [before, after] = ['{"client_name":"', '"}'].map((part) => Buffer.from(part));
    for (const bytes of [[0xff], [0xc3], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0x80]]) {
      await assertMalformed(Buffer.concat([before ?? Buffer.of(), Buffer.from(bytes), after ?? Buffer.of()]));
    }
    await assertMalformed(Buffer.from(sent, 'utf16le'));
  });

  test('C4 __proto__ is rejected at any depth, and nothing inherits from it', async () => {
    for (const body of [
      '{"client_name":"x","__proto__":{"active":"2"}}',
      '{"__proto__":{"client_name":"x"}}',
      '{"client_name":"x","deep":[{"__proto__":1}]}',
      '{"client_name":"x","\\u005f_proto__":{}}',
      '{"client_name":"x","\\u005F\\u005Fproto\\u005f_":{}}',
    ]) {
      await assertMalformed(body);
    }
    assert.equal(Reflect.get({}, 'active'), undefined);
    const named = await post('{"client_name":"__proto__","constructor":{"prototype":{"active":"2"}}}');
    assert.deepEqual([named.status, named.json.data.client_name, named.json.data.active], [201, '__proto__', '1']);
  });

  test('C4 unknown fields are ignored with any value', async () => {
    const deep = `${'['.repeat(9_000)}${']'.repeat(9_000)}`;
    for (const unknown of ['null', '"\\u0000"', '1e999', deep, '{"a":{"b":[]}}', '"\\ud800"']) {
      const { status, json } = await post(`{"client_name":"x","unknown":${unknown},"client_id":"999999","toString":1}`);
      assert.equal(status, 201, unknown.slice(0, 40));
      assert.equal(json.data.unknown, undefined);
      assert.notEqual(json.data.client_id, '999999');
    }
  });

  test('C4 NUL and lone surrogates in text are 400 and name the field', async () => {
    const before = await serializeTables(carillon);
    for (const text of ['\\u0000', 'a\\u0000b', '\\ud800', 'a\\udc00b', '\\udc00\\ud800', '\\ud83d']) {
      for (const field of ['client_name', 'notes', 'email', 'tel']) {
        const body = JSON.stringify({ client_name: 'x', [field]: 'TEXT' }).replace('TEXT', text);
        for (const [method, at] of [
          ['POST', '/v2/clients'],
          ['PUT', path],
        ] as const) {
          const { status, json } = await carillon.call(owner, method, at, body);
          assert.equal(status, 400, `${method} ${body}`);
          assert.deepEqual(
            json.errors.map((error: { field: string }) => error.field),
            [field],
          );
        }
      }
    }
    assert.equal(await serializeTables(carillon), before);
    const { json } = await post('{"client_name":"\\ud83d\\udd14"}');
    assert.equal(json.data.client_name, '🔔', 'a pair is a character');
  });

  test('C4 text is returned as it was sent', async () => {
    for (const text of [
      'Grüße',
      '日本語',
      '👩‍👩‍👧',
      '\u202eabc',
      '\ufffd',
      '"\\/',
      'a\u2028b',
      'e\u0301',
      '<script>',
      "'; --",
    ]) {
      const { status, json, headers } = await post(JSON.stringify({ client_name: text }));
      assert.equal(status, 201, text);
      assert.equal(json.data.client_name, text);
      assert.equal(headers.get('content-type'), 'application/json; charset=utf-8');
    }
  });
}
