import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after } from 'node:test';
import { eventually } from '../../kit/eventually.ts';
import { startTarget } from '../../kit/network/target.ts';
import type { ApiUser } from '../../kit/service/service.ts';
import { stores } from '../../kit/service/stores.ts';

for (const { test, testService } of stores) {
  const carillon = await testService({ after }, { options: { retryWaits: '20ms,20ms' } });
  const event = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };
  const restore = (who: ApiUser, id: string) => carillon.call(who, 'POST', `/v2/hooks/${id}/restore`);

  let accounts = 0;
  async function newOwner(): Promise<ApiUser> {
    accounts += 1;
    return carillon.createAccount(`restoring${accounts}.test`);
  }
  const waitForEnd = (who: ApiUser, id: string) =>
    eventually(
      () => who.carillon.hooks.get(id),
      (hook) => hook.state === 'ended',
    );

  test('X1 a restored hook is live again with the same id and gets its undelivered and missed deliveries', async (t) => {
    const owner = await newOwner();
    const member = await carillon.createUser(owner, 'member');
    const open: ServerResponse[] = [];
    const target = await startTarget(t, 200, (response) => void open.push(response));
    const create = (who = owner) => who.carillon.events.create(event);
    await create();
    const { id } = await owner.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
    const delivered = await create();
    await eventually(
      () => owner.carillon.deliveries.list({ hook_id: id, state: 'delivered' }),
      ({ paging }) => paging.total_records === 1,
    );
    const undelivered = [await create()];
    await target.waitForArrivals(2);
    open[0]?.writeHead(500).end();
    await target.waitForArrivals(3);
    undelivered.push(await create());
    open[1]?.writeHead(500).end();
    await target.waitForArrivals(4);
    open[2]?.writeHead(500).end();
    await waitForEnd(owner, id);
    const before = target.received.length;
    assert.equal(before, 4, 'one delivered, three failures');
    const failedId = target.received[3]?.deliveryId;
    const missed = [await create(), await create()];
    await create(member);
    await owner.carillon.clients.create({ client_name: 'of another kind' });
    await owner.carillon.events.update(delivered.event_id, { event_name: 'changed' });
    assert.equal(target.received.length, before);

    target.setReplies(200);
    const response = await restore(owner, id);
    assert.equal(response.status, 200);
    const { state, failures, date_ended, ended_reason } = response.json.data;
    assert.deepEqual(
      { id: response.json.data.id, state, failures, date_ended, ended_reason },
      { id, state: 'live', failures: '0', date_ended: '0000-00-00 00:00:00', ended_reason: '' },
    );
    const since = (await target.waitForArrivals(before + 4)).slice(before);
    assert.deepEqual(
      since.map((one) => one.resourceUrl).sort(),
      [...undelivered, ...missed].map((one) => `${carillon.baseUrl}/v2/events/${one.event_id}`).sort(),
    );
    assert.ok(
      since.some((one) => one.deliveryId === failedId),
      'what was undelivered keeps its id',
    );
    const later = await create();
    await target.waitForArrivals(before + 5);
    await eventually(
      () => owner.carillon.deliveries.list({ hook_id: id, state: 'delivered' }),
      ({ paging }) => paging.total_records === 6,
    );
    assert.equal(target.received.length, before + 5, 'each of them once');
    assert.ok(target.received[before + 4]?.resourceUrl.endsWith(`/${later.event_id}`));
  });

  test('X1 a hook can be restored after any reason, and ended again', async (t) => {
    const owner = await newOwner();
    const target = await startTarget(t, 401);
    const { id } = await owner.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
    await owner.carillon.events.create(event);
    assert.equal((await waitForEnd(owner, id)).ended_reason, 'answered_401');
    assert.equal((await restore(owner, id)).status, 200);
    assert.equal(
      (await waitForEnd(owner, id)).ended_reason,
      'answered_401',
      'its undelivered delivery was answered with 401 again',
    );
    target.setReplies(200);
    assert.equal((await restore(owner, id)).status, 200);
    await eventually(
      () => owner.carillon.deliveries.list({ hook_id: id, state: 'delivered' }),
      ({ paging }) => paging.total_records === 1,
    );
    await owner.carillon.hooks.delete(id);
    await owner.carillon.events.create(event);
    assert.equal((await restore(owner, id)).status, 200);
    await target.waitForArrivals(4);
    await eventually(
      () => owner.carillon.deliveries.list({ hook_id: id, state: 'delivered' }),
      ({ paging }) => paging.total_records === 2,
    );
    assert.equal(target.received.length, 4);
  });

  test('C12 X1 409 when the target was taken meanwhile; the hook stays ended and is restored once the target is free', async (t) => {
    const owner = await newOwner();
    const other = await newOwner();
    const target = await startTarget(t);
    const { id } = await owner.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
    await owner.carillon.hooks.delete(id);
    const otherHook = await other.carillon.hooks.create({ target_url: `${target.url}/#taken`, event: 'new_event' });
    const refused = await restore(owner, id);
    assert.deepEqual([refused.status, refused.json.code], [409, 'target_taken']);
    assert.equal((await owner.carillon.hooks.get(id)).state, 'ended');
    await owner.carillon.events.create(event);
    await other.carillon.hooks.delete(otherHook.id);
    assert.equal((await restore(owner, id)).status, 200);
    await target.waitForArrivals(1);
  });

  test('X1 404 for hooks that are not ended or not visible to the caller, for admins too', async () => {
    const owner = await newOwner();
    const member = await carillon.createUser(owner, 'member');
    const otherOwner = await newOwner();
    const make = (who: ApiUser, path: string) =>
      who.carillon.hooks.create({ target_url: `http://127.0.0.1:9/restore/${path}`, event: 'new_event' });
    const live = await make(member, 'live');
    const over = await make(member, 'over');
    await member.carillon.hooks.delete(over.id);
    const never = await restore(owner, '999999');
    for (const [who, id] of [
      [member, live.id],
      [owner, over.id],
      [otherOwner, over.id],
    ] as const) {
      const response = await restore(who, id);
      assert.equal(response.status, 404);
      assert.equal(response.text, never.text);
    }
    assert.equal((await member.carillon.hooks.get(over.id)).state, 'ended');
  });

  test('X1 of concurrent restores one succeeds, and no delivery is added twice', async (t) => {
    const owner = await newOwner();
    const target = await startTarget(t);
    const { id } = await owner.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
    await owner.carillon.hooks.delete(id);
    for (let missed = 0; missed < 5; missed += 1) await owner.carillon.events.create(event);
    const responses = await Promise.all(Array.from({ length: 20 }, () => restore(owner, id)));
    assert.deepEqual(responses.map((response) => response.status).sort(), [200, ...Array(19).fill(404)]);
    await eventually(
      () => owner.carillon.deliveries.list({ hook_id: id, state: 'delivered' }),
      ({ paging }) => paging.total_records === 5,
    );
    assert.equal(target.received.length, 5);
  });

  test('C13 X1 a response from before the end does not change a hook that was restored meanwhile', async (t) => {
    for (const late of [401, 500]) {
      const owner = await newOwner();
      const open: ServerResponse[] = [];
      const target = await startTarget(t, (response) => void open.push(response), 200);
      const { id } = await owner.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
      const { event_id } = await owner.carillon.events.create(event);
      await target.waitForArrivals(1);
      await owner.carillon.hooks.delete(id);
      assert.equal((await restore(owner, id)).status, 200);
      const delivered = await eventually(
        () => owner.carillon.deliveries.list({ hook_id: id, state: 'delivered' }),
        ({ paging }) => paging.total_records === 1,
      );
      assert.ok(delivered.data[0]?.resource_url.endsWith(`/${event_id}`));
      open[0]?.writeHead(late).end();
      const { attempts } = await eventually(
        () => owner.carillon.deliveries.get(delivered.data[0]?.id ?? ''),
        (one) => one.attempts.length === 2,
      );
      assert.equal(attempts[1]?.outcome, String(late), 'that it came is history');
      const { state, failures, last_outcome } = await owner.carillon.hooks.get(id);
      assert.deepEqual([state, failures, last_outcome], ['live', '0', '200']);
      await owner.carillon.events.create(event);
      await target.waitForArrivals(3);
    }
  });
}
