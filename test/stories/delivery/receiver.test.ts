import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, type TestContext, test } from 'node:test';
import { serve as serveFetch } from '@hono/node-server';
import express from 'express';
import { fastify } from 'fastify';
import { Hono } from 'hono';
import { apiKey, Carillon } from '../../../packages/sdk/src/index.ts';
import type { FeedEntry } from '../../../packages/sdk/src/notifications.ts';
import {
  createReceiver,
  memoryState,
  type Receiver,
  type ReceiverOptions,
} from '../../../packages/sdk/src/receiver/index.ts';
import { reconcileHooks, targetUrlOf } from '../../../packages/sdk/src/receiver/manage-hooks.ts';
import { atEnd } from '../../kit/cleanup.ts';
import { eventually } from '../../kit/eventually.ts';
import { findFreePort } from '../../kit/network/port.ts';
import { prepareReceiver } from '../../kit/service/receiver.ts';
import { type ApiUser, createTemporaryFolder } from '../../kit/service/service.ts';
import { everyStore, sqlite } from '../../kit/service/stores.ts';

const event = (event_name: string) => ({ event_name, start_date: '20270101', due_date: '20270101' });

const eventNames = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, index) => `E${first + index}`);

async function createEvents({ carillon }: ApiUser, wanted: readonly string[]): Promise<void> {
  for (const name of wanted) await carillon.events.create(event(name));
}

const hooksOf = async ({ carillon }: ApiUser) => (await carillon.hooks.list()).data;

/** Timeout for the start of a process, which is slow on a busy machine. */
const START_TIMEOUT_MS = 20_000;

const isSubscribed = (who: ApiUser) =>
  eventually(
    () => hooksOf(who),
    ([hook]) => hook?.state === 'live',
    START_TIMEOUT_MS,
  );

const isDelivered = async ({ carillon }: ApiUser) =>
  (await carillon.deliveries.list({ state: 'pending' })).data.length === 0;

