import assert from 'node:assert/strict';
import { after } from 'node:test';
import { outranks, permissions, permissionsOf } from '../../src/access.ts';
import { stores } from '../harness/stores.ts';

for (const { test, testService } of stores) {
  const carillon = await testService({ after });
  const owner = await carillon.account('acme.test');
  const span = { start_date: '20270101', due_date: '20270101' };

  test('C2 permissions are these, each to read and to write', () => {
    const areas = ['events', 'clients', 'projects', 'tasks', 'users', 'company', 'hooks', 'keys'];
    assert.deepEqual(
      permissions,
      areas.flatMap((area) => [`${area}:read`, `${area}:write`]),
    );
  });

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
