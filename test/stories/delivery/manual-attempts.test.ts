import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { createTestClock, fixedJitterRandom } from '../../kit/clock.ts';
import { eventually } from '../../kit/eventually.ts';
import { startTarget } from '../../kit/network/target.ts';
import { everyStore } from '../../kit/service/stores.ts';

for (const { test, testService } of everyStore) {
  const event = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };

  test('C22 X3 a hundred concurrent redeliveries are each sent once, with at most eight in flight', async (t) => {
    const carillon = await testService(t);
    const owner = await carillon.createAccount('acme.test');
    let inFlight = 0;
    let maxInFlight = 0;
    const target = await startTarget(t, (response: ServerResponse) => {
      inFlight += 1;
      maxInFlight = Math.max(maxInFlight, inFlight);
      setImmediate(() => {
        inFlight -= 1;
        response.end();
      });
    });
    const { id } = await owner.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
    await Promise.all(Array.from({ length: 100 }, () => owner.carillon.events.create(event)));
    const { data: deliveries } = await eventually(
      () => owner.carillon.deliveries.list({ hook_id: id, state: 'delivered' }),
      ({ paging }) => paging.total_records === 100,
    );
    await Promise.all(deliveries.map((delivery) => owner.carillon.deliveries.redeliver(delivery.id)));
    await target.waitForArrivals(200);
    const times = Map.groupBy(target.received, (one) => one.deliveryId);
    assert.deepEqual([...new Set([...times.values()].map((each) => each.length))], [2]);
    assert.equal(times.size, 100);
    assert.ok(maxInFlight <= 8, `${maxInFlight} in flight`);
  });

  test('C18 C20 X1 X3 a redelivery and a test requested concurrently are each sent once, and the delivery is retried when it is due', async (t) => {
    const clock = createTestClock();
    const deps = { clock, random: fixedJitterRandom() };
    const carillon = await testService(t, { options: { retryWaits: '1m,2h', attemptTimeout: '30s' }, deps });
    const owner = await carillon.createAccount('acme.test');
    const open: ServerResponse[] = [];
    const target = await startTarget(t, 500, (response) => void open.push(response));
    const { id } = await owner.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
    await owner.carillon.events.create(event);
    const hook = () => owner.carillon.hooks.get(id);
    await eventually(hook, (one) => one.state === 'failing');
    const [first] = target.received;
    const delivery = () => owner.carillon.deliveries.get(first?.deliveryId ?? '');

    await owner.carillon.deliveries.redeliver(first?.deliveryId ?? '');
    await target.waitForArrivals(2);
    const hookTest = await owner.carillon.hooks.test(id);
    open[0]?.writeHead(503).end();
    await target.waitForArrivals(3);
    open[1]?.writeHead(504).end();
    await eventually(
      () => owner.carillon.deliveries.get(hookTest.id),
      (one) => one.state === 'failed',
    );
    await eventually(delivery, (one) => one.attempts.length === 2);
    assert.deepEqual(
      target.received.map((one) => one.deliveryId),
      [first?.deliveryId, first?.deliveryId, hookTest.id],
    );
    const { state, failures } = await hook();
    assert.deepEqual([state, failures], ['failing', '1']);

    target.setReplies(200);
    await clock.advance(60_000);
    const delivered = await eventually(delivery, (one) => one.state === 'delivered');
    assert.deepEqual(
      delivered.attempts.map((attempt) => attempt.outcome),
      ['500', '503', '200'],
    );
    assert.equal(target.received.length, 4);
  });
}
