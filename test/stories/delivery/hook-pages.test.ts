import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { createTestClock, fixedJitterRandom, type TestClock } from '../../kit/clock.ts';
import { eventually } from '../../kit/eventually.ts';
import { startTarget, type TargetReply } from '../../kit/network/target.ts';
import type { ApiUser, TestService } from '../../kit/service/service.ts';
import { everyStore } from '../../kit/service/stores.ts';

for (const { test, testService } of everyStore) {
  const NO_DATE = '0000-00-00 00:00:00';
  const event = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };

  test('X1 a hook shows its fields and its state', async (t) => {
    const clock = createTestClock();
    const carillon = await testService(t, {
      options: { retryWaits: '1m,2h' },
      deps: { clock, random: fixedJitterRandom(0.5) },
    });
    const owner = await carillon.createAccount('acme.test');
    const target = await startTarget(t, 500, 200);
    const { id } = await owner.carillon.hooks.create({ target_url: target.urlOf('/Path?q#f'), event: 'new_event' });
    const fresh = {
      id,
      event: 'new_event',
      events: ['new_event'],
      scope: 'own',
      project_id: '0',
      name: '',
      enabled: '1',
      headers: [],
      target_url: target.urlOf('/Path?q#f'),
      user_id: owner.userId,
      state: 'live',
      failures: '0',
      next_attempt_at: NO_DATE,
      last_outcome: '',
      date_created: '2025-05-01 12:00:00',
      date_ended: NO_DATE,
      ended_reason: '',
      signed: '0',
      secret_created: NO_DATE,
      secret_previous_until: NO_DATE,
    } as const;
    assert.deepEqual(await owner.carillon.hooks.get(id), fresh);

    await owner.carillon.events.create(event);
    const failing = await eventually(
      () => owner.carillon.hooks.get(id),
      (hook) => hook.state === 'failing',
    );
    const waits = { state: 'failing', failures: '1', next_attempt_at: '2025-05-01 12:01:03', last_outcome: '500' };
    assert.deepEqual(failing, { ...fresh, ...waits });

    await clock.advance(63_000);
    const live = await eventually(
      () => owner.carillon.hooks.get(id),
      (hook) => hook.state === 'live',
    );
    assert.deepEqual(live, { ...fresh, last_outcome: '200' });

    await clock.advance(1_000);
    await owner.carillon.hooks.delete(id);
    const ended = { state: 'ended', date_ended: '2025-05-01 12:01:04', ended_reason: 'deleted' };
    assert.deepEqual(await owner.carillon.hooks.get(id), { ...fresh, last_outcome: '200', ...ended });
  });

  test('X1 the list: by state, by user, in pages', async (t) => {
    const carillon = await testService(t, { options: { retryWaits: '1h,1h' } });
    const owner = await carillon.createAccount('acme.test');
    const admin = await carillon.createUser(owner, 'admin');
    const member = await carillon.createUser(owner, 'member');
    const otherOwner = await carillon.createAccount('other.test');
    const failing = await startTarget(t, 500);
    const healthy = await startTarget(t, 200);

    async function createHook(who: ApiUser, state: 'live' | 'failing' | 'ended', path: string): Promise<string> {
      const target_url = (state === 'failing' ? failing : healthy).urlOf(`/${path}`);
      const kind = state === 'failing' ? 'new_client' : 'new_event';
      const { id } = await who.carillon.hooks.create({ target_url, event: kind });
      if (state === 'ended') await who.carillon.hooks.delete(id);
      return id;
    }
    const mine = {
      live: [
        await createHook(member, 'live', 'a'),
        await createHook(member, 'live', 'b'),
        await createHook(member, 'live', 'c'),
      ],
      failing: [await createHook(member, 'failing', 'd'), await createHook(member, 'failing', 'e')],
      ended: [await createHook(member, 'ended', 'f'), await createHook(member, 'ended', 'g')],
    };
    const all = [...mine.live, ...mine.failing, ...mine.ended];
    const admins = [await createHook(admin, 'live', 'h')];
    const hooksOfOthers = [await createHook(otherOwner, 'live', 'i')];
    await member.carillon.clients.create({ client_name: 'ACME' });
    for (const id of mine.failing) {
      await eventually(
        () => member.carillon.hooks.get(id),
        (hook) => hook.state === 'failing',
      );
    }

    const list = async (who: ApiUser, query = '') => {
      const response = await carillon.call(who, 'GET', `/v2/hooks${query}`);
      assert.equal(response.status, 200, response.text);
      return { ids: response.json.data.map((hook: { id: string }) => hook.id), ...response.json.paging, response };
    };
    await t.test('X1 without a filter: all hooks of the user, including ended ones, by id', async () => {
      const { ids, total_records } = await list(member);
      assert.deepEqual(ids, all);
      assert.equal(total_records, all.length);
      assert.deepEqual((await list(admin)).ids, admins, 'an admin, too, sees their own');
      assert.deepEqual((await list(owner)).ids, []);
      assert.deepEqual((await list(otherOwner)).ids, hooksOfOthers);
    });
    await t.test('X1 by state', async () => {
      for (const [state, ids] of Object.entries(mine))
        assert.deepEqual((await list(member, `?state=${state}`)).ids, ids);
      for (const state of ['', 'LIVE', 'gone']) {
        const response = await carillon.call(member, 'GET', `/v2/hooks?state=${state}`);
        assert.equal(response.status, 400);
        assert.equal(response.json.errors[0].field, 'state');
      }
    });
    await t.test('C7 X1 in pages, with a link to the next', async () => {
      const first = await list(member, '?limit=3');
      assert.deepEqual([first.ids, first.offset, first.limit, first.total_records], [all.slice(0, 3), 0, 3, 7]);
      assert.match(first.response.headers.get('link') ?? '', /offset=3.*rel="next"/);
      const last = await list(member, '?limit=3&offset=6');
      assert.deepEqual(last.ids, all.slice(6));
      assert.equal(last.response.headers.get('link'), null);
      const ended = await list(member, '?state=ended&limit=1&offset=1');
      assert.deepEqual([ended.ids, ended.total_records], [mine.ended.slice(1), 2]);
    });
    await t.test('X1 user_id is for admins; users may name themselves', async () => {
      for (const who of [owner, admin]) {
        assert.deepEqual((await list(who, `?user_id=${member.userId}`)).ids, all);
        assert.deepEqual((await list(who, `?user_id=${member.userId}&state=failing`)).ids, mine.failing);
        assert.deepEqual(
          (await list(who, `?user_id=${otherOwner.userId}`)).ids,
          [],
          'another account’s user has nothing',
        );
      }
      assert.deepEqual((await list(member, `?user_id=${member.userId}`)).ids, all);
      const response = await carillon.call(member, 'GET', `/v2/hooks?user_id=${admin.userId}`);
      assert.deepEqual([response.status, response.json.code], [401, 'not_permitted']);
    });
    await t.test(
      'C3 X1 a single hook: for its owner and admins; another member gets 401, another account 404',
      async () => {
        const other = await carillon.createUser(owner, 'member');
        const [id = ''] = mine.live;
        const read = (who: ApiUser, hook: string) => carillon.call(who, 'GET', `/v2/hooks/${hook}`);
        for (const who of [member, admin, owner]) assert.equal((await read(who, id)).status, 200);
        assert.equal((await read(other, id)).status, 401);
        const foreign = await read(otherOwner, id);
        assert.equal(foreign.status, 404);
        assert.equal(foreign.text, (await read(otherOwner, '999999')).text);
      },
    );
  });
}

