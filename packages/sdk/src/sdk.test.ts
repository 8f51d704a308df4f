import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { apiKey, Carillon, CarillonError, type CarillonOptions, etagOf } from './index.ts';

/** One request as it arrived at the server. */
type ArrivedRequest = { line: string; headers: IncomingMessage['headers']; body: string };

/** Handles one request. The last script handles all further requests. */
type RequestScript = (response: ServerResponse, arrived: ArrivedRequest) => void;

type TestServer = AsyncDisposable & {
  url: string;
  arrived: ArrivedRequest[];
  client(options?: Partial<CarillonOptions>): Carillon;
};

const auth = apiKey({ domain: 'acme.test', key: 'k-1' });

async function startServer(...scripts: [RequestScript, ...RequestScript[]]): Promise<TestServer> {
  const arrived: ArrivedRequest[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const one = {
      line: `${request.method} ${request.url}`,
      headers: request.headers,
      body: Buffer.concat(chunks).toString(),
    };
    arrived.push(one);
    (scripts[arrived.length - 1] ?? scripts.at(-1))?.(response, one);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    arrived,
    // Retries are disabled here, because retry.test.ts tests them.
    client: (options) => new Carillon({ baseUrl: url, auth, retries: 0, ...options }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

function json(status: number, body: unknown, headers: Record<string, string> = {}): RequestScript {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers });
    response.end(JSON.stringify(body));
  };
}

function problem(status: number, body: unknown): RequestScript {
  return json(status, body, { 'content-type': 'application/problem+json; charset=utf-8' });
}

/** Creates a script that responds with a list of `total` records with different ids, paged by the query. */
function listScript(total: number): RequestScript {
  return changingListScript(Array.from({ length: total }, (_, index) => String(index)));
}

/** Creates a script that responds with the ids in their current order. `then` runs after each response. */
function changingListScript(ids: string[], inOrder = (id: string) => Number(id), then = () => {}): RequestScript {
  return (response, { line }) => {
    const query = new URL(line.split(' ')[1] ?? '', 'http://peer').searchParams;
    const [offset, limit] = [Number(query.get('offset') ?? 0), Number(query.get('limit') ?? 1000)];
    const after = query.get('after');
    const behind = after === null ? ids.slice(offset) : ids.filter((id) => inOrder(id) > inOrder(after));
    const data = behind.slice(0, limit).map((id) => ({ id }));
    const next = `http://peer/v2/hooks?offset=${offset + limit}&limit=${limit}&after=${data.at(-1)?.id}`;
    const headers: Record<string, string> = behind.length > limit ? { link: `<${next}>; rel="next"` } : {};
    const answer = json(200, { paging: { offset, limit, total_records: ids.length }, data }, headers);
    answer(response, { line, headers: {}, body: '' });
    then();
  };
}

async function collect<T>(records: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const record of records) collected.push(record);
  return collected;
}

const silent: RequestScript = () => {};

