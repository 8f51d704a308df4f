import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { after } from 'node:test';
import { openStoreAt, readAllBytes } from '../../../test/kit/database/database.ts';
import { serializeTables } from '../../../test/kit/service/occurrences.ts';
import type { ApiUser } from '../../../test/kit/service/service.ts';
import { sqlite, stores } from '../../../test/kit/service/stores.ts';
import { systemClock } from '../../clock.ts';
import { createLog } from '../../log.ts';
import { permissions, permissionsOf } from '../../permissions.ts';
import { systemRandom } from '../../secrets.ts';
import { createAccount } from '../accounts/actions.ts';
import { createKeyAuthenticator } from './authenticate.ts';

for (const { test, testService } of stores) {
  let now = Date.parse('2027-01-01T00:00:00Z');
  const clock = { ...systemClock, now: () => now };
  const carillon = await testService({ after }, { deps: { clock } });
  const NEVER = '0000-00-00 00:00:00';

  const issue = (who: ApiUser, body: unknown) => carillon.call(who, 'POST', '/v2/keys', body);

  /** Returns a person who uses another key. */
  function withKey(who: ApiUser, key: string): ApiUser {
    return { ...who, key, headers: { domain: who.domain, key } };
  }

  /** Asserts that issuing a key is not permitted and writes nothing. */
  async function assertNotPermitted(who: ApiUser, body: unknown): Promise<void> {
    const before = await serializeTables(carillon);
    const { status, json } = await issue(who, body);
    assert.deepEqual([status, json.code], [401, 'not_permitted'], JSON.stringify(body));
    assert.equal(await serializeTables(carillon), before);
  }

  test('X7 a new key works immediately and is shown only once', async () => {
    const owner = await carillon.createAccount('issue.test');
    const { status, json, headers } = await issue(owner, { label: ' Reader ', permissions: ['events:read'] });
    assert.equal(status, 201);
    const { id, key, ...rest } = json.data;
    assert.deepEqual(rest, {
      user_id: owner.userId,
      label: 'Reader',
      permissions: ['events:read'],
      date_created: '2027-01-01 00:00:00',
      last_used: NEVER,
      expires: NEVER,
      revoked: '0',
    });
    assert.match(key, /^carillon_[\w-]{43}$/);
    assert.equal(headers.get('location'), `${carillon.baseUrl}/v2/keys/${id}`);
    const reader = withKey(owner, key);
    assert.equal((await carillon.call(reader, 'GET', '/v2/events')).status, 200);
    assert.equal((await carillon.call(reader, 'GET', '/v2/clients')).status, 401);

    const one = await carillon.call(owner, 'GET', `/v2/keys/${id}`);
    const list = await carillon.call(owner, 'GET', '/v2/keys');
    for (const { text } of [one, list]) assert.ok(!text.includes(key), 'never again');
    assert.equal(one.json.data.key, undefined);
    assert.equal(list.json.data.at(-1).id, id);
  });

  test('X7 a key is stored as a hash and is in neither database nor log', async () => {
    const owner = await carillon.createAccount('hashed.test');
    const { json } = await issue(owner, { label: 'Secret' });
    const row = await carillon.store.read
      .selectFrom('api_keys')
      .selectAll()
      .where('key_id', '=', Number(json.data.id))
      .executeTakeFirstOrThrow();
    assert.ok(!JSON.stringify(row).includes(json.data.key));
    const bytes = await readAllBytes(carillon.database);
    assert.ok(bytes.includes(row.key_hash), 'what was just written stands in these files');
    assert.ok(!bytes.includes(json.data.key.slice('carillon_'.length)));
    assert.ok(!JSON.stringify(carillon.logged).includes(json.data.key));
  });

  test('X7 the default permissions are those that both the caller’s key and the user have', async () => {
    const owner = await carillon.createAccount('widest.test');
    const member = await carillon.createUser(owner, 'member');
    assert.deepEqual((await issue(owner, {})).json.data.permissions, permissions);
    const theirs = await issue(owner, { user_id: member.userId });
    assert.deepEqual(theirs.json.data.permissions, permissionsOf('member'));
    assert.equal(theirs.json.data.user_id, member.userId);
    const narrow = await carillon.createKey(owner, { permissions: ['keys:write', 'tasks:read'] });
    assert.deepEqual((await issue(narrow, {})).json.data.permissions, ['tasks:read', 'keys:write']);
    assert.deepEqual((await issue(narrow, { permissions: [] })).json.data.permissions, []);
  });

  test('X7 a new key never has more permissions than the caller’s key or its user', async () => {
    const owner = await carillon.createAccount('wider.test');
    const member = await carillon.createUser(owner, 'member');
    const narrow = await carillon.createKey(owner, { permissions: ['keys:write', 'events:read'] });
    await assertNotPermitted(narrow, { permissions: ['events:read', 'events:write'] });
    await assertNotPermitted(narrow, { permissions: ['users:write'], user_id: member.userId });
    await assertNotPermitted(owner, { permissions: ['users:write'], user_id: member.userId });
    await assertNotPermitted(member, { permissions: ['users:write'] });
    assert.equal((await issue(narrow, { permissions: ['events:read'] })).status, 201);
  });

  test('C2 X7 a key never has more permissions than its user, also after the role was reduced', async () => {
    const owner = await carillon.createAccount('shrunk.test');
    const member = await carillon.createUser(owner, 'member', permissions);
    const admin = await carillon.createUser(owner, 'admin');
    const add = (who: ApiUser) => carillon.call(who, 'POST', '/v2/users', { email: `${who.userId}@shrunk.test` });
    assert.equal((await add(member)).status, 401);
    assert.equal((await add(admin)).status, 201);
    await owner.carillon.users.update(admin.userId, { role: 'member' });
    const { status, json } = await carillon.call(admin, 'POST', '/v2/users', { email: 'again@shrunk.test' });
    assert.deepEqual([status, json.code], [401, 'not_permitted']);
  });

  test('X7 only admins issue keys to others, and never to a user whose role is above their own', async () => {
    const owner = await carillon.createAccount('others.test');
    const stranger = await carillon.createAccount('stranger.test');
    const [admin, member] = [await carillon.createUser(owner, 'admin'), await carillon.createUser(owner, 'member')];
    await assertNotPermitted(member, { user_id: owner.userId });
    await assertNotPermitted(member, { user_id: admin.userId });
    await assertNotPermitted(member, { user_id: '999999' });
    await assertNotPermitted(admin, { user_id: owner.userId, permissions: ['events:read'] });
    assert.equal((await issue(admin, { user_id: member.userId })).status, 201);
    assert.equal((await issue(member, { user_id: member.userId })).status, 201, 'naming oneself');
    for (const user_id of ['999999', stranger.userId]) {
      assert.equal((await issue(owner, { user_id })).status, 404, user_id);
    }
  });

  test('X7 a new key never outlives the key that issues it', async () => {
    const owner = await carillon.createAccount('outlive.test');
    const day = await carillon.createKey(owner, { expiresAt: now + 86_400_000 });
    await assertNotPermitted(day, { expires: '25h' });
    await assertNotPermitted(day, { expires: '2027-01-02 00:00:01' });
    assert.equal((await issue(day, { expires: '24h' })).json.data.expires, '2027-01-02 00:00:00');
    assert.equal((await issue(day, { expires: '2027-01-01 12:00:00' })).json.data.expires, '2027-01-01 12:00:00');
    for (const expires of [undefined, null, '']) {
      assert.equal((await issue(day, { expires })).json.data.expires, '2027-01-02 00:00:00', 'left out: as its own');
    }
    assert.equal((await issue(owner, { expires: '30d' })).json.data.expires, '2027-01-31 00:00:00');
  });

  test('C1 X7 a key works until the moment it expires', async () => {
    const owner = await carillon.createAccount('expiry.test');
    const { json } = await issue(owner, { expires: '4s' });
    const holder = withKey(owner, json.data.key);
    const began = now;
    now = began + 3_999;
    assert.equal((await carillon.call(holder, 'GET', '/v2/user')).status, 200);
    now = began + 4_000;
    assert.equal((await carillon.call(holder, 'GET', '/v2/user')).status, 401);
    now = began;
  });

  test('C9 X7 an invalid expiry is rejected, naming the field', async () => {
    const owner = await carillon.createAccount('expires.test');
    const wrong = ['soon', '30', '1y', '-1d', '20270101', '2027-02-30 00:00:00', '2027-01-01 24:00:00', '999999999d'];
    for (const expires of [...wrong, 30, true, {}, [], '9999999999d', '2027-01-01T00:00:00Z']) {
      const { status, json } = await issue(owner, { expires });
      assert.equal(status, 400, JSON.stringify(expires));
      assert.equal(json.errors[0].field, 'expires');
    }
  });

  test('X7 revoking takes effect immediately; a second time is 404', async () => {
    const owner = await carillon.createAccount('revoke.test');
    const { json } = await issue(owner, {});
    const holder = withKey(owner, json.data.key);
    assert.equal((await carillon.call(holder, 'GET', '/v2/user')).status, 200);
    const first = await carillon.call(owner, 'DELETE', `/v2/keys/${json.data.id}`);
    assert.deepEqual([first.status, first.text], [200, '[]']);
    assert.equal((await carillon.call(holder, 'GET', '/v2/user')).status, 401);
    assert.equal((await carillon.call(owner, 'DELETE', `/v2/keys/${json.data.id}`)).status, 404);
    assert.equal((await carillon.call(owner, 'GET', `/v2/keys/${json.data.id}`)).json.data.revoked, '1');
    const self = await issue(owner, {});
    const selfish = withKey(owner, self.json.data.key);
    assert.equal((await carillon.call(selfish, 'DELETE', `/v2/keys/${self.json.data.id}`)).status, 200, 'its own');
    assert.equal((await carillon.call(selfish, 'GET', '/v2/user')).status, 401);
  });

  test('X7 narrowing a key takes effect immediately, can rename it, and is in the audit log', async () => {
    const owner = await carillon.createAccount('narrowed.test');
    const wide = await issue(owner, { label: 'Wide', permissions: ['events:read', 'events:write', 'tasks:read'] });
    const { id, key } = wide.json.data;
    const holder = withKey(owner, key);
    const day = { start_date: '20270101', due_date: '20270101' };
    const add = () => carillon.call(holder, 'POST', '/v2/events', { event_name: 'One', ...day });
    assert.equal((await add()).status, 201);
    const narrowed = await owner.carillon.keys.update(id, { permissions: ['tasks:read', 'events:read'] });
    assert.deepEqual([narrowed.label, narrowed.permissions], ['Wide', ['events:read', 'tasks:read']]);
    const { status, json } = await add();
    assert.deepEqual([status, json.code], [401, 'not_permitted']);
    assert.equal((await carillon.call(holder, 'GET', '/v2/events')).status, 200);
    const named = await owner.carillon.keys.update(id, { label: 'Narrow' });
    assert.deepEqual([named.label, named.permissions], ['Narrow', ['events:read', 'tasks:read']]);
    const noted = await carillon.store.read
      .selectFrom('audit')
      .select(['subject', 'detail'])
      .where('action', '=', 'key.narrowed')
      .execute();
    const entries = noted.map(({ subject, detail }) => [subject, JSON.parse(detail)]);
    assert.deepEqual(entries, [[`key ${id}`, { permissions: 'events:read,tasks:read' }]], 'a name changes no access');
  });

  test('X7 no caller can add permissions to a key or change a revoked one', async () => {
    const owner = await carillon.createAccount('never-wider.test');
    const { id } = (await issue(owner, { permissions: ['events:read'] })).json.data;
    const change = (who: ApiUser, body: unknown, keyId = id) => carillon.call(who, 'PUT', `/v2/keys/${keyId}`, body);
    const refused = async (who: ApiUser, body: unknown, wanted: [number, string], keyId = id) => {
      const before = await serializeTables(carillon);
      const { status, json } = await change(who, body, keyId);
      assert.deepEqual([status, json.code], wanted, JSON.stringify(body));
      assert.equal(await serializeTables(carillon), before);
    };
    await refused(owner, { permissions: ['events:read', 'events:write'] }, [401, 'not_permitted']);
    await refused(owner, { permissions: ['clients:read'] }, [401, 'not_permitted']);
    await refused(owner, { permissions: ['no:such'] }, [400, 'invalid_input']);
    await refused(owner, { permissions: 'events:read' }, [400, 'invalid_input']);
    const emptied = await change(owner, { permissions: [] });
    assert.deepEqual([emptied.status, emptied.json.data.permissions], [200, []]);
    await refused(owner, { permissions: ['events:read'] }, [401, 'not_permitted']);
    await owner.carillon.keys.revoke(id);
    await refused(owner, { label: 'again' }, [404, 'not_found']);
  });

  test('X7 a caller may narrow the keys that they may revoke', async () => {
    const owner = await carillon.createAccount('narrowing.test');
    const stranger = await carillon.createAccount('narrowing-not.test');
    const [admin, member] = [await carillon.createUser(owner, 'admin'), await carillon.createUser(owner, 'member')];
    const keyOf = async (who: ApiUser) =>
      (await owner.carillon.keys.list({ user_id: who.userId })).data.map(({ id }) => id).at(0) ?? '';
    const narrow = async (who: ApiUser, whose: ApiUser) => {
      const { status, json } = await carillon.call(who, 'PUT', `/v2/keys/${await keyOf(whose)}`, { label: 'less' });
      return json.code ?? status;
    };
    assert.equal(await narrow(member, admin), 'not_found');
    assert.equal(await narrow(stranger, member), 'not_found');
    assert.equal(await narrow(admin, owner), 'not_permitted');
    assert.equal(await narrow(admin, member), 200);
    assert.equal(await narrow(member, member), 200);
    const reader = await carillon.createKey(owner, { permissions: ['keys:read'] });
    assert.equal(await narrow(reader, owner), 'not_permitted');
  });

  test('X7 a member sees and revokes only own keys; an admin those of all users whose role is not above theirs', async () => {
    const owner = await carillon.createAccount('visible.test');
    const stranger = await carillon.createAccount('visible-not.test');
    const [admin, member] = [await carillon.createUser(owner, 'admin'), await carillon.createUser(owner, 'member')];
    const idsOf = async (who: ApiUser, query = '') => {
      const { json } = await carillon.call(who, 'GET', `/v2/keys${query}`);
      assert.equal(json.paging.total_records, json.data.length);
      return json.data.map((key: { id: string }) => key.id);
    };
    const [ownerKey] = await idsOf(owner, `?user_id=${owner.userId}`);
    const [adminKey] = await idsOf(owner, `?user_id=${admin.userId}`);
    const [memberKey] = await idsOf(owner, `?user_id=${member.userId}`);
    assert.deepEqual(await idsOf(owner), [ownerKey, adminKey, memberKey]);
    assert.deepEqual(await idsOf(admin), [ownerKey, adminKey, memberKey]);
    assert.deepEqual(await idsOf(member), [memberKey]);
    assert.deepEqual(await idsOf(member, `?user_id=${owner.userId}`), []);
    assert.ok(!(await idsOf(stranger)).includes(ownerKey));

    for (const who of [member, stranger]) {
      for (const method of ['GET', 'DELETE']) {
        assert.equal((await carillon.call(who, method, `/v2/keys/${adminKey}`)).status, 404, method);
      }
    }
    const above = await carillon.call(admin, 'DELETE', `/v2/keys/${ownerKey}`);
    assert.deepEqual([above.status, above.json.code], [401, 'not_permitted']);
    assert.equal((await carillon.call(owner, 'GET', '/v2/user')).status, 200);
    assert.equal((await carillon.call(admin, 'DELETE', `/v2/keys/${memberKey}`)).status, 200);
    assert.equal((await carillon.call(member, 'GET', '/v2/user')).status, 401);
  });
}

const { test, database } = sqlite;

test('C1 a key created by another process is valid immediately, also within the same event-loop iteration', async (t) => {
  const address = await database(t);
  const store = await openStoreAt(t, address);
  const account = { domain: 'acme.test', email: 'owner@acme.test' };
  const { key, domain } = await store.write((tx) => createAccount(tx, account, Date.now(), systemRandom));
  const other = new DatabaseSync(address.slice('sqlite:'.length));
  t.after(() => other.close());
  const { authenticate, flush } = createKeyAuthenticator({ store, clock: systemClock, log: createLog('silent') });
  t.after(flush);
  other.exec('update api_keys set revoked_at = 1');
  const before = authenticate(key, domain);
  other.exec('update api_keys set revoked_at = null');
  const after = authenticate(key, domain);
  assert.equal((await after)?.accountId, 1);
  await before;
  await new Promise((resolve) => setImmediate(resolve));
  other.exec('update api_keys set revoked_at = 1');
  assert.equal(await authenticate(key, domain), undefined);
});
