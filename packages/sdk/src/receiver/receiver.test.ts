import assert from 'node:assert/strict';
import { once } from 'node:events';
import * as files from 'node:fs/promises';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { eventually } from '../../../../test/kit/eventually.ts';
import { createTemporaryFolder } from '../../../../test/kit/service/service.ts';
import { apiKey, Carillon } from '../index.ts';
import { createReceiver, fileState, memoryState, type ReceiverOptions } from './index.ts';
import { reconcileHooks, targetUrlOf } from './manage-hooks.ts';

/** Responds to a request of the receiver to the service. */
type ServiceScript = (path: string, response: ServerResponse, request: IncomingMessage) => void;

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': `application/${status < 400 ? '' : 'problem+'}json` });
  response.end(JSON.stringify(body));
}

const problemScript =
  (status: number, code: string): ServiceScript =>
  (_, response) =>
    json(response, status, { code, message: code });

async function listening(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Starts a service with an empty feed and no hooks. A script may replace its responses. */
async function startService(t: TestContext) {
  const asked: string[] = [];
  const happened: string[] = [];
  const scripts: { answer: ServiceScript | undefined } = { answer: undefined };
  const baseUrl = await listening(t, (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://service');
    asked.push(pathname);
    if (scripts.answer !== undefined) return scripts.answer(pathname, response, request);
    if (pathname === '/v2/notifications') {
      const after = Number(searchParams.get('after') ?? 0);
      const data = happened.map((id, index) => ({
        cursor: String(index + 1),
        kind: 'new_event',
        resource_url: `${baseUrl}/v2/events/${id}`,
        occurred_at: '2027-01-01 12:00:00',
        user_id: '1',
      }));
      return json(response, 200, { data: data.slice(after), next: String(Math.max(after, data.length)) });
    }
    const id = /^\/v2\/events\/(\d+)$/.exec(pathname)?.[1];
    if (id !== undefined) return json(response, 200, { data: { event_id: id } });
    return json(response, 200, { paging: { offset: 0, limit: 1_000, total_records: 0 }, data: [] });
  });
  return { baseUrl, asked, happened, scripts };
}

/** Starts a receiver for a service, with the cursor at the beginning of the feed. */
async function startReceiver(t: TestContext, baseUrl: string, options: Partial<ReceiverOptions> = {}) {
  const called: string[] = [];
  const errors: string[] = [];
  const state = memoryState();
  await state.save('0');
  const receiver = createReceiver({
    ...{ baseUrl, domain: 'acme.test', key: 'k', state, everyMs: 0 },
    on: { new_event: ({ event_id }) => called.push(event_id) },
    onError: (error) => void errors.push(error instanceof Error ? error.message : String(error)),
    ...options,
  });
  t.after(() => receiver.stop());
  const url = await listening(t, receiver.node);
  const post = async (resourceUrl: unknown, id = 'd-1') => {
    const headers = { 'content-type': 'application/json', 'webhook-id': id };
    const body = JSON.stringify({ resource_url: resourceUrl });
    return (await fetch(url, { method: 'POST', headers, body })).status;
  };
  return { receiver, state, called, errors, url, post, ring: (id?: string) => post(`${baseUrl}/v2/events/1`, id) };
}

test('C15 a resource_url that is not a record of the service causes no request to anyone', async (t) => {
  const { baseUrl, asked } = await startService(t);
  const strangers: string[] = [];
  const stranger = await listening(t, ({ url = '' }, response) => {
    strangers.push(url);
    response.end();
  });
  const { post, url } = await startReceiver(t, baseUrl);
  const { host } = new URL(baseUrl);
  const foreign = [
    `${stranger}/v2/events/1`,
    `http://${host}@${new URL(stranger).host}/v2/events/1`,
    `${baseUrl}.example/v2/events/1`,
    `https://${host}/v2/events/1`,
    `//${host}/v2/events/1`,
    '/v2/events/1',
    `${baseUrl}/v2x/events/1`,
    `${baseUrl}/v2/users/1`,
    `${baseUrl}/v2/keys/1`,
    `${baseUrl}/v2/events`,
    `${baseUrl}/v2/events/`,
    `${baseUrl}/v2/events/1/`,
    `${baseUrl}/v2/events/1?to=${stranger}`,
    `${baseUrl}/v2/events/1#2`,
    `${baseUrl}/v2/events/%31`,
    `${baseUrl}/v2/events%2f1`,
    `${baseUrl}/v2/hooks/1/../../keys/1`,
    `${baseUrl}/v2/hooks/1/%2e%2e/%2e%2e/keys/1`,
    '',
    null,
    7,
    { href: `${baseUrl}/v2/events/1` },
  ];
  for (const resourceUrl of foreign) assert.equal(await post(resourceUrl), 400, String(resourceUrl));
  const sent = (init: RequestInit) => fetch(url, init).then(({ status }) => status);
  const headers = { 'content-type': 'application/json' };
  for (const body of ['', '{', 'null', '[]', '"x"']) assert.equal(await sent({ method: 'POST', headers, body }), 400);
  assert.equal(await sent({ method: 'POST', body: '{}' }), 415);
  for (const method of ['GET', 'PUT', 'DELETE', 'OPTIONS']) assert.equal(await sent({ method }), 405);
  assert.deepEqual([asked, strangers], [[], []]);
  assert.equal(await post(`${baseUrl}/v2/hooks/3`), 200);
  assert.deepEqual(asked, [], 'a test of a hook is answered by itself');
});

test('C15 a redirect of the service is not followed: 503, and the key is not sent elsewhere', async (t) => {
  const { baseUrl, happened, scripts } = await startService(t);
  const strangers: string[] = [];
  const stranger = await listening(t, ({ headers }, response) => {
    strangers.push(String(headers.key));
    response.end();
  });
  const { ring, called, errors } = await startReceiver(t, baseUrl, { timeoutMs: 2_000 });
  happened.push('1');
  scripts.answer = (path, response) => response.writeHead(302, { location: stranger + path }).end();
  assert.equal(await ring(), 503);
  assert.deepEqual([strangers, called], [[], []]);
  assert.equal(errors.length, 1);
  scripts.answer = undefined;
  assert.equal(await ring(), 200);
  assert.deepEqual(called, ['1']);
});

/** Sends bytes, and returns everything that is received until the connection is closed. */
async function sendRaw(url: string, text: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  let answer = '';
  socket.setEncoding('utf8').on('data', (data: string) => {
    answer += data;
  });
  socket.on('error', () => undefined);
  socket.write(text);
  await once(socket, 'close');
  return answer;
}

test('C21 an endless or missing body is cut off in time', async (t) => {
  const { baseUrl, asked } = await startService(t);
  const { url, errors } = await startReceiver(t, baseUrl, { timeoutMs: 150 });
  const head = 'POST / HTTP/1.1\r\nhost: here\r\ncontent-type: application/json\r\n';
  const silent = await sendRaw(url, `${head}content-length: 50\r\n\r\n{"resource_url"`);
  assert.match(silent, /^HTTP\/1\.1 503 .*\r\nretry-after: 1\r\n/is);
  const chunk = `400\r\n${'x'.repeat(0x400)}\r\n`;
  assert.match(await sendRaw(url, `${head}transfer-encoding: chunked\r\n\r\n${chunk.repeat(5)}`), /^HTTP\/1\.1 413 /);
  assert.deepEqual([asked, errors], [[], []]);
});

test('C17 never 401: a rejected key, an unavailable service and a throwing handler are all 503', async (t) => {
  const { baseUrl, happened, scripts } = await startService(t);
  const { receiver, ring, errors } = await startReceiver(t, baseUrl, {
    on: {
      new_event: () => {
        throw Object.assign(new Error('401'), { status: 401 });
      },
    },
  });
  happened.push('1');
  assert.equal(await ring(), 503);
  scripts.answer = problemScript(401, 'unauthorized');
  assert.equal(await ring(), 503);
  await assert.rejects(receiver.start(), { code: 'unauthorized' });
  scripts.answer = problemScript(401, 'not_permitted');
  assert.equal(await ring(), 503);
  scripts.answer = problemScript(500, 'internal');
  assert.equal(await ring(), 503);
  assert.deepEqual(errors, ['401', 'unauthorized', 'unauthorized', 'not_permitted', 'internal']);
});

test('C20 two concurrent notifications with one id call the handler once, and both get a response when it is done', async (t) => {
  const { baseUrl, happened, asked } = await startService(t);
  const work = Promise.withResolvers<void>();
  const called: string[] = [];
  const { ring } = await startReceiver(t, baseUrl, {
    on: {
      new_event: ({ event_id }) => {
        called.push(event_id);
        return work.promise;
      },
    },
  });
  happened.push('1');
  const answered: number[] = [];
  const both = ['d-7', 'd-7'].map((id) => ring(id).then((status) => answered.push(status)));
  await eventually(
    () => called.length,
    (count) => count === 1,
  );
  assert.deepEqual(answered, []);
  work.resolve();
  await Promise.all(both);
  assert.deepEqual([answered, called], [[200, 200], ['1']]);
  // The known id gets 200 immediately, and the new occurrence is handled as well.
  happened.push('2');
  asked.length = 0;
  assert.equal(await ring('d-7'), 200);
  await eventually(
    () => called,
    (ids) => ids.length === 2,
  );
  assert.deepEqual(called, ['1', '2']);
});

test('C22 a hundred concurrent notifications cause at most three feed syncs, and each occurrence is handled once', async (t) => {
  const { baseUrl, happened, asked } = await startService(t);
  const { post, called } = await startReceiver(t, baseUrl);
  happened.push(...Array.from({ length: 100 }, (_, index) => String(index + 1)));
  const statuses = await Promise.all(happened.map((id) => post(`${baseUrl}/v2/events/${id}`, `d-${id}`)));
  assert.deepEqual(new Set(statuses), new Set([200]));
  assert.deepEqual(called, happened);
  const looks = asked.filter((path) => path === '/v2/notifications').length;
  assert.ok(looks <= 3, `${looks} looks`);
});

test('C16 an occurrence during a feed sync is handled by the next one, before its notification gets a response', async (t) => {
  const { baseUrl, happened } = await startService(t);
  const work: Readonly<Record<string, PromiseWithResolvers<void>>> = {
    1: Promise.withResolvers(),
    2: Promise.withResolvers(),
  };
  const called: string[] = [];
  const { ring } = await startReceiver(t, baseUrl, {
    on: {
      new_event: ({ event_id }) => {
        called.push(event_id);
        return work[event_id]?.promise;
      },
    },
  });
  const isCalled = (id: string) =>
    eventually(
      () => called,
      (ids) => ids.includes(id),
    );
  happened.push('1');
  const first = ring('d-1');
  await isCalled('1');
  happened.push('2');
  const answered: number[] = [];
  const second = ring('d-2').then((status) => answered.push(status));
  work[1]?.resolve();
  assert.equal(await first, 200);
  await isCalled('2');
  assert.deepEqual(answered, []);
  work[2]?.resolve();
  await second;
  assert.deepEqual([answered, called], [[200], ['1', '2']]);
});

test('X2 a receiver without notifications polls until it is stopped', async (t) => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  const { baseUrl, happened, asked } = await startService(t);
  const { receiver, called } = await startReceiver(t, baseUrl, { everyMs: 10 });
  await receiver.start();
  happened.push('1', '2');
  await eventually(
    () => called.length,
    (count) => count === 2,
  );
  await receiver.stop();
  asked.length = 0;
  await eventually(timers, (count) => count <= before);
  assert.deepEqual([called, asked], [['1', '2'], []]);
});