async function errorOf(call: Promise<unknown>): Promise<CarillonError> {
  const error = await call.then(
    () => assert.fail('the call was answered'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof CarillonError, inspect(error));
  return error;
}

test('C1 every call carries key and domain, and a body its media type', async () => {
  await using service = await startServer(json(200, { data: { event_id: '7' } }));
  const { events } = service.client();
  await events.get(7);
  await events.create({
    event_name: 'Löschprobe',
    start_date: '20261120',
    due_date: '20261121',
    project_id: undefined,
  });

  const [read, created] = service.arrived;
  assert.equal(read?.line, 'GET /v2/events/7');
  assert.equal(read?.headers.key, 'k-1');
  assert.equal(read?.headers.domain, 'acme.test');
  assert.equal(read?.headers['content-type'], undefined);
  assert.equal(read?.body, '');
  assert.equal(created?.line, 'POST /v2/events');
  assert.equal(created?.headers.key, 'k-1');
  assert.equal(created?.headers['content-type'], 'application/json');
  assert.equal(created?.body, '{"event_name":"Löschprobe","start_date":"20261120","due_date":"20261121"}');
});

test('every method has its own path, and its body', async () => {
  const event = { event_name: 'a', start_date: '20261120', due_date: '20261120' };
  const hook = { target_url: 'https://t.example/x', event: 'new_event' } as const;
  const calls: [string, (carillon: Carillon) => Promise<unknown>, unknown?][] = [
    ['POST /v2/events', (c) => c.events.create(event), event],
    ['GET /v2/events/1', (c) => c.events.get('1')],
    ['PUT /v2/events/1', (c) => c.events.update(1, { project_id: 0 }), { project_id: 0 }],
    ['DELETE /v2/events/1', (c) => c.events.delete(1)],
    ['POST /v2/clients', (c) => c.clients.create({ client_name: 'a', active: 2 }), { client_name: 'a', active: 2 }],
    ['GET /v2/clients/1', (c) => c.clients.get(1)],
    ['PUT /v2/clients/1', (c) => c.clients.update(1, { city: 'Ulm' }), { city: 'Ulm' }],
    ['DELETE /v2/clients/1', (c) => c.clients.delete(1)],
    [
      'POST /v2/projects',
      (c) => c.projects.create({ project_name: 'a', users: [1, '2'] }),
      { project_name: 'a', users: [1, '2'] },
    ],
    ['GET /v2/projects/1', (c) => c.projects.get(1)],
    ['PUT /v2/projects/1', (c) => c.projects.update(1, { closed: true }), { closed: true }],
    ['DELETE /v2/projects/1', (c) => c.projects.delete(1)],
    [
      'POST /v2/tasks/4',
      (c) => c.tasks.create(4, { task_name: 'a', estimated_hours: 2.5 }),
      { task_name: 'a', estimated_hours: 2.5 },
    ],
    ['GET /v2/tasks/1', (c) => c.tasks.get(1)],
    ['PUT /v2/tasks/1', (c) => c.tasks.update(1, { completed: 0 }), { completed: 0 }],
    ['PUT /v2/tasks/1', (c) => c.tasks.complete(1), { completed: 1 }],
    ['PUT /v2/tasks/1', (c) => c.tasks.resume(1), { resume: 1 }],
    ['DELETE /v2/tasks/1', (c) => c.tasks.delete(1)],
    ['POST /v2/subtasks/5', (c) => c.subtasks.create(5, { subtask_name: 'a' }), { subtask_name: 'a' }],
    ['GET /v2/subtasks/1', (c) => c.subtasks.get(1)],
    ['PUT /v2/subtasks/1', (c) => c.subtasks.update(1, { important: '1' }), { important: '1' }],
    ['PUT /v2/subtasks/1', (c) => c.subtasks.complete(1), { completed: 1 }],
    ['PUT /v2/subtasks/1', (c) => c.subtasks.resume(1), { resume: 1 }],
    ['DELETE /v2/subtasks/1', (c) => c.subtasks.delete(1)],
    ['GET /v2/user', (c) => c.user.get()],
    ['GET /v2/company', (c) => c.company.get()],
    [
      'POST /v2/users',
      (c) => c.users.create({ email: 'a@b.test', role: 'admin' }),
      { email: 'a@b.test', role: 'admin' },
    ],
    ['GET /v2/users/1', (c) => c.users.get(1)],
    ['PUT /v2/users/1', (c) => c.users.update(1, { role: 'member' }), { role: 'member' }],
    ['DELETE /v2/users/1', (c) => c.users.delete(1)],
    [
      'POST /v2/keys',
      (c) => c.keys.create({ label: 'ci', permissions: ['events:read'] }),
      { label: 'ci', permissions: ['events:read'] },
    ],
    ['DELETE /v2/keys/1', (c) => c.keys.revoke(1)],
    ['POST /v2/hooks', (c) => c.hooks.create(hook), hook],
    ['GET /v2/hooks/1', (c) => c.hooks.get(1)],
    ['DELETE /v2/hooks/1', (c) => c.hooks.delete(1)],
    ['POST /v2/hooks/1/restore', (c) => c.hooks.restore(1)],
    ['POST /v2/hooks/1/test', (c) => c.hooks.test(1)],
    ['GET /v2/deliveries/1', (c) => c.deliveries.get(1)],
    ['POST /v2/deliveries/1/redeliver', (c) => c.deliveries.redeliver(1)],
  ];
  await using service = await startServer((response, arrived) => {
    const answer = arrived.line.startsWith('DELETE') ? [] : { id: '1', data: { at: arrived.line, key: 'k' } };
    json(200, answer)(response, arrived);
  });
  const carillon = service.client();
  for (const [line, call, body] of calls) {
    const answer = await call(carillon);
    const last = service.arrived.at(-1);
    assert.equal(last?.line, line);
    assert.equal(last?.body, body === undefined ? '' : JSON.stringify(body), line);
    const expected = line === 'POST /v2/hooks' ? { id: '1' } : { at: line, key: 'k' };
    assert.deepEqual(answer, line.startsWith('DELETE') ? undefined : expected);
  }
  assert.equal(service.arrived.length, calls.length);
});

test('C7 every list has its own path; filters are encoded, undefined is omitted', async () => {
  await using service = await startServer(listScript(0));
  const c = service.client();
  const lists: [string, Promise<unknown>][] = [
    ['/v2/events', c.events.list()],
    [
      '/v2/events?project_id=3&from=20261101&limit=10',
      c.events.list({ project_id: 3, from: '20261101', to: undefined, limit: 10 }),
    ],
    ['/v2/clients?client_name=M%C3%BCller+%26+S%C3%B6hne%3F', c.clients.list({ client_name: 'Müller & Söhne?' })],
    ['/v2/projects?status=open&order=latest', c.projects.list({ status: 'open', order: 'latest' })],
    ['/v2/tasks?completed_from=20261101&status=onhold', c.tasks.list({ completed_from: '20261101', status: 'onhold' })],
    ['/v2/subtasks?task_id=5&user_id=0', c.subtasks.list({ task_id: '5', user_id: 0 })],
    ['/v2/users?offset=0', c.users.list({ offset: 0 })],
    ['/v2/keys', c.keys.list({})],
    ['/v2/hooks?state=failing&user_id=2', c.hooks.list({ state: 'failing', user_id: 2 })],
    ['/v2/deliveries?hook_id=1&state=pending', c.deliveries.list({ hook_id: 1, state: 'pending' })],
  ];
  const answers = await Promise.all(lists.map(([, answer]) => answer));
  assert.deepEqual(service.arrived.map(({ line }) => line).sort(), lists.map(([path]) => `GET ${path}`).sort());
  assert.deepEqual(answers[0], { paging: { offset: 0, limit: 1000, total_records: 0 }, data: [] });
});

test('each() yields every record once, page after page, from offset on', async () => {
  await using service = await startServer(listScript(5));
  const ids = (await collect(service.client().hooks.each({ state: 'live', limit: 2, offset: 1 }))).map(({ id }) => id);
  assert.deepEqual(ids, ['1', '2', '3', '4']);
  assert.deepEqual(
    service.arrived.map(({ line }) => line),
    ['GET /v2/hooks?state=live&limit=2&offset=1', 'GET /v2/hooks?state=live&limit=2&offset=3&after=2'],
  );
});

test('each() requests no page that is not consumed', async () => {
  await using service = await startServer(listScript(5));
  for await (const hook of service.client().hooks.each({ limit: 2 })) {
    assert.equal(hook.id, '0');
    break;
  }
  assert.equal(service.arrived.length, 1);
});

test('each() misses no remaining record and yields none twice while records are added and removed', async () => {
  const remove =
    (...gone: string[]) =>
    (ids: string[]) =>
      gone.forEach((id) => void ids.splice(ids.indexOf(id), 1));
  const cases: [string, string[], ...((ids: string[]) => void)[]][] = [
    ['deleted before', ['a', 'b', 'c', 'd', 'e', 'f', 'g'], remove('a'), remove('b', 'c')],
    ['everything given is deleted', ['a', 'b', 'c', 'd', 'e'], remove('a', 'b'), () => {}, remove('c')],
    ['created before', ['a', 'b', 'c', 'd'], (ids) => ids.unshift('x', 'y', 'z')],
    ['the known one is deleted', ['a', 'b', 'c', 'd', 'e'], remove('b'), remove('d')],
    ['all is deleted', ['a', 'b', 'c'], remove('a', 'b', 'c')],
    ['created behind', ['a', 'b'], (ids) => ids.push('c')],
  ];
  for (const [what, ids, ...changes] of cases) {
    await using service = await startServer(
      changingListScript(
        ids,
        (id) => 'xyzabcdefg'.indexOf(id),
        () => changes.shift()?.(ids),
      ),
    );
    const given = (await collect(service.client().hooks.each({ limit: 2 }))).map(({ id }) => id);
    assert.deepEqual([...new Set(given)], given, what);
    const missed = ids.filter((id) => !given.includes(id) && !'xyz'.includes(id));
    assert.deepEqual(missed, what === 'created behind' ? ['c'] : [], what);
    assert.ok(service.arrived.length <= 8, what);
  }
});

test('each() ends when it is aborted, also in the middle of a page', async () => {
  await using service = await startServer(listScript(5));
  const leaving = new AbortController();
  const records = service.client().hooks.each({}, { signal: leaving.signal });
  await records.next();
  const reason = new Error('enough');
  leaving.abort(reason);
  await assert.rejects(records.next(), (error) => error === reason);
});

test('C6 a problem becomes a CarillonError with code, status, message and every invalid field', async () => {
  const errors = [
    { field: 'start_date', message: 'is not a date' },
    { field: 'due_date', message: 'is missing' },
  ];
  await using service = await startServer(
    problem(400, {
      type: 'about:blank',
      status: 400,
      code: 'invalid_input',
      message: 'Two fields.',
      detail: 'Two fields.',
      errors,
    }),
    problem(409, { code: 'target_taken', message: 'Taken.', errors: 'none' }),
    problem(418, { code: 'teapot', message: 'From a later version.' }),
  );
  const { hooks } = service.client();
  const bad = await errorOf(hooks.list());
  assert.deepEqual([bad.code, bad.status, bad.message, bad.errors], ['invalid_input', 400, 'Two fields.', errors]);
  const taken = await errorOf(hooks.restore(1));
  assert.deepEqual([taken.code, taken.status, taken.message, taken.errors], ['target_taken', 409, 'Taken.', []]);
  const later = await errorOf(hooks.get(1));
  assert.deepEqual([later.code, later.status, later.message], ['unexpected_answer', 418, 'From a later version.']);
});

test('an error has the retry delay and the request id', async () => {
  const date = 'Fri, 20 Nov 2026 12:00:00 GMT';
  const busy = (headers: Record<string, string>) =>
    json(503, { code: 'overloaded' }, { 'content-type': 'application/problem+json', date, ...headers });
  const gateway: RequestScript = (response) => response.writeHead(503, { 'retry-after': '7' }).end('<h1>Later</h1>');
  const cases: [RequestScript, number | undefined, string | undefined][] = [
    [busy({ 'retry-after': '120', 'x-request-id': 'r-1' }), 120, 'r-1'],
    [busy({ 'retry-after': 'Fri, 20 Nov 2026 12:01:30 GMT' }), 90, undefined],
    [busy({ 'retry-after': 'Fri, 20 Nov 2026 11:00:00 GMT' }), 0, undefined],
    [busy({ 'retry-after': 'soon' }), undefined, undefined],
    [gateway, 7, undefined],
  ];
  for (const [script, retryAfterS, requestId] of cases) {
    await using service = await startServer(script);
    const error = await errorOf(service.client().user.get());
    assert.deepEqual([error.status, error.retryAfterS, error.requestId], [503, retryAfterS, requestId]);
  }
});

test('a response that is not from Carillon is unexpected_answer, with its status', async () => {
  const page: RequestScript = (response) => {
    response.writeHead(502, { 'content-type': 'text/html' });
    response.end('<h1>Bad Gateway</h1>');
  };
  const login: RequestScript = (response) => response.end('<h1>Welcome to the Wi-Fi</h1>');
  const cases: [RequestScript, number, RegExp][] = [
    [page, 502, /502 \(text\/html\)/],
    [json(404, { code: 'not_found', message: 'of another service' }), 404, /no problem document/],
    [problem(500, null), 500, /500/],
    [login, 200, /not JSON/],
    [json(200, { data: [] }), 200, /no record/],
    [json(200, []), 200, /no record/],
    [(response) => response.end(), 200, /no record/],
  ];
  for (const [script, status, message] of cases) {
    await using service = await startServer(script);
    const error = await errorOf(service.client().events.get(1));
    assert.deepEqual([error.code, error.status], ['unexpected_answer', status]);
    assert.match(error.message, message);
  }
  await using service = await startServer(json(200, { data: [{}] }), json(201, { data: { id: '1' } }));
  assert.match((await errorOf(service.client().events.list())).message, /no list/);
  const hook = { target_url: 'https://t.example/x', event: 'new_task' } as const;
  assert.match((await errorOf(service.client().hooks.create(hook))).message, /no id/);
});

test('X4 X7 X8 a replayed response without its secret rejects with secret_gone', async () => {
  await using service = await startServer(json(201, { data: { id: '5', label: 'ci' } }));
  const { keys, hooks } = service.client();
  const lost = await errorOf(keys.create({ label: 'ci' }, { idempotencyKey: 'again' }));
  assert.deepEqual([lost.code, lost.status], ['secret_gone', 201]);
  assert.match(lost.message, /"id":"5"/);
  assert.equal((await errorOf(hooks.createSecret(5))).code, 'secret_gone');
});

test('X5 the ETag of a record is sent with a change, and a known record is not transferred again', async () => {
  const first = json(200, { data: { event_id: '7', event_name: 'First' } }, { etag: '"a"' });
  const changed = json(200, { data: { event_id: '7', event_name: 'Second' } }, { etag: '"b"' });
  const same: RequestScript = (response) => response.writeHead(304, { etag: '"b"' }).end();
  const faster = problem(412, { code: 'precondition_failed', message: 'Somebody was faster.' });
  await using service = await startServer(first, changed, same, changed, faster, json(200, []));
  const { events, tasks } = service.client();

  const read = await events.get(7);
  const written = await events.update(7, { event_name: 'Second' }, { ifMatch: etagOf(read) });
  assert.deepEqual([etagOf(read), etagOf(written)], ['"a"', '"b"']);
  assert.equal(await events.get(7, { known: written }), written);
  assert.notEqual(await events.get(7, { known: written }), written);
  assert.equal((await errorOf(tasks.complete(7, { ifMatch: '"a"' }))).code, 'precondition_failed');
  await events.delete(7, { ifMatch: etagOf(written) });

  const sent = service.arrived.map(({ headers }) => [headers['if-match'], headers['if-none-match']]);
  const [none, b] = [undefined, '"b"'];
  assert.deepEqual(sent, [
    [none, none],
    ['"a"', none],
    [none, b],
    [none, b],
    ['"a"', none],
    [b, none],
  ]);
  for (const untagged of [{ ...read }, {}]) assert.throws(() => etagOf(untagged), TypeError);
  await assert.rejects(events.get(7, { known: { ...read } }), TypeError);
});

test('a redirect is never followed, so the key is not leaked', async () => {
  await using elsewhere = await startServer(json(200, { data: { event_id: '1' } }));
  for (const status of [301, 302, 303, 307, 308]) {
    await using service = await startServer((response) =>
      response.writeHead(status, { location: `${elsewhere.url}/v2/events/1` }).end(),
    );
    const error = await errorOf(service.client().events.get(1));
    assert.deepEqual([error.code, error.status], ['unexpected_answer', status]);
    assert.ok(
      error.message.endsWith(`redirects are not followed; the service redirects to ${elsewhere.url}/v2/events/1`),
    );
    assert.equal(service.arrived.length, 1);
  }
  assert.equal(elsewhere.arrived.length, 0);
});

test('an unreachable or disconnecting peer is a connection error that never contains the key', async () => {
  const gone = await startServer(silent);
  const client = gone.client();
  await gone[Symbol.asyncDispose]();
  const refused = await errorOf(client.events.get(1));
  assert.deepEqual([refused.code, refused.status], ['connection', 0]);
  assert.match(refused.message, /^GET http:\/\/127\.0\.0\.1:\d+\/v2\/events\/1: .*ECONNREFUSED/);
  assert.ok(refused.cause instanceof Error);

  await using service = await startServer((response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
    response.write('{"data"', () => response.destroy());
  });
  const half = await errorOf(service.client().events.get(1));
  assert.equal(half.code, 'connection');
  assert.doesNotMatch(inspect([client, refused, half], { depth: 9, showHidden: true }), /k-1/);
});

test('a call that takes longer than its timeout ends, also in the middle of a body', async () => {
  const hanging: RequestScript = (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{"data":');
  };
  await using service = await startServer(silent, hanging, json(200, { data: { event_id: '1' } }), silent);
  const { events } = service.client({ timeoutMs: 20 });
  for (const line of ['silent', 'hanging']) {
    const error = await errorOf(events.get(1));
    assert.deepEqual([error.code, error.status], ['timeout', 0], line);
  }
  assert.equal((await events.get(1, { timeoutMs: 0 })).event_id, '1');
  const short = await errorOf(service.client().events.get(1, { timeoutMs: 20, signal: undefined }));
  assert.equal(short.code, 'timeout');
});

test('a timeout beyond the timer limit is clamped, and does not fire immediately', async () => {
  await using service = await startServer(json(200, { data: { event_id: '1' } }));
  for (const timeoutMs of [2 ** 31, Number.POSITIVE_INFINITY]) {
    assert.equal((await service.client({ timeoutMs }).events.get(1)).event_id, '1', String(timeoutMs));
  }
});

test('an aborted call rejects with the reason of its signal', async () => {
  const controller = new AbortController();
  const reason = new Error('enough');
  await using service = await startServer(() => controller.abort(reason));
  const { events } = service.client();
  await assert.rejects(events.get(1, { signal: controller.signal }), (error) => error === reason);
  await assert.rejects(events.list({}, { signal: controller.signal }), (error) => error === reason);
  assert.equal(service.arrived.length, 1); // the second call was aborted before it began
});

test('the base URL may have a trailing slash or a path, and the base path may differ', async () => {
  await using service = await startServer(json(200, { data: { user_id: '1' } }));
  const { url } = service;
  const cases: [Partial<CarillonOptions>, string][] = [
    [{ baseUrl: `${url}/` }, '/v2/user'],
    [{ baseUrl: `${url}/calendar` }, '/calendar/v2/user'],
    [{ baseUrl: new URL(`${url}/a/b/`) }, '/a/b/v2/user'],
    [{ basePath: '/console/api' }, '/console/api/user'],
    [{ baseUrl: `${url}/a/`, basePath: 'api/' }, '/a/api/user'],
  ];
  for (const [options, path] of cases) {
    await service.client(options).user.get();
    assert.equal(service.arrived.at(-1)?.line, `GET ${path}`);
  }
  for (const baseUrl of [
    'calendar.example',
    'ftp://a.example',
    'http://u:p@a.example',
    'http://a.example/?x',
    'http://a.example/#x',
  ]) {
    assert.throws(() => new Carillon({ baseUrl, auth }), { name: 'TypeError', message: /^baseUrl/ }, baseUrl);
  }
});

test('an id cannot change the path', async () => {
  await using service = await startServer(json(200, []));
  const { events } = service.client();
  for (const id of ['', '.', '..']) await assert.rejects(events.delete(id), TypeError, id);
  assert.equal(service.arrived.length, 0);
  await events.delete('../hooks/1?x#y');
  assert.equal(service.arrived[0]?.line, 'DELETE /v2/events/..%2Fhooks%2F1%3Fx%23y');
});

test('authentication and fetch can be replaced', async () => {
  await using service = await startServer(json(200, { data: { user_id: '1' } }));
  const seen: (string | undefined)[] = [];
  let asked = 0;
  const carillon = service.client({
    auth: () => ({ headers: { 'x-session': String(++asked) }, credentials: 'same-origin' }),
    fetch: (url, init) => {
      seen.push(init.credentials, init.redirect);
      return fetch(url, init);
    },
  });
  await carillon.user.get();
  await carillon.user.get();
  assert.deepEqual(
    service.arrived.map(({ headers }) => headers['x-session']),
    ['1', '2'],
  );
  assert.equal(service.arrived[0]?.headers.key, undefined);
  assert.deepEqual(seen, ['same-origin', 'manual', 'same-origin', 'manual']);
});

test('a key that is not a valid header is rejected without being displayed', () => {
  assert.deepEqual(apiKey({ domain: ' acme.test', key: 'k-1\n' })(), {
    headers: { domain: 'acme.test', key: 'k-1' },
    credentials: 'omit',
  });
  for (const key of ['', ' ', 'k\n1', 'schlüssel', 'k 1']) {
    assert.throws(() => apiKey({ domain: 'acme.test', key }), { name: 'TypeError', message: /^The key is empty or/ });
  }
  assert.throws(() => apiKey({ domain: 'ac me', key: 'k' }), { name: 'TypeError', message: /^The domain/ });
});

test('X4 X5 an idempotency key or ETag that is not a valid header is rejected by name, without a request or a retry', async () => {
  await using service = await startServer(json(201, { data: { client_id: '1' } }));
  const { clients } = service.client({ retries: 2 });
  for (const idempotencyKey of ['', 'größe', '日本', 'a\nb', 'a b']) {
    const call = clients.create({ client_name: 'ACME' }, { idempotencyKey });
    await assert.rejects(call, { name: 'TypeError', message: /^The idempotencyKey is/ }, idempotencyKey);
  }
  await assert.rejects(clients.delete(1, { ifMatch: '"é\n"' }), { name: 'TypeError', message: /^The ifMatch is/ });
  assert.equal(service.arrived.length, 0);
});

test('C16 a notified record is fetched at its URL, and the key is sent nowhere else', async () => {
  await using elsewhere = await startServer(json(200, { data: {} }));
  await using service = await startServer(json(200, { data: { task_id: '9' } }));
  const carillon = service.client({ baseUrl: `${service.url}/calendar` });
  const root = `${service.url}/calendar/v2`;
  assert.deepEqual(await carillon.fetchNotifiedRecord(`${root}/tasks/9`), {
    resourceType: 'tasks',
    record: { task_id: '9' },
  });
  for (const resourceType of ['events', 'clients', 'projects', 'subtasks', 'hooks']) {
    assert.equal((await carillon.fetchNotifiedRecord(`${root}/${resourceType}/3`)).resourceType, resourceType);
    assert.equal(service.arrived.at(-1)?.line, `GET /calendar/v2/${resourceType}/3`);
  }
  const before = service.arrived.length;
  const others = [
    `${elsewhere.url}/calendar/v2/tasks/9`,
    `${service.url}/v2/tasks/9`,
    `${service.url}.evil.example/calendar/v2/tasks/9`,
    `${root}/tasks/9?x=1`,
    `${root}/tasks/9/more`,
    `${root}/tasks/`,
    `${root}-tasks/9`,
    `${root}/tasks/../company`,
    `${root}/keys/9`,
    `${root}/constructor/9`,
    root.replace('http://', 'http://u:p@'),
    '/calendar/v2/tasks/9',
    'tasks/9',
  ];
  for (const other of others) await assert.rejects(carillon.fetchNotifiedRecord(other), TypeError, other);
  assert.equal(service.arrived.length, before);
  assert.equal(elsewhere.arrived.length, 0);
});
