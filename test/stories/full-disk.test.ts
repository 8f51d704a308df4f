import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { eventually } from '../kit/eventually.ts';
import { startTestService, temporaryFolder } from '../kit/service.ts';
import { startTarget } from '../kit/target.ts';

const fullDiskEvent = { event_name: 'x'.repeat(255), start_date: '20270101', due_date: '20270102' };

test('C20 X6 with a full disk writes and /readyz are 503, reads work, nothing acknowledged is lost, and writes work again after space is freed', async (t) => {
  const fatal: unknown[] = [];
  const ports = { maxPages: 180, onFatal: (error: unknown) => void fatal.push(error) };
  const path = join(temporaryFolder(t), 'carillon.db');
  const carillon = await startTestService(t, `sqlite:${path}`, { ports });
  const filler = new DatabaseSync(path, { timeout: 5_000 });
  t.after(() => filler.close());
  filler.exec('create table filler (bytes blob); insert into filler values (zeroblob(120000))');
  const owner = await carillon.account('acme.test');
  const target = await startTarget(t);
  const hook = await owner.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
  const create = () => carillon.call(owner, 'POST', '/v2/events', fullDiskEvent);

  const acknowledged: string[] = [];
  for (let refused = 0; refused < 3; ) {
    const responses = await Promise.all(Array.from({ length: 8 }, create));
    for (const { status, json, headers } of responses) {
      if (status === 201) acknowledged.push(json.data.event_id);
      else {
        refused += 1;
        assert.deepEqual([status, json.code], [503, 'storage_unavailable']);
        assert.equal(headers.get('retry-after'), '1');
      }
    }
    assert.ok(acknowledged.length < 10_000, 'the disk never fills');
  }
  assert.ok(acknowledged.length > 20);

  const list = await carillon.call(owner, 'GET', '/v2/events');
  assert.equal(list.status, 200);
  const listed = list.json.data.map((one: { event_id: string }) => one.event_id);
  assert.deepEqual(listed.sort(), [...acknowledged].sort(), 'exactly what was acknowledged');
  assert.equal((await carillon.call(owner, 'GET', `/v2/events/${acknowledged[0]}`)).status, 200);
  assert.equal((await carillon.call(undefined, 'GET', '/healthz')).status, 200);
  // X6: free space for one page is not enough for a write.
  const ready = await carillon.call(undefined, 'GET', '/readyz');
  assert.deepEqual([ready.status, ready.json.code], [503, 'storage_unavailable']);

  filler.exec('delete from filler');
  const again = await create();
  assert.equal(again.status, 201);
  acknowledged.push(again.json.data.event_id);
  await eventually(
    () => carillon.call(undefined, 'GET', '/readyz'),
    ({ status }) => status === 200,
  );
  const wanted = acknowledged.map((id) => `${carillon.baseUrl}/v2/events/${id}`).sort();
  await eventually(
    () => owner.carillon.deliveries.list({ hook_id: hook.id, state: 'pending' }),
    ({ paging }) => paging.total_records === 0,
    20_000,
  );
  const delivered = target.received.map((one) => one.resourceUrl).sort();
  assert.deepEqual([...new Set(delivered)], wanted, 'each is delivered, and nothing that was rejected');
  assert.equal(
    delivered.length,
    wanted.length,
    'each is delivered once: results that could not be stored were kept in memory',
  );
  assert.deepEqual(fatal, [], 'a full disk does not end the process');
});