for (const { test, testService } of everyStore) {
  const carillon = await testService({ after }, { options: { retryWaits: '20ms,40ms' } });
  const slowRetryService = await testService({ after }, { options: { retryWaits: '1h,2h' } });

  test('X1 X2 a receiver that was down until its hook ended gets everything, once and in order', async (t) => {
    const owner = await carillon.createAccount('away.test');
    const receiver = await prepareReceiver(t, {
      folder: createTemporaryFolder(t),
      baseUrl: carillon.baseUrl,
      user: owner,
    });
    receiver.start();
    await isSubscribed(owner);
    await createEvents(owner, eventNames(1, 3));
    await eventually(receiver.readWrittenNames, (written) => written.length === 3);
    await eventually(() => isDelivered(owner), Boolean);

    await receiver.kill();
    await createEvents(owner, eventNames(4, 8));
    const [gone] = (await owner.carillon.events.list()).data.filter(({ event_name }) => event_name === 'E6');
    await owner.carillon.events.delete(gone?.event_id ?? '');
    await eventually(
      () => hooksOf(owner),
      ([hook]) => hook?.state === 'ended',
    );
    await createEvents(owner, eventNames(9, 20));

    const startedAt = performance.now();
    receiver.start();
    const wanted = eventNames(1, 20).filter((name) => name !== 'E6');
    await eventually(receiver.readWrittenNames, (written) => written.length >= wanted.length, START_TIMEOUT_MS);
    t.diagnostic(`caught up ${Math.round(performance.now() - startedAt)} ms after its process was started`);
    await isSubscribed(owner);
    await eventually(() => isDelivered(owner), Boolean);
    assert.deepEqual(receiver.readWrittenNames(), wanted);
    const [hook, ...more] = await hooksOf(owner);
    assert.deepEqual([hook?.state, more.length, hook?.event], ['live', 0, 'new_event']);
    assert.deepEqual(receiver.stderrChunks, []);
  });

  test('X2 C20 a receiver that is killed repeatedly while it works loses nothing and keeps the order', async (t) => {
    const owner = await carillon.createAccount('killed.test');
    const receiver = await prepareReceiver(t, {
      folder: createTemporaryFolder(t),
      baseUrl: carillon.baseUrl,
      user: owner,
    });
    receiver.start();
    await isSubscribed(owner);
    const wanted = eventNames(1, 120);
    const making = createEvents(owner, wanted);
    const KILLS = [10, 35, 60];
    for (const count of KILLS) {
      await eventually(receiver.readWrittenNames, (written) => written.length >= count, START_TIMEOUT_MS);
      await receiver.kill();
      receiver.start();
    }
    await making;
    await eventually(receiver.readWrittenNames, (written) => written.at(-1) === 'E120', START_TIMEOUT_MS);
    const written = receiver.readWrittenNames();
    assert.deepEqual([...new Set(written)], wanted);
    const again = written.length - wanted.length;
    assert.ok(again <= KILLS.length, `${again} repetitions in ${KILLS.length} kills`);
    await eventually(() => isDelivered(owner), Boolean, 10_000);
  });

  /** Prepares a receiver in this process that can be stopped and started at the same address. */
  async function restartableReceiver(t: TestContext, who: ApiUser, receiverOptions: Partial<ReceiverOptions>) {
    const port = await findFreePort();
    const at = `http://127.0.0.1:${port}/bell-d41d`;
    const { baseUrl } = receiverOptions.baseUrl === undefined ? carillon : { baseUrl: receiverOptions.baseUrl };
    const called: string[] = [];
    const on = async () => {
      const receiver = createReceiver({
        ...{ domain: who.domain, key: who.key, at, baseUrl },
        on: { new_event: ({ event_name }) => called.push(event_name) },
        ...receiverOptions,
      });
      const server = createServer(receiver.node);
      await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
      const off = async () => {
        await receiver.stop();
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      };
      atEnd(t, () => (server.listening ? off() : undefined));
      return { receiver, off };
    };
    return { called, on, at };
  }

  test('X1 a hook that waits for an hour is delivered immediately when its receiver is back', async (t) => {
    const owner = await slowRetryService.createAccount('waiting.test');
    const { called, on } = await restartableReceiver(t, owner, {
      baseUrl: slowRetryService.baseUrl,
      state: memoryState(),
    });
    const first = await on();
    await first.receiver.start();
    await first.off();
    await createEvents(owner, eventNames(1, 5));
    await eventually(
      () => hooksOf(owner),
      ([hook]) => hook?.state === 'failing',
    );
    const second = await on();
    await second.receiver.start();
    assert.deepEqual(called, eventNames(1, 5));
    await eventually(() => isDelivered(owner), Boolean);
    const [hook] = await hooksOf(owner);
    assert.deepEqual([hook?.state, hook?.failures], ['live', '0']);
    assert.deepEqual(called, eventNames(1, 5));
  });

  test('X1 X2 without a stored cursor a receiver begins with the deliveries that were not answered with 200', async (t) => {
    const owner = await carillon.createAccount('forgetful.test');
    const member = await carillon.createUser(owner, 'member');
    await createEvents(owner, ['before there was a hook']);
    const { called, on } = await restartableReceiver(t, owner, {});
    const first = await on();
    await first.receiver.start();
    await createEvents(owner, eventNames(1, 3));
    await createEvents(member, ['of somebody else']);
    await eventually(() => isDelivered(owner), Boolean);
    await first.off();
    await createEvents(owner, eventNames(4, 6));
    await eventually(
      () => hooksOf(owner),
      ([hook]) => hook?.state === 'ended',
    );
    await createEvents(owner, eventNames(7, 8));
    const second = await on();
    await second.receiver.start();
    assert.deepEqual(called, eventNames(1, 8));
    await createEvents(owner, ['E9']);
    await eventually(() => isDelivered(owner), Boolean);
    assert.deepEqual(called, eventNames(1, 9));
  });

  test('X1 X11 without a stored cursor a receiver does not repeat earlier changes of a record with a pending change', async (t) => {
    const owner = await carillon.createAccount('recurring.test');
    const cursors: string[] = [];
    const { on } = await restartableReceiver(t, owner, {
      on: { changed_event: (_, { cursor }) => cursors.push(cursor) },
    });
    const first = await on();
    await first.receiver.start();
    const { event_id } = await owner.carillon.events.create(event('E'));
    const change = (event_name: string) => owner.carillon.events.update(event_id, { event_name });
    for (const name of eventNames(1, 3)) await change(name);
    await eventually(() => isDelivered(owner), Boolean);
    const handled = cursors.splice(0);
    await first.off();
    await change('E4');
    await eventually(
      () => hooksOf(owner),
      ([hook]) => hook?.state === 'ended',
    );
    await change('E5');
    const second = await on();
    await second.receiver.start();
    assert.deepEqual(
      [...handled, ...cursors].map((cursor) => Number(cursor) - Number(handled[0])),
      [0, 1, 2, 3, 4],
    );
  });

  test('X11 X13 a receiver whose project is gone rejects its start and names the project, although its hook is live', async (t) => {
    const owner = await carillon.createAccount('gone-project.test');
    const { key: limitedKey } = await owner.carillon.keys.create({
      label: 'limited',
      permissions: ['hooks:read', 'hooks:write', 'events:read'],
    });
    const [kept, gone] = await Promise.all(
      ['kept', 'gone'].map((project_name) => owner.carillon.projects.create({ project_name })),
    );
    const projectId = gone?.project_id ?? '';
    const { on, at } = await restartableReceiver(t, owner, { scope: 'project', projectId, state: memoryState() });
    const first = await on();
    await first.receiver.start();
    await first.off();
    await owner.carillon.projects.delete(projectId);
    const named = { code: 'not_found', message: new RegExp(`^Project ${projectId} does not exist`) };
    const second = await on();
    await assert.rejects(second.receiver.start(), named);
    await second.off();
    assert.equal((await hooksOf(owner))[0]?.state, 'live');
    // A key that may not read projects learns it when the hook has to be changed.
    const [hook] = await hooksOf(owner);
    await owner.carillon.hooks.update(hook?.id ?? '', { scope: 'project', project_id: kept?.project_id });
    const settings = {
      carillon: new Carillon({ baseUrl: carillon.baseUrl, auth: apiKey({ domain: owner.domain, key: limitedKey }) }),
      receiverUrl: at,
      subscription: { kinds: ['new_event'], scope: 'project', projectId },
      signal: new AbortController().signal,
    } as const;
    await assert.rejects(reconcileHooks(settings, true), named);
    await reconcileHooks(settings, false);
  });

  test('C33 X1 X11 one hook reports all kinds that have no hook of an earlier version, each occurrence is handled once', async (t) => {
    const owner = await carillon.createAccount('kinds.test');
    const handled: string[] = [];
    const { on, at } = await restartableReceiver(t, owner, {
      on: {
        new_task: ({ task_name }, { kind }) => handled.push(`${kind} ${task_name}`),
        completed_task: ({ task_name, completed }, { kind }) => handled.push(`${kind} ${task_name} ${completed}`),
        new_client: async ({ client_name }, context) => {
          const { user_id } = await context.carillon.user.get();
          handled.push(`${client_name} of ${user_id === context.userId ? 'mine' : 'others'}`);
        },
      },
    });
    const earlier = { target_url: targetUrlOf(at, 'new_client'), event: 'new_client' } as const;
    await owner.carillon.hooks.create(earlier);
    const { receiver } = await on();
    await receiver.start();
    const { tasks, projects, clients } = owner.carillon;
    const { project_id } = await projects.create({ project_name: 'P' });
    await clients.create({ client_name: 'ACME' });
    const made = await Promise.all(eventNames(1, 20).map((task_name) => tasks.create(project_id, { task_name })));
    await Promise.all(made.map(({ task_id }) => tasks.complete(task_id)));
    await eventually(() => isDelivered(owner), Boolean);
    const wanted = eventNames(1, 20).flatMap((name) => [`new_task ${name}`, `completed_task ${name} 1`]);
    assert.deepEqual(handled.toSorted(), ['ACME of mine', ...wanted].sort());
    assert.equal((await owner.carillon.deliveries.list({ state: 'delivered' })).paging.total_records, 41);
    const live = async () =>
      (await hooksOf(owner))
        .filter(({ state }) => state !== 'ended')
        .map(({ target_url, events }) => [target_url, events.toSorted().join()]);
    assert.deepEqual(await live(), [
      [earlier.target_url, 'new_client'],
      [at, 'completed_task,new_task'],
    ]);

    // The feed omits kinds that the key may not read. The receiver must not move its cursor past omitted occurrences,
    // and must report the reason.
    const narrowKey = await carillon.createKey(owner, { permissions: ['hooks:read', 'hooks:write', 'events:read'] });
    const state = memoryState();
    await state.save((await owner.carillon.notifications.list()).next);
    const before = await state.load();
    const options = {
      ...{ baseUrl: carillon.baseUrl, domain: owner.domain, key: narrowKey.key },
      state,
      onError: () => undefined,
    };
    const restricted = createReceiver({
      ...options,
      on: { new_event: () => handled.push('E'), new_task: () => handled.push('T') },
    });
    const { task_id } = await tasks.create(project_id, { task_name: 'unseen' });
    const body = JSON.stringify({ resource_url: `${carillon.baseUrl}/v2/tasks/${task_id}` });
    const notification = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
    assert.equal((await restricted.fetch(new Request('http://here/', notification))).status, 503);
    await assert.rejects(restricted.start(), { code: 'not_permitted' });
    assert.equal(await state.load(), before);
    await restricted.stop();

    // A deleted hook stays deleted until the application starts again.
    for (const { id } of await hooksOf(owner)) await owner.carillon.hooks.delete(id);
    const { signal } = new AbortController();
    const kinds = ['new_task', 'completed_task', 'new_client'] as const;
    const subscription = { kinds, scope: 'own', projectId: undefined } as const;
    await reconcileHooks({ carillon: owner.carillon, receiverUrl: at, subscription, signal }, false);
    assert.deepEqual(await live(), []);
    await receiver.start();
    assert.deepEqual(await live(), [[at, 'completed_task,new_client,new_task']]);
  });

  test('X11 X14 one receiver follows a whole account through a restart: the feed in order, each entry once', async (t) => {
    const owner = await carillon.createAccount('whole.test');
    const member = await carillon.createUser(owner, 'member');
    const handled: string[] = [];
    const { on, at } = await restartableReceiver(t, owner, {
      scope: 'account',
      state: memoryState(),
      on: {
        changed_task: ({ task_id }, { kind, cursor, fields, projectId, previousProjectId }) =>
          handled.push(`${cursor} ${kind} ${task_id} ${fields} ${projectId} ${previousProjectId}`),
        '*': (record, { kind, cursor, userId }) => handled.push(`${cursor} ${kind} by ${userId}: ${typeof record}`),
      },
    });
    /** Creates, changes, moves, completes and reopens records as member and as owner. Returns a function that deletes them. */
    const work = async () => {
      const { projects, tasks, comments, timeEntries } = member.carillon;
      const { project_id } = await projects.create({ project_name: 'P' });
      const other = await owner.carillon.projects.create({ project_name: 'Q' });
      const { task_id } = await tasks.create(project_id, { task_name: 'T' });
      await timeEntries.create(task_id, { seconds: 60 });
      await comments.create(project_id, { task_id, comment: 'C' });
      await tasks.update(task_id, { notes: 'N', progress: 7 });
      await tasks.complete(task_id);
      await tasks.resume(task_id);
      await owner.carillon.tasks.update(task_id, { project_id: other.project_id });
      const { team_id } = await owner.carillon.teams.create({ team_name: 'All', users: [member.userId] });
      return async () => {
        await owner.carillon.teams.delete(team_id);
        await owner.carillon.projects.delete(other.project_id);
      };
    };
    const readEnd = async () => Number((await owner.carillon.notifications.list({ after: 'latest' })).next);

    const first = await on();
    await first.receiver.start();
    const startedAt = await readEnd();
    const removeFirst = await work();
    await eventually(() => isDelivered(owner), Boolean);
    await removeFirst();
    await eventually(() => isDelivered(owner), Boolean);
    await first.off();
    const stoppedAt = await readEnd();
    const removeSecond = await work();
    await removeSecond();
    await eventually(
      () => hooksOf(owner),
      ([hook]) => hook?.state === 'ended',
    );
    await work();
    const restartedAt = await readEnd();
    const second = await on();
    await second.receiver.start();
    await work();
    await eventually(() => isDelivered(owner), Boolean);

    const feed = (await owner.carillon.notifications.list({ scope: 'account', after: String(startedAt) })).data;
    const isDeletion = ({ kind }: FeedEntry) => kind.startsWith('deleted_');
    // Records that were deleted while the receiver was down cannot be fetched: only their deletion is handled.
    const missed = feed.filter(({ cursor }) => Number(cursor) > stoppedAt && Number(cursor) <= restartedAt);
    const gone = new Set(missed.filter(isDeletion).map(({ resource_url }) => resource_url));
    const isHandled = (entry: FeedEntry) =>
      isDeletion(entry) || !missed.includes(entry) || !gone.has(entry.resource_url);
    const wanted = feed.filter(isHandled).map((entry) => {
      const { cursor, kind, resource_url, user_id, fields, project_id, previous_project_id } = entry;
      return kind === 'changed_task'
        ? `${cursor} ${kind} ${resource_url.split('/').at(-1)} ${fields} ${project_id} ${previous_project_id}`
        : `${cursor} ${kind} by ${user_id}: ${isDeletion(entry) ? 'undefined' : 'object'}`;
    });
    assert.ok(gone.size > 4 && wanted.length > 40, `${gone.size} gone, ${wanted.length} handled`);
    assert.deepEqual(handled, wanted);
    const [hook, ...more] = await hooksOf(owner);
    assert.deepEqual([hook?.target_url, hook?.events, hook?.scope, more.length], [at, ['*'], 'account', 0]);
  });
}

