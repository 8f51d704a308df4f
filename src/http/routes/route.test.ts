import assert from 'node:assert/strict';
import { after } from 'node:test';
import { stores } from '../../../test/kit/service/stores.ts';

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
