import assert from 'node:assert/strict';
import { after } from 'node:test';
import { noting } from '../../../test/kit/service/occurrences.ts';
import { stores } from '../../../test/kit/service/stores.ts';

for (const { test, testService } of stores) {
  const carillon = await testService({ after });
  const owner = await carillon.account('acme.test');
  const member = await carillon.user(owner, 'member');
  const client = await owner.carillon.clients.create({ client_name: 'Client' });

  const NEVER = '0000-00-00 00:00:00';

  /** Every writable field: the value written, and the value returned if different. */
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
      const { result, noted } = await noting(carillon, owner, () =>
        carillon.call(owner, 'PUT', path, { [name]: field[0] }),
      );
      assert.equal(result.status, 200, name);
      const named = name === 'client_id' ? { client_name: 'Client' } : {};
      wanted = { ...wanted, [name]: shownOf(field), ...named, date_modified: result.json.data.date_modified };
      assert.deepEqual(result.json.data, wanted);
      assert.deepEqual(noted, [{ kind: 'changed_project', record_id: wanted.project_id, user_id: owner.userId }]);
    }
    const assigned = await carillon.call(owner, 'PUT', `/v2/projects/${wanted.project_id}`, { users: [member.userId] });
    assert.deepEqual(assigned.json.data.users, [{ user_id: member.userId, user_name: 'Test member' }]);
    const nobody = await carillon.call(owner, 'PUT', `/v2/projects/${wanted.project_id}`, { users: [] });
    assert.deepEqual(nobody.json.data.users, []);
  });

  test('C26 C30 an unknown client or assigned user is 404; due before start is 400', async () => {
    const project = await owner.carillon.projects.create({ project_name: 'Kept', users: [member.userId] });
    const { noted } = await noting(carillon, owner, async () => {
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
    assert.deepEqual(noted, []);
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

    const { noted } = await noting(carillon, owner, () => projects.delete(gone.project_id));
    const user_id = owner.userId;
    assert.deepEqual(noted, [
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