const PATH = '/bell-d7c1';

/** Starts a server with the receiver on a free port, and returns the port. */
type StartServer = (receiver: Receiver, t: TestContext) => Promise<number>;

function portOf(server: Pick<Server, 'address'>): number {
  return (server.address() as AddressInfo).port;
}

async function listenOn(t: TestContext, server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(t, () => {
    server.closeAllConnections();
    server.close();
  });
  return portOf(server);
}

function listenFetchStyle(t: TestContext, fetch: (request: Request) => Response | Promise<Response>): Promise<number> {
  return new Promise((resolve) => {
    const server = serveFetch({ fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => resolve(port));
    atEnd(t, () => server.close());
  });
}

/** Web frameworks with a receiver, as in the examples of docs/receiving.md. */
const receiverServers: Readonly<Record<string, StartServer>> = {
  'node:http': ({ node }, t) => listenOn(t, createServer(node)),
  Express: ({ node }, t) => listenOn(t, createServer(express().post(PATH, node))),
  'Express behind express.json()': ({ node }, t) =>
    listenOn(t, createServer(express().use(express.json()).post(PATH, node))),
  'Express behind express.raw()': ({ node }, t) =>
    listenOn(
      t,
      createServer(
        express()
          .use(express.raw({ type: '*/*' }))
          .post(PATH, node),
      ),
    ),
  Fastify: async (receiver, t) => {
    const app = fastify();
    app.post(PATH, receiver.fastify);
    atEnd(t, () => app.close());
    await app.listen({ port: 0, host: '127.0.0.1' });
    return portOf(app.server);
  },
  Hono: (receiver, t) => listenFetchStyle(t, new Hono().post(PATH, (c) => receiver.fetch(c.req.raw)).fetch),
  'a fetch-style server': ({ fetch }, t) => listenFetchStyle(t, fetch),
};

const carillon = await sqlite.testService({ after }, { options: { retryWaits: '20ms,40ms' } });

/** Invalid requests, and the status that every framework must return. */
const invalidRequests: readonly (readonly [status: number, mediaType: string, body: string])[] = [
  [415, 'text/plain', `{"resource_url":"${carillon.baseUrl}/v2/events/1"}`],
  [400, 'application/json', '{"resource_url":"http://127.0.0.1:9/v2/events/1"}'],
  [400, 'application/json', '["resource_url"]'],
  [413, 'application/json', `{"resource_url":"${carillon.baseUrl}/v2/events/1","more":"${'x'.repeat(5_000)}"}`],
];

for (const [name, listen] of Object.entries(receiverServers)) {
  test(`C15 C17 a receiver handles a notification, again after a failure, and ignores invalid requests: ${name}`, async (t) => {
    const owner = await carillon.createAccount(`${name.replace(/\W+/g, '-').toLowerCase()}.test`);
    const { events, hooks, deliveries } = owner.carillon;
    const called: string[] = [];
    const errors: unknown[] = [];
    const failing = ['Launch'];
    const receiver = createReceiver({
      ...{ baseUrl: carillon.baseUrl, domain: owner.domain, key: owner.key },
      on: {
        new_event: ({ event_name }) => {
          called.push(event_name);
          if (failing.shift() === event_name) throw new Error('not now');
        },
      },
      onError: (error, context) => errors.push([error instanceof Error && error.message, context?.kind]),
    });
    const target_url = `http://127.0.0.1:${await listen(receiver, t)}${PATH}`;
    for (const [status, mediaType, body] of invalidRequests) {
      const response = await fetch(target_url, { method: 'POST', headers: { 'content-type': mediaType }, body });
      assert.equal(response.status, status, body.slice(0, 60));
    }
    assert.deepEqual(called, []);
    errors.length = 0;
    const { id } = await hooks.create({ target_url, event: 'new_event' });
    await hooks.test(id);
    await events.create(event('Launch'));
    const { data } = await eventually(
      () => deliveries.list({ hook_id: id, state: 'delivered' }),
      ({ paging }) => paging.total_records === 2,
    );
    const outcomes = await Promise.all(data.map(async (one) => (await deliveries.get(one.id)).attempts));
    assert.deepEqual(
      outcomes.map((attempts) => attempts.map(({ outcome }) => outcome)),
      [['200'], ['503', '200']],
    );
    assert.deepEqual(called, ['Launch', 'Launch']);
    assert.deepEqual(errors, [['not now', 'new_event']]);
    await receiver.stop();
  });
}
