import assert from 'node:assert/strict';
import { once } from 'node:events';
import * as files from 'node:fs/promises';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { eventually } from '../../../../test/kit/eventually.ts';
import { createTemporaryFolder } from '../../../../test/kit/service/service.ts';
import type { FeedKind } from '../api-types.ts';
import type { Hook } from '../hooks.ts';
import { apiKey, Carillon } from '../index.ts';
import { fieldOf } from '../response-body.ts';
import { findInitialCursor, type Subscription } from './feed-pages.ts';
import { createReceiver, fileState, memoryState, type ReceiverOptions } from './index.ts';
import { reconcileHooks, targetUrlOf } from './manage-hooks.ts';
import type { OccurrenceContext } from './occurrence-handlers.ts';

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

const ownScope = (...kinds: readonly FeedKind[]) => ({ kinds, scope: 'own', projectId: undefined }) as const;

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
    `${baseUrl}/v2/company`,
    `${baseUrl}/v2/events`,
    `${baseUrl}/v2/events/../1`,
    `${baseUrl}/v2/events/`,
    `${baseUrl}/v2/events/1/`,
    `${baseUrl}/v2/events/1?to=${stranger}`,
    `${baseUrl}/v2/events/1#2`,
    `${baseUrl}/v2/events/%31`,
    `${baseUrl}/v2/events%2f1`,
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
  for (const path of ['invoices/1', 'constructor/1', 'keys/1', 'hooks/1/../../keys/1', 'hooks/1/%2e%2e/%2e%2e/keys/1'])
    assert.equal(await post(`${baseUrl}/v2/${path}`), 200, path);
  assert.deepEqual(asked, [], 'a test of a hook is answered by itself, and a type of a later version is skipped');
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
    [/on\.changed_hook/, { on: { changed_hook: () => undefined } }],
    [/scope/, { scope: 'team' }],
    [/projectId/, { projectId: 7 }],
    [/projectId/, { scope: 'account', projectId: '7' }],
    [/projectId/, { scope: 'project' }],
    [/projectId/, { scope: 'project', projectId: '0' }],
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
      { carillon, receiverUrl: at, subscription: ownScope('new_event'), signal: new AbortController().signal },
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
  const own = { carillon, receiverUrl: at, subscription: ownScope(...kinds), signal: new AbortController().signal };
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

/** Starts a service with these feed entries, whose records exist unless their id is 404. Returns all requests. */
async function startFeed(
  t: TestContext,
  entries: readonly (readonly [kind: string, path: string, fields?: string[]])[],
) {
  const { baseUrl, scripts } = await startService(t);
  const requests: string[] = [];
  const data = entries.map(([kind, path, fields], index) => {
    const rest = fields === undefined ? {} : { fields, project_id: '5', previous_project_id: '6' };
    return {
      cursor: String(index + 1),
      kind,
      resource_url: `${baseUrl}/v2${path}`,
      occurred_at: '',
      user_id: '2',
      ...rest,
    };
  });
  scripts.answer = (path, response, request) => {
    requests.push(`${request.method} ${String(request.url).replace('/v2', '')}`);
    if (path.endsWith('/404') || path.endsWith('/0')) return problemScript(404, 'not_found')(path, response, request);
    if (path !== '/v2/notifications') return json(response, 200, { data: { path: path.replace('/v2', '') } });
    const after = Number(new URL(baseUrl + request.url).searchParams.get('after'));
    return json(response, 200, { data: data.slice(after), next: String(data.length) });
  };
  return { baseUrl, requests };
}

