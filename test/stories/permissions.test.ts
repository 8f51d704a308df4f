import assert from 'node:assert/strict';
import { after } from 'node:test';
import { outranks, type Permission, permissions, permissionsOf } from '../../src/access.ts';
import { everythingWritten } from '../harness/ledger.ts';
import { stores } from '../harness/stores.ts';

for (const { test, testService } of stores) {
  const carillon = await testService({ after });
  const owner = await carillon.account('acme.test');
  const { project_id } = await owner.carillon.projects.create({ project_name: 'Bells' });
  const { task_id } = await owner.carillon.tasks.create(project_id, { task_name: 'Cast' });
  const { subtask_id } = await owner.carillon.subtasks.create(task_id, { subtask_name: 'Melt' });

  const span = { start_date: '20270101', due_date: '20270101' };

  /** Calls that need one permission each, and what they answer to who has it. */
  const calls: [permission: Permission, method: string, path: string, body: unknown, status: number][] = [
    ['events:read', 'GET', '/v2/events', undefined, 200],
    ['events:write', 'POST', '/v2/events', { event_name: 'E', ...span }, 201],
    ['events:read', 'POST', '/v2/calendars', {}, 201],
    ['events:read', 'DELETE', '/v2/calendars/999999', undefined, 404],
    ['events:write', 'POST', '/v2/events/import', { ics: 'BEGIN:VCALENDAR\nEND:VCALENDAR\n' }, 200],
    ['clients:read', 'GET', '/v2/clients', undefined, 200],
    ['clients:write', 'POST', '/v2/clients', { client_name: 'C' }, 201],
    ['projects:read', 'GET', `/v2/projects/${project_id}`, undefined, 200],
    ['projects:write', 'PUT', `/v2/projects/${project_id}`, { notes: 'N' }, 200],
    ['tasks:read', 'GET', `/v2/tasks/${task_id}`, undefined, 200],
    ['tasks:read', 'GET', '/v2/subtasks', undefined, 200],
    ['tasks:read', 'GET', `/v2/subtasks/${subtask_id}`, undefined, 200],
    ['tasks:write', 'PUT', `/v2/tasks/${task_id}`, { completed: 1 }, 200],
    ['tasks:write', 'POST', `/v2/subtasks/${task_id}`, { subtask_name: 'S' }, 201],
    ['users:read', 'GET', '/v2/users', undefined, 200],
    ['users:write', 'POST', '/v2/users', { email: 'new@acme.test' }, 201],
    ['company:read', 'GET', '/v2/company', undefined, 200],
    ['hooks:read', 'GET', '/v2/hooks', undefined, 200],
    ['hooks:read', 'GET', '/v2/deliveries', undefined, 200],
    ['hooks:write', 'DELETE', '/v2/hooks/999999', undefined, 404],
    ['hooks:write', 'POST', '/v2/hooks/999999/restore', undefined, 404],
    ['hooks:write', 'POST', '/v2/hooks/999999/test', undefined, 404],
    ['hooks:write', 'POST', '/v2/hooks/999999/secret', {}, 404],
    ['hooks:write', 'DELETE', '/v2/hooks/999999/secret', undefined, 404],
    ['hooks:write', 'POST', '/v2/deliveries/999999/redeliver', undefined, 404],
    ['keys:read', 'GET', '/v2/keys', undefined, 200],
    ['keys:write', 'POST', '/v2/keys', {}, 201],
  ];

  test('C2 permissions are these, each to read and to write', () => {
    const areas = ['events', 'clients', 'projects', 'tasks', 'users', 'company', 'hooks', 'keys'];
    assert.deepEqual(
      permissions,
      areas.flatMap((area) => [`${area}:read`, `${area}:write`]),
    );
  });

  for (const [permission, method, path, body, wanted] of calls) {
    const name = path.replace(/\d{2,}/, '…').replace(/\/\d+$/, '/…');
    test(`C2 ${method} ${name} needs ${permission}, and nothing else`, async () => {
      const without = await carillon.key(owner, { permissions: permissions.filter((one) => one !== permission) });
      const before = await everythingWritten(carillon);
      const refused = await carillon.call(without, method, path, body);
      assert.deepEqual([refused.status, refused.json.code], [401, 'not_permitted']);
      assert.ok(refused.headers.has('www-authenticate'));
      assert.equal(await everythingWritten(carillon), before, 'nothing was written');
      const only = await carillon.key(owner, { permissions: [permission] });
      assert.equal((await carillon.call(only, method, path, body)).status, wanted);
    });
  }

  test('C2 whoever lacks the permission hears so before the body or the id is looked at', async () => {
    const nothing = await carillon.key(owner, { permissions: [] });
    for (const [method, path, body] of [
      ['POST', '/v2/events', '{'],
      ['PUT', '/v2/events/abc', {}],
      ['GET', '/v2/events/999999', undefined],
      ['GET', '/v2/events?limit=x', undefined],
    ] as const) {
      const { status, json } = await carillon.call(nothing, method, path, body);
      assert.deepEqual([status, json.code], [401, 'not_permitted'], `${method} ${path}`);
    }
    assert.equal((await carillon.call(nothing, 'GET', '/v2/user')).status, 200, '/v2/user needs none');
  });

  test('C2 with the permission, every user sees and changes every record of the account', async () => {
    const [member, colleague] = [await carillon.user(owner, 'member'), await carillon.user(owner, 'member')];
    const event = await owner.carillon.events.create({ event_name: 'Mine', ...span });
    assert.deepEqual(await member.carillon.events.get(event.event_id), event);
    const changed = await member.carillon.events.update(event.event_id, { event_name: 'Ours' });
    assert.deepEqual([changed.event_name, changed.user_id], ['Ours', owner.userId]);
    await colleague.carillon.events.delete(event.event_id);
    assert.equal((await carillon.call(owner, 'GET', `/v2/events/${event.event_id}`)).status, 404);
  });

  test('C2 X7 a member may do all but write users and the company; roles stand in this order', () => {
    assert.deepEqual(permissionsOf('owner'), permissions);
    assert.deepEqual(permissionsOf('admin'), permissions);
    const never = permissions.filter((one) => !permissionsOf('member').includes(one));
    assert.deepEqual(never, ['users:write', 'company:write']);
    assert.deepEqual(
      [
        outranks('owner', 'admin'),
        outranks('admin', 'member'),
        outranks('owner', 'owner'),
        outranks('member', 'admin'),
      ],
      [true, true, false, false],
    );
  });
}
