import assert from 'node:assert/strict';
import { eventually } from '../../test/kit/eventually.ts';
import { startTarget } from '../../test/kit/network/target.ts';
import type { ApiUser, Json, TestService } from '../../test/kit/service/service.ts';
import { stores } from '../../test/kit/service/stores.ts';

const FROM = '127.0.0.1';

/** Returns the entries of the audit log after `after`, as [action, subject, detail, user, source]. */
async function entries(carillon: TestService, after = 0): Promise<Json[]> {
  const rows = await carillon.store.read
    .selectFrom('audit')
    .selectAll()
    .where('audit_id', '>', after)
    .orderBy('audit_id')
    .execute();
  return rows.map((row) => ({ ...row, detail: JSON.parse(row.detail) }));
}
const last = async (carillon: TestService) => (await entries(carillon)).at(-1)?.audit_id ?? 0;
const short = (rows: readonly Json[]) =>
  rows.map(({ action, subject, detail, source }) => [action, subject, detail, source]);
const newest = async (carillon: TestService, { carillon: own }: ApiUser) => ({
  hook: (await own.hooks.list()).data.at(-1),
  count: (await entries(carillon)).length,
});

for (const { test, testService } of stores) {
  test('changes of keys, users and hooks are in the audit log, with actor and source', async (t) => {
    const carillon = await testService(t);
    const owner = await carillon.createAccount('acme.test');
    const member = await carillon.createUser(owner, 'member');
    const made = await entries(carillon);
    const own = made.filter(({ account_id }) => account_id === made.at(-1)?.account_id);
    assert.deepEqual(
      own.map(({ action, user_id, key_id, source }) => [action, user_id, key_id, source]),
      ['account.created', 'user.created', 'key.issued', 'user.created', 'key.issued'].map((one) => [
        one,
        0,
        0,
        'command line',
      ]),
    );
    assert.deepEqual(
      made.filter(({ source }) => source === 'first start').map(({ action }) => action),
      ['account.created', 'user.created', 'key.issued', 'invitation.created'],
    );

    const before = await last(carillon);
    const { users, keys, hooks } = owner.carillon;
    const { id, key } = await keys.create({ label: 'secret', permissions: ['events:read'] });
    await keys.revoke(id);
    const { user_id } = await users.create({ email: 'new@acme.test', first_name: 'N', last_name: 'W', role: 'member' });
    await users.update(user_id, { role: 'admin' });
    await users.update(user_id, { first_name: 'Nn' });
    const hook = await hooks.create({ target_url: 'http://127.0.0.1:9/its-secret', event: 'new_event' });
    await hooks.delete(hook.id);
    await hooks.restore(hook.id);
    const told = await entries(carillon, before);
    assert.deepEqual(short(told), [
      [
        'key.issued',
        `key ${id}`,
        { user_id: owner.userId, permissions: 'events:read', expires: '0000-00-00 00:00:00' },
        FROM,
      ],
      ['key.revoked', `key ${id}`, {}, FROM],
      ['user.created', `user ${user_id}`, { email: 'new@acme.test', role: 'member' }, FROM],
      ['user.role_changed', `user ${user_id}`, { from: 'member', to: 'admin' }, FROM],
      ['hook.created', `hook ${hook.id}`, { kind: 'new_event', scope: 'own', target: 'http://127.0.0.1:9/…' }, FROM],
      ['hook.ended', `hook ${hook.id}`, { reason: 'deleted', user_id: owner.userId }, FROM],
      ['hook.restored', `hook ${hook.id}`, {}, FROM],
    ]);
    for (const { user_id: by, key_id, account_id } of told) {
      assert.deepEqual([String(by), key_id > 0, account_id], [owner.userId, true, made.at(-1)?.account_id]);
    }
    const everything = JSON.stringify(await entries(carillon));
    for (const secret of [key, owner.key, member.key, 'its-secret']) assert.ok(!everything.includes(secret));
  });

  test('C23 each key and hook of a deleted user has an entry; calls that change nothing have none', async (t) => {
    const carillon = await testService(t);
    const owner = await carillon.createAccount('acme.test');
    const member = await carillon.createUser(owner, 'member');
    const { id } = await member.carillon.hooks.create({ target_url: 'http://127.0.0.1:9/x', event: 'new_event' });
    const { data: keys } = await owner.carillon.keys.list({ user_id: member.userId });
    const before = await last(carillon);
    await owner.carillon.users.delete(member.userId);
    assert.deepEqual(
      (await entries(carillon, before)).map(({ action, subject, detail }) => [action, subject, detail.reason]),
      [
        ['user.deleted', `user ${member.userId}`, undefined],
        ['key.revoked', `key ${keys[0]?.id}`, undefined],
        ['hook.ended', `hook ${id}`, 'user_deleted'],
      ],
    );
    const after = await last(carillon);
    const taken = { target_url: 'http://127.0.0.1:9/y', event: 'new_event' } as const;
    await owner.carillon.hooks.create(taken);
    await assert.rejects(owner.carillon.hooks.create(taken), { code: 'target_taken' });
    await assert.rejects(owner.carillon.users.delete(owner.userId), { code: 'last_owner' });
    await assert.rejects(owner.carillon.keys.revoke(keys[0]?.id ?? ''), { code: 'not_found' });
    assert.deepEqual(
      (await entries(carillon, after)).map(({ action }) => action),
      ['hook.created'],
      'what was rolled back has left none',
    );
  });

  test('a hook ended by the dispatcher has one entry with its reason; records and deliveries have none', async (t) => {
    const carillon = await testService(t, { options: { retryWaits: '10ms,10ms' } });
    const owner = await carillon.createAccount('acme.test');
    const [refusing, failing, healthy] = [await startTarget(t, 401), await startTarget(t, 500), await startTarget(t)];
    const make = (target_url: string) => owner.carillon.hooks.create({ target_url, event: 'new_event' });
    const [first, second] = [await make(refusing.url), await make(failing.url)];
    await make(healthy.url);
    const before = await last(carillon);
    const event = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };
    for (let count = 0; count < 5; count += 1) await owner.carillon.events.create(event);
    await healthy.waitForArrivals(5);
    await failing.waitForArrivals(3);
    const found = await eventually(
      () => entries(carillon, before),
      (rows) => rows.length >= 2,
    );
    assert.deepEqual(
      short(found).sort((one, other) => (one[1] < other[1] ? -1 : 1)),
      [
        ['hook.ended', `hook ${first.id}`, { reason: 'answered_401', user_id: owner.userId }, 'engine'],
        ['hook.ended', `hook ${second.id}`, { reason: 'three_failures', user_id: owner.userId }, 'engine'],
      ],
    );
    const { hook, count } = await newest(carillon, owner);
    assert.equal(hook?.state, 'live');
    await owner.carillon.events.create(event);
    await healthy.waitForArrivals(6);
    assert.equal((await entries(carillon)).length, count);
  });
}
