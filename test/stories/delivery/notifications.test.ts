import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { after, type TestContext } from 'node:test';
import type { Delivery } from '../../../packages/sdk/src/activity.ts';
import { version } from '../../../src/version.ts';
import { createTestClock, fixedJitterRandom } from '../../kit/clock.ts';
import { eventually } from '../../kit/eventually.ts';
import { startTarget, type TargetReply } from '../../kit/network/target.ts';
import type { ApiUser, TestService } from '../../kit/service/service.ts';
import { everyStore } from '../../kit/service/stores.ts';

for (const { test, testService } of everyStore) {
  const carillon = await testService({ after });
  const event = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };

  test('C15 the notification, byte by byte: a POST of the resource URL and nothing else, without authentication', async (t) => {
    const owner = await carillon.createAccount('bytes.test');
    const { promise: received, resolve: onReceived } = Promise.withResolvers<string>();
    const server = createServer((socket: Socket) => {
      let text = '';
      socket.on('data', (chunk) => {
        text += chunk.toString('latin1');
        const [head = '', body = ''] = text.split('\r\n\r\n');
        const length = Number(/content-length: (\d+)/i.exec(head)?.[1]);
        if (body.length < length) return;
        onReceived(text);
        socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
      });
      socket.on('error', () => undefined);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const target_url = `http://127.0.0.1:${port}/a%20b/secret?q=1&r=%C3%BC#fragment`;
    const hook = await owner.carillon.hooks.create({ target_url, event: 'new_event' });
    const { event_id } = await owner.carillon.events.create(event);

    const [head = '', body] = (await received).split('\r\n\r\n');
    const [line, ...headers] = head.split('\r\n');
    const { data } = await owner.carillon.deliveries.list({ hook_id: hook.id });
    const [entry] = (await owner.carillon.notifications.list({ kind: 'new_event' })).data;
    assert.equal(line, 'POST /a%20b/secret?q=1&r=%C3%BC HTTP/1.1');
    assert.equal(body, `{"resource_url":"${carillon.baseUrl}/v2/events/${event_id}"}`);
    assert.deepEqual(headers.map((one) => one.toLowerCase()).sort(), [
      'connection: keep-alive',
      `content-length: ${body?.length}`,
      'content-type: application/json',
      `host: 127.0.0.1:${port}`,
      `user-agent: carillon/${version}`,
      `webhook-cursor: ${entry?.cursor}`,
      'webhook-event: new_event',
      `webhook-id: ${data[0]?.id}`,
    ]);
  });

  test('C15 each kind is sent with the URL of its own resource', async (t) => {
    const owner = await carillon.createAccount('kinds.test');
    const target = await startTarget(t);
    for (const kind of ['client', 'event', 'project', 'task', 'subtask'] as const) {
      await owner.carillon.hooks.create({ target_url: target.urlOf(`/new_${kind}`), event: `new_${kind}` });
    }
    await owner.carillon.hooks.create({ target_url: target.urlOf('/completed_task'), event: 'completed_task' });
    await owner.carillon.hooks.create({ target_url: target.urlOf('/completed_subtask'), event: 'completed_subtask' });
    const { client_id } = await owner.carillon.clients.create({ client_name: 'ACME' });
    const { event_id } = await owner.carillon.events.create(event);
    const { project_id } = await owner.carillon.projects.create({ project_name: 'Bells' });
    const { task_id } = await owner.carillon.tasks.create(project_id, { task_name: 'Cast' });
    const { subtask_id } = await owner.carillon.subtasks.create(task_id, { subtask_name: 'Melt' });
    await owner.carillon.tasks.complete(task_id);

    const resourceUrls = Object.fromEntries(
      (await target.waitForArrivals(7)).map((one) => [one.path.slice(1), one.resourceUrl]),
    );
    const at = (path: string) => `${carillon.baseUrl}/v2${path}`;
    assert.deepEqual(resourceUrls, {
      new_client: at(`/clients/${client_id}`),
      new_event: at(`/events/${event_id}`),
      new_project: at(`/projects/${project_id}`),
      new_task: at(`/tasks/${task_id}`),
      new_subtask: at(`/subtasks/${subtask_id}`),
      completed_task: at(`/tasks/${task_id}`),
      completed_subtask: at(`/subtasks/${subtask_id}`),
    });
  });

  test('C10 C15 the URL begins with the configured base URL', async (t) => {
    const options = { baseUrl: 'https://calendar.example.com/bells', allowTargets: '127.0.0.0/8' };
    const elsewhere = await testService(t, { options });
    const owner = await elsewhere.createAccount('acme.test');
    // The client calls the listening address. Only URLs that the service writes begin with the base URL.
    const target = await startTarget(t);
    const call = (path: string, body: unknown) =>
      fetch(`${elsewhere.service.url}${path}`, {
        method: 'POST',
        headers: { ...owner.headers, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    assert.equal((await call('/v2/hooks', { target_url: target.url, event: 'new_event' })).status, 201);
    const created = await call('/v2/events', event);
    const [notification] = await target.waitForArrivals(1);
    assert.equal(notification?.resourceUrl, created.headers.get('location'));
    assert.match(notification?.resourceUrl ?? '', /^https:\/\/calendar\.example\.com\/bells\/v2\/events\/\d+$/);
  });

  test('C15 C17 no redirect is followed: each is a failure', async (t) => {
    const owner = await carillon.createAccount('redirects.test');
    const elsewhere = await startTarget(t);
    const statuses = [300, 301, 302, 303, 307, 308];
    for (const status of statuses) {
      const target = await startTarget(t, { status, headers: { location: elsewhere.url } }, 200);
      const { id } = await owner.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
      await owner.carillon.events.create(event);
      await target.waitForArrivals(2);
      const { data } = await owner.carillon.deliveries.list({ hook_id: id });
      const { attempts } = await eventually(
        () => owner.carillon.deliveries.get(data[0]?.id ?? ''),
        (one) => one.state === 'delivered',
      );
      assert.deepEqual(
        attempts.map((one) => [one.outcome, one.counted]),
        [
          [String(status), '1'],
          ['200', '0'],
        ],
      );
      await owner.carillon.hooks.delete(id);
    }
    assert.deepEqual(elsewhere.received, []);
  });

  test('C16 the record can be fetched as soon as its notification arrives: every kind, under load', async (t) => {
    const owner = await carillon.createAccount('fetchable.test');
    const found: { address: string; status: number; data: unknown }[] = [];
    const target = await startTarget(t, async (response, { resourceUrl }) => {
      const fetched = await fetch(resourceUrl, { headers: owner.headers });
      const { data } = (await fetched.json()) as { data: unknown };
      found.push({ address: resourceUrl, status: fetched.status, data });
      response.end();
    });
    for (const kind of ['new_event', 'new_client', 'new_project', 'new_task', 'completed_task'] as const) {
      await owner.carillon.hooks.create({ target_url: target.urlOf(`/${kind}`), event: kind });
    }
    const { project_id } = await owner.carillon.projects.create({ project_name: 'Bells' });
    const created = await Promise.all(
      Array.from({ length: 40 }, async (_, index) => {
        const [one, two, task] = await Promise.all([
          owner.carillon.events.create({ ...event, event_name: `Event ${index}` }),
          owner.carillon.clients.create({ client_name: `Client ${index}` }),
          owner.carillon.tasks.create(project_id, { task_name: `Task ${index}`, completed: 1 }),
        ]);
        return [
          [`/events/${one.event_id}`, one],
          [`/clients/${two.client_id}`, two],
          [`/tasks/${task.task_id}`, task],
        ] as const;
      }),
    );
    await eventually(
      () => found.length,
      (count) => count >= 121,
    );
    assert.deepEqual(
      found.filter((one) => one.status !== 200),
      [],
    );
    const byAddress = new Map(found.map((one) => [one.address, one.data]));
    for (const [path, record] of created.flat())
      assert.deepEqual(byAddress.get(`${carillon.baseUrl}/v2${path}`), record);
  });

  test('C16 a record deleted meanwhile is still notified, and its URL gives 404', async (t) => {
    const owner = await carillon.createAccount('deleted.test');
    const target = await startTarget(t, 500, 200);
    await owner.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
    const { event_id } = await owner.carillon.events.create(event);
    await target.waitForArrivals(1);
    await owner.carillon.events.delete(event_id);
    const [, notification] = await target.waitForArrivals(2);
    assert.equal((await fetch(notification?.resourceUrl ?? '', { headers: owner.headers })).status, 404);
  });
}

for (const { test, testService } of everyStore) {
  test('C15 a created event is sent by a POST that contains its URL and nothing else', async (t) => {
    const carillon = await testService(t);
    const owner = await carillon.createAccount('acme.test');
    const target = await startTarget(t);
    const hook = await owner.carillon.hooks.create({ target_url: target.urlOf('/secret'), event: 'new_event' });
    const event = await owner.carillon.events.create({
      event_name: 'Launch',
      start_date: '20270101',
      due_date: '20270102',
    });

    const [notification] = await target.waitForArrivals(1);
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
    const owner = await carillon.createAccount('acme.test');
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

for (const { test, testService } of everyStore) {
  const NO_DATE = '0000-00-00 00:00:00';
  const event = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };

  async function createHookWith(t: TestContext, owner: ApiUser, ...replies: TargetReply[]) {
    const target = await startTarget(t, ...replies);
    const { id } = await owner.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
    const hook = () => owner.carillon.hooks.get(id);
    const { event_id } = await owner.carillon.events.create(event);
    const { data } = await owner.carillon.deliveries.list({ hook_id: id });
    const deliveryId = data[0]?.id ?? '';
    const delivery = () => owner.carillon.deliveries.get(deliveryId);
    return { target, id, hook, event_id, deliveryId, delivery };
  }

  const redeliver = (carillon: TestService, who: ApiUser, id: string) =>
    carillon.call(who, 'POST', `/v2/deliveries/${id}/redeliver`);

  test('X3 a delivery shows its attempts with time, outcome, duration, whether it counted, and the reason', async (t) => {
    const clock = createTestClock();
    const carillon = await testService(t, {
      options: { retryWaits: '1m,1m' },
      deps: { clock, random: fixedJitterRandom() },
    });
    const owner = await carillon.createAccount('acme.test');
    const { id, event_id, deliveryId, delivery, hook, target } = await createHookWith(t, owner, 500, 204, 200);
    for (const failures of ['1', '2']) {
      await eventually(hook, (one) => one.failures === failures);
      await clock.advance(60_000);
      await target.waitForArrivals(Number(failures) + 1);
    }
    const { attempts, date_finalized, ...fields } = await eventually(delivery, (one) => one.state === 'delivered');
    assert.deepEqual(fields, {
      id: deliveryId,
      hook_id: id,
      event: 'new_event',
      resource_url: `${carillon.baseUrl}/v2/events/${event_id}`,
      cursor: target.received[0]?.headers['webhook-cursor'],
      state: 'delivered',
      date_created: '2025-05-01 12:00:00',
      last_outcome: '200',
    });
    assert.deepEqual(
      attempts.map(({ outcome, counted, reason }) => ({ outcome, counted, reason })),
      [
        { outcome: '500', counted: '1', reason: 'failure 1 of 3 in a row: tried again after the wait' },
        { outcome: '204', counted: '1', reason: 'failure 2 of 3 in a row: tried again after the wait' },
        { outcome: '200', counted: '0', reason: 'answered 200: delivered' },
      ],
    );
    assert.equal(attempts[0]?.attempted_at, '2025-05-01 12:00:00');
    assert.equal(attempts[1]?.attempted_at, '2025-05-01 12:01:00');
    assert.equal(date_finalized, '2025-05-01 12:02:00');
    for (const { milliseconds } of attempts) assert.match(milliseconds, /^\d+$/);
    assert.deepEqual(new Set(target.received.map((one) => one.deliveryId)), new Set([deliveryId]));
  });

  test('X3 the list is filtered by hook, state and user, and paginated', async (t) => {
    const carillon = await testService(t, { options: { retryWaits: '1h,1h' } });
    const owner = await carillon.createAccount('acme.test');
    const member = await carillon.createUser(owner, 'member');
    const other = await carillon.createUser(owner, 'member');
    const otherOwner = await carillon.createAccount('other.test');
    const healthy = await startTarget(t, 200);
    const failing = await startTarget(t, 500);
    const hooks = {
      healthy: await member.carillon.hooks.create({ target_url: healthy.url, event: 'new_event' }),
      failing: await member.carillon.hooks.create({ target_url: failing.url, event: 'new_event' }),
      gone: await member.carillon.hooks.create({ target_url: failing.urlOf('/gone'), event: 'new_event' }),
    };
    await member.carillon.events.create(event);
    await member.carillon.events.create(event);
    await eventually(
      () => member.carillon.hooks.get(hooks.gone.id),
      (hook) => hook.state === 'failing',
    );
    await member.carillon.hooks.delete(hooks.gone.id);
    const test = await member.carillon.hooks.test(hooks.failing.id);
    await eventually(
      () => member.carillon.deliveries.list(),
      ({ data }) => data.filter((one) => one.state === 'delivered').length === 2 && data.at(-1)?.state === 'failed',
    );

    const list = async (who: ApiUser, query = '') => {
      const response = await carillon.call(who, 'GET', `/v2/deliveries${query}`);
      assert.equal(response.status, 200, response.text);
      const data: readonly Delivery[] = response.json.data;
      return { data, total: response.json.paging.total_records, link: response.headers.get('link') };
    };
    const states = (found: Awaited<ReturnType<typeof list>>) => found.data.map((one) => `${one.hook_id} ${one.state}`);
    const all = await list(member);
    const [a, b, c] = [hooks.healthy.id, hooks.failing.id, hooks.gone.id];
    const wanted = [
      ...[`${a} delivered`, `${b} pending`, `${c} undelivered`],
      ...[`${a} delivered`, `${b} pending`, `${c} undelivered`],
      `${b} failed`,
    ];
    assert.deepEqual([...states(all)].sort(), [...wanted].sort());
    assert.equal(states(all).at(-1), `${b} failed`);
    const ids = all.data.map((one) => Number(one.id));
    assert.deepEqual(
      ids,
      [...ids].sort((x, y) => x - y),
      'in the order in which they became pending',
    );
    assert.deepEqual(
      all.data.map(({ event, cursor }) => event === 'test' || cursor === '0'),
      all.data.map(({ event }) => event === 'test'),
      'a test has no cursor',
    );
    assert.equal(all.data.at(-1)?.cursor, '0');
    for (const one of all.data)
      assert.equal(one.date_finalized === NO_DATE, ['pending', 'undelivered'].includes(one.state));

    for (const state of ['pending', 'delivered', 'undelivered', 'failed']) {
      const found = await list(member, `?state=${state}`);
      assert.deepEqual(
        found.data,
        all.data.filter((one) => one.state === state),
        state,
      );
      assert.equal(found.total, found.data.length);
    }
    for (const id of [a, b, c]) {
      assert.deepEqual(
        (await list(member, `?hook_id=${id}`)).data,
        all.data.filter((one) => one.hook_id === id),
      );
    }
    assert.equal((await list(member, `?hook_id=${b}&state=failed`)).data[0]?.id, test.id);
    assert.deepEqual((await list(member, `?hook_id=${a}&state=pending`)).data, []);

    const page = await list(member, '?limit=3&offset=2');
    assert.deepEqual([page.data, page.total], [all.data.slice(2, 5), 7]);
    assert.match(page.link ?? '', /rel="next"/);

    assert.deepEqual((await list(owner, `?user_id=${member.userId}`)).data, all.data);
    assert.deepEqual((await list(owner)).data, []);
    assert.deepEqual((await list(other, `?hook_id=${a}`)).data, [], 'another user’s hook has nothing for a member');
    assert.deepEqual((await list(otherOwner, `?hook_id=${a}`)).data, []);
    assert.equal((await carillon.call(other, 'GET', `/v2/deliveries?user_id=${member.userId}`)).status, 401);
    for (const query of ['?state=lost', '?hook_id=x', '?limit=0']) {
      assert.equal((await carillon.call(member, 'GET', `/v2/deliveries${query}`)).status, 400, query);
    }
    const [first] = all.data;
    const read = async (who: ApiUser) => (await carillon.call(who, 'GET', `/v2/deliveries/${first?.id}`)).status;
    assert.deepEqual(
      [await read(member), await read(owner), await read(other), await read(otherOwner)],
      [200, 200, 401, 404],
    );
  });

  test('C20 X3 a redelivery sends a delivered notification again with the same Webhook-Id', async (t) => {
    const carillon = await testService(t);
    const owner = await carillon.createAccount('acme.test');
    const { target, deliveryId, delivery } = await createHookWith(t, owner, 200);
    const before = await eventually(delivery, (one) => one.state === 'delivered');
    assert.equal(target.received.length, 1, 'by itself it is sent once');
    const response = await redeliver(carillon, owner, deliveryId);
    assert.equal(response.status, 202);
    assert.equal(response.json.data.id, deliveryId);
    const [first, second] = await target.waitForArrivals(2);
    assert.equal(second?.deliveryId, first?.deliveryId);
    assert.equal(second?.body, first?.body);
    const after = await eventually(delivery, (one) => one.attempts.length === 2 && one.state === 'delivered');
    assert.equal(after.date_finalized, before.date_finalized, 'it was delivered when it was delivered');
  });

  test('X3 a failed redelivery is recorded and not counted, and the delivery stays delivered', async (t) => {
    const carillon = await testService(t);
    const owner = await carillon.createAccount('acme.test');
    const { target, hook, deliveryId, delivery } = await createHookWith(t, owner, 200, 500, 500, 204, 200);
    await eventually(delivery, (one) => one.state === 'delivered');
    for (const count of [2, 3, 4]) {
      assert.equal((await redeliver(carillon, owner, deliveryId)).status, 202);
      const { attempts } = await eventually(
        delivery,
        (one) => one.attempts.length === count && one.state === 'delivered',
      );
      assert.deepEqual([attempts.at(-1)?.counted, attempts.at(-1)?.reason], ['0', 'manual attempt: not counted']);
      const { state, failures } = await hook();
      assert.deepEqual([state, failures], ['live', '0']);
      assert.equal(target.received.length, count, 'asked for once, sent once');
    }
  });

  test('X3 a redelivery during a wait is sent immediately; its 200 delivers and ends the wait', async (t) => {
    const carillon = await testService(t, { deps: { clock: createTestClock() } });
    const owner = await carillon.createAccount('acme.test');
    const { target, hook, deliveryId, delivery } = await createHookWith(t, owner, 500, 503, 200);
    await eventually(hook, (one) => one.state === 'failing');
    const waiting = await hook();
    await owner.carillon.events.create(event);

    await redeliver(carillon, owner, deliveryId);
    await eventually(delivery, (one) => one.attempts.length === 2);
    assert.deepEqual(await hook(), { ...waiting, last_outcome: '503' });
    assert.equal((await delivery()).state, 'pending');

    await redeliver(carillon, owner, deliveryId);
    const delivered = await eventually(delivery, (one) => one.state === 'delivered');
    assert.deepEqual(
      delivered.attempts.map(({ outcome, counted }) => [outcome, counted]),
      [
        ['500', '1'],
        ['503', '0'],
        ['200', '0'],
      ],
    );
    await target.waitForArrivals(4);
    assert.equal((await hook()).failures, '0');
  });

  test('X3 a 401 to a redelivery ends the hook; on an ended hook it is 409', async (t) => {
    const carillon = await testService(t);
    const owner = await carillon.createAccount('acme.test');
    const { target, hook, deliveryId, delivery } = await createHookWith(t, owner, 200, 401);
    await eventually(delivery, (one) => one.state === 'delivered');
    await redeliver(carillon, owner, deliveryId);
    assert.equal((await eventually(hook, (one) => one.state === 'ended')).ended_reason, 'answered_401');
    const response = await redeliver(carillon, owner, deliveryId);
    assert.deepEqual([response.status, response.json.code], [409, 'hook_ended']);
    assert.equal(target.received.length, 2);
  });

  test('C3 X3 only the owner of a delivery and admins may request a redelivery', async (t) => {
    const carillon = await testService(t);
    const owner = await carillon.createAccount('acme.test');
    const admin = await carillon.createUser(owner, 'admin');
    const member = await carillon.createUser(owner, 'member');
    const other = await carillon.createUser(owner, 'member');
    const otherOwner = await carillon.createAccount('other.test');
    const { target, deliveryId } = await createHookWith(t, member, 200);
    await target.waitForArrivals(1);
    const status = async (who: ApiUser, id = deliveryId) => (await redeliver(carillon, who, id)).status;
    assert.deepEqual([await status(other), await status(otherOwner), await status(member, '999999')], [401, 404, 404]);
    assert.deepEqual([await status(member), await status(admin)], [202, 202]);
  });
}
