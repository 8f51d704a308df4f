import assert from 'node:assert/strict';
import { eventually } from '../kit/eventually.ts';
import { stores } from '../kit/stores.ts';
import { startTarget } from '../kit/target.ts';

for (const { test, testService } of stores) {
  test('C15 a created event is sent by a POST that contains its URL and nothing else', async (t) => {
    const carillon = await testService(t);
    const owner = await carillon.account('acme.test');
    const target = await startTarget(t);
    const hook = await owner.carillon.hooks.create({ target_url: target.at('/secret'), event: 'new_event' });
    const event = await owner.carillon.events.create({
      event_name: 'Launch',
      start_date: '20270101',
      due_date: '20270102',
    });

    const [notification] = await target.arrived(1);
    assert.equal(
      notification?.body,
      JSON.stringify({ resource_url: `${carillon.baseUrl}/v2/events/${event.event_id}` }),
    );
    assert.equal(notification?.path, '/secret');
    assert.equal(notification?.headers['content-type'], 'application/json');
    const delivery = await eventually(
      () => owner.carillon.deliveries.get(String(notification?.deliveryId)),
      (one) => one.state === 'delivered',
    );
    assert.equal(delivery.hook_id, hook.id);
    assert.deepEqual(
      delivery.attempts.map((attempt) => attempt.outcome),
      ['200'],
    );
  });

  test('C17 C18 a hook is ended at exactly the third failure in a row', async (t) => {
    const carillon = await testService(t);
    const owner = await carillon.account('acme.test');
    const target = await startTarget(t, 500, 204, 302);
    const { id } = await owner.carillon.hooks.create({ target_url: target.url, event: 'new_client' });
    await owner.carillon.clients.create({ client_name: 'ACME' });
    const hook = await eventually(
      () => owner.carillon.hooks.get(id),
      (one) => one.state === 'ended',
    );
    assert.equal(hook.ended_reason, 'three_failures');
    assert.equal(target.received.length, 3);
    assert.equal(new Set(target.received.map((one) => one.deliveryId)).size, 1);
  });
}
