import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { apiKey, Carillon } from '../../packages/sdk/src/index.ts';
import { eventually } from '../kit/eventually.ts';
import { startProcess } from '../kit/start-service.ts';
import { stores } from '../kit/stores.ts';
import { startTarget } from '../kit/target.ts';

for (const { test, serviceProcess } of stores) {
  test('C19 C20 after a kill in the middle of an attempt, the attempt is made again with the same id, and no failure counts', async (t) => {
    const open: ServerResponse[] = [];
    const target = await startTarget(t, (response) => void open.push(response), 200);
    const first = await serviceProcess(t);
    const { id } = await first.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
    const event = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };
    const { event_id } = await first.carillon.events.create(event);
    await target.arrived(1);
    assert.equal(await first.stop('SIGKILL'), null);

    const second = await startProcess({ CARILLON_DATABASE: first.database, CARILLON_PORT: '0' });
    t.after(() => second.process.kill('SIGKILL'));
    assert.deepEqual([second.domain, second.key], [undefined, undefined], 'no account is made a second time');
    const [before, after] = await target.arrived(2);
    assert.equal(after?.deliveryId, before?.deliveryId);
    assert.equal(after?.resourceUrl, `${second.baseUrl}/v2/events/${event_id}`);
    const auth = apiKey({ domain: first.domain ?? '', key: first.key ?? '' });
    const carillon = new Carillon({ baseUrl: second.baseUrl, auth });
    const hook = await eventually(
      () => carillon.hooks.get(id),
      (one) => one.last_outcome === '200',
    );
    assert.deepEqual([hook.state, hook.failures], ['live', '0']);
    const { attempts } = await carillon.deliveries.get(after?.deliveryId ?? '');
    assert.deepEqual(
      attempts.map((attempt) => attempt.outcome),
      ['200'],
    );
  });
}
