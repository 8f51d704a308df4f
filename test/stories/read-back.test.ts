import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Json, Person } from '../kit/service.ts';
import { stores } from '../kit/stores.ts';

for (const { test, testService } of stores) {
  // C9: a record can be written back as it was read. A PUT of the exact response of GET is accepted and changes
  // only date_modified, for any caller and any content.

  const carillon = await testService({ after });
  const owner = await carillon.account('acme.test');
  const member = await carillon.user(owner, 'member');
  const users = [owner.userId, member.userId];
  const text = 'Ünïcode 🔔 "quoted" \\ <b> & \n two lines';
  const span = { start_date: '2027-02-28 23:59:59', due_date: '2028-02-29 00:00:01' };
  const amounts = { hourly_rate: '12.5000', price: '999999999.9999' };
  const flags = { ongoing: 1, important: 1, active: 2 };

  const create = async (path: string, body: unknown): Promise<Json> => {
    const { status, json } = await carillon.call(owner, 'POST', path, body);
    assert.equal(status, 201, JSON.stringify(json));
    return json.data;
  };

  const client = await create('/v2/clients', {
    ...{ client_name: text, email: 'a@b.test', tel: '+49 1', fax: '2', mobile: '3', website: 'https://a.test/?b=c&d' },
    ...{
      address: text,
      city: text,
      state: text,
      postcode: '1',
      country: text,
      notes: text,
      background: text,
      active: 2,
    },
  });
  const project = await create('/v2/projects', {
    ...{ project_name: text, uri: 'x', description: text, color: '#fff', tags: 'a,b c', notes: text, currency: 'EUR' },
    ...{ ...span, ...amounts, ...flags, fixed_price: 1, public: 1, closed: 1, archived: 1, progress: 100 },
    ...{ recurring: 'S', notifications: 1, estimated_hours: 2.5, project_order: 1_415_893_855_123 },
    ...{ client_id: client.client_id, users },
  });
  const task = await create(`/v2/tasks/${project.project_id}`, {
    ...{ task_name: text, description: text, color: '#fff', tags: 'a,b c', notes: text },
    ...{
      ...span,
      ...amounts,
      ...flags,
      fixed_price: 1,
      estimated_hours: 0.25,
      estimated_cost: 7,
      task_order: 9_999_999_999_999,
    },
    ...{ completed: 1, progress: 100, recurring: 'Y', notifications: 1, archived: 1, users },
  });
  const subtask = await create(`/v2/subtasks/${task.task_id}`, {
    ...{ subtask_name: text, description: text, color: '#fff', notes: text, ...span, ...flags, estimated_hours: '0.1' },
    ...{ subtask_order: 5, completed: true, progress: 1, recurring: 'D', users },
  });
  const event = await create('/v2/events', { event_name: text, ...span, project_id: project.project_id });
  const bare = {
    client: await create('/v2/clients', { client_name: 'Bare' }),
    project: await create('/v2/projects', { project_name: 'Bare' }),
    task: await create(`/v2/tasks/${project.project_id}`, { task_name: 'Bare' }),
    subtask: await create(`/v2/subtasks/${task.task_id}`, { subtask_name: 'Bare' }),
    event: await create('/v2/events', { event_name: 'Bare', start_date: '20270101', due_date: '20270101' }),
  };

  const records: [label: string, path: string][] = [
    ['a client', `/v2/clients/${client.client_id}`],
    ['a project', `/v2/projects/${project.project_id}`],
    ['a completed task', `/v2/tasks/${task.task_id}`],
    ['a completed subtask', `/v2/subtasks/${subtask.subtask_id}`],
    ['an event with times of day', `/v2/events/${event.event_id}`],
    ['a bare client', `/v2/clients/${bare.client.client_id}`],
    ['a bare project', `/v2/projects/${bare.project.project_id}`],
    ['a bare task', `/v2/tasks/${bare.task.task_id}`],
    ['a bare subtask', `/v2/subtasks/${bare.subtask.subtask_id}`],
    ['a bare event', `/v2/events/${bare.event.event_id}`],
  ];

  async function mustReadBack(who: Person, path: string): Promise<void> {
    const before = (await carillon.call(who, 'GET', path)).json.data;
    const written = await carillon.call(who, 'PUT', path, before);
    assert.equal(written.status, 200, written.text);
    assert.deepEqual(unstamped(written.json.data), unstamped(before));
    assert.deepEqual((await carillon.call(who, 'GET', path)).json.data, written.json.data);
  }

  function unstamped({ date_modified: _, ...rest }: Json): Json {
    return rest;
  }

  for (const [label, path] of records) {
    test(`C9 C27 ${label} can be written back as read, by its creator and by a colleague`, async () => {
      await mustReadBack(owner, path);
      await mustReadBack(member, path);
      assert.notEqual((await carillon.call(owner, 'GET', path)).json.data.date_modified, '0000-00-00 00:00:00');
    });
  }

  test('C9 C35 a user can be written back as read, including the last owner', async () => {
    for (const { userId } of [owner, member]) await mustReadBack(owner, `/v2/users/${userId}`);
  });

  test('C9 a record can be written back after its creator and its assignees are deleted', async () => {
    const leaver = await carillon.user(owner, 'member');
    const made = await carillon.call(leaver, 'POST', '/v2/projects', {
      project_name: 'Left behind',
      users: [leaver.userId, member.userId],
    });
    await owner.carillon.users.delete(leaver.userId);
    await mustReadBack(owner, `/v2/projects/${made.json.data.project_id}`);
    await mustReadBack(member, `/v2/projects/${made.json.data.project_id}`);
  });
}
