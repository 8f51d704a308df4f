import assert from 'node:assert/strict';
import { after } from 'node:test';
import { recordOccurrences } from '../../../test/kit/service/occurrences.ts';
import { stores } from '../../../test/kit/service/stores.ts';

for (const { test, testService } of stores) {
  const carillon = await testService({ after });
  const TIME = /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/;

  test('C35 a user has these fields, and no others', async () => {
    const owner = await carillon.createAccount('fields.test');
    const body = {
      email: 'ann@fields.test',
      first_name: ' Ann ',
      last_name: 'Lee',
      role: 'admin',
      user_name: 'ignored',
    };
    const { result, recorded } = await recordOccurrences(carillon, owner, () =>
      carillon.call(owner, 'POST', '/v2/users', body),
    );
    assert.equal(result.status, 201);
    const { user_id, date_created, ...rest } = result.json.data;
    const names = { first_name: 'Ann', last_name: 'Lee', user_name: 'Ann Lee' };
    assert.deepEqual(rest, { email: 'ann@fields.test', ...names, role: 'admin' });
    assert.match(date_created, TIME);
    assert.deepEqual(recorded, [{ kind: 'new_user', record_id: user_id, user_id: owner.userId }]);
    assert.deepEqual((await carillon.call(owner, 'GET', `/v2/users/${user_id}`)).json, result.json);
    const { json } = await carillon.call(owner, 'GET', '/v2/users');
    assert.deepEqual(
      json.data.map((user: { user_id: string }) => user.user_id),
      [owner.userId, user_id],
    );
  });

  test('C35 by default a user has no names and is a member; user_name joins both names', async () => {
    const owner = await carillon.createAccount('names.test');
    const plain = await owner.carillon.users.create({ email: 'plain@names.test' });
    assert.deepEqual([plain.first_name, plain.last_name, plain.user_name, plain.role], ['', '', '', 'member']);
    const changed = await owner.carillon.users.update(plain.user_id, { last_name: 'Lee' });
    assert.deepEqual([changed.last_name, changed.user_name, changed.email], ['Lee', 'Lee', 'plain@names.test']);
  });

  test('C35 /v2/user is the caller, with any permissions', async () => {
    const owner = await carillon.createAccount('caller.test');
    const member = await carillon.createUser(owner, 'member', []);
    const { status, json } = await carillon.call(member, 'GET', '/v2/user');
    assert.equal(status, 200);
    assert.deepEqual(
      [json.data.user_id, json.data.role, json.data.user_name],
      [member.userId, 'member', 'Test member'],
    );
    assert.deepEqual(json.data, await owner.carillon.users.get(member.userId));
  });

  test('C35 an e-mail address is unique in an account, compared without case', async () => {
    const owner = await carillon.createAccount('email.test');
    const other = await carillon.createAccount('elsewhere.test');
    for (const [email, again] of [
      ['ann@email.test', 'ANN@email.test'],
      ['Ärger@email.test', 'ärger@email.test'],
      ['Ölaf@email.test', 'Ölaf@email.test'],
    ] as const) {
      const { user_id } = await owner.carillon.users.create({ email });
      const created = await carillon.call(owner, 'POST', '/v2/users', { email: again });
      assert.deepEqual([created.status, created.json.code], [409, 'email_taken'], again);
      const changed = await carillon.call(owner, 'PUT', `/v2/users/${owner.userId}`, { email: again });
      assert.deepEqual([changed.status, changed.json.code], [409, 'email_taken'], again);
      assert.equal(
        (await carillon.call(owner, 'PUT', `/v2/users/${user_id}`, { email: again })).status,
        200,
        'its own',
      );
      assert.equal((await carillon.call(other, 'POST', '/v2/users', { email })).status, 201, 'another account');
      await owner.carillon.users.delete(user_id);
      assert.equal((await carillon.call(owner, 'POST', '/v2/users', { email })).status, 201, 'free again');
    }
  });

  test('C2 C35 only admins add, change and delete users', async () => {
    const owner = await carillon.createAccount('admins.test');
    const [admin, member, victim] = [
      await carillon.createUser(owner, 'admin'),
      await carillon.createUser(owner, 'member'),
      await carillon.createUser(owner, 'member'),
    ];
    const calls = [
      ['POST', '/v2/users', { email: 'new@admins.test' }, 201],
      ['PUT', `/v2/users/${victim.userId}`, { first_name: 'Changed' }, 200],
      ['DELETE', `/v2/users/${victim.userId}`, undefined, 200],
    ] as const;
    const { recorded } = await recordOccurrences(carillon, owner, async () => {
      for (const [method, path, body] of calls) {
        const { status, json } = await carillon.call(member, method, path, body);
        assert.deepEqual([status, json.code], [401, 'not_permitted'], method);
      }
    });
    assert.deepEqual(recorded, []);
    assert.equal((await carillon.call(member, 'GET', '/v2/users')).status, 200);
    for (const [method, path, body, wanted] of calls) {
      assert.equal((await carillon.call(admin, method, path, body)).status, wanted, method);
    }
  });

  test('X7 a caller cannot give, remove or change a role above their own', async () => {
    const owner = await carillon.createAccount('roles.test');
    const [admin, member] = [await carillon.createUser(owner, 'admin'), await carillon.createUser(owner, 'member')];
    const refused = [
      ['POST', '/v2/users', { email: 'new@roles.test', role: 'owner' }],
      ['PUT', `/v2/users/${member.userId}`, { role: 'owner' }],
      ['PUT', `/v2/users/${admin.userId}`, { role: 'owner' }],
      ['PUT', `/v2/users/${owner.userId}`, { role: 'member' }],
      ['PUT', `/v2/users/${owner.userId}`, { email: 'mine@roles.test' }],
      ['DELETE', `/v2/users/${owner.userId}`, undefined],
    ] as const;
    const { recorded } = await recordOccurrences(carillon, owner, async () => {
      for (const [method, path, body] of refused) {
        const { status, json } = await carillon.call(admin, method, path, body);
        assert.deepEqual([status, json.code], [401, 'not_permitted'], `${method} ${path} ${JSON.stringify(body)}`);
      }
    });
    assert.deepEqual(recorded, []);
    assert.equal((await carillon.call(admin, 'PUT', `/v2/users/${member.userId}`, { role: 'admin' })).status, 200);
    assert.equal((await carillon.call(owner, 'PUT', `/v2/users/${member.userId}`, { role: 'owner' })).status, 200);
  });

  test('X7 the last owner cannot be demoted or deleted', async () => {
    const owner = await carillon.createAccount('last.test');
    const path = `/v2/users/${owner.userId}`;
    const demote = () => carillon.call(owner, 'PUT', path, { role: 'admin' });
    for (const { status, json } of [await demote(), await carillon.call(owner, 'DELETE', path)]) {
      assert.deepEqual([status, json.code], [409, 'last_owner']);
    }
    assert.equal((await carillon.call(owner, 'PUT', path, { role: 'owner', first_name: 'Still' })).status, 200);
    const second = await carillon.createUser(owner, 'owner');
    assert.equal((await demote()).status, 200, 'there is another');
    const left = await carillon.call(second, 'DELETE', `/v2/users/${second.userId}`);
    assert.deepEqual([left.status, left.json.code], [409, 'last_owner']);
  });

  test('C23 C35 deleting a user revokes the keys; the records stay', async () => {
    const owner = await carillon.createAccount('deleted.test');
    const member = await carillon.createUser(owner, 'member');
    const event = await member.carillon.events.create({
      event_name: 'E',
      start_date: '20270101',
      due_date: '20270101',
    });
    const project = await owner.carillon.projects.create({ project_name: 'P', users: [member.userId, owner.userId] });
    const { recorded } = await recordOccurrences(carillon, owner, () => owner.carillon.users.delete(member.userId));
    assert.deepEqual(recorded, [{ kind: 'deleted_user', record_id: member.userId, user_id: owner.userId }]);

    assert.equal((await carillon.call(member, 'GET', '/v2/user')).status, 401);
    assert.deepEqual(await owner.carillon.events.get(event.event_id), event, 'still the creator');
    const { users } = await owner.carillon.projects.get(project.project_id);
    assert.deepEqual(users, [{ user_id: owner.userId, user_name: 'Account Owner' }]);
    const path = `/v2/users/${member.userId}`;
    for (const [method, body] of [['GET'], ['PUT', { first_name: 'Back' }], ['DELETE']] as const) {
      assert.equal((await carillon.call(owner, method, path, body)).status, 404, method);
    }
    const listed = await owner.carillon.users.list();
    assert.deepEqual(
      listed.data.map((user) => user.user_id),
      [owner.userId],
    );
    const named = await carillon.call(owner, 'PUT', `/v2/events/${event.event_id}`, { user_id: owner.userId });
    assert.equal(named.status, 200);
    const back = await carillon.call(owner, 'PUT', `/v2/events/${event.event_id}`, { user_id: member.userId });
    assert.equal(back.status, 404, 'nobody can be given to a deleted user');
    const assigned = await carillon.call(owner, 'PUT', `/v2/projects/${project.project_id}`, {
      users: [member.userId],
    });
    assert.equal(assigned.status, 404);
  });
}
