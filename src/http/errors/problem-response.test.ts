import assert from 'node:assert/strict';
import { after } from 'node:test';
import { sendRawRequest } from '../../../test/kit/network/raw-http.ts';
import type { ApiResponse } from '../../../test/kit/service/service.ts';
import { stores } from '../../../test/kit/service/stores.ts';
import { problems } from '../../problems.ts';

for (const { test, testService } of stores) {
  const carillon = await testService({ after });
  const owner = await carillon.createAccount('acme.test');

  /** Asserts that a response is a problem document of RFC 9457 with our additional members. */
  function assertProblem({ status, headers, json }: ApiResponse, wanted: number, code: keyof typeof problems): void {
    assert.equal(status, wanted);
    assert.equal(headers.get('content-type')?.split(';')[0], 'application/problem+json');
    assert.equal(json.status, wanted);
    assert.equal(json.code, code);
    assert.equal(json.type, `${carillon.baseUrl}/problems/${code}`);
    assert.equal(json.title, problems[code].title);
    assert.ok(json.detail.length > 10);
    assert.equal(json.message, json.detail, 'existing integrations read message');
  }

  test('C6 every problem is application/problem+json with type, title, status, detail, code and message', async () => {
    const span = { start_date: '20270101', due_date: '20270101' };
    assertProblem(await carillon.call(undefined, 'GET', '/v2/events'), 401, 'unauthorized');
    const narrow = await carillon.createKey(owner, { permissions: [] });
    assertProblem(await carillon.call(narrow, 'GET', '/v2/events'), 401, 'not_permitted');
    assertProblem(await carillon.call(owner, 'GET', '/v2/events/999'), 404, 'not_found');
    assertProblem(await carillon.call(owner, 'GET', '/v2/nothing'), 404, 'not_found');
    assertProblem(await carillon.call(undefined, 'GET', '/elsewhere'), 404, 'not_found');
    assertProblem(await carillon.call(owner, 'POST', '/v2/events', { ...span }), 400, 'invalid_input');
    assertProblem(await carillon.call(owner, 'POST', '/v2/events', '{'), 400, 'malformed_body');
    const text = await carillon.call(owner, 'POST', '/v2/events', '{}', { 'content-type': 'text/plain' });
    assertProblem(text, 415, 'unsupported_media_type');
    assertProblem(await carillon.call(owner, 'POST', '/v2/events', 'x'.repeat(65_537)), 413, 'body_too_large');
    assertProblem(await carillon.call(owner, 'GET', `/v2/events?x=${'x'.repeat(8_192)}`), 414, 'uri_too_long');
    const { email } = await owner.carillon.user.get();
    assertProblem(await carillon.call(owner, 'POST', '/v2/users', { email }), 409, 'email_taken');
    assertProblem(await carillon.call(owner, 'DELETE', `/v2/users/${owner.userId}`), 409, 'last_owner');
  });

  test('C6 bytes that are not HTTP get a problem response, too', async () => {
    const large = await sendRawRequest(carillon.baseUrl, [
      'GET /v2/events HTTP/1.1',
      'host: x',
      `x: ${'x'.repeat(17_000)}`,
    ]);
    assert.deepEqual([large.status, JSON.parse(large.body).code], [431, 'headers_too_large']);
    const broken = await sendRawRequest(carillon.baseUrl, ['GET /v2/events', 'what is this']);
    assert.deepEqual([broken.status, JSON.parse(broken.body).code], [400, 'malformed_request']);
    assert.match(broken.head, /content-type: application\/problem\+json/);
  });

  test('C6 all invalid fields are named, each once with its own message', async () => {
    const project = {
      project_name: '',
      due_date: '20260230',
      progress: 101,
      price: 'free',
      currency: 'Euro',
      users: ['x', 'y'],
      client_id: -1,
      active: 3,
      notes: 'fine',
      tags: 'a\0b',
      unknown: '\0',
    };
    const { status, json } = await carillon.call(owner, 'POST', '/v2/projects', project);
    assert.equal(status, 400);
    const named = json.errors.map((error: { field: string }) => error.field);
    const bad = ['active', 'client_id', 'currency', 'due_date', 'price', 'progress', 'project_name', 'tags', 'users'];
    assert.deepEqual(named.sort(), bad);
    for (const { field, message } of json.errors) {
      assert.match(message, /^must be /, field);
      assert.ok(json.detail.includes(`${field}: ${message}`), field);
    }
  });

  test('C6 a problem without invalid fields has no errors', async () => {
    for (const path of ['/v2/events/999', '/v2/nothing']) {
      assert.equal('errors' in (await carillon.call(owner, 'GET', path)).json, false);
    }
  });

  test('C6 the URL in type explains the problem', async () => {
    for (const code of Object.keys(problems)) {
      const { status, json } = await carillon.call(undefined, 'GET', `/problems/${code}`);
      assert.deepEqual([status, json.code], [200, code]);
    }
    for (const code of ['constructor', '__proto__', 'nothing']) {
      assert.equal((await carillon.call(undefined, 'GET', `/problems/${code}`)).status, 404, code);
    }
  });

  test('C6 an internal error is 500, with details in the log and not in the response', async (t) => {
    const broken = await testService(t);
    const caller = await broken.createAccount('acme.test');
    await broken.store.write(({ queries }) => queries.schema.dropTable('clients').execute());
    for (const [method, path, body] of [
      ['GET', '/v2/clients'],
      ['GET', '/v2/clients/1'],
      ['POST', '/v2/clients', { client_name: 'ACME' }],
    ] as const) {
      const { status, json, text } = await broken.call(caller, method, path, body);
      assert.equal(status, 500, method);
      assert.deepEqual(json, {
        type: `${broken.baseUrl}/problems/internal`,
        title: 'Internal error',
        status: 500,
        detail: problems.internal.detail,
        code: 'internal',
        message: problems.internal.detail,
      });
      assert.doesNotMatch(text, /sql|select|insert|table|node_modules|\.ts|\n\s+at /i);
    }
    const lines = broken.logged.filter((line) => line.event === 'request.failed');
    assert.equal(lines.length, 3);
    assert.match(JSON.stringify(lines), /no such table|relation .* does not exist/);
  });
}
