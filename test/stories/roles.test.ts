import assert from 'node:assert/strict';
import { carillon as run } from '../kit/command.ts';
import { openAt } from '../kit/database.ts';
import { eventually } from '../kit/eventually.ts';
import { pendingNow, personAt, processBeside } from '../kit/nodes.ts';
import { shared, sqlite } from '../kit/stores.ts';
import { startTarget } from '../kit/target.ts';
import { tracedAttempt } from '../kit/traced.ts';

const EVENTS = 40;
const event = { event_name: 'Tick', start_date: '20270101', due_date: '20270101' };

for (const { test, testService, serviceProcess, database: newDatabase } of shared) {
  for (const listen of ['on', 'off'] as const) {
    test(`C13 C20 with an API node and a delivery node, LISTEN ${listen}, everything arrives, and nothing after the 200 of a DELETE`, async (t) => {
      const database = `${await newDatabase(t)}?listen=${listen}`;
      const [atApi, atDelivery] = [tracedAttempt(), tracedAttempt()];
      const api = await testService(t, { database, options: { role: 'api' }, ports: { attempt: atApi.attempt } });
      await testService(t, { database, options: { role: 'delivery' }, ports: { attempt: atDelivery.attempt } });
      const owner = await api.account('acme.test');
      const store = await openAt(t, database, { as: 'command' });
      const target = await startTarget(t);
      const stays = await owner.carillon.hooks.create({ target_url: target.at('/stays'), event: 'new_event' });
      const goes = await owner.carillon.hooks.create({ target_url: target.at('/goes'), event: 'new_event' });
      const tookMs: number[] = [];
      const deletedAt: number[] = [];
      for (let count = 0; count < EVENTS; count += 1) {
        const sentAt = performance.now();
        const { event_id } = await owner.carillon.events.create(event);
        if (count === EVENTS / 2) {
          await owner.carillon.hooks.delete(goes.id);
          deletedAt.push(performance.now());
        }
        if (listen === 'off') continue;
        const arrived = await eventually(
          () => target.received.find((one) => one.path === '/stays' && one.resourceUrl.endsWith(`/${event_id}`)),
          (one) => one !== undefined,
        );
        tookMs.push((arrived?.at ?? 0) - sentAt);
      }
      await eventually(
        () => pendingNow(store),
        (pending) => pending.size === 0,
      );
      assert.equal(target.received.filter((one) => one.path === '/stays').length, EVENTS);
      assert.deepEqual(
        atDelivery.traceOf('/goes').begun.filter((at) => at > (deletedAt[0] ?? 0)),
        [],
        'an attempt began after the 200',
      );
      assert.deepEqual(
        [...atApi.traceOf('/stays').begun, ...atApi.traceOf('/goes').begun],
        [],
        'the API node makes no attempts',
      );
      assert.equal((await owner.carillon.hooks.get(stays.id)).state, 'live');
      const sorted = tookMs.toSorted((a, b) => a - b).map((ms) => ms.toFixed(1));
      if (listen === 'on') {
        t.diagnostic(`from the request to the arrival: half below ${sorted[20]} ms, 95 % below ${sorted[37]} ms`);
      }
    });
  }

  test('X6 a delivery-only node serves only health and metrics; an API-only node never delivers', async (t) => {
    const database = await newDatabase(t);
    const api = await serviceProcess(t, { CARILLON_DATABASE: database, CARILLON_ROLE: 'api' });
    const delivery = await processBeside(t, api, { CARILLON_ROLE: 'delivery' });
    const status = async (path: string) => (await fetch(delivery.baseUrl + path, { headers: api.headers })).status;
    assert.deepEqual(await Promise.all(['/healthz', '/readyz', '/metrics'].map(status)), [200, 200, 200]);
    assert.deepEqual(await Promise.all(['/v2/events', '/v2/user', '/v2/nothing'].map(status)), [404, 404, 404]);
    assert.equal((await api.carillon.user.get()).user_id, '1');

    assert.equal(await delivery.stop('SIGTERM'), 0);
    const target = await startTarget(t);
    await api.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
    await api.carillon.events.create(event);
    const again = await processBeside(t, api, { CARILLON_ROLE: 'delivery' });
    await target.arrived(1);
    // Sent by the delivery node that started last: there was none before.
    assert.equal(target.received.length, 1);
    assert.deepEqual(await Promise.all([api.stop('SIGTERM'), again.stop('SIGTERM')]), [0, 0]);
  });

  test('several nodes that start concurrently on an empty database create one account, and one of them prints its key', async (t) => {
    const database = await newDatabase(t);
    const nodes = await Promise.all(
      Array.from({ length: 3 }, () => processBeside(t, { database, headers: { domain: 'localhost', key: 'unknown' } })),
    );
    assert.equal(nodes.filter((node) => node.key !== undefined).length, 1);
    const store = await openAt(t, database, { as: 'command' });
    assert.equal((await store.read.selectFrom('accounts').select('account_id').execute()).length, 1);
    assert.deepEqual(await Promise.all(nodes.map((node) => node.stop('SIGTERM'))), [0, 0, 0]);
  });

  test('a key works at every node, and at none after it is revoked at one', async (t) => {
    const database = await newDatabase(t);
    const one = await testService(t, { database });
    const other = await testService(t, { database });
    const owner = await one.account('acme.test');
    const second = await one.key(owner, {});
    const there = personAt(other, second);
    assert.equal((await other.call(there, 'GET', '/v2/user')).status, 200);
    const { data } = await owner.carillon.keys.list();
    const issued = data.at(-1)?.id ?? '';
    await owner.carillon.keys.revoke(issued);
    await eventually(
      () => other.call(there, 'GET', '/v2/user'),
      ({ status }) => status === 401,
      1_500,
    );
    assert.equal((await other.call(there, 'POST', '/v2/events', event)).status, 401);
  });
}

sqlite.test('a role is rejected on SQLite, which only one process uses', async (t) => {
  const database = await sqlite.database(t);
  for (const role of ['api', 'delivery']) {
    const { code, faults } = await run(['serve', '--port', '0', '--database', database, '--role', role]);
    assert.equal(code, 1);
    assert.equal(faults.length, 1, faults.join('\n'));
    assert.match(faults[0] ?? '', /role/);
  }
});
