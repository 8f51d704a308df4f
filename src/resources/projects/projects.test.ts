import assert from 'node:assert/strict';
import { after } from 'node:test';
import { recordOccurrences } from '../../../test/kit/service/occurrences.ts';
import { stores } from '../../../test/kit/service/stores.ts';
import { systemClock } from '../../clock.ts';

for (const { test, testService } of stores) {
  const carillon = await testService({ after });
  const owner = await carillon.createAccount('acme.test');
  const member = await carillon.createUser(owner, 'member');
  const client = await owner.carillon.clients.create({ client_name: 'Client' });

  const NEVER = '0000-00-00 00:00:00';

  /** Every writable field: the written value, and the returned value if it differs. */
  const everything: Record<string, [written: unknown, shown?: unknown]> = {
    project_name: ['Bells'],
    uri: ['https://acme.test/bells'],
    description: ['Described'],
    color: ['#aabbcc'],
    tags: [' red, ,green ', 'red,green'],
    notes: ['Noted'],
    start_date: ['20270101', '2027-01-01 00:00:00'],
    due_date: ['2027-02-01 12:30:00'],
    ongoing: [true, '1'],
    client_id: [client.client_id],
    currency: ['eur', 'EUR'],
    hourly_rate: [12.5, '12.5'],
    fixed_price: ['1'],
    price: ['0100.50', '100.50'],
    public: [1, '1'],
    active: [2, '2'],
    important: [true, '1'],
    closed: ['1'],
    archived: [1, '1'],
    progress: [55, '55'],
    estimated_hours: [12.5, '12.5'],
    project_order: ['1415893855123'],
    notifications: [true, '1'],
    recurring: ['Q'],
  };

  const shownOf = ([written, shown]: [unknown, unknown?]) => shown ?? written;

  test('C30 a project has these fields; missing ones are empty', async () => {
    const { status, json } = await carillon.call(owner, 'POST', '/v2/projects', { project_name: 'Plain' });
    assert.equal(status, 201);
    const { project_id, date_created, ...rest } = json.data;
    const texts = ['uri', 'description', 'color', 'tags', 'notes', 'currency', 'client_name', 'recurring'];
    const flags = ['ongoing', 'fixed_price', 'public', 'important', 'closed', 'archived', 'notifications', 'template'];
    const numbers = ['estimated_hours', 'project_order', 'tracked_seconds'];
    assert.deepEqual(rest, {
      project_name: 'Plain',
      ...Object.fromEntries(texts.map((name) => [name, ''])),
      ...Object.fromEntries([...flags, ...numbers].map((name) => [name, '0'])),
      billable_hours: 0,
      ...{
        start_date: NEVER,
        due_date: NEVER,
        client_id: '0',
        hourly_rate: '0',
        price: '0',
        active: '1',
        progress: '0',
      },
      ...{ date_modified: NEVER, user_id: owner.userId, users: [], teams: [] },
    });
    assert.match(date_created, /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/);
    assert.deepEqual((await carillon.call(owner, 'GET', `/v2/projects/${project_id}`)).json, json);
  });

  test('C30 every field is returned as it was written', async () => {
    const body = Object.fromEntries(Object.entries(everything).map(([name, [written]]) => [name, written]));
    const users = [member.userId, Number(owner.userId), member.userId];
    const { status, json } = await carillon.call(owner, 'POST', '/v2/projects', { ...body, users });
    assert.equal(status, 201, JSON.stringify(json));
    for (const [name, field] of Object.entries(everything)) assert.equal(json.data[name], shownOf(field), name);
    assert.equal(json.data.client_name, 'Client');
    assert.deepEqual(json.data.users, [
      { user_id: owner.userId, user_name: 'Account Owner' },
      { user_id: member.userId, user_name: 'Test member' },
    ]);
  });

  test('C30 changing one field changes no other', async () => {
    const { json } = await carillon.call(owner, 'POST', '/v2/projects', { project_name: 'Before' });
    let wanted = json.data;
    for (const [name, field] of Object.entries(everything)) {
      const path = `/v2/projects/${wanted.project_id}`;
      const { result, recorded } = await recordOccurrences(carillon, owner, () =>
        carillon.call(owner, 'PUT', path, { [name]: field[0] }),
      );
      assert.equal(result.status, 200, name);
      const named = name === 'client_id' ? { client_name: 'Client' } : {};
      wanted = { ...wanted, [name]: shownOf(field), ...named, date_modified: result.json.data.date_modified };
      assert.deepEqual(result.json.data, wanted);
      assert.deepEqual(recorded, [{ kind: 'changed_project', record_id: wanted.project_id, user_id: owner.userId }]);
    }
    const assigned = await carillon.call(owner, 'PUT', `/v2/projects/${wanted.project_id}`, { users: [member.userId] });
    assert.deepEqual(assigned.json.data.users, [{ user_id: member.userId, user_name: 'Test member' }]);
    const nobody = await carillon.call(owner, 'PUT', `/v2/projects/${wanted.project_id}`, { users: [] });
    assert.deepEqual(nobody.json.data.users, []);
  });

  test('C26 C30 an unknown client or assigned user is 404; due before start is 400', async () => {
    const project = await owner.carillon.projects.create({ project_name: 'Kept', users: [member.userId] });
    const { recorded } = await recordOccurrences(carillon, owner, async () => {
      for (const [body, status] of [
        [{ client_id: '999999' }, 404],
        [{ users: ['999999'] }, 404],
        [{ users: [member.userId, '0'] }, 404],
        [{ start_date: '20270102', due_date: '20270101' }, 400],
      ] as const) {
        const created = await carillon.call(owner, 'POST', '/v2/projects', { project_name: 'New', ...body });
        const changed = await carillon.call(owner, 'PUT', `/v2/projects/${project.project_id}`, body);
        assert.deepEqual([created.status, changed.status], [status, status], JSON.stringify(body));
      }
    });
    assert.deepEqual(recorded, []);
    assert.deepEqual(await owner.carillon.projects.get(project.project_id), project);
  });

  test('C34 deleting a project deletes its tasks and their subtasks, and sets the project of its events to "0"', async () => {
    const { projects, tasks, subtasks, events } = owner.carillon;
    const users = [member.userId];
    const gone = await projects.create({ project_name: 'Gone', users });
    const kept = await projects.create({ project_name: 'Kept' });
    const firstTask = await tasks.create(gone.project_id, { task_name: 'First', users });
    const secondTask = await tasks.create(gone.project_id, { task_name: 'Second' });
    const subtask = await subtasks.create(firstTask.task_id, { subtask_name: 'Sub', users });
    const otherTask = await tasks.create(kept.project_id, { task_name: 'Other', users });
    const otherSubtask = await subtasks.create(otherTask.task_id, { subtask_name: 'Other' });
    const span = { start_date: '20270101', due_date: '20270101' };
    const event = await events.create({ event_name: 'Meeting', ...span, project_id: gone.project_id });
    const otherEvent = await events.create({ event_name: 'Other', ...span, project_id: kept.project_id });

    const { recorded } = await recordOccurrences(carillon, owner, () => projects.delete(gone.project_id));
    const user_id = owner.userId;
    assert.deepEqual(recorded, [
      { kind: 'deleted_subtask', record_id: subtask.subtask_id, user_id },
      { kind: 'deleted_task', record_id: firstTask.task_id, user_id },
      { kind: 'deleted_task', record_id: secondTask.task_id, user_id },
      { kind: 'changed_event', record_id: event.event_id, user_id },
      { kind: 'deleted_project', record_id: gone.project_id, user_id },
    ]);
    for (const path of [
      `/v2/projects/${gone.project_id}`,
      `/v2/tasks/${firstTask.task_id}`,
      `/v2/tasks/${secondTask.task_id}`,
      `/v2/subtasks/${subtask.subtask_id}`,
    ]) {
      assert.equal((await carillon.call(owner, 'GET', path)).status, 404, path);
    }
    const { date_modified, ...rest } = await events.get(event.event_id);
    assert.notEqual(date_modified, NEVER);
    assert.deepEqual({ ...rest, date_modified: NEVER }, { ...event, project_id: '0' });
    assert.deepEqual(await tasks.get(otherTask.task_id), otherTask);
    assert.deepEqual(await subtasks.get(otherSubtask.subtask_id), otherSubtask);
    assert.deepEqual(await events.get(otherEvent.event_id), otherEvent);
    const rows = await carillon.store.read.selectFrom('assignments').selectAll().execute();
    const left = rows
      .map((row) => [row.resource_type, String(row.record_id)])
      .filter(([resourceType]) => resourceType !== 'project');
    assert.deepEqual(left, [['task', otherTask.task_id]], 'nobody stays assigned to what is gone');
  });
}

