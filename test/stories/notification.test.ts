import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { after } from 'node:test';
import { version } from '../../src/version.ts';
import { eventually } from '../kit/eventually.ts';
import { stores } from '../kit/stores.ts';
import { startTarget } from '../kit/target.ts';

for (const { test, testService } of stores) {
  const carillon = await testService({ after });
  const event = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };

  test('C15 the notification, byte by byte: a POST of the resource URL and nothing else, without authentication', async (t) => {
    const owner = await carillon.account('bytes.test');
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
    assert.equal(line, 'POST /a%20b/secret?q=1&r=%C3%BC HTTP/1.1');
    assert.equal(body, `{"resource_url":"${carillon.baseUrl}/v2/events/${event_id}"}`);
    assert.deepEqual(headers.map((one) => one.toLowerCase()).sort(), [
      'connection: keep-alive',
      `content-length: ${body?.length}`,
      'content-type: application/json',
      `host: 127.0.0.1:${port}`,
      `user-agent: carillon/${version}`,
      `webhook-id: ${data[0]?.id}`,
    ]);
  });

  test('C15 each kind is sent with the URL of its own resource', async (t) => {
    const owner = await carillon.account('kinds.test');
    const target = await startTarget(t);
    for (const kind of ['client', 'event', 'project', 'task', 'subtask'] as const) {
      await owner.carillon.hooks.create({ target_url: target.at(`/new_${kind}`), event: `new_${kind}` });
    }
    await owner.carillon.hooks.create({ target_url: target.at('/completed_task'), event: 'completed_task' });
    await owner.carillon.hooks.create({ target_url: target.at('/completed_subtask'), event: 'completed_subtask' });
    const { client_id } = await owner.carillon.clients.create({ client_name: 'ACME' });
    const { event_id } = await owner.carillon.events.create(event);
    const { project_id } = await owner.carillon.projects.create({ project_name: 'Bells' });
    const { task_id } = await owner.carillon.tasks.create(project_id, { task_name: 'Cast' });
    const { subtask_id } = await owner.carillon.subtasks.create(task_id, { subtask_name: 'Melt' });
    await owner.carillon.tasks.complete(task_id);

    const resourceUrls = Object.fromEntries(
      (await target.arrived(7)).map((one) => [one.path.slice(1), one.resourceUrl]),
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
    const owner = await elsewhere.account('acme.test');
    // The client uses the listening address. Only URLs written by the service begin with the base URL.
    const target = await startTarget(t);
    const call = (path: string, body: unknown) =>
      fetch(`${elsewhere.service.url}${path}`, {
        method: 'POST',
        headers: { ...owner.headers, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    assert.equal((await call('/v2/hooks', { target_url: target.url, event: 'new_event' })).status, 201);
    const created = await call('/v2/events', event);
    const [notification] = await target.arrived(1);
    assert.equal(notification?.resourceUrl, created.headers.get('location'));
    assert.match(notification?.resourceUrl ?? '', /^https:\/\/calendar\.example\.com\/bells\/v2\/events\/\d+$/);
  });

  test('C15 C17 no redirect is followed: each is a failure', async (t) => {
    const owner = await carillon.account('redirects.test');
    const elsewhere = await startTarget(t);
    const statuses = [300, 301, 302, 303, 307, 308];
    for (const status of statuses) {
      const target = await startTarget(t, { status, headers: { location: elsewhere.url } }, 200);
      const { id } = await owner.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
      await owner.carillon.events.create(event);
      await target.arrived(2);
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
    const owner = await carillon.account('fetchable.test');
    const found: { address: string; status: number; data: unknown }[] = [];
    const target = await startTarget(t, async (response, { resourceUrl }) => {
      const fetched = await fetch(resourceUrl, { headers: owner.headers });
      const { data } = (await fetched.json()) as { data: unknown };
      found.push({ address: resourceUrl, status: fetched.status, data });
      response.end();
    });
    for (const kind of ['new_event', 'new_client', 'new_project', 'new_task', 'completed_task'] as const) {
      await owner.carillon.hooks.create({ target_url: target.at(`/${kind}`), event: kind });
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
    const owner = await carillon.account('deleted.test');
    const target = await startTarget(t, 500, 200);
    await owner.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
    const { event_id } = await owner.carillon.events.create(event);
    await target.arrived(1);
    await owner.carillon.events.delete(event_id);
    const [, notification] = await target.arrived(2);
    assert.equal((await fetch(notification?.resourceUrl ?? '', { headers: owner.headers })).status, 404);
  });
}