test('X11 X14 a handler gets the changed fields; * gets all other kinds, also unknown ones; a deletion has no record', async (t) => {
  const { baseUrl, requests } = await startFeed(t, [
    ['changed_task', '/tasks/1', ['notes', 'progress']],
    ['changed_task', '/tasks/404', ['notes']],
    ['deleted_task', '/tasks/404', []],
    ['task_due', '/tasks/3'],
    ['new_time_entry', '/time_entries/4'],
    ['changed_user', '/users/5'],
    ['constructor', '/teams/6'],
  ]);
  const handled: unknown[] = [];
  const take = (record: unknown, { kind, fields, projectId, previousProjectId }: OccurrenceContext) =>
    void handled.push([
      kind,
      record === undefined ? 'none' : fieldOf(record, 'path'),
      ...fields,
      projectId,
      previousProjectId,
    ]);
  const { ring, errors } = await startReceiver(t, baseUrl, {
    on: {
      changed_task: take,
      deleted_task: take,
      '*': (record, context) => take(record, { ...context, fields: ['*'] }),
    },
  });
  assert.equal(await ring(), 200);
  assert.deepEqual(
    [handled, errors],
    [
      [
        ['changed_task', '/tasks/1', 'notes', 'progress', '5', '6'],
        ['deleted_task', 'none', '5', '6'],
        ['task_due', '/tasks/3', '*', '0', '0'],
        ['new_time_entry', '/time_entries/4', '*', '0', '0'],
        ['changed_user', '/users/5', '*', '0', '0'],
        ['constructor', '/teams/6', '*', '0', '0'],
      ],
      [],
    ],
  );
  // The permission is checked once, and a deleted record is not requested.
  assert.deepEqual(requests, [
    'GET /tasks/0',
    'GET /notifications?limit=1000&after=0',
    ...['GET /tasks/1', 'GET /tasks/404', 'GET /tasks/3', 'GET /time_entries/4', 'GET /users/5', 'GET /teams/6'],
  ]);
});

test('X11 X14 * skips types of records that this version does not know, and the cursor moves past them', async (t) => {
  const { baseUrl, requests } = await startFeed(t, [
    ['new_invoice', '/invoices/1'],
    ['new_task', '/tasks/2'],
    ['deleted_invoice', '/invoices/1', []],
  ]);
  const handled: string[] = [];
  const { post, state, errors } = await startReceiver(t, baseUrl, {
    on: { '*': (_, { resourceUrl }) => handled.push(resourceUrl) },
  });
  assert.equal(await post(`${baseUrl}/v2/invoices/1`), 200);
  assert.equal(await post(`${baseUrl}/v2/tasks/2`), 200);
  assert.deepEqual([handled, errors, await state.load()], [[`${baseUrl}/v2/tasks/2`], [], '3']);
  assert.deepEqual(requests, ['GET /notifications?limit=1000&after=0', 'GET /tasks/2']);
});

test('X14 the feed is read with the scope, the project and the kinds of the receiver', async (t) => {
  const { baseUrl, requests } = await startFeed(t, []);
  const nothing = () => undefined;
  const rows: readonly (readonly [options: Partial<ReceiverOptions>, query: string])[] = [
    [{ on: { new_event: nothing } }, 'kind=new_event&limit=1000&after=0'],
    // Earlier versions of the service reject several kinds.
    [{ on: { new_event: nothing, new_task: nothing } }, 'limit=1000&after=0'],
    [{ on: { deleted_event: nothing, new_task: nothing } }, 'kind=new_task%2Cdeleted_event&limit=1000&after=0'],
    [
      { on: { new_event: nothing, new_task: nothing }, scope: 'account' },
      'kind=new_event%2Cnew_task&scope=account&limit=1000&after=0',
    ],
    [{ on: { '*': nothing, new_task: nothing }, scope: 'account' }, 'scope=account&limit=1000&after=0'],
    [{ on: { '*': nothing }, scope: 'project', projectId: 7 }, 'scope=project&project_id=7&limit=1000&after=0'],
  ];
  for (const [options, query] of rows) {
    const { ring } = await startReceiver(t, baseUrl, options);
    assert.equal(await ring(), 200);
    assert.equal(requests.at(-1), `GET /notifications?${query}`);
  }
});

test('C20 X11 a notification of an occurrence that the feed has confirmed causes no request, another one does', async (t) => {
  const { baseUrl, happened, asked } = await startService(t);
  const { url, called } = await startReceiver(t, baseUrl);
  const send = async (cursor: string, event: string, path = '/events/1') => {
    const headers = { 'content-type': 'application/json', 'webhook-cursor': cursor, 'webhook-event': event };
    const body = JSON.stringify({ resource_url: `${baseUrl}/v2${path}` });
    asked.length = 0;
    const { status } = await fetch(url, { method: 'POST', headers, body });
    return [status, asked.filter((asked) => asked === '/v2/notifications').length];
  };
  happened.push('1', '2');
  // The headers are hints: a receiver that has not handled this entry reads the feed.
  assert.deepEqual(await send('0', 'new_event'), [200, 1]);
  assert.deepEqual(called, ['1', '2']);
  assert.deepEqual(await send('1', 'new_event'), [200, 0]);
  assert.deepEqual(await send('2', 'new_event', '/events/2'), [200, 0]);
  happened.push('3');
  for (const [cursor, event, path] of [
    ['2', 'new_event', '/events/1'],
    ['1', 'changed_event', '/events/1'],
    ['', '', '/events/1'],
  ] as const)
    assert.deepEqual(await send(cursor, event, path), [200, 1], `${cursor} ${event}`);
  assert.deepEqual(await send('3', 'new_event', '/events/3'), [200, 0]);
  assert.deepEqual(called, ['1', '2', '3']);
  assert.deepEqual(await send('1', 'new_event', '/company'), [400, 0]);
});