test('X2 a failed occurrence is retried before later ones, even without a notification', async (t) => {
  const { baseUrl, happened } = await startService(t);
  const called: string[] = [];
  const failing = ['2', '2'];
  const heard: unknown[] = [];
  const { receiver, state, ring } = await startReceiver(t, baseUrl, {
    on: {
      new_event: ({ event_id }) => {
        called.push(event_id);
        if (failing[0] === event_id) throw new Error(`no ${failing.shift()}`);
      },
    },
    onError: (error, context) => heard.push([error instanceof Error && error.message, context?.cursor]),
  });
  happened.push('1', '2', '3');
  assert.equal(await ring(), 503);
  assert.deepEqual([called, await state.load()], [['1', '2'], '1']);
  await receiver.start();
  assert.deepEqual([called, await state.load()], [['1', '2', '2'], '1']);
  await eventually(
    () => called,
    (ids) => ids.at(-1) === '3',
  );
  assert.deepEqual(called, ['1', '2', '2', '2', '3']);
  assert.deepEqual(heard, Array(2).fill(['no 2', '2']));
  assert.equal(await ring(), 200);
  assert.equal(await state.load(), '3');
});

test('C21 work that exceeds the response timeout is postponed with 503, continues, and is done once', async (t) => {
  const { baseUrl, happened } = await startService(t);
  const work = Promise.withResolvers<void>();
  const called: string[] = [];
  const { receiver, ring, state, errors } = await startReceiver(t, baseUrl, {
    timeoutMs: 100,
    on: {
      new_event: async ({ event_id }, { signal }) => {
        called.push(event_id);
        await work.promise;
        called.push(`done, ${signal.aborted ? 'stopped' : 'in peace'}`);
      },
    },
  });
  happened.push('1', '2');
  assert.deepEqual(await Promise.all([ring('a'), ring('b')]), [503, 503]);
  const stopped = receiver.stop();
  work.resolve();
  await stopped;
  // The current handler finishes and its cursor is saved, but no other handler starts.
  assert.deepEqual([called, await state.load()], [['1', 'done, stopped'], '1']);
  assert.equal(await ring('c'), 503);
  assert.equal(called.length, 2);
  assert.deepEqual(
    errors,
    Array(2).fill('A notification was postponed: its occurrence was not handled within 100 ms.'),
  );
  await assert.rejects(receiver.start(), /was stopped/);
});

