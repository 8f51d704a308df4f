import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Json } from '../../../test/kit/service/service.ts';
import { stores } from '../../../test/kit/service/stores.ts';
import { parseId } from './field.ts';

for (const { test, testService } of stores) {
  const carillon = await testService({ after });
  const owner = await carillon.account('acme.test');
  const stranger = await carillon.account('other.test');
  const span = { start_date: '20270101', due_date: '20270101' };

  /** Malformed ids in a path. */
  const malformed = [
    'abc',
    '-1',
    '1.0',
    '1e1',
    '01',
    '+1',
    '0x1',
    '%201',
    '1%20',
    '１',
    '9007199254740992',
    '%00',
    '1,2',
  ];
  const resourceTypes = ['events', 'clients', 'projects', 'tasks', 'subtasks', 'users', 'keys', 'hooks', 'deliveries'];

  test('C5 an id is a string of digits or a number, below 2^53', () => {
    for (const [written, id] of [
      ['0', 0],
      [0, 0],
      ['1', 1],
      [1, 1],
      ['9007199254740991', Number.MAX_SAFE_INTEGER],
      [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
    ] as const) {
      assert.equal(parseId(written), id);
    }
    const numbers = [-1, 1.5, 2 ** 53, 1e308, Number.NaN, Number.POSITIVE_INFINITY];
    const texts = ['', ' ', '01', '00', '-1', '1.0', '1e3', '+1', '9007199254740992', '1'.repeat(400), '١', '1\n'];
    for (const wrong of [...numbers, ...texts, null, undefined, true, [], ['1'], {}]) {
      assert.equal(parseId(wrong), undefined, JSON.stringify(wrong));
    }
  });

  for (const resourceType of resourceTypes) {
    test(`C4 C5 a malformed id in a path of ${resourceType} is 404, like one never issued`, async () => {
      const unknown = await carillon.call(owner, 'GET', `/v2/${resourceType}/9007199254740991`);
      assert.deepEqual([unknown.status, unknown.json.code], [404, 'not_found']);
      for (const id of malformed) {
        const { status, text } = await carillon.call(owner, 'GET', `/v2/${resourceType}/${id}`);
        assert.deepEqual([status, text], [404, unknown.text], id);
      }
    });
  }

  test('C4 C5 a malformed id is 404 for every method, before the body is validated', async () => {
    for (const id of malformed) {
      for (const [method, path] of [
        ['PUT', `/v2/events/${id}`],
        ['DELETE', `/v2/events/${id}`],
        ['POST', `/v2/tasks/${id}`],
        ['POST', `/v2/hooks/${id}/restore`],
        ['POST', `/v2/deliveries/${id}/redeliver`],
      ] as const) {
        const { status } = await carillon.call(
          owner,
          method,
          path,
          method === 'DELETE' ? undefined : { event_name: '' },
        );
        assert.equal(status, 404, `${method} ${path}`);
      }
    }
  });

  test('C5 ids in a body are strings or numbers, and are returned as strings', async () => {
    const { project_id } = await owner.carillon.projects.create({ project_name: 'Bells' });
    for (const written of [project_id, Number(project_id)]) {
      const { json } = await carillon.call(owner, 'POST', '/v2/events', {
        event_name: 'E',
        ...span,
        project_id: written,
      });
      assert.equal(json.data.project_id, project_id);
      assert.match(json.data.event_id, /^[1-9]\d*$/);
      const listed = await carillon.call(owner, 'GET', `/v2/events?project_id=${written}`);
      assert.ok(listed.json.paging.total_records > 0);
    }
  });

  test('C5 an id is never reused, even after the last record was deleted', async () => {
    const body: Record<string, unknown> = { event_name: 'E', ...span };
    const seen = new Set<number>();
    for (let round = 0; round < 5; round += 1) {
      const { json } = await carillon.call(owner, 'POST', '/v2/events', body);
      const id = Number(json.data.event_id);
      assert.ok([...seen].every((earlier) => earlier < id));
      seen.add(id);
      await carillon.call(owner, 'DELETE', `/v2/events/${id}`);
    }
  });

  test('C3 records of another account cannot be referenced in a path, a body or a filter', async () => {
    const { carillon: theirs } = stranger;
    const client = await theirs.clients.create({ client_name: 'Theirs' });
    const project = await theirs.projects.create({ project_name: 'Theirs', client_id: client.client_id });
    const task = await theirs.tasks.create(project.project_id, { task_name: 'Theirs' });
    const subtask = await theirs.subtasks.create(task.task_id, { subtask_name: 'Theirs' });
    const event = await theirs.events.create({ event_name: 'Theirs', ...span, project_id: project.project_id });
    const own = await owner.carillon.projects.create({ project_name: 'Ours' });
    const ownTask = await owner.carillon.tasks.create(own.project_id, { task_name: 'Ours' });

    const written: [method: string, path: (id: string) => string, body: (id: string) => unknown, id: string][] = [
      ['POST', () => '/v2/events', (id) => ({ event_name: 'E', ...span, project_id: id }), project.project_id],
      ['POST', () => '/v2/events', (id) => ({ event_name: 'E', ...span, user_id: id }), stranger.userId],
      ['POST', () => '/v2/projects', (id) => ({ project_name: 'P', client_id: id }), client.client_id],
      ['POST', () => '/v2/projects', (id) => ({ project_name: 'P', users: [id] }), stranger.userId],
      ['POST', (id) => `/v2/tasks/${id}`, () => ({ task_name: 'T' }), project.project_id],
      ['POST', (id) => `/v2/subtasks/${id}`, () => ({ subtask_name: 'S' }), task.task_id],
      ['PUT', () => `/v2/tasks/${ownTask.task_id}`, (id) => ({ project_id: id }), project.project_id],
      ['POST', () => '/v2/keys', (id) => ({ user_id: id }), stranger.userId],
      ['PUT', (id) => `/v2/events/${id}`, () => ({ event_name: 'Mine' }), event.event_id],
      ['PUT', (id) => `/v2/subtasks/${id}`, () => ({ completed: 1 }), subtask.subtask_id],
      ['DELETE', (id) => `/v2/projects/${id}`, () => undefined, project.project_id],
      ['DELETE', (id) => `/v2/users/${id}`, () => undefined, stranger.userId],
      ['GET', (id) => `/v2/clients/${id}`, () => undefined, client.client_id],
    ];
    for (const [method, path, body, id] of written) {
      const foreign = await carillon.call(owner, method, path(id), body(id));
      const never = await carillon.call(owner, method, path('9007199254740991'), body('9007199254740991'));
      assert.deepEqual([foreign.status, foreign.text], [404, never.text], `${method} ${path(id)}`);
    }
    for (const query of [`projects?client_id=${client.client_id}`, `tasks?project_id=${project.project_id}`]) {
      assert.equal((await carillon.call(owner, 'GET', `/v2/${query}`)).json.paging.total_records, 0, query);
    }
    const mine: Json = (await carillon.call(stranger, 'GET', `/v2/events/${event.event_id}`)).json.data;
    assert.deepEqual(mine, event);
    assert.deepEqual(await theirs.projects.get(project.project_id), project);
    assert.deepEqual(await theirs.subtasks.get(subtask.subtask_id), subtask);
  });
}
