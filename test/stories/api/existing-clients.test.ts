import assert from 'node:assert/strict';
import { after } from 'node:test';
import { records } from '../../corpus/existing-service.ts';
import type { Json } from '../../kit/service/service.ts';
import { stores } from '../../kit/service/stores.ts';

for (const { test, testService } of stores) {
  const carillon = await testService({ after });
  const owner = await carillon.createAccount('acme.test');
  const call = (method: 'GET' | 'POST' | 'PUT', path: string, body?: unknown) =>
    carillon.call(owner, method, `/v2/${path}`, body);

  async function createRecord(path: string, body: unknown): Promise<Json> {
    const { status, json, text } = await call('POST', path, body);
    assert.equal(status, 201, text);
    return json.data;
  }

  async function assertRejected(
    method: 'POST' | 'PUT',
    path: string,
    field: string,
    value: unknown,
    more: object = {},
  ) {
    const { status, json } = await call(method, path, { ...more, [field]: value });
    assert.equal(status, 400, `${field}: ${JSON.stringify(value)}`);
    assert.deepEqual(
      json.errors.map((error: Json) => error.field),
      [field],
      JSON.stringify(value),
    );
  }

  const project = await createRecord('projects', { project_name: 'Bells' });
  const task = await createRecord(`tasks/${project.project_id}`, { task_name: 'Cast' });
  const subtask = await createRecord(`subtasks/${task.task_id}`, { subtask_name: 'Melt' });
  const comment = await createRecord(`comments/${project.project_id}`, { comment: 'Hot' });
  const client = await createRecord('clients', { client_name: 'Cathedral' });
  const event = await createRecord('events', { event_name: 'Pour', start_date: '20270101', due_date: '20270101' });
  const entry = await createRecord(`time_entries/${task.task_id}`, { seconds: 60 });

  /** Fields of the existing service that the contract does not include. */
  const UNKNOWN: Readonly<Record<string, readonly string[]>> = {
    company: ['signature'],
    user: ['avatar', 'notifications', 'last_company_id'],
  };
  const ownRecords: Readonly<Record<keyof typeof records, Json>> = {
    ...{ client, project, task, subtask, event, comment, time_entry: entry },
    company: (await call('GET', 'company')).json.data,
    user: (await call('GET', 'user')).json.data,
  };
  const jsonTypeOf = (value: unknown) => (value === null ? 'null' : Array.isArray(value) ? 'list' : typeof value);

  for (const [resourceType, record] of Object.entries(records)) {
    test(`C30 C32 C38 C39 a ${resourceType} has every field that the existing service documents, in the same format`, () => {
      const serialized = ownRecords[resourceType as keyof typeof records];
      for (const [field, value] of Object.entries(record)) {
        if (UNKNOWN[resourceType]?.includes(field)) continue;
        assert.ok(field in serialized, field);
        // The existing service has null where Carillon has an empty text or a number.
        if (value !== null || field.startsWith('file'))
          assert.equal(jsonTypeOf(serialized[field]), jsonTypeOf(value), field);
      }
    });
  }

  test('C42 seconds computed from hours are rounded half up, in creations and updates', async () => {
    for (const [seconds, wanted] of [
      [4.1 * 3600, '14760'],
      [14_759.999999999998, '14760'],
      ['14759.999999999998', '14760'],
      [0.5, '1'],
      ['0.49', '0'],
      [1e-7, '0'],
      [999_999_998.5, '999999999'],
    ] as const) {
      const made = await createRecord(`time_entries/${task.task_id}`, { seconds });
      assert.equal(made.seconds, wanted, String(seconds));
      const { json } = await call('PUT', `time_entry/${entry.entry_id}`, { seconds });
      assert.equal(json.data.seconds, wanted, String(seconds));
    }
    for (const seconds of [-0.5, 999_999_999.5, 1e9, '1e3', '.5', '1.', '1,5', '-1', '', null, true])
      await assertRejected('POST', `time_entries/${task.task_id}`, 'seconds', seconds);
  });

  test('C42 a time entry without a subtask has subtask_id "0", however it was written', async () => {
    for (const subtask_id of ['', '0', 0, null, undefined]) {
      const made = await createRecord(`time_entries/${task.task_id}`, { seconds: 1, subtask_id });
      assert.deepEqual([made.subtask_id, made.subtask_name], ['0', '']);
    }
    const made = await createRecord(`time_entries/${task.task_id}`, { seconds: 1, subtask_id: subtask.subtask_id });
    assert.equal((await call('PUT', `time_entry/${made.entry_id}`, { subtask_id: '' })).json.data.subtask_id, '0');
  });

  test('C42 orders are integers below 10^13: timestamps in seconds or milliseconds', async () => {
    const orders = [
      [`projects/${project.project_id}`, 'project_order'],
      [`tasks/${task.task_id}`, 'task_order'],
      [`subtasks/${subtask.subtask_id}`, 'subtask_order'],
    ] as const;
    for (const [path, field] of orders) {
      for (const place of ['1415893855', 1_415_893_855, 1_415_893_855_123, 9_999_999_999_999, '0'])
        assert.equal((await call('PUT', path, { [field]: place })).json.data[field], String(place));
      for (const place of [10_000_000_000_000, '10000000000000', -1, 1.5, '1.5', ''])
        await assertRejected('PUT', path, field, place);
    }
  });

  test('C42 a numeric fixed_price sets the flag and the price; a flag sets only the flag', async () => {
    const parents = { projects: 'projects', tasks: `tasks/${project.project_id}` };
    const named = { projects: { project_name: 'P' }, tasks: { task_name: 'T' } };
    for (const resourceType of ['projects', 'tasks'] as const) {
      for (const [given, fixed_price, price] of [
        [{ fixed_price: 1000 }, '1', '1000'],
        [{ fixed_price: '1000.50' }, '1', '1000.50'],
        [{ fixed_price: 0.5 }, '1', '0.5'],
        [{ fixed_price: 1000, price: 5 }, '1', '1000'],
        [{ fixed_price: 1, price: 5 }, '1', '5'],
        [{ fixed_price: '0', price: 5 }, '0', '5'],
        [{ fixed_price: true }, '1', '0'],
        [{ fixed_price: '0.00' }, '0', '0'],
        [{ fixed_price: '' }, '0', '0'],
      ] as const) {
        const made = await createRecord(parents[resourceType], { ...named[resourceType], ...given });
        assert.deepEqual([made.fixed_price, made.price], [fixed_price, price], JSON.stringify(given));
      }
      const made = await createRecord(parents[resourceType], { ...named[resourceType], price: 7 });
      const path = `${resourceType}/${made[`${resourceType.slice(0, -1)}_id`]}`;
      const { json } = await call('PUT', path, { fixed_price: 12.25 });
      assert.deepEqual([json.data.fixed_price, json.data.price], ['1', '12.25']);
      for (const value of [-1, 1e9, '1.00001', 'much', null, []])
        await assertRejected('PUT', path, 'fixed_price', value);
    }
  });

  test('C41 C42 the values of existing clients for recurring and notifications are accepted and returned', async () => {
    const paths = [`projects/${project.project_id}`, `tasks/${task.task_id}`, `subtasks/${subtask.subtask_id}`];
    for (const path of paths) {
      for (const letter of ['D', 'W', 'M', 'Q', 'S', 'Y'])
        assert.equal((await call('PUT', path, { recurring: letter })).json.data.recurring, letter);
      for (const none of ['', 0, '0', false, null]) {
        await call('PUT', path, { recurring: 'D' });
        assert.equal((await call('PUT', path, { recurring: none })).json.data.recurring, '', JSON.stringify(none));
      }
      for (const bad of ['d', 'DD', 'daily', 1, '1', true, ' ', 2, [], {}])
        await assertRejected('PUT', path, 'recurring', bad);
      assert.equal((await call('PUT', path, { notifications: 1 })).json.data.notifications, '1');
    }
  });

  test('C42 the requests of an existing client succeed one after the other, as documented', async () => {
    const teams = [Number((await createRecord('teams', { team_name: 'Casting' })).team_id)];
    const users = [Number(owner.userId)];
    const days = { start_date: '20270101', due_date: '20270131' };
    const flags = { active: 1, important: 0, notifications: 1 };
    const who = { users, teams };
    const { project_id } = await createRecord('projects', {
      ...{
        project_name: 'Great bell',
        description: '',
        tags: 'a,b',
        notes: '',
        ...days,
        client_id: '0',
        currency: 'CHF',
      },
      ...{ hourly_rate: 120, fixed_price: 1000, price: 1000, public: 1, ...flags, ...who },
    });
    const { task_id } = await createRecord(`tasks/${project_id}`, {
      ...{ task_name: 'Cast', description: '', tags: '', notes: '', ...days, estimated_hours: 4.1, estimated_cost: 10 },
      ...{ hourly_rate: 0, fixed_price: 500, ...flags, recurring: '', ...who },
    });
    const { subtask_id } = await createRecord(`subtasks/${task_id}`, {
      ...{
        subtask_name: 'Melt',
        description: '',
        color: 'dd067a',
        notes: '',
        ...days,
        ...flags,
        recurring: 'W',
        ...who,
      },
    });
    const timed = {
      seconds: 4.1 * 3600,
      date: '20270102',
      subtask_id: '',
      description: 'By hand',
      user_id: owner.userId,
    };
    const { entry_id } = await createRecord(`time_entries/${task_id}`, timed);
    const changes: [path: string, body: object][] = [
      [`projects/${project_id}`, { closed: 0, archived: 0, fixed_price: 0 }],
      [`tasks/${task_id}`, { progress: 50, recurring: 'M' }],
      [`subtasks/${subtask_id}`, { progress: 50, recurring: 0 }],
      [`time_entry/${entry_id}`, { seconds: 0.4 * 3600, date_started: '20270102', task_id, subtask_id }],
      [`subtasks/${subtask_id}`, { completed: 1 }],
      [`subtasks/${subtask_id}`, { resume: 1 }],
      [`tasks/${task_id}`, { completed: 1 }],
      [`tasks/${task_id}`, { resume: 1 }],
    ];
    for (const [path, body] of changes) {
      const { status, text } = await call('PUT', path, body);
      assert.equal(status, 200, `${path} ${JSON.stringify(body)}: ${text}`);
    }
    const lists = [
      ...['open', 'closed', 'templates', 'archived'].map((status) => `projects?status=${status}`),
      ...['projectname', 'duedate', 'progress', 'billablehours', 'latest'].map((order) => `projects?order=${order}`),
      ...['open', 'completed', 'active', 'onhold', 'inactive', 'archived'].flatMap((status) => [
        `tasks?project_id=${project_id}&status=${status}`,
        `subtasks?task_id=${task_id}&team_id=${teams[0]}&user_id=${owner.userId}&status=${status}`,
      ]),
      `time_entries?task_id=${task_id}&hide_billed=1&created_from=20200101&created_to=20991231`,
      `comments?project_id=${project_id}&limit=1000&offset=0`,
    ];
    for (const path of lists) {
      const { status, json, text } = await call('GET', path);
      assert.equal(status, 200, `${path}: ${text}`);
      assert.equal(json.paging.total_records, json.data.length, path);
    }
  });

  test('C30 C42 a project has its tracked time in seconds and in hours', async () => {
    const { project_id } = await createRecord('projects', { project_name: 'Timed' });
    const readProject = async () => (await call('GET', `projects/${project_id}`)).json.data;
    assert.deepEqual([(await readProject()).tracked_seconds, (await readProject()).billable_hours], ['0', 0]);
    for (const seconds of [5_400, 198, 1]) {
      const { task_id } = await createRecord(`tasks/${project_id}`, { task_name: 'T' });
      await createRecord(`time_entries/${task_id}`, { seconds });
    }
    assert.deepEqual([(await readProject()).tracked_seconds, (await readProject()).billable_hours], ['5599', 1.5553]);
  });
}
