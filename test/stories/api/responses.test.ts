import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { after, type TestContext } from 'node:test';
import { defaultTimeouts } from '../../../src/http/server/resource-limits.ts';
import { eventually } from '../../kit/eventually.ts';
import { formatRequest } from '../../kit/network/raw-http.ts';
import { startTarget } from '../../kit/network/target.ts';
import type { ApiUser, Json } from '../../kit/service/service.ts';
import { stores } from '../../kit/service/stores.ts';
import {
  classifyRoutes,
  type Operation,
  recordMountedRoutes,
  type routeGroups,
} from '../../reliability/tenant-isolation/operations.ts';

for (const { test, testService } of stores) {
  const event = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };

  /** Starts a TCP target that writes raw bytes. For each connection, `closed` has the promise of its written bytes. */
  async function rawTarget(t: TestContext, write: (socket: Socket) => void) {
    const closed: Promise<number>[] = [];
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.resume();
      closed.push(new Promise((resolve) => socket.once('close', () => resolve(socket.bytesWritten))));
      socket.once('data', () => write(socket));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    const address = server.address();
    return { url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/`, closed };
  }

  async function createSingleDelivery(owner: ApiUser, target_url: string) {
    const { id } = await owner.carillon.hooks.create({ target_url, event: 'new_event' });
    await owner.carillon.events.create(event);
    const { data } = await owner.carillon.deliveries.list({ hook_id: id });
    return { id, get: () => owner.carillon.deliveries.get(data[0]?.id ?? '') };
  }

  test('C17 C21 the status line decides: a body that hangs or never ends is cut off and changes nothing', async (t) => {
    const carillon = await testService(t, { options: { attemptTimeout: '15s' } });
    const owner = await carillon.createAccount('acme.test');
    const head = (status: string) => `HTTP/1.1 ${status}\r\ncontent-type: text/plain\r\n`;
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    const bodies: Record<string, (socket: Socket) => void> = {
      'a body that hangs': (socket) => socket.write(`${head('200 OK')}content-length: 1000000\r\n\r\nhello`),
      'a body without an end': (socket) => socket.write(`${head('200 OK')}\r\nhello`),
      'an endless body': (socket) => {
        socket.write(`${head('200 OK')}transfer-encoding: chunked\r\n\r\n`);
        const more = () => {
          while (socket.writable && socket.write(chunk));
        };
        socket.on('drain', more);
        more();
      },
      'an invalid chunked body': (socket) =>
        socket.end(`${head('200 OK')}transfer-encoding: chunked\r\n\r\nnonsense\r\n`),
      'a truncated body': (socket) => {
        socket.write(`${head('200 OK')}content-length: 100\r\n\r\nhal`);
        socket.destroySoon();
      },
    };
    for (const [what, write] of Object.entries(bodies)) {
      const target = await rawTarget(t, write);
      const began = performance.now();
      const delivery = await createSingleDelivery(owner, target.url);
      const delivered = await eventually(delivery.get, (one) => one.state === 'delivered');
      assert.ok(performance.now() - began < 5_000, `${what} delayed the result`);
      assert.deepEqual(
        delivered.attempts.map((one) => one.outcome),
        ['200'],
        what,
      );
      const written = await target.closed[0];
      // Kernel buffers hold some megabytes. An unlimited body would send far more before the deadline.
      assert.ok((written ?? 0) < 16 * 1_024 * 1_024, `${what}: ${written} bytes were taken`);
      assert.equal((await owner.carillon.hooks.get(delivery.id)).state, 'live');
      await owner.carillon.hooks.delete(delivery.id);
    }
  });

  test('C21 the body of a failed response is kept with its attempt, that of a delivered one is not; the log has neither', async (t) => {
    const carillon = await testService(t);
    const owner = await carillon.createAccount('acme.test');
    const failed = (response: ServerResponse) => response.writeHead(500).end('a failure of the target');
    const target = await startTarget(t, failed, (response) => response.end('a secret of the target'));
    const delivery = await createSingleDelivery(owner, target.url);
    const delivered = await eventually(delivery.get, (one) => one.state === 'delivered');
    assert.deepEqual(
      delivered.attempts.map(({ outcome, response }) => [outcome, response]),
      [
        ['500', 'a failure of the target'],
        ['200', ''],
      ],
    );
    assert.doesNotMatch(JSON.stringify(carillon.logged), /of the target/);
  });

  test('C17 C21 one deadline covers the whole attempt: a target that never responds is a timeout, and the next attempt is made', async (t) => {
    const carillon = await testService(t, { options: { attemptTimeout: '200ms' } });
    const owner = await carillon.createAccount('acme.test');
    const open: ServerResponse[] = [];
    const target = await startTarget(t, (response) => void open.push(response), 200);
    const delivery = await createSingleDelivery(owner, target.url);
    const delivered = await eventually(delivery.get, (one) => one.state === 'delivered');
    const [timeout] = delivered.attempts;
    assert.deepEqual([timeout?.outcome, timeout?.counted, delivered.attempts.length], ['timeout', '1', 2]);
    const milliseconds = Number(timeout?.milliseconds);
    assert.ok(milliseconds >= 199 && milliseconds < 1_200, `${milliseconds} ms`);
  });

  test('C17 an interim response is ignored; a truncated status line or another protocol is a failure', async (t) => {
    const carillon = await testService(t);
    const owner = await carillon.createAccount('acme.test');
    const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n';
    const early = await rawTarget(t, (socket) => socket.end(`HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${ok}`));
    const first = await createSingleDelivery(owner, early.url);
    const delivered = await eventually(first.get, (one) => one.state === 'delivered');
    assert.equal(delivered.attempts.length, 1);
    await owner.carillon.hooks.delete(first.id);

    const heads = { cut: 'HTTP/1.1 200 O', none: '220 smtp.test ESMTP\r\n', other: 'HTTP/1.1 2OO OK\r\n\r\n' };
    for (const head of Object.values(heads)) {
      const target = await rawTarget(t, (socket) => socket.end(head));
      const { id } = await owner.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
      await owner.carillon.events.create(event);
      const ended = await eventually(
        () => owner.carillon.hooks.get(id),
        (one) => one.state === 'ended',
      );
      assert.equal(ended.ended_reason, 'three_failures', head);
      assert.match(ended.last_outcome, /^(reset|protocol)$/);
    }
  });
}

for (const { test, testService } of stores) {
  // C9: a record can be written back as it was read. A PUT of the exact response of GET is accepted and changes
  // only date_modified, for any caller and any content.

  const carillon = await testService({ after });
  const owner = await carillon.createAccount('acme.test');
  const member = await carillon.createUser(owner, 'member');
  const users = [owner.userId, member.userId];
  const text = 'Ünïcode 🔔 "quoted" \\ <b> & \n two lines';
  const span = { start_date: '2027-02-28 23:59:59', due_date: '2028-02-29 00:00:01' };
  const amounts = { hourly_rate: '12.5000', price: '999999999.9999' };
  const flags = { ongoing: 1, important: 1, active: 2 };

  const create = async (path: string, body: unknown): Promise<Json> => {
    const { status, json } = await carillon.call(owner, 'POST', path, body);
    assert.equal(status, 201, JSON.stringify(json));
    return json.data;
  };

  const client = await create('/v2/clients', {
    ...{ client_name: text, email: 'a@b.test', tel: '+49 1', fax: '2', mobile: '3', website: 'https://a.test/?b=c&d' },
    ...{
      address: text,
      city: text,
      state: text,
      postcode: '1',
      country: text,
      notes: text,
      background: text,
      active: 2,
    },
  });
  const project = await create('/v2/projects', {
    ...{ project_name: text, uri: 'x', description: text, color: '#fff', tags: 'a,b c', notes: text, currency: 'EUR' },
    ...{ ...span, ...amounts, ...flags, fixed_price: 1, public: 1, closed: 1, archived: 1, progress: 100 },
    ...{ recurring: 'S', notifications: 1, estimated_hours: 2.5, project_order: 1_415_893_855_123 },
    ...{ client_id: client.client_id, users },
  });
  const task = await create(`/v2/tasks/${project.project_id}`, {
    ...{ task_name: text, description: text, color: '#fff', tags: 'a,b c', notes: text },
    ...{
      ...span,
      ...amounts,
      ...flags,
      fixed_price: 1,
      estimated_hours: 0.25,
      estimated_cost: 7,
      task_order: 9_999_999_999_999,
    },
    ...{ completed: 1, progress: 100, recurring: 'Y', notifications: 1, archived: 1, users },
  });
  const subtask = await create(`/v2/subtasks/${task.task_id}`, {
    ...{ subtask_name: text, description: text, color: '#fff', notes: text, ...span, ...flags, estimated_hours: '0.1' },
    ...{ subtask_order: 5, completed: true, progress: 1, recurring: 'D', users },
  });
  const event = await create('/v2/events', { event_name: text, ...span, project_id: project.project_id });
  const bare = {
    client: await create('/v2/clients', { client_name: 'Bare' }),
    project: await create('/v2/projects', { project_name: 'Bare' }),
    task: await create(`/v2/tasks/${project.project_id}`, { task_name: 'Bare' }),
    subtask: await create(`/v2/subtasks/${task.task_id}`, { subtask_name: 'Bare' }),
    event: await create('/v2/events', { event_name: 'Bare', start_date: '20270101', due_date: '20270101' }),
  };

  const records: [label: string, path: string][] = [
    ['a client', `/v2/clients/${client.client_id}`],
    ['a project', `/v2/projects/${project.project_id}`],
    ['a completed task', `/v2/tasks/${task.task_id}`],
    ['a completed subtask', `/v2/subtasks/${subtask.subtask_id}`],
    ['an event with times of day', `/v2/events/${event.event_id}`],
    ['a bare client', `/v2/clients/${bare.client.client_id}`],
    ['a bare project', `/v2/projects/${bare.project.project_id}`],
    ['a bare task', `/v2/tasks/${bare.task.task_id}`],
    ['a bare subtask', `/v2/subtasks/${bare.subtask.subtask_id}`],
    ['a bare event', `/v2/events/${bare.event.event_id}`],
  ];

  async function assertCanBeWrittenBack(who: ApiUser, path: string): Promise<void> {
    const before = (await carillon.call(who, 'GET', path)).json.data;
    const written = await carillon.call(who, 'PUT', path, before);
    assert.equal(written.status, 200, written.text);
    assert.deepEqual(withoutDateModified(written.json.data), withoutDateModified(before));
    assert.deepEqual((await carillon.call(who, 'GET', path)).json.data, written.json.data);
  }

  function withoutDateModified({ date_modified: _, ...rest }: Json): Json {
    return rest;
  }

  for (const [label, path] of records) {
    test(`C9 C27 ${label} can be written back as read, by its creator and by a colleague`, async () => {
      await assertCanBeWrittenBack(owner, path);
      await assertCanBeWrittenBack(member, path);
      assert.notEqual((await carillon.call(owner, 'GET', path)).json.data.date_modified, '0000-00-00 00:00:00');
    });
  }

  test('C9 C35 a user can be written back as read, including the last owner', async () => {
    for (const { userId } of [owner, member]) await assertCanBeWrittenBack(owner, `/v2/users/${userId}`);
  });

  test('C9 a record can be written back after its creator and its assignees are deleted', async () => {
    const leaver = await carillon.createUser(owner, 'member');
    const made = await carillon.call(leaver, 'POST', '/v2/projects', {
      project_name: 'Left behind',
      users: [leaver.userId, member.userId],
    });
    await owner.carillon.users.delete(leaver.userId);
    await assertCanBeWrittenBack(owner, `/v2/projects/${made.json.data.project_id}`);
    await assertCanBeWrittenBack(member, `/v2/projects/${made.json.data.project_id}`);
  });
}

/** Requests with a path or a method that no route has. */
const UNKNOWN = ['POST /nothing', 'PUT /v2/nothing', 'POST /console/nothing', 'POST /', 'POST /healthz', 'PATCH /v2/x'];

/** Timeouts that make the service wait for a missing body until the end of the test. */
const LONG_TIMEOUTS = { ...defaultTimeouts, drainMs: 0, bodyGraceMs: 600_000, visitorBodyMs: 600_000, dropMs: 600_000 };

type Headers = Readonly<Record<string, string>>;
type TestRequest = { readonly name: string; readonly headers: Headers; readonly needsBody: boolean };

for (const { test, testService } of stores) {
  test('C4 a body that is announced and never sent occupies no slot on any route, and every response that needs no body arrives', async (t) => {
    const { started: carillon, mounted } = await recordMountedRoutes(() =>
      // With a single slot, a request that occupies a slot is noticed.
      testService(t, { options: { maxRequests: '1' }, deps: { timeouts: LONG_TIMEOUTS } }),
    );
    const owner = await carillon.createAccount('acme.test');
    const signedIn = await carillon.signIn(owner);
    const credentials: Readonly<Record<string, Headers>> = {
      '/v2': owner.headers,
      '/console/api': { ...signedIn.headers, origin: carillon.baseUrl },
    } satisfies Record<keyof typeof routeGroups, Headers>;
    const { operations, others } = classifyRoutes(mounted);
    const requests: TestRequest[] = [];
    for (const operation of operations) {
      const name = nameOf(operation);
      const isRead = ['GET', 'HEAD'].includes(operation.method);
      requests.push({ name, headers: {}, needsBody: false });
      requests.push({ name, headers: credentials[operation.routeGroup] ?? {}, needsBody: !isRead });
    }
    for (const name of [...others, ...UNKNOWN]) {
      const needsBody = /^(POST|DELETE) \/console\/(?!nothing)/.test(name);
      requests.push({ name, headers: { origin: carillon.baseUrl }, needsBody });
    }
    assert.ok(requests.length > 300, `${requests.length} requests`);

    const waiting = requests.filter(({ needsBody }) => needsBody).map((one) => send(t, carillon.baseUrl, one));
    for (const one of requests.filter(({ needsBody }) => !needsBody)) {
      const request = send(t, carillon.baseUrl, one);
      const status = await eventually(request.status, (status) => status !== undefined);
      assert.notEqual(status, 503, one.name);
    }
    assert.equal((await carillon.call(owner, 'POST', '/v2/clients', { client_name: 'ACME' })).status, 201);
    const early = waiting.filter(({ status }) => status() !== undefined).map(({ name, status }) => [name, status()]);
    assert.deepEqual(early, []);
    // The first request gets its body and continues without waiting for the other requests.
    const [first] = waiting;
    first?.socket.write('{"a":"b"}');
    await eventually(
      () => first?.status(),
      (status) => status !== undefined && status < 500,
    );
  });
}

/** Returns the method and path of an operation, with never-issued ids in the path. */
function nameOf({ routeGroup, method, row }: Operation): string {
  return `${method} ${routeGroup}${row.path.replace(/\{\w+\}/g, '9007199254740991')}`;
}

function send(t: TestContext, baseUrl: string, { name, headers }: TestRequest) {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname).setEncoding('latin1');
  t.after(() => socket.destroy());
  let text = '';
  socket.on('data', (some: string) => {
    text += some;
  });
  const lines = Object.entries(headers).map(([header, value]) => `${header}: ${value}`);
  const first = `${name.replace(/[:*]\w*/g, 'x')} HTTP/1.1`;
  socket.write(formatRequest([first, 'host: x', ...lines, 'content-length: 9']));
  const status = () => {
    const [, found] = /^HTTP\/1\.1 (\d{3}) /.exec(text) ?? [];
    return found === undefined ? undefined : Number(found);
  };
  return { name, socket, status };
}
