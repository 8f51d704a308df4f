import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, type TestContext, test } from 'node:test';
import zapier, { type Bundle, type ZObject } from 'zapier-platform-core';
import { apiKey, Carillon } from '../../../packages/sdk/src/index.ts';
import { occurrenceKinds } from '../../../src/delivery/outbox/event-kinds.ts';
import { eventually } from '../../../test/kit/eventually.ts';
import { type ReceivedNotification, startTarget } from '../../../test/kit/network/target.ts';
import { createMemberKey, startService } from '../../service.ts';
import app from '../dist/index.js';

const service = await startService({ after }, { CARILLON_RETRY_WAITS: '1ms,1ms' });
const target = await startTarget({ after });
const authData = { baseUrl: `${service.baseUrl}/`, domain: service.domain, apiKey: service.key };

type Rows = Record<string, unknown>[];
type Perform<T> = (z: ZObject, bundle: Bundle) => T;

// Runs a method of the app in Zapier's own handler, with Zapier's HTTP client and all middleware.
const tester = zapier.createAppTester(app);
const run = <T = Rows>(perform: unknown, bundle: object = {}): Promise<Awaited<T>> =>
  tester(perform as Perform<T>, { authData, ...bundle }) as Promise<Awaited<T>>;

type Operation = Record<'perform' | 'performList' | 'performSubscribe' | 'performUnsubscribe', unknown> & {
  readonly inputFields: readonly unknown[];
};
const operation = (of: 'triggers' | 'creates' | 'searches', name: string): Operation => {
  const found: Record<string, { operation: object }> = app[of];
  return found[name]?.operation as Operation;
};
const hookOf = (kind: string, targetUrl: string, inputData: object = {}) =>
  run<{ id: string }>(operation('triggers', kind).performSubscribe, { targetUrl, inputData });
/** The kinds that have a trigger. */
const kinds = occurrenceKinds.filter((kind) => /_(event|client|project|task|subtask)$/.test(kind));
const launch = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };

test("the app is valid by Zapier's own rules", async () => {
  const handler: (event: object) => Promise<{ results: unknown }> = Reflect.get(zapier, 'createAppHandler')(app);
  assert.deepEqual((await handler({ command: 'validate' })).results, []);
});

test('the key is tested, and a wrong one makes Zapier ask the user to reconnect', async () => {
  const user = await run<{ email: string }>(app.authentication?.test);
  assert.match(user.email, /@/);
  const wrong = { authData: { ...authData, apiKey: 'wrong' } };
  await assert.rejects(run(app.authentication?.test, wrong), { name: 'ExpiredAuthError' });
  const nowhere = { authData: { ...authData, baseUrl: 'ftp://calendar.example' } };
  await assert.rejects(run(app.authentication?.test, nowhere), /The base URL is an http or https address/);
});

test('X14 each kind has a trigger; its hook is deleted when the Zap is turned off', async () => {
  const offered = Object.keys(app.triggers ?? {}).filter((key) => !key.startsWith('list_'));
  assert.deepEqual(offered.sort(), [...kinds].sort());
  for (const kind of kinds) {
    const { id } = await hookOf(kind, target.urlOf(`/${kind}`));
    const hook = await service.carillon.hooks.get(id);
    const { events, scope, target_url, state } = hook;
    assert.deepEqual([events, scope, target_url, state], [[kind], 'own', target.urlOf(`/${kind}`), 'live']);
    await run(operation('triggers', kind).performUnsubscribe, { subscribeData: { id } });
    assert.equal((await service.carillon.hooks.get(id)).ended_reason, 'deleted');
  }
});