test('X2 a deleted record is skipped; a gone cursor is reported, and reading continues', async (t) => {
  const { baseUrl, happened, scripts } = await startService(t);
  const gaps: string[] = [];
  const { state, ring, called, errors } = await startReceiver(t, baseUrl, {
    onGap: async ({ code }) => {
      scripts.answer = undefined;
      gaps.push(code);
    },
  });
  assert.equal(await ring('d-0'), 200);
  happened.push('1', '2');
  scripts.answer = (path, response, request) => {
    scripts.answer = path === '/v2/events/1' ? undefined : scripts.answer;
    if (path === '/v2/events/1') return problemScript(404, 'not_found')(path, response, request);
    const entry = (id: number) => ({
      cursor: String(id),
      kind: 'new_event',
      resource_url: `${baseUrl}/v2/events/${id}`,
    });
    return json(response, 200, { data: [entry(1), entry(2)], next: '2' });
  };
  assert.equal(await ring(), 200);
  assert.deepEqual([called, await state.load()], [['2'], '2']);
  scripts.answer = problemScript(410, 'cursor_gone');
  assert.equal(await ring('d-2'), 200);
  assert.deepEqual([gaps, called], [['cursor_gone'], ['2', '1', '2']]);
  assert.deepEqual(errors, []);
});

