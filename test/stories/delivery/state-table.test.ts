import assert from 'node:assert/strict';
import { after } from 'node:test';
import { eventually } from '../../kit/eventually.ts';
import { startTarget, type TargetReply } from '../../kit/network/target.ts';
import { everyStore } from '../../kit/service/stores.ts';

for (const { test, testService } of everyStore) {
  // Tests the state table of the specification (section 3), row by row, on a running service.

  const carillon = await testService({ after });
  const owner = await carillon.createAccount('acme.test');
  const event = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };

  const post = (body: unknown) => carillon.call(owner, 'POST', '/v2/hooks', body);
  const hookCount = async () => (await owner.carillon.hooks.list()).paging.total_records;

  /** Subscribes a hook whose target has scripted responses. */
  async function subscribeHook(context: Parameters<typeof startTarget>[0], ...replies: TargetReply[]) {
    const target = await startTarget(context, ...replies);
    const { id } = await owner.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
    context.after(() => owner.carillon.hooks.delete(id).catch(() => undefined));
    return { target, id, hook: () => owner.carillon.hooks.get(id) };
  }

  test('C11 row 1: unsubscribed, valid subscription of a free target: subscribed, 201 with the id', async (t) => {
    const target = await startTarget(t);
    const response = await post({ target_url: target.url, event: 'new_event' });
    assert.equal(response.status, 201);
    const hook = await owner.carillon.hooks.get(response.json.id);
    assert.equal(hook.state, 'live');
    await owner.carillon.hooks.delete(hook.id);
  });

  test('C11 row 2: unsubscribed, invalid fields or an unknown kind: unsubscribed, 400', async () => {
    const before = await hookCount();
    for (const body of [
      { target_url: 'not an address', event: 'new_event' },
      { target_url: 'http://127.0.0.1:9/row2', event: 'no_such_kind' },
    ]) {
      assert.equal((await post(body)).status, 400);
    }
    assert.equal(await hookCount(), before);
  });

  test('C12 row 3: unsubscribed, target in use: unsubscribed, 409', async (t) => {
    const { target } = await subscribeHook(t);
    const before = await hookCount();
    assert.equal((await post({ target_url: target.url, event: 'new_client' })).status, 409);
    assert.equal(await hookCount(), before);
  });

  test('C17 row 4: subscribed, 200: subscribed, and the delivery is delivered', async (t) => {
    const { id, hook } = await subscribeHook(t, 200);
    await owner.carillon.events.create(event);
    await eventually(
      () => owner.carillon.deliveries.list({ hook_id: id, state: 'delivered' }),
      ({ paging }) => paging.total_records === 1,
    );
    const { state, failures, last_outcome } = await hook();
    assert.deepEqual({ state, failures, last_outcome }, { state: 'live', failures: '0', last_outcome: '200' });
  });

  test('C17 row 5: subscribed, 401: unsubscribed immediately', async (t) => {
    const { target, hook } = await subscribeHook(t, 401);
    await owner.carillon.events.create(event);
    const ended = await eventually(hook, (one) => one.state === 'ended');
    assert.equal(ended.ended_reason, 'answered_401');
    assert.equal(target.received.length, 1);
  });

  test('C18 row 6: subscribed, any other response fewer than three times: subscribed, a wait, the same delivery again', async (t) => {
    for (const failures of [1, 2]) {
      const { target, hook } = await subscribeHook(t, ...Array<TargetReply>(failures).fill(500), 200);
      await owner.carillon.events.create(event);
      await target.waitForArrivals(failures + 1);
      const { state, failures: counted } = await eventually(hook, (one) => one.last_outcome === '200');
      assert.deepEqual({ state, counted }, { state: 'live', counted: '0' });
      assert.equal(new Set(target.received.map((one) => one.deliveryId)).size, 1);
    }
  });

  test('C18 row 7: subscribed, any other response for the third time: unsubscribed', async (t) => {
    const { target, hook } = await subscribeHook(t, 204);
    await owner.carillon.events.create(event);
    const ended = await eventually(hook, (one) => one.state === 'ended');
    assert.deepEqual([ended.ended_reason, ended.failures], ['three_failures', '3']);
    assert.equal(target.received.length, 3);
  });

  test('C13 row 8: subscribed, permitted DELETE: unsubscribed, 200', async (t) => {
    const { target, id, hook } = await subscribeHook(t);
    assert.equal((await carillon.call(owner, 'DELETE', `/v2/hooks/${id}`)).status, 200);
    assert.equal((await hook()).state, 'ended');
    await owner.carillon.events.create(event);
    assert.equal((await owner.carillon.deliveries.list({ hook_id: id })).paging.total_records, 0);
    assert.deepEqual(target.received, []);
  });
}