test('X14 a Zap can report a project or the whole account; the project is an input of the scope project only', async () => {
  const { project_id } = await service.carillon.projects.create({ project_name: 'Bells' });
  const other = await service.carillon.projects.create({ project_name: 'Towers' });
  const ofProject = { scope: 'project', project_id };
  for (const inputData of [ofProject, { scope: 'account' }]) {
    const { id } = await hookOf('changed_task', target.urlOf('/scoped'), inputData);
    const hook = await service.carillon.hooks.get(id);
    assert.deepEqual([hook.scope, hook.project_id], [inputData.scope, Reflect.get(inputData, 'project_id') ?? '0']);
    assert.equal((await hookOf('changed_task', target.urlOf('/scoped'), inputData)).id, id);
    for (const otherInput of [{}, { ...ofProject, project_id: other.project_id }])
      await assert.rejects(hookOf('changed_task', target.urlOf('/scoped'), otherInput), /Another hook has this target/);
    await service.carillon.hooks.delete(id);
  }
  for (const id of [project_id, other.project_id]) await service.carillon.projects.delete(id);
  const member = { ...authData, apiKey: await createMemberKey(service) };
  const theirs = { authData: member, targetUrl: target.urlOf('/scoped'), inputData: { scope: 'account' } };
  await assert.rejects(run(operation('triggers', 'new_event').performSubscribe, theirs), /Only hooks of admins/);

  const inputsOf = async (kind: string, inputData: object) => {
    const [scope, project] = operation('triggers', kind).inputFields;
    const { choices } = scope as { choices: object };
    return [Object.keys(choices), (await run(project, { inputData })).map(({ key }) => key)];
  };
  const scopes = ['own', 'project', 'account'];
  assert.deepEqual(await inputsOf('new_task', ofProject), [scopes, ['project_id']]);
  assert.deepEqual(await inputsOf('new_task', { scope: 'own' }), [scopes, []]);
  assert.deepEqual(await inputsOf('new_client', {}), [['own', 'account'], []]);
});

/** A notification as Zapier passes it on: it puts `Http-` before the names of most headers. */
const notifiedOf = ({ body, headers }: ReceivedNotification) => ({
  cleanedRequest: JSON.parse(body),
  rawRequest: {
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.startsWith('content') ? name : `Http-${name}`, value]),
    ),
  },
});

test('X14 what another user does arrives with a distinct id for each change; of a deleted record, with its id', async () => {
  const auth = apiKey({ domain: service.domain, key: await createMemberKey(service) });
  const { events } = new Carillon({ baseUrl: service.baseUrl, auth });
  const inputData = { scope: 'account' };
  const hooks = [];
  for (const kind of ['changed_event', 'deleted_event'])
    hooks.push(await hookOf(kind, target.urlOf(`/${kind}`), inputData));
  const arrivalAt = async (kind: string, index: number) => {
    const listArrivals = () => target.received.filter(({ path }) => path === `/${kind}`);
    const arrival = (await eventually(listArrivals, ({ length }) => length > index))[index];
    assert.ok(arrival);
    return arrival;
  };
  const event = await events.create(launch);
  const { perform, performList } = operation('triggers', 'changed_event');
  const items = [];
  for (const [index, change] of [{ event_name: 'Landing' }, { due_date: '20270103' }].entries()) {
    const changed = await events.update(event.event_id, change);
    const arrival = await arrivalAt('changed_event', index);
    const id = `${event.event_id}-${arrival.headers['webhook-cursor']}`;
    const item = await run(perform, { inputData, ...notifiedOf(arrival) });
    assert.deepEqual(item, [{ ...changed, id, changed_fields: Object.keys(change) }]);
    items.push(...item);
  }
  const examples = await run(performList, { inputData });
  assert.deepEqual(
    examples.map(({ id }) => id),
    items.map(({ id }) => id).reverse(),
    'the newest example is first',
  );
  assert.deepEqual(examples[0], items[1]);

  const { perform: performDeletion, performList: listDeletions } = operation('triggers', 'deleted_event');
  await events.delete(event.event_id);
  const deletion = await arrivalAt('deleted_event', 0);
  const resource_url = `${service.baseUrl}/v2/events/${event.event_id}`;
  const deleted = [{ id: event.event_id, event_id: event.event_id, resource_url }];
  assert.deepEqual(await run(performDeletion, { inputData, ...notifiedOf(deletion) }), deleted);
  assert.deepEqual(await run(listDeletions, { inputData }), deleted);
  assert.deepEqual(await run(listDeletions), [], 'an example of the own scope is not of another user');
  assert.deepEqual(await run(perform, { inputData, ...notifiedOf(deletion) }), []);
  const { event_id } = await events.create(launch);
  const untrue = { cleanedRequest: { resource_url: `${service.baseUrl}/v2/events/${event_id}` } };
  assert.deepEqual(await run(performDeletion, untrue), []);
  for (const { id } of hooks) await service.carillon.hooks.delete(id);
});