test('invalid options of a receiver are rejected by name', async (t) => {
  const wrong: readonly (readonly [named: RegExp, options: Record<string, unknown>])[] = [
    [/on\.changed_event/, { on: { changed_event: () => undefined } }],
    [/on\.new_event/, { on: { new_event: 'handler' } }],
    [/baseUrl/, { baseUrl: 'ftp://127.0.0.1' }],
    [/baseUrl/, { baseUrl: '127.0.0.1:8080' }],
    [/baseUrl/, { baseUrl: undefined }],
    [/key/, { key: '' }],
    [/key/, { key: undefined }],
    [/domain/, { domain: undefined }],
    [/"at"/, { at: 'mailto:someone@acme.test' }],
    [/"at"/, { at: '/bell' }],
    [/secret/, { secret: 'guessed' }],
    [/timeoutMs/, { timeoutMs: 0 }],
    [/everyMs/, { everyMs: Number.NaN }],
  ];
  for (const [named, options] of wrong) {
    await assert.rejects(startReceiver(t, 'http://127.0.0.1', options), { name: 'TypeError', message: named });
  }
});

test('a cursor file is written atomically, and an invalid one is rejected', async (t) => {
  const path = join(createTemporaryFolder(t), 'receiver.cursor');
  const state = fileState(files, path);
  assert.equal(await state.load(), undefined);
  for (const cursor of ['7', '8', '12345']) await state.save(cursor);
  assert.equal(await fileState(files, path).load(), '12345');
  await assert.rejects(
    fileState(
      {
        ...files,
        open: async (name, flags) => {
          const file = await files.open(name, flags);
          await file.writeFile('9');
          await file.close();
          throw new Error('the disk is full');
        },
      },
      path,
    ).save('99'),
    /full/,
  );
  assert.equal(await state.load(), '12345');
  await files.writeFile(path, '12x');
  await assert.rejects(state.load(), /contains no cursor/);
  await assert.rejects(fileState(files, createTemporaryFolder(t)).load(), { code: 'EISDIR' });
});

