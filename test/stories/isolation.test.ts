import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { eventually } from '../kit/eventually.ts';
import { stores } from '../kit/stores.ts';
import { startTarget } from '../kit/target.ts';

for (const { test, testService } of stores) {
  const HANGING = 20;
  const EVENTS = 100;
  const event = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };

  test('C22 twenty hanging targets do not delay a healthy one, and no hook queue exceeds the concurrency that it has earned', async (t) => {
    // Longer than this test may take: hanging attempts hang throughout.
    const carillon = await testService(t, { options: { attemptTimeout: '60s' } });
    const owner = await carillon.account('acme.test');
    const open = new Map<string, number>();
    const hanging = await startTarget(t, (_response, { path }) => void open.set(path, (open.get(path) ?? 0) + 1));
    for (let index = 0; index < HANGING; index += 1) {
      await owner.carillon.hooks.create({ target_url: hanging.at(`/${index}`), event: 'new_event' });
    }
    let inFlight = 0;
    let maxInFlight = 0;
    const arrivedAt = new Map<string, number>();
    const healthy = await startTarget(t, (response: ServerResponse, { resourceUrl, at }) => {
      inFlight += 1;
      maxInFlight = Math.max(maxInFlight, inFlight);
      arrivedAt.set(resourceUrl, at);
      setImmediate(() => {
        inFlight -= 1;
        response.end();
      });
    });
    const { id } = await owner.carillon.hooks.create({ target_url: healthy.url, event: 'new_event' });

    const lateMs: number[] = [];
    for (let count = 0; count < EVENTS; count += 1) {
      const { event_id } = await owner.carillon.events.create(event);
      const answeredAt = performance.now();
      const address = `${carillon.baseUrl}/v2/events/${event_id}`;
      const at = await eventually(
        () => arrivedAt.get(address),
        (arrived) => arrived !== undefined,
        2_000,
      );
      lateMs.push((at ?? Number.POSITIVE_INFINITY) - answeredAt);
    }
    lateMs.sort((a, b) => a - b);
    const p95 = lateMs[Math.floor(EVENTS * 0.95)] ?? Number.POSITIVE_INFINITY;
    assert.ok(p95 < 250, `p95 of the healthy target: ${p95} ms`);
    assert.ok(maxInFlight <= 8, `${maxInFlight} in flight at the healthy target`);
    assert.equal(open.size, HANGING, 'each hanging target was tried');
    assert.deepEqual(new Set(open.values()), new Set([1]), 'and got no second concurrent attempt');
    await eventually(
      () => owner.carillon.deliveries.list({ hook_id: id, state: 'delivered' }),
      ({ paging }) => paging.total_records === EVENTS,
    );
    await hanging.close();
  });

  test('C22 a healthy target earns up to eight concurrent attempts by its 200s, and never more', async (t) => {
    const carillon = await testService(t, { options: { attemptTimeout: '60s' } });
    const owner = await carillon.account('acme.test');
    const open: ServerResponse[] = [];
    const target = await startTarget(t, (response) => void open.push(response));
    const { id } = await owner.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
    await Promise.all(Array.from({ length: 60 }, () => owner.carillon.events.create(event)));
    const delivered = async () =>
      (await owner.carillon.deliveries.list({ hook_id: id, state: 'delivered' })).paging.total_records;
    await target.arrived(1);
    // One response at a time: each frees a slot and adds one, up to eight.
    for (let answered = 1; answered <= 20; answered += 1) {
      open.shift()?.end();
      await eventually(delivered, (count) => count === answered);
      const concurrency = Math.min(answered + 1, 8);
      await eventually(
        () => open.length,
        (count) => count >= concurrency,
      );
      assert.equal(open.length, concurrency);
    }
    target.answers(200);
    for (const response of open) response.end();
    await eventually(delivered, (count) => count === 60);
  });
}
