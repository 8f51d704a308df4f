import assert from 'node:assert/strict';
import { after } from 'node:test';
import { type RawResponse, sendRawRequest } from '../../../test/kit/network/raw-http.ts';
import { serializeTables } from '../../../test/kit/service/occurrences.ts';
import { stores } from '../../../test/kit/service/stores.ts';

for (const { test, testService } of stores) {
  const carillon = await testService({ after });
  const owner = await carillon.createAccount('acme.test');
  const stranger = await carillon.createAccount('other.test');
  const key = `key: ${owner.key}`;
  const domain = `domain: ${owner.domain}`;

  const ask = (lines: readonly string[], first = 'GET /v2/user HTTP/1.1') =>
    sendRawRequest(carillon.baseUrl, [first, 'host: x', ...lines]);

  /** The parts of a response that a caller can compare with those of another response: all but date and request id. */
  function comparablePartsOf({ status, head, body }: RawResponse): unknown {
    return { status, head: head.replace(/^(date|x-request-id): .*\r\n/gim, ''), body };
  }

  const refused = await ask([]);

  test('C1 a call without key and domain is 401 with a helpful message', () => {
    assert.equal(refused.status, 401);
    assert.match(refused.head, /^www-authenticate: Key realm="carillon"$/im);
    assert.equal(JSON.parse(refused.body).code, 'unauthorized');
    assert.doesNotMatch(refused.body, /acme|other/);
  });

  test('C1 a valid key and domain are accepted; header names and the domain are case-insensitive', async () => {
    for (const lines of [
      [key, domain],
      [domain, key],
      [`KEY: ${owner.key}`, 'Domain: acme.test'],
      [key, 'DOMAIN: ACME.Test'],
      [`key:${owner.key}   `, 'domain:   acme.test'],
    ]) {
      assert.equal((await ask(lines)).status, 200, lines.join());
    }
  });

  const wrong: Record<string, string[]> = {
    'no key': [domain],
    'no domain': [key],
    'an empty key': ['key:', domain],
    'an empty domain': [key, 'domain:'],
    'an unknown key': [`key: carillon_${'x'.repeat(43)}`, domain],
    'the key in another case': [`key: ${owner.key.toUpperCase()}`, domain],
    'a part of the key': [`key: ${owner.key.slice(0, -1)}`, domain],
    'more than the key': [`key: ${owner.key}x`, domain],
    "another account's domain": [key, `domain: ${stranger.domain}`],
    "another account's key": [`key: ${stranger.key}`, domain],
    'an unknown domain': [key, 'domain: nowhere.test'],
    'a part of the domain': [key, 'domain: acme'],
    'a wildcard': [key, 'domain: %'],
    'two keys': [key, `key: ${stranger.key}`, domain],
    'the same key twice': [key, key, domain],
    'the same key twice, in another case': [key, `KEY: ${owner.key}`, domain],
    'two domains': [key, domain, `domain: ${stranger.domain}`],
    'the same domain twice': [key, domain, domain],
    'keys in one header': [`key: ${owner.key}, ${owner.key}`, domain],
    'a key as bearer token': [`authorization: Bearer ${owner.key}`, domain],
    'a cookie': [`cookie: key=${owner.key}; domain=acme.test`],
    'bytes that are no text': ['key: \xff\xfe\x80', 'domain: \xff'],
  };

  for (const [what, lines] of Object.entries(wrong)) {
    test(`C1 ${what}: 401, byte for byte the same`, async () => {
      assert.deepEqual(comparablePartsOf(await ask(lines)), comparablePartsOf(refused));
    });
  }

  test('C1 key and domain in the query or in the body are ignored', async () => {
    const query = `/v2/user?key=${owner.key}&domain=${owner.domain}`;
    assert.deepEqual(comparablePartsOf(await ask([], `GET ${query} HTTP/1.1`)), comparablePartsOf(refused));
    const { key: secret, domain: host } = owner;
    const { status, json } = await carillon.call(undefined, 'POST', '/v2/clients', { key: secret, domain: host });
    assert.deepEqual([status, json.code], [401, 'unauthorized']);
  });

  test('C1 C4 an unknown path or method under /v2 is 401 without a key, and 404 with one', async () => {
    const lines = [
      'GET /v2',
      'GET /v2/',
      'GET /v2?x=1',
      'GET /v2/nothing',
      'GET /v2/events/1/2/3',
      'GET /v2/events/',
      'GET /v2/../events',
      'GET /v2/%zz',
      'GET /v2/events/%c0%af',
      `GET /v2/events/${'1'.repeat(65)}`,
      'GET http://elsewhere.test/v2/%zz',
      'GET http://elsewhere.test/v2/nothing',
      'PATCH /v2/events',
      'PUT /v2/events',
      'DELETE /v2/events',
      'POST /v2/events/1',
      'OPTIONS /v2/events',
      'PROPFIND /v2/events',
      'TRACE /v2/user',
      'POST /v2/user',
    ];
    for (const line of lines) {
      const without = await ask([], `${line} HTTP/1.1`);
      assert.deepEqual([without.status, without.body], [401, refused.body], line);
      assert.match(without.head, /^www-authenticate: /im);
      const { status, body } = await ask([key, domain], `${line} HTTP/1.1`);
      assert.deepEqual([status, JSON.parse(body).code], [404, 'not_found'], line);
    }
  });

  test('C1 the body of an unauthenticated request is not read, and nothing is written', async () => {
    const before = await serializeTables(carillon);
    for (const [body, headers] of [
      ['{"client_name":"x"}', {}],
      ['{', {}],
      ['x'.repeat(70_000), {}],
      ['<x/>', { 'content-type': 'text/xml' }],
    ] as const) {
      const { status, text } = await carillon.call(undefined, 'POST', '/v2/clients', body, headers);
      assert.deepEqual([status, text], [401, refused.body], body.slice(0, 20));
    }
    assert.equal(await serializeTables(carillon), before);
  });

  test('C1 the log never contains a key, valid or not', async () => {
    await ask([key, domain]);
    await ask([`key: ${owner.key}x`, domain]);
    assert.ok(carillon.logged.length > 0);
    assert.ok(!JSON.stringify(carillon.logged).includes(owner.key));
  });
}