test('a created record arrives as fetched; a hook test and a deleted record trigger nothing', async () => {
  const { performUnsubscribe, perform } = operation('triggers', 'new_event');
  const { id } = await hookOf('new_event', target.urlOf('/zap'));
  const count = target.received.length;
  const event = await service.carillon.events.create(launch);
  const { body } = (await target.waitForArrivals(count + 1))[count] ?? { body: '{}' };
  const notified = { cleanedRequest: JSON.parse(body) };
  assert.deepEqual(await run(perform, notified), [{ id: event.event_id, ...event }]);
  await service.carillon.events.delete(event.event_id);
  assert.deepEqual(await run(perform, notified), []);

  await service.carillon.hooks.test(id);
  const tested = (await target.waitForArrivals(count + 2))[count + 1]?.body ?? '{}';
  assert.deepEqual(await run(perform, { cleanedRequest: JSON.parse(tested) }), []);
  await run(performUnsubscribe, { subscribeData: { id } });
});

test('an address of another service is rejected, redirects are not followed, and the key is not sent elsewhere', async (t) => {
  const seen: string[] = [];
  const foreign = createServer((request, response) => {
    seen.push(request.url ?? '');
    response.writeHead(302, { location: '/elsewhere' }).end();
  }).listen(0, '127.0.0.1');
  t.after(() => foreign.close().closeAllConnections());
  await new Promise((resolve) => foreign.once('listening', resolve));
  const url = `http://127.0.0.1:${(foreign.address() as AddressInfo).port}`;
  const { perform } = operation('triggers', 'new_event');
  for (const resource_url of [
    `${url}/v2/events/1`,
    `${service.baseUrl}@${url.slice(7)}/v2/events/1`,
    `${service.baseUrl}/v2/events/../keys/1`,
    `${service.baseUrl}/v2/clients/1`,
    undefined,
  ]) {
    await assert.rejects(
      run(perform, { cleanedRequest: { resource_url } }),
      /not the address of a record of type event/,
    );
  }
  await assert.rejects(
    run((z: ZObject) => z.request(`${url}/v2/events/1`)),
    /not an address of the service/,
  );
  assert.deepEqual(seen, []);
  const moved = { authData: { ...authData, baseUrl: url }, cleanedRequest: { resource_url: `${url}/v2/events/1` } };
  await assert.rejects(run(perform, moved), /The service answered 302/);
  assert.deepEqual(seen, ['/v2/events/1']);
});

test('C12 a repeated subscription keeps its hook; a target of another user is rejected', async () => {
  const { id } = await hookOf('new_task', target.urlOf('/twice'));
  assert.equal((await hookOf('new_task', target.urlOf('/twice'))).id, id);
  await assert.rejects(hookOf('new_client', target.urlOf('/twice')), /Another hook has this target_url/);
  const member = { ...authData, apiKey: await createMemberKey(service) };
  const theirs = { authData: member, targetUrl: target.urlOf('/twice') };
  await assert.rejects(run(operation('triggers', 'new_event').performSubscribe, theirs), /Another hook has/);
  await service.carillon.hooks.delete(id);
});

