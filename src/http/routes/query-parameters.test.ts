import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Json } from '../../../test/kit/service/service.ts';
import { stores } from '../../../test/kit/service/stores.ts';

for (const { test, testService } of stores) {
  const carillon = await testService({ after });
  const owner = await carillon.createAccount('acme.test');
  await owner.carillon.clients.create({ client_name: 'ACME' });

  const get = (path: string) => carillon.call(owner, 'GET', path);
  const fieldsOf = (json: Json): string[] => json.errors.map((error: { field: string }) => error.field);

  test('C4 a repeated known query parameter is rejected by name, even with the same value', async () => {
    for (const [path, name, first, second] of [
      ['/v2/events', 'from', '20270101', '20270101'],
      ['/v2/events', 'limit', '1', '2'],
      ['/v2/clients', 'offset', '0', '0'],
      ['/v2/clients', 'client_name', 'a', 'b'],
      ['/v2/projects', 'status', 'open', 'open'],
      ['/v2/projects', 'order', 'latest', 'latest'],
      ['/v2/tasks', 'project_id', '1', '1'],
      ['/v2/subtasks', 'user_id', '1', '1'],
      ['/v2/keys', 'user_id', '1', '1'],
      ['/v2/hooks', 'state', 'live', 'live'],
    ] as const) {
      const { status, json } = await get(`${path}?${name}=${first}&${name}=${second}`);
      assert.equal(status, 400, `${path} ${name}`);
      assert.deepEqual(json.errors, [{ field: name, message: 'must be given once' }]);
    }
  });

  test('C4 unknown query parameters are ignored, even repeated, and on routes without parameters', async () => {
    const strange = 'x=1&x=2&from[]=1&__proto__=1&constructor=2&%00=3&=4&limit%00=5&%zz=6&LIMIT=0';
    for (const path of ['/v2/clients', '/v2/events', '/v2/user', '/v2/company', '/v2/clients/1']) {
      const { status, json } = await get(`${path}?${strange}`);
      assert.equal(status, 200, path);
      assert.deepEqual(json, (await get(path)).json);
    }
    const created = await carillon.call(owner, 'POST', '/v2/clients?limit=x&client_name=y', { client_name: 'Z' });
    assert.deepEqual([created.status, created.json.data.client_name], [201, 'Z']);
  });

  test('C4 C6 query text that cannot be stored is rejected by name', async () => {
    for (const text of ['%00', 'a%00b', '', '%20', 'x'.repeat(256)]) {
      const { status, json } = await get(`/v2/clients?client_name=${text}`);
      assert.deepEqual([status, fieldsOf(json)], [400, ['client_name']], text);
      const tagged = await get(`/v2/projects?tag=${text}&status=none`);
      assert.deepEqual([tagged.status, fieldsOf(tagged.json).sort()], [400, ['status', 'tag']], text);
    }
  });

  test('C4 C6 invalid UTF-8 in a query is rejected by name in known parameters, and ignored in others', async () => {
    for (const text of ['%ff', '%', '%zz', 'a%c3%28', '%ed%a0%80', '%c0%af']) {
      const { status, json } = await get(`/v2/clients?client_name=${text}&%ff=1&x=${text}`);
      assert.equal(status, 400, text);
      assert.deepEqual(json.errors, [{ field: 'client_name', message: 'must be UTF-8, percent-encoded' }]);
    }
    assert.equal((await get('/v2/clients?%ff=1&x=%ff&client%5Fname=a+%62')).status, 200);
  });

  test('C5 an id in a query is a string of digits below 2^53', async () => {
    assert.equal((await get('/v2/events?project_id=9007199254740991')).status, 200);
    for (const id of ['9007199254740992', '99999999999999999999', '-1', '1.0', '1e3', '01', '0x1', '１', 'a', '']) {
      for (const [path, name] of [
        ['/v2/events', 'project_id'],
        ['/v2/projects', 'client_id'],
        ['/v2/keys', 'user_id'],
      ]) {
        const { status, json } = await get(`${path}?${name}=${id}`);
        assert.deepEqual([status, fieldsOf(json)], [400, [name]], `${path}?${name}=${id}`);
      }
    }
  });
}

for (const { test, testService } of stores) {
  const carillon = await testService({ after });
  const owner = await carillon.createAccount('acme.test');
  const { project_id } = await owner.carillon.projects.create({ project_name: 'Bells' });
  const { task_id } = await owner.carillon.tasks.create(project_id, { task_name: 'Cast' });

  /** Resources that can be created: path, collection, id field, a body and a change. */
  const resourceTypes: [at: string, collection: string, key: string, body: Record<string, unknown>, change: object][] =
    [
      [
        ...(['/v2/events', '/v2/events', 'event_id'] as const),
        { event_name: 'E', start_date: '20270101', due_date: '20270101' },
        { event_name: 'F' },
      ],
      ['/v2/clients', '/v2/clients', 'client_id', { client_name: 'C' }, { client_name: 'D' }],
      ['/v2/projects', '/v2/projects', 'project_id', { project_name: 'P' }, { project_name: 'Q' }],
      [`/v2/tasks/${project_id}`, '/v2/tasks', 'task_id', { task_name: 'T' }, { task_name: 'U' }],
      [`/v2/subtasks/${task_id}`, '/v2/subtasks', 'subtask_id', { subtask_name: 'S' }, { subtask_name: 'T' }],
      ['/v2/users', '/v2/users', 'user_id', { email: 'new@acme.test' }, { first_name: 'New' }],
    ];

  for (const [at, collection, key, body, change] of resourceTypes) {
    test(`C8 ${collection}: 201 with the record and its Location, 200 with the record, 200 with []`, async () => {
      const created = await carillon.call(owner, 'POST', at, body);
      assert.equal(created.status, 201);
      assert.deepEqual(Object.keys(created.json), ['data']);
      const path = `${collection}/${created.json.data[key]}`;
      assert.equal(created.headers.get('location'), carillon.baseUrl + path);

      const read = await carillon.call(owner, 'GET', path);
      assert.deepEqual([read.status, read.json], [200, created.json]);
      assert.equal(read.headers.get('location'), null);

      const changed = await carillon.call(owner, 'PUT', path, change);
      assert.equal(changed.status, 200);
      assert.deepEqual(Object.keys(changed.json), ['data']);
      assert.deepEqual((await carillon.call(owner, 'GET', path)).json, changed.json);
      assert.notDeepEqual(changed.json, created.json);

      const deleted = await carillon.call(owner, 'DELETE', path);
      assert.deepEqual([deleted.status, deleted.text], [200, '[]']);
      assert.equal((await carillon.call(owner, 'GET', path)).status, 404);
      for (const { headers } of [created, read, changed, deleted]) {
        assert.equal(headers.get('content-type'), 'application/json; charset=utf-8');
      }
    });
  }
}