for (const { test, testService } of everyStore) {
  const event = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };

  /** Creates a hook in its first wait. The test clock stands still, so the wait does not end. */
  async function createWaitingHook(t: TestContext, ...replies: TargetReply[]) {
    const clock: TestClock = createTestClock();
    const carillon: TestService = await testService(t, { deps: { clock } });
    const owner = await carillon.createAccount('acme.test');
    const target = await startTarget(t, 500, ...replies);
    const { id } = await owner.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
    const hook = () => owner.carillon.hooks.get(id);
    const first = await owner.carillon.events.create(event);
    await eventually(hook, (one) => one.state === 'failing');
    const second = await owner.carillon.events.create(event);
    const requestTest = () => carillon.call(owner, 'POST', `/v2/hooks/${id}/test`);
    return { carillon, owner, target, id, hook, requestTest, events: [first.event_id, second.event_id] };
  }

  test('X1 a test sends one notification of the hook itself immediately, even during a wait; a 200 makes pending deliveries due', async (t) => {
    const { carillon, owner, target, id, hook, requestTest, events } = await createWaitingHook(t, 200);
    const response = await requestTest();
    assert.equal(response.status, 202);
    const { data } = response.json;
    const address = `${carillon.baseUrl}/v2/hooks/${id}`;
    assert.deepEqual(
      { hook_id: data.hook_id, event: data.event, resource_url: data.resource_url, state: data.state },
      { hook_id: id, event: 'test', resource_url: address, state: 'pending' },
    );
    const [, testNotification, ...pending] = await target.waitForArrivals(4);
    assert.equal(testNotification?.body, JSON.stringify({ resource_url: address }));
    assert.equal(testNotification?.deliveryId, data.id);
    assert.equal((await fetch(testNotification?.resourceUrl ?? '', { headers: owner.headers })).status, 200);
    assert.deepEqual(
      pending.map((one) => one.resourceUrl.split('/').at(-1)),
      events,
      'pending deliveries follow without a wait',
    );
    const after = await eventually(hook, (one) => one.state === 'live');
    assert.deepEqual([after.failures, after.next_attempt_at], ['0', '0000-00-00 00:00:00']);
    const delivery = await eventually(
      () => owner.carillon.deliveries.get(data.id),
      (one) => one.state === 'delivered',
    );
    assert.deepEqual(
      delivery.attempts.map(({ outcome, counted }) => [outcome, counted]),
      [['200', '0']],
    );
  });

  test('X1 a 401 to a test ends the hook', async (t) => {
    const { target, hook, requestTest } = await createWaitingHook(t, 401);
    assert.equal((await requestTest()).status, 202);
    const ended = await eventually(hook, (one) => one.state === 'ended');
    assert.deepEqual([ended.ended_reason, ended.last_outcome, ended.failures], ['answered_401', '401', '1']);
    assert.equal(target.received.length, 2);
    const late = await requestTest();
    assert.deepEqual([late.status, late.json.code], [409, 'hook_ended']);
  });

  test('X1 any other outcome of a test is recorded and not counted, however often, and the wait continues', async (t) => {
    const replies: TargetReply[] = [500, 204, 302, 410, (response) => response.destroy()];
    const { owner, target, hook, requestTest } = await createWaitingHook(t, ...replies);
    const before = await hook();
    for (const [index, outcome] of ['500', '204', '302', '410', 'reset'].entries()) {
      const { json } = await requestTest();
      const delivery = await eventually(
        () => owner.carillon.deliveries.get(json.data.id),
        (one) => one.state !== 'pending',
      );
      assert.equal(delivery.state, 'failed');
      assert.deepEqual(
        delivery.attempts.map((one) => [one.outcome, one.counted, one.reason]),
        [[outcome, '0', 'manual attempt: not counted']],
      );
      assert.deepEqual(await hook(), { ...before, last_outcome: outcome });
      assert.equal(target.received.length, index + 2, 'a failed test is not retried');
    }
  });

  test('X1 a healthy hook stays healthy when a test fails, and the next occurrence is sent immediately', async (t) => {
    const carillon = await testService(t);
    const owner = await carillon.createAccount('acme.test');
    const target = await startTarget(t, 500, 200);
    const { id } = await owner.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
    const delivery = await owner.carillon.hooks.test(id);
    await eventually(
      () => owner.carillon.deliveries.get(delivery.id),
      (one) => one.state === 'failed',
    );
    const { state, failures } = await owner.carillon.hooks.get(id);
    assert.deepEqual([state, failures], ['live', '0']);
    await owner.carillon.events.create(event);
    await target.waitForArrivals(2);
  });

  test('C13 X1 only the owner of a live hook and admins may request a test', async (t) => {
    const carillon = await testService(t);
    const owner = await carillon.createAccount('acme.test');
    const admin = await carillon.createUser(owner, 'admin');
    const member = await carillon.createUser(owner, 'member');
    const other = await carillon.createUser(owner, 'member');
    const otherOwner = await carillon.createAccount('other.test');
    const target = await startTarget(t);
    const { id } = await member.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
    const status = async (who: typeof owner, hook = id) =>
      (await carillon.call(who, 'POST', `/v2/hooks/${hook}/test`)).status;
    assert.deepEqual(
      [await status(member), await status(admin), await status(owner), await status(other), await status(otherOwner)],
      [202, 202, 202, 401, 404],
    );
    assert.equal(await status(member, '999999'), 404);
    await target.waitForArrivals(3);
    const { data } = await member.carillon.deliveries.list({ hook_id: id });
    assert.equal(data.length, 3, 'tests belong to the owner of the hook, not to the caller');
  });
}