test('X1 X3 the initial cursor is before the oldest pending delivery, also of services that list no cursors', async (t) => {
  const { baseUrl, scripts, asked } = await startService(t);
  const carillon = new Carillon({ baseUrl, auth: apiKey({ domain: 'acme.test', key: 'k' }) });
  const changed = { kind: 'changed_event', resource_url: `${baseUrl}/v2/events/1` };
  const created = { kind: 'new_event', resource_url: `${baseUrl}/v2/events/2` };
  const feed = [changed, changed, created, changed, changed].map((entry, index) => ({
    ...entry,
    cursor: `${index + 1}`,
  }));
  const find = (deliveries: readonly object[]) => {
    scripts.answer = (path, response, request) => {
      const isLatest = new URL(baseUrl + request.url).searchParams.get('after') === 'latest';
      if (path === '/v2/notifications') return json(response, 200, { data: isLatest ? [] : feed, next: '5' });
      const paging = { offset: 0, limit: 1_000, total_records: deliveries.length };
      return json(response, 200, { paging, data: deliveries.map((one, index) => ({ id: String(index + 1), ...one })) });
    };
    asked.length = 0;
    const { signal } = new AbortController();
    const hooks = [{ id: '1', state: 'live' } as Hook];
    return findInitialCursor({ carillon, hooks, subscription: ownScope('changed_event', 'new_event'), signal });
  };
  const pending = ({ kind: event, ...rest }: typeof changed, cursor?: string) => ({ event, ...rest, cursor });
  const testDelivery = { event: 'test', resource_url: `${baseUrl}/v2/hooks/1` };
  assert.equal(await find([pending(changed, '5'), pending(changed, '4')]), '3');
  assert.equal(asked.filter((path) => path === '/v2/notifications').length, 1, 'the feed is not searched');
  assert.equal(await find([pending(changed, '7')]), '5', 'not after the end that was read first');
  assert.equal(await find([{ ...testDelivery, cursor: '0' }, pending(changed, '5')]), '4');
  assert.equal(await find([{ ...testDelivery, cursor: '0' }]), '5');
  assert.equal(await find([testDelivery, pending(created)]), '2');
  assert.equal(await find([testDelivery]), '5');
});

/** Reconciles the hooks of a service, and returns the requests that change something, with their bodies. */
async function reconcile(
  t: TestContext,
  hooks: readonly Partial<Hook>[],
  subscription: Subscription,
  options: {
    readonly createsMissingHooks?: boolean;
    readonly isOldService?: boolean;
    readonly refusedField?: string;
  } = {},
) {
  const { baseUrl, scripts } = await startService(t);
  const changes: unknown[] = [];
  scripts.answer = async (path, response, request) => {
    const paging = { offset: 0, limit: 1_000, total_records: hooks.length };
    if (path.startsWith('/v2/projects/')) return json(response, 200, { data: {} });
    if (request.method === 'GET') return json(response, 200, { paging, data: hooks });
    const text = (await request.toArray()).join('');
    const body = text === '' ? [] : [JSON.parse(text)];
    changes.push([`${request.method} ${path.replace('/v2', '')}`, ...body]);
    if (options.isOldService && body[0]?.event === undefined)
      return json(response, 400, {
        code: 'invalid_input',
        message: '',
        errors: [{ field: options.refusedField ?? 'event', message: 'is required' }],
      });
    return json(response, 200, { id: '9', data: { id: '9' } });
  };
  const carillon = new Carillon({ baseUrl, auth: apiKey({ domain: 'acme.test', key: 'k' }) });
  const { signal } = new AbortController();
  const settings = { carillon, receiverUrl: bell, subscription, signal };
  const failure = await reconcileHooks(settings, options.createsMissingHooks ?? true).catch((error) => error);
  return failure === undefined ? changes : [...changes, failure.code];
}