for (const { test, testService } of stores) {
  let now = Date.parse('2027-03-09T23:59:59.999Z');
  const clock = { ...systemClock, now: () => now };
  const carillon = await testService({ after }, { deps: { clock } });
  const owner = await carillon.createAccount('acme.test');
  const client = await owner.carillon.clients.create({ client_name: 'Client' });

  /** All projects of the account, with their creation times. */
  const projects: [created: string, project: Record<string, unknown>][] = [
    ['2027-03-09T23:59:59.999Z', { project_name: 'beta', due_date: '2027-03-10 00:00:00', progress: 10, tags: 'red' }],
    ['2027-03-10T00:00:00.000Z', { project_name: 'Alpha', due_date: '2027-03-10 23:59:59', progress: 90, closed: 1 }],
    ['2027-03-10T23:59:59.999Z', { project_name: 'Delta', tags: 'reddish, green', client_id: client.client_id }],
    ['2027-03-11T00:00:00.000Z', { project_name: 'Älpler', due_date: '20270311', progress: 50, archived: 1 }],
    ['2027-03-11T00:00:00.000Z', { project_name: 'gamma', due_date: '20270309', progress: 50, tags: 'green,red' }],
  ];
  /** Seconds worked on tasks of these projects, by project name. */
  const worked: Readonly<Record<string, readonly number[]>> = { Delta: [60, 30], beta: [80] };
  for (const [created, project] of projects) {
    now = Date.parse(created);
    const { status, json } = await carillon.call(owner, 'POST', '/v2/projects', project);
    assert.equal(status, 201);
    for (const seconds of worked[String(project.project_name)] ?? []) {
      const { task_id } = await owner.carillon.tasks.create(json.data.project_id, { task_name: 'Task' });
      await owner.carillon.timeEntries.create(task_id, { seconds });
    }
  }

  async function named(query: string): Promise<string[]> {
    const { status, json } = await carillon.call(owner, 'GET', `/v2/projects?${query}`);
    assert.equal(status, 200, `${query}: ${JSON.stringify(json)}`);
    assert.equal(json.paging.total_records, json.data.length, query);
    return json.data.map((project: { project_name: string }) => project.project_name);
  }

  const cases: [query: string, left: string[]][] = [
    ['', ['beta', 'Alpha', 'Delta', 'Älpler', 'gamma']],
    [`client_id=${client.client_id}`, ['Delta']],
    ['client_id=0', ['beta', 'Alpha', 'Älpler', 'gamma']],
    ['due_from=20270310', ['beta', 'Alpha', 'Älpler']],
    ['due_to=20270310', ['beta', 'Alpha', 'gamma']],
    ['due_from=20270310&due_to=20270310', ['beta', 'Alpha']],
    ['created_from=20270310', ['Alpha', 'Delta', 'Älpler', 'gamma']],
    ['created_to=20270310', ['beta', 'Alpha', 'Delta']],
    ['created_from=20270310&created_to=20270310', ['Alpha', 'Delta']],
    ['tag=red', ['beta', 'gamma']],
    ['tag=green', ['Delta', 'gamma']],
    ['tag=gre', []],
    ['tag=%25', []],
    ['status=open', ['beta', 'Delta', 'gamma']],
    ['status=closed', ['Alpha']],
    ['status=archived', ['Älpler']],
    ['status=templates', []],
    ['status=open&tag=red&due_from=20270310', ['beta']],
    ['order=projectname', ['Alpha', 'beta', 'Delta', 'gamma', 'Älpler']],
    ['order=duedate', ['Delta', 'gamma', 'beta', 'Alpha', 'Älpler']],
    ['order=progress', ['Alpha', 'gamma', 'Älpler', 'beta', 'Delta']],
    ['order=billablehours', ['Delta', 'beta', 'gamma', 'Älpler', 'Alpha']],
    ['order=latest', ['gamma', 'Älpler', 'Delta', 'Alpha', 'beta']],
    ['order=latest&status=open', ['gamma', 'Delta', 'beta']],
  ];

  for (const [query, left] of cases) {
    test(`C30 GET /v2/projects?${query}`, async () => {
      assert.deepEqual(await named(query), left);
    });
  }

  test('C7 C30 every order is total: paging returns each project once', async () => {
    for (const order of ['projectname', 'duedate', 'progress', 'billablehours', 'latest']) {
      const paged: string[] = [];
      for (let offset = 0; offset < 5; offset += 1) {
        const { json } = await carillon.call(owner, 'GET', `/v2/projects?order=${order}&limit=1&offset=${offset}`);
        paged.push(json.data[0].project_name);
      }
      assert.deepEqual(paged, await named(`order=${order}`), order);
    }
  });

  test('C30 an invalid filter or order is rejected, naming it', async () => {
    for (const [name, value] of [
      ['order', 'name'],
      ['order', ''],
      ['status', 'active'],
      ['status', 'OPEN'],
      ['tag', ''],
      ['client_id', 'x'],
      ['due_from', '2027-03-10'],
      ['created_to', '20270229'],
    ]) {
      const { status, json } = await carillon.call(owner, 'GET', `/v2/projects?${name}=${value}`);
      assert.equal(status, 400, `${name}=${value}`);
      assert.deepEqual(
        json.errors.map((error: { field: string }) => error.field),
        [name],
      );
    }
  });
}