test('processes that share a cursor run one after the other under its lock', async (t) => {
  const { baseUrl, happened } = await startService(t);
  const shared = memoryState();
  await shared.save('0');
  let last: Promise<unknown> = Promise.resolve();
  const withLock = (work: () => Promise<void>) => {
    const mine = last.then(work);
    last = mine.catch(() => undefined);
    return mine;
  };
  const called: string[] = [];
  const options: Partial<ReceiverOptions> = {
    state: { ...shared, withLock },
    on: { new_event: ({ event_id }) => new Promise((resolve) => setImmediate(resolve, called.push(event_id))) },
  };
  const several = await Promise.all(Array.from({ length: 4 }, () => startReceiver(t, baseUrl, options)));
  happened.push('1', '2', '3');
  assert.deepEqual(await Promise.all(several.map(({ ring }) => ring())), [200, 200, 200, 200]);
  assert.deepEqual(called, ['1', '2', '3']);
});

test('C17 a throwing onError changes no response and ends no process', async (t) => {
  const { baseUrl, happened, scripts } = await startService(t);
  const failing: ReceiverOptions['onError'][] = [
    () => {
      throw new Error('onError has thrown');
    },
    async () => Promise.reject(new Error('onError has rejected')),
  ];
  const warned: string[] = [];
  const listen = ({ message }: Error) => void warned.push(message);
  process.on('warning', listen);
  t.after(() => process.off('warning', listen));
  happened.push('1');
  for (const onError of failing) {
    const { ring, post, called } = await startReceiver(t, baseUrl, { onError });
    assert.equal(await post('elsewhere'), 400);
    scripts.answer = problemScript(500, 'internal');
    assert.equal(await ring(), 503);
    scripts.answer = undefined;
    assert.equal(await ring(), 200);
    assert.deepEqual(called, ['1']);
  }
  await eventually(
    () => warned.filter((message) => message.startsWith('onError has')).length,
    (count) => count === 4,
  );
});

test('X2 a failure after a duplicate notification is retried soon, too', async (t) => {
  const { baseUrl, happened } = await startService(t);
  const called: string[] = [];
  const { receiver, ring } = await startReceiver(t, baseUrl, {
    on: {
      new_event: ({ event_id }) => {
        if (called.push(event_id) === 2) throw new Error('not now');
      },
    },
  });
  await receiver.start();
  happened.push('1');
  assert.equal(await ring('d-7'), 200);
  happened.push('2');
  assert.equal(await ring('d-7'), 200);
  await eventually(
    () => called,
    (ids) => ids.length === 3,
  );
  assert.deepEqual(called, ['1', '2', '2']);
});

test('the target of a kind is the unchanged URL with the kind appended to its query', () => {
  const targets = [
    ['https://acme.test/bell', 'https://acme.test/bell?kind=new_task'],
    ['https://acme.test/bell?', 'https://acme.test/bell?kind=new_task'],
    ['https://acme.test/bell?code=a%20b~%2F&flag', 'https://acme.test/bell?code=a%20b~%2F&flag&kind=new_task'],
  ] as const;
  for (const [at, target] of targets) assert.equal(targetUrlOf(at, 'new_task'), target);
});

test('X1 only the reason of the hook that ended last counts: a deleted hook is not restored', async (t) => {
  const { baseUrl, scripts } = await startService(t);
  const at = 'https://acme.test/bell';
  const hook = (id: string, ended_reason: string, date_ended: string) => {
    return {
      id,
      event: 'new_event',
      state: 'ended',
      ended_reason,
      date_ended,
      target_url: targetUrlOf(at, 'new_event'),
    };
  };
  const carillon = new Carillon({ baseUrl, auth: apiKey({ domain: 'acme.test', key: 'k' }) });
  /** Reconciles these hooks, and returns the paths of the POST requests that this causes. */
  async function reconciledPaths(...data: readonly ReturnType<typeof hook>[]): Promise<string[]> {
    const posts: string[] = [];
    scripts.answer = (path, response, { method }) => {
      if (method === 'POST') posts.push(path);
      const paging = { offset: 0, limit: 1_000, total_records: data.length };
      json(response, 200, method === 'POST' ? { data: data[0] } : { paging, data });
    };
    await reconcileHooks(
      { carillon, receiverUrl: at, kinds: ['new_event'], signal: new AbortController().signal },
      false,
    );
    return posts;
  }
  const early = '2027-01-01 00:00:00';
  const late = '2027-01-02 00:00:00';
  assert.deepEqual(await reconciledPaths(hook('1', 'three_failures', early), hook('2', 'deleted', late)), []);
  const restored = await reconciledPaths(hook('1', 'three_failures', late), hook('2', 'deleted', early));
  assert.deepEqual(restored, ['/v2/hooks/1/restore']);
});