/** Starts a service that answers as a function of the path and the query says. */
async function startScripted(
  t: TestContext,
  respond: (url: URL, method: string) => readonly [status: number, body: object, headers?: Record<string, string>],
) {
  const asked: string[] = [];
  const server = createServer(({ url: address = '/', method = '' }, response) => {
    asked.push(address);
    const url = new URL(address, 'http://service');
    const [status, body, headers = {}] = respond(url, method);
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close().closeAllConnections());
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { asked, baseUrl, authData: { ...authData, baseUrl } };
}

test('X2 the examples are the newest of a long feed, also if they are few or the feed begins in between', async (t) => {
  const feed = { last: 25_000, oldest: 1, places: [] as readonly number[] };
  const scripted = await startScripted(t, ({ pathname, searchParams }) => {
    if (pathname.startsWith('/v2/events/')) return [200, { data: { event_id: pathname.slice(11) } }];
    const after = searchParams.get('after');
    if (after === 'latest') return [200, { data: [], next: String(feed.last) }];
    if (after !== null && Number(after) < feed.oldest - 1) return [410, { code: 'cursor_gone', message: '' }];
    const data = feed.places
      .filter((place) => place > Number(after ?? 0))
      .slice(0, Number(searchParams.get('limit')))
      .map((place) => ({ cursor: String(place), fields: [], resource_url: `${scripted.baseUrl}/v2/events/${place}` }));
    return [200, { data, next: String(feed.last) }];
  });
  const list = async (last: number, oldest: number, places: readonly number[]) => {
    Object.assign(feed, { last, oldest, places });
    scripted.asked.length = 0;
    const examples = await run(operation('triggers', 'changed_event').performList, { authData: scripted.authData });
    return examples.map(({ event_id }) => Number(event_id));
  };
  const every = (step: number) => Array.from({ length: 25_000 / step }, (_, index) => (index + 1) * step);
  assert.deepEqual(await list(25_000, 1, every(1)), [25_000, 24_999, 24_998]);
  assert.deepEqual(await list(25_000, 1, every(5)), [25_000, 24_995, 24_990]);
  assert.deepEqual(await list(25_000, 1, [3, 22_500, 23_100, 23_200, 23_300]), [23_300, 23_200, 23_100]);
  assert.deepEqual(await list(25_000, 1, [3]), [], 'only the last 10,000 are searched');
  assert.ok(scripted.asked.length <= 11, String(scripted.asked.length));
  assert.deepEqual(await list(25_000, 24_400, [24_400, 24_401]), [24_401, 24_400]);
  assert.deepEqual(await list(25_000, 23_500, [23_600, 24_400]), [24_400, 23_600]);
  assert.deepEqual(await list(1_500, 1, [1, 2, 1_200]), [1_200, 2, 1]);
  assert.deepEqual(await list(2, 1, [1, 2]), [2, 1]);
  assert.deepEqual(await list(0, 1, []), []);
});

test('C12 a repeated subscription finds its hook on any page, and no ended one', async (t) => {
  const hook = { events: ['new_task'], scope: 'own', project_id: '0', target_url: target.urlOf('/paged') };
  const hooks = Array.from({ length: 3 }, (_, index) => ({
    ...hook,
    id: String(index),
    target_url: target.urlOf('/x'),
  }));
  const scripted = await startScripted(t, ({ searchParams }, method) => {
    if (method === 'POST') return [409, { code: 'target_taken', message: 'Another hook has this target_url.' }];
    const [state, after] = ['state', 'after'].map((name) => searchParams.get(name));
    if (state === 'live') return [200, { data: hooks }];
    if (state !== 'failing') return [200, { data: [{ ...hook, id: 'ended' }] }];
    if (after === '9') return [200, { data: [{ ...hook, id: '10' }] }];
    const link = { link: `<${scripted.baseUrl}/v2/hooks?after=9>; rel="next"` };
    return [200, { data: hooks }, link];
  });
  const { performSubscribe } = operation('triggers', 'new_task');
  const found = await run<{ id: string }>(performSubscribe, {
    authData: scripted.authData,
    targetUrl: hook.target_url,
    inputData: {},
  });
  assert.equal(found.id, '10');
});

test('unsubscribing from an ended or unknown hook is no error', async () => {
  const { performUnsubscribe } = operation('triggers', 'new_event');
  const { id } = await hookOf('new_event', target.urlOf('/ending'));
  target.setReplies(401);
  await service.carillon.events.create(launch);
  await eventually(
    () => service.carillon.hooks.get(id),
    ({ ended_reason }) => ended_reason === 'answered_401',
  );
  target.setReplies(200);
  await run(performUnsubscribe, { subscribeData: { id } });
  await run(performUnsubscribe, { subscribeData: { id: '999999' } });
});

test('records are created, changed, completed and found; dates are not converted between zones', async () => {
  const create = (name: string, inputData: object) =>
    run<Record<string, unknown>>(operation('creates', name).perform, { inputData });
  const find = (name: string, inputData: object) => run(operation('searches', name).perform, { inputData });
  const client = await create('create_client', { client_name: 'Acme' });
  const project = await create('create_project', { project_name: 'Release', client_id: client.id, important: true });
  const task = await create('create_task', {
    project_id: project.id,
    task_name: 'Write',
    due_date: '2027-01-02T09:30:00+02:00',
    users: ['1'],
  });
  assert.deepEqual([task.due_date, task.project_name], ['2027-01-02 09:30:00', 'Release']);
  const subtask = await create('create_subtask', { task_id: task.id, subtask_name: 'Proofread' });
  await create('update_task', { task_id: task.id, task_name: 'Rewrite' });
  assert.equal((await create('complete_task', { task_id: task.id })).completed, '1');
  const event = await create('create_event', { ...launch, start_date: '2027-02-01', due_date: '20270202' });
  assert.deepEqual(await find('find_event', { start_from: '2027-02-01T00:00:00Z', start_to: '2027-02-01' }), [event]);
  assert.deepEqual(
    (await find('find_task', { task_id: task.id })).map((one) => one.task_name),
    ['Rewrite'],
  );
  assert.deepEqual(
    (await find('find_client', { client_name: 'acm' })).map(({ id }) => id),
    [client.id],
  );
  assert.deepEqual(await find('find_subtask', { subtask_id: '999999' }), []);

  const examples = await run(operation('triggers', 'completed_subtask').performList);
  assert.deepEqual(
    examples.map(({ id }) => id),
    [subtask.id],
  );
  const choices = await run(operation('triggers', 'list_project').perform, { meta: { page: 0 } });
  assert.deepEqual(
    choices.map(({ id, project_name }) => [id, project_name]),
    [[project.id, 'Release']],
  );
  await assert.rejects(create('create_event', { event_name: 'No days' }), /start_date: .*; due_date: /);
});

test('C7 a page of choices is complete, even if the service ends a page early because its records are long', async () => {
  const before = (await service.carillon.clients.list({ limit: 1 })).paging.total_records;
  const long = '€'.repeat(20_000);
  for (let n = 0; n < 105; n += 1) {
    const { client_id } = await service.carillon.clients.create({ client_name: `Long ${n}`, notes: long });
    await service.carillon.clients.update(client_id, { background: long });
  }
  assert.ok((await service.carillon.clients.list({ limit: 100 })).data.length < 100);
  const { perform } = operation('triggers', 'list_client');
  const pages = [];
  for (const page of [0, 1, 2]) pages.push(await run(perform, { meta: { page } }));
  assert.deepEqual(
    pages.map(({ length }) => length),
    [100, before + 5, 0],
  );
  assert.equal(new Set(pages.flat().map(({ id }) => id)).size, before + 105);
});