const bell = 'https://acme.test/bell';
const wholeAccount: Subscription = { kinds: ['new_task', 'deleted_task'], scope: 'account', projectId: undefined };
const hookAt = (target_url: string, rest: Partial<Hook>): Partial<Hook> => ({
  ...{ id: '1', event: '', state: 'live', enabled: '1', scope: 'own', project_id: '0', target_url, ...rest },
});

test('X11 a receiver creates one hook with its kinds and its scope', async (t) => {
  const row = async (subscription: Subscription, body: object) =>
    assert.deepEqual(await reconcile(t, [], subscription), [['POST /hooks', { target_url: bell, ...body }]]);
  await row(wholeAccount, { events: ['new_task', 'deleted_task'], scope: 'account' });
  await row(
    { kinds: ['*', 'new_task'], scope: 'project', projectId: '7' },
    { events: ['*'], scope: 'project', project_id: '7' },
  );
  await row(ownScope('new_task'), { events: ['new_task'], scope: 'own' });
  assert.deepEqual(await reconcile(t, [], ownScope()), []);
  assert.deepEqual(await reconcile(t, [], wholeAccount, { createsMissingHooks: false }), []);
});

test('X13 a hook that reports something else is changed at the start only; a disabled one is not tested', async (t) => {
  const body = { events: ['new_task', 'deleted_task'], scope: 'account' };
  const same = hookAt(bell, { events: ['deleted_task', 'new_task'], scope: 'account' });
  assert.deepEqual(await reconcile(t, [same], wholeAccount), []);
  for (const other of [{ events: ['new_task'] }, { scope: 'own' }, { project_id: '7' }] as const) {
    assert.deepEqual(await reconcile(t, [{ ...same, ...other }], wholeAccount), [['PUT /hooks/1', body]]);
    assert.deepEqual(await reconcile(t, [{ ...same, ...other }], wholeAccount, { createsMissingHooks: false }), []);
  }
  const ended = { ...same, state: 'ended', ended_reason: 'answered_401', events: ['*'] } as const;
  assert.deepEqual(await reconcile(t, [ended], wholeAccount), [['POST /hooks/1/restore'], ['PUT /hooks/1', body]]);
  assert.deepEqual(await reconcile(t, [{ ...same, state: 'failing' }], wholeAccount), [['POST /hooks/1/test']]);
  assert.deepEqual(await reconcile(t, [{ ...same, state: 'failing', enabled: '0' }], wholeAccount), []);
});

test('X11 hooks of an earlier version stay in use, with scope own only', async (t) => {
  const earlier = hookAt(targetUrlOf(bell, 'new_task'), { event: 'new_task', events: ['new_task'], state: 'failing' });
  const own = ownScope('new_task', 'new_event');
  const test = ['POST /hooks/1/test'];
  assert.deepEqual(await reconcile(t, [earlier], own), [
    test,
    ['POST /hooks', { target_url: bell, events: ['new_event'], scope: 'own' }],
  ]);
  assert.deepEqual(await reconcile(t, [earlier], ownScope('new_task')), [test]);
  const account = { target_url: bell, events: own.kinds, scope: 'account' };
  assert.deepEqual(await reconcile(t, [earlier], { ...own, scope: 'account' }), [['POST /hooks', account]]);
});

test('X11 on an earlier version of the service, a receiver creates a hook for each of the seven kinds', async (t) => {
  const kinds = ['new_task', 'new_event'] as const;
  const refused = ['POST /hooks', { target_url: bell, events: kinds, scope: 'own' }];
  assert.deepEqual(await reconcile(t, [], ownScope(...kinds), { isOldService: true }), [
    refused,
    ...kinds.map((event) => ['POST /hooks', { target_url: targetUrlOf(bell, event), event }]),
  ]);
  const impossible = [wholeAccount, ownScope('new_task', 'deleted_task')];
  for (const subscription of impossible) {
    const changes = await reconcile(t, [], subscription, { isOldService: true });
    assert.deepEqual([changes.length, changes.at(-1)], [2, 'invalid_input']);
  }
  const forbidden = { isOldService: true, refusedField: 'target_url' };
  assert.deepEqual(await reconcile(t, [], ownScope(...kinds), forbidden), [refused, 'invalid_input']);
});