test('X1 a hook that cannot be created does not prevent others from being restored', async (t) => {
  const { baseUrl, scripts } = await startService(t);
  const at = 'https://acme.test/bell';
  const kinds = ['new_client', 'new_event'] as const;
  const data = kinds.map((event, id) => {
    return {
      id: String(id),
      event,
      state: 'ended',
      ended_reason: 'three_failures',
      target_url: targetUrlOf(at, event),
    };
  });
  const restored: string[] = [];
  scripts.answer = (path, response, request) => {
    if (path === '/v2/hooks/0/restore') return problemScript(409, 'target_taken')(path, response, request);
    if (request.method === 'POST') restored.push(path);
    const paging = { offset: 0, limit: 1_000, total_records: data.length };
    return json(response, 200, request.method === 'POST' ? { data: data[1] } : { paging, data });
  };
  const carillon = new Carillon({ baseUrl, auth: apiKey({ domain: 'acme.test', key: 'k' }) });
  const own = { carillon, receiverUrl: at, kinds, signal: new AbortController().signal };
  await assert.rejects(reconcileHooks(own, true), { code: 'target_taken' });
  assert.deepEqual(restored, ['/v2/hooks/1/restore']);
});

/** Starts a service that creates the hook of a receiver, and that can be restored to a state without this hook. */
async function startRestorableService(t: TestContext) {
  const { baseUrl, scripts } = await startService(t);
  const at = 'https://acme.test/bell';
  const gaps: string[] = [];
  const hooks: unknown[] = [];
  const state = { isBack: false, listing: async () => {} };
  scripts.answer = async (path, response, request) => {
    if (path === '/v2/events/0') return problemScript(404, 'not_found')(path, response, request);
    if (path === '/v2/notifications') {
      const isGone = state.isBack && request.url?.includes('after=0');
      return isGone
        ? problemScript(410, 'cursor_gone')(path, response, request)
        : json(response, 200, { data: [], next: state.isBack ? '1000' : '0' });
    }
    if (request.method !== 'POST') {
      await state.listing();
      return json(response, 200, { paging: { offset: 0, limit: 1_000, total_records: hooks.length }, data: hooks });
    }
    hooks.push({ id: '1', event: 'new_event', state: 'live', target_url: targetUrlOf(at, 'new_event') });
    return json(response, 201, { id: '1' });
  };
  const made = await startReceiver(t, baseUrl, { at, everyMs: 10, onGap: ({ code }) => gaps.push(code) });
  await made.receiver.start();
  assert.equal(hooks.length, 1);
  return {
    ...{ ...made, state, gaps },
    restoreService() {
      hooks.length = 0;
      state.isBack = true;
    },
    hookIsCreatedAgain: () =>
      eventually(
        () => hooks.length,
        (count) => count === 1,
      ),
  };
}

test('X1 X2 a hook that a restored service has lost is created again without a restart', async (t) => {
  const { gaps, restoreService, hookIsCreatedAgain } = await startRestorableService(t);
  restoreService();
  await hookIsCreatedAgain();
  assert.deepEqual(gaps, ['cursor_gone']);
});

test('X1 X2 a restore that is detected while the hooks are checked is not forgotten', async (t) => {
  const { state, gaps, restoreService, hookIsCreatedAgain, ring } = await startRestorableService(t);
  const goOn = Promise.withResolvers<void>();
  const looking = new Promise<void>((resolve) => {
    state.listing = () => {
      resolve();
      return goOn.promise;
    };
  });
  await looking;
  restoreService();
  await ring();
  assert.deepEqual(gaps, ['cursor_gone']);
  goOn.resolve();
  await hookIsCreatedAgain();
});
