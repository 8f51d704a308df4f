import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { outranks, permissions, permissionsOf } from '../../../src/permissions.ts';
import { openStoreAt } from '../../kit/database/database.ts';
import { eventually } from '../../kit/eventually.ts';
import { startTarget } from '../../kit/network/target.ts';
import { runCarillon as run } from '../../kit/service/command.ts';
import { readPendingDeliveryIds, startSecondNode, userAtNode } from '../../kit/service/nodes.ts';
import { sharedStores, sqlite, stores } from '../../kit/service/stores.ts';
import { createTracedAttempt } from '../../kit/service/traced-attempts.ts';

for (const { test, testService } of stores) {
  const HANGING = 20;
  const EVENTS = 100;
  const event = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };

  test('C22 twenty hanging targets do not delay a healthy one, and no hook queue exceeds the concurrency that it has earned', async (t) => {
    // The timeout is longer than this test may take, so that hanging attempts hang throughout.
    const carillon = await testService(t, { options: { attemptTimeout: '60s' } });
    const owner = await carillon.createAccount('acme.test');
    const hangingByPath = new Map<string, number>();
    const hanging = await startTarget(
      t,
      (_response, { path }) => void hangingByPath.set(path, (hangingByPath.get(path) ?? 0) + 1),
    );
    for (let index = 0; index < HANGING; index += 1) {
      await owner.carillon.hooks.create({ target_url: hanging.urlOf(`/${index}`), event: 'new_event' });
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
    assert.equal(hangingByPath.size, HANGING, 'each hanging target was tried');
    assert.deepEqual(new Set(hangingByPath.values()), new Set([1]), 'and got no second concurrent attempt');
    await eventually(
      () => owner.carillon.deliveries.list({ hook_id: id, state: 'delivered' }),
      ({ paging }) => paging.total_records === EVENTS,
    );
    await hanging.close();
  });

  test('C22 a healthy target earns up to eight concurrent attempts by its 200s, and never more', async (t) => {
    const carillon = await testService(t, { options: { attemptTimeout: '60s' } });
    const owner = await carillon.createAccount('acme.test');
    const open: ServerResponse[] = [];
    const target = await startTarget(t, (response) => void open.push(response));
    const { id } = await owner.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
    await Promise.all(Array.from({ length: 60 }, () => owner.carillon.events.create(event)));
    const delivered = async () =>
      (await owner.carillon.deliveries.list({ hook_id: id, state: 'delivered' })).paging.total_records;
    await target.waitForArrivals(1);
    // Respond to one attempt at a time: each 200 frees a slot and adds a slot, up to eight.
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
    target.setReplies(200);
    for (const response of open) response.end();
    await eventually(delivered, (count) => count === 60);
  });
}

// The effect of permissions on every route is tested in `walk.test.ts` and in the tenant isolation test,
// `test/reliability/tenant-isolation/tenant-isolation.ts`.

test('C2 there is one permission to read and one to write for each area', () => {
  const areas = ['events', 'clients', 'projects', 'tasks', 'users', 'company', 'hooks', 'keys'];
  assert.deepEqual(
    permissions,
    areas.flatMap((area) => [`${area}:read`, `${area}:write`]),
  );
});

test('C2 X7 members have all permissions except writing users and the company; roles are ordered owner, admin, member', () => {
  assert.deepEqual(permissionsOf('owner'), permissions);
  assert.deepEqual(permissionsOf('admin'), permissions);
  const missing = permissions.filter((one) => !permissionsOf('member').includes(one));
  assert.deepEqual(missing, ['users:write', 'company:write']);
  assert.deepEqual(
    [outranks('owner', 'admin'), outranks('admin', 'member'), outranks('owner', 'owner'), outranks('member', 'admin')],
    [true, true, false, false],
  );
});

const EVENTS = 40;
const event = { event_name: 'Tick', start_date: '20270101', due_date: '20270101' };

for (const { test, testService, serviceProcess, database: newDatabase } of sharedStores) {
  for (const listen of ['on', 'off'] as const) {
    test(`C13 C20 with an API node and a delivery node, LISTEN ${listen}, everything arrives, and nothing after the 200 of a DELETE`, async (t) => {
      const database = `${await newDatabase(t)}?listen=${listen}`;
      const [atApi, atDelivery] = [createTracedAttempt(), createTracedAttempt()];
      const api = await testService(t, { database, options: { role: 'api' }, deps: { sendAttempt: atApi.attempt } });
      await testService(t, { database, options: { role: 'delivery' }, deps: { sendAttempt: atDelivery.attempt } });
      const owner = await api.createAccount('acme.test');
      const store = await openStoreAt(t, database, { openAs: 'command' });
      const target = await startTarget(t);
      const stays = await owner.carillon.hooks.create({ target_url: target.urlOf('/stays'), event: 'new_event' });
      const goes = await owner.carillon.hooks.create({ target_url: target.urlOf('/goes'), event: 'new_event' });
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
        () => readPendingDeliveryIds(store),
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
    const delivery = await startSecondNode(t, api, { CARILLON_ROLE: 'delivery' });
    const status = async (path: string) => (await fetch(delivery.baseUrl + path, { headers: api.headers })).status;
    assert.deepEqual(await Promise.all(['/healthz', '/readyz', '/metrics'].map(status)), [200, 200, 200]);
    assert.deepEqual(await Promise.all(['/v2/events', '/v2/user', '/v2/nothing'].map(status)), [404, 404, 404]);
    assert.equal((await api.carillon.user.get()).user_id, '1');

    assert.equal(await delivery.stop('SIGTERM'), 0);
    const target = await startTarget(t);
    await api.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
    await api.carillon.events.create(event);
    const again = await startSecondNode(t, api, { CARILLON_ROLE: 'delivery' });
    await target.waitForArrivals(1);
    // The delivery node that started last has sent the notification, because no delivery node ran before.
    assert.equal(target.received.length, 1);
    assert.deepEqual(await Promise.all([api.stop('SIGTERM'), again.stop('SIGTERM')]), [0, 0]);
  });

  test('several nodes that start concurrently on an empty database create one account, and one of them prints its key', async (t) => {
    const database = await newDatabase(t);
    const nodes = await Promise.all(
      Array.from({ length: 3 }, () =>
        startSecondNode(t, { database, headers: { domain: 'localhost', key: 'unknown' } }),
      ),
    );
    assert.equal(nodes.filter((node) => node.key !== undefined).length, 1);
    const store = await openStoreAt(t, database, { openAs: 'command' });
    assert.equal((await store.read.selectFrom('accounts').select('account_id').execute()).length, 1);
    assert.deepEqual(await Promise.all(nodes.map((node) => node.stop('SIGTERM'))), [0, 0, 0]);
  });

  test('a key works at every node, and at none after it is revoked at one', async (t) => {
    const database = await newDatabase(t);
    const one = await testService(t, { database });
    const other = await testService(t, { database });
    const owner = await one.createAccount('acme.test');
    const second = await one.createKey(owner, {});
    const there = userAtNode(other, second);
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
    const { code, stderrLines } = await run(['serve', '--port', '0', '--database', database, '--role', role]);
    assert.equal(code, 1);
    assert.equal(stderrLines.length, 1, stderrLines.join('\n'));
    assert.match(stderrLines[0] ?? '', /role/);
  }
});
