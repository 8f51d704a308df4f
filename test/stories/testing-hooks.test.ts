import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { type TestClock, testClock } from '../kit/clock.ts';
import { eventually } from '../kit/eventually.ts';
import type { TestService } from '../kit/service.ts';
import { stores } from '../kit/stores.ts';
import { type Reply, startTarget } from '../kit/target.ts';

for (const { test, testService } of stores) {
  const event = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };

  /** A hook in its first wait. The test clock stands still, so the wait does not end. */
  async function waitingHook(t: TestContext, ...replies: Reply[]) {
    const clock: TestClock = testClock();
    const carillon: TestService = await testService(t, { ports: { clock } });
    const owner = await carillon.account('acme.test');
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
    const { carillon, owner, target, id, hook, requestTest, events } = await waitingHook(t, 200);
    const response = await requestTest();
    assert.equal(response.status, 202);
    const { data } = response.json;
    const address = `${carillon.baseUrl}/v2/hooks/${id}`;
    assert.deepEqual(
      { hook_id: data.hook_id, event: data.event, resource_url: data.resource_url, state: data.state },
      { hook_id: id, event: 'test', resource_url: address, state: 'pending' },
    );
    const [, testNotification, ...pending] = await target.arrived(4);
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
    const { target, hook, requestTest } = await waitingHook(t, 401);
    assert.equal((await requestTest()).status, 202);
    const ended = await eventually(hook, (one) => one.state === 'ended');
    assert.deepEqual([ended.ended_reason, ended.last_outcome, ended.failures], ['answered_401', '401', '1']);
    assert.equal(target.received.length, 2);
    const late = await requestTest();
    assert.deepEqual([late.status, late.json.code], [409, 'hook_ended']);
  });

  test('X1 any other outcome of a test is recorded and not counted, however often, and the wait continues', async (t) => {
    const replies: Reply[] = [500, 204, 302, 410, (response) => response.destroy()];
    const { owner, target, hook, requestTest } = await waitingHook(t, ...replies);
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
    const owner = await carillon.account('acme.test');
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
    await target.arrived(2);
  });

  test('C13 X1 only the owner of a live hook and admins may request a test', async (t) => {
    const carillon = await testService(t);
    const owner = await carillon.account('acme.test');
    const admin = await carillon.user(owner, 'admin');
    const member = await carillon.user(owner, 'member');
    const other = await carillon.user(owner, 'member');
    const otherOwner = await carillon.account('other.test');
    const target = await startTarget(t);
    const { id } = await member.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
    const status = async (who: typeof owner, hook = id) =>
      (await carillon.call(who, 'POST', `/v2/hooks/${hook}/test`)).status;
    assert.deepEqual(
      [await status(member), await status(admin), await status(owner), await status(other), await status(otherOwner)],
      [202, 202, 202, 401, 404],
    );
    assert.equal(await status(member, '999999'), 404);
    await target.arrived(3);
    const { data } = await member.carillon.deliveries.list({ hook_id: id });
    assert.equal(data.length, 3, 'tests belong to the owner of the hook, not to the caller');
  });
}
