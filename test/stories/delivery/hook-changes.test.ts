import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after } from 'node:test';
import { openStoreAt } from '../../kit/database/database.ts';
import { startTarget } from '../../kit/network/target.ts';
import { exportToFile, importFromFile } from '../../kit/service/export-import.ts';
import { createTemporaryFolder } from '../../kit/service/service.ts';
import { everyStore } from '../../kit/service/stores.ts';

for (const { test, testService, database } of everyStore) {
  const carillon = await testService({ after }, { options: { retryWaits: '1h,1h' } });
  const event = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };
  let accountCount = 0;

  /** Creates an account with an owner, an admin and a member. */
  async function createTeam() {
    accountCount += 1;
    const owner = await carillon.createAccount(`changes-${accountCount}.test`);
    const [admin, member] = [await carillon.createUser(owner, 'admin'), await carillon.createUser(owner, 'member')];
    return { owner, admin, member };
  }

  test('X11 X13 the headers of a hook are not sent to another origin, unless the change gives them anew', async (t) => {
    const { owner, admin } = await createTeam();
    const [gateway, elsewhere] = [await startTarget(t), await startTarget(t)];
    const headers = { 'x-gateway': 'hush-4711' };
    const { id } = await owner.carillon.hooks.create({ target_url: gateway.url, event: 'new_event', headers });
    const put = (body: Record<string, unknown>) => carillon.call(admin, 'PUT', `/v2/hooks/${id}`, body);
    const { status, json } = await put({ target_url: elsewhere.url, name: 'Taken over' });
    assert.deepEqual([status, json.code], [400, 'invalid_input']);
    const message = 'must be given with a target_url of another origin, because the stored values are secret';
    assert.deepEqual(json.errors, [{ field: 'headers', message }]);
    const { target_url, name } = await owner.carillon.hooks.get(id);
    assert.deepEqual([target_url, name], [gateway.url, '']);
    await carillon.call(admin, 'POST', `/v2/hooks/${id}/test`);
    assert.equal((await gateway.waitForArrivals(1))[0]?.headers['x-gateway'], 'hush-4711');

    // Another path of the same origin keeps them.
    assert.equal((await put({ target_url: gateway.urlOf('/other') })).status, 200);
    await carillon.call(admin, 'POST', `/v2/hooks/${id}/test`);
    assert.equal((await gateway.waitForArrivals(2))[1]?.headers['x-gateway'], 'hush-4711');

    assert.equal((await put({ target_url: elsewhere.url, headers: {} })).status, 200);
    await carillon.call(admin, 'POST', `/v2/hooks/${id}/test`);
    assert.equal((await elsewhere.waitForArrivals(1))[0]?.headers['x-gateway'], undefined);
    // Without headers, nothing is secret.
    assert.equal((await put({ target_url: gateway.url })).status, 200);
  });

  test('X11 X13 a hook whose project was deleted can be changed and restored, and an unknown project is named', async (t) => {
    const { owner } = await createTeam();
    const target = await startTarget(t);
    const gone = await owner.carillon.projects.create({ project_name: 'Gone' });
    const kept = await owner.carillon.projects.create({ project_name: 'Kept' });
    const kinds = ['new_event', 'deleted_project'] as const;
    const subscription = { events: kinds, scope: 'project', project_id: gone.project_id } as const;
    const { id } = await owner.carillon.hooks.create({ target_url: target.url, ...subscription });
    const put = (body: Record<string, unknown>) => carillon.call(owner, 'PUT', `/v2/hooks/${id}`, body);
    await owner.carillon.hooks.delete(id);
    await owner.carillon.projects.delete(gone.project_id);
    await owner.carillon.hooks.restore(id);
    const [missed] = await target.waitForArrivals(1);
    assert.equal(missed?.headers['webhook-event'], 'deleted_project');

    for (const body of [{ name: 'N' }, { enabled: 1 }, { target_url: target.urlOf('/2') }, { events: ['new_event'] }])
      assert.equal((await put(body)).status, 200, JSON.stringify(body));
    const errors = [{ field: 'project_id', message: 'must be the id of a project' }];
    const created = { target_url: target.urlOf('/3'), ...subscription };
    for (const { status, json } of [
      await put({ project_id: gone.project_id }),
      await put({ scope: 'project' }),
      await carillon.call(owner, 'POST', '/v2/hooks', created),
    ])
      assert.deepEqual([status, json.code, json.errors], [404, 'not_found', errors]);
    assert.equal((await put({ project_id: kept.project_id })).status, 200);
    await owner.carillon.events.create({ ...event, project_id: kept.project_id });
    await target.waitForArrivals(2);
  });

  test('X11 what happens between a demotion and a promotion is never reported; an earlier end keeps its reason', async (t) => {
    const { owner, admin, member } = await createTeam();
    const [wasEnded, wasLive] = [await startTarget(t), await startTarget(t)];
    const subscribe = async (target_url: string) =>
      (await admin.carillon.hooks.create({ target_url, events: ['new_event'], scope: 'account' })).id;
    const [endedId, liveId] = [await subscribe(wasEnded.url), await subscribe(wasLive.url)];
    await admin.carillon.hooks.delete(endedId);
    const before = await owner.carillon.hooks.get(endedId);
    await owner.carillon.users.update(admin.userId, { role: 'member' });
    const reasons = async () => {
      const hooks = [await owner.carillon.hooks.get(endedId), await owner.carillon.hooks.get(liveId)];
      return hooks.map(({ ended_reason }) => ended_reason);
    };
    assert.deepEqual(await reasons(), ['deleted', 'role_lost']);
    assert.deepEqual(await owner.carillon.hooks.get(endedId), before);
    await member.carillon.events.create(event);
    for (const id of [endedId, liveId])
      assert.equal((await carillon.call(admin, 'POST', `/v2/hooks/${id}/restore`)).json.code, 'not_permitted');
    await owner.carillon.users.update(admin.userId, { role: 'admin' });
    for (const id of [endedId, liveId]) await admin.carillon.hooks.restore(id);
    const { event_id } = await member.carillon.events.create(event);
    for (const target of [wasEnded, wasLive]) {
      await target.waitForArrivals(1);
      await target.catchUp();
      assert.deepEqual(
        target.received.map(({ resourceUrl }) => resourceUrl.split('/').at(-1)),
        [event_id],
      );
    }
    // The next end is an ordinary one: what happens until the restoration is reported.
    await admin.carillon.hooks.delete(endedId);
    await member.carillon.events.create(event);
    await admin.carillon.hooks.restore(endedId);
    await wasEnded.waitForArrivals(2);
  });

  test('X11 X13 an admin cannot let the hook of a member report the account, and a member not the own one', async (t) => {
    const { admin, member } = await createTeam();
    const target = await startTarget(t);
    const { id } = await member.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
    const before = await member.carillon.hooks.get(id);
    for (const who of [admin, member]) {
      const { status, json } = await carillon.call(who, 'PUT', `/v2/hooks/${id}`, { scope: 'account', name: 'N' });
      assert.deepEqual([status, json.code], [401, 'not_permitted']);
    }
    assert.deepEqual(await member.carillon.hooks.get(id), before);
  });

  test('X11 a hook with headers is imported disabled and without them, another one as it was', async (t) => {
    const { owner } = await createTeam();
    const [gateway, plain] = [await startTarget(t), await startTarget(t)];
    const headers = { 'x-gateway': 'hush-4711' };
    const withHeaders = await owner.carillon.hooks.create({ target_url: gateway.url, event: 'new_event', headers });
    const without = await owner.carillon.hooks.create({ target_url: plain.url, event: 'new_event' });
    const file = join(createTemporaryFolder(t), 'export.jsonl');
    await exportToFile(carillon.store, file, owner.domain);
    assert.doesNotMatch(readFileSync(file, 'utf8'), /hush/);

    const newDatabase = await database(t);
    const store = await openStoreAt(t, newDatabase);
    await importFromFile(store, file);
    await store.close();
    const destination = await testService(t, { database: newDatabase, options: { retryWaits: '1h,1h' } });
    const shownAt = async (id: string) => {
      const { enabled, headers: names } = (await destination.call(owner, 'GET', `/v2/hooks/${id}`)).json.data;
      return [enabled, names];
    };
    assert.deepEqual(
      [await shownAt(withHeaders.id), await shownAt(without.id)],
      [
        ['0', []],
        ['1', []],
      ],
    );
    assert.equal((await destination.call(owner, 'POST', '/v2/events', event)).status, 201);
    await plain.waitForArrivals(1);
    await gateway.catchUp();
    assert.equal(gateway.received.length, 0);
    await destination.call(owner, 'PUT', `/v2/hooks/${withHeaders.id}`, { headers, enabled: 1 });
    assert.equal((await gateway.waitForArrivals(1))[0]?.headers['x-gateway'], 'hush-4711');
  });
}
