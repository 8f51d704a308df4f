import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { IDataObject } from 'n8n-workflow';
import { apiKey, Carillon, type FeedEntry } from '../../../packages/sdk/src/index.ts';
import { eventually } from '../../../test/kit/eventually.ts';
import { createMemberKey, startService } from '../../service.ts';
import {
  activate,
  type Credentials,
  createHostedNode,
  deactivate,
  type HostedNode,
  loggedWarnings,
  searchList,
  startForeignServer,
  startWebhookHost,
  webhookUrl,
} from './platform.ts';

// Short retry waits, so that hooks end soon.
const service = await startService({ after }, { CARILLON_RETRY_WAITS: '1ms,1ms' });
const host = await startWebhookHost({ after });
const credentials: Credentials = { baseUrl: `${service.baseUrl}/`, domain: service.domain, apiKey: service.key };

/** Creates a workflow that was saved with the first version of the node, which has one event. */
function createWorkflow(kind: string, given: Partial<Credentials> = {}) {
  const made = createHostedNode(
    'carillonTrigger',
    { kind, answer: 'onReceived' },
    { ...credentials, ...given },
    host.url,
  );
  host.add(made);
  return made;
}

/** Creates a workflow with several events and a scope, which the second version of the node has. */
function createTeamWorkflow(parameters: IDataObject, given: Partial<Credentials> = {}) {
  const saved = { answer: 'onReceived', ...parameters };
  const made = createHostedNode('carillonTrigger', saved, { ...credentials, ...given }, host.url, 2);
  host.add(made);
  return made;
}

/** Lists the hooks whose target is the webhook URL of a workflow, newest last. */
async function hooksOf(made: ReturnType<typeof createWorkflow>) {
  const { data } = await service.carillon.hooks.list();
  return data.filter(({ target_url }) => target_url === webhookUrl(made));
}

const launch = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };
const post = (url: string, body: object, headers: Record<string, string> = {}) =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

test('an active workflow has a hook of its kind, gets the record, and leaves no hook behind', async () => {
  const made = createWorkflow('new_event');
  assert.equal(await activate(made), false);
  const [hook] = await hooksOf(made);
  assert.equal(hook?.event, 'new_event');
  assert.equal(hook?.state, 'live');
  assert.equal(await activate(made), true, 'activated again, as at a start of n8n, it is found');
  assert.equal((await hooksOf(made)).length, 1);

  const count = host.webhookResults.length;
  const event = await service.carillon.events.create(launch);
  const { status, items } = (await host.waitForResults(count + 1))[count] ?? {};
  assert.equal(status, 200);
  const resource_url = `${service.baseUrl}/v2/events/${event.event_id}`;
  const { delivery_id, cursor } = items?.[0] ?? {};
  assert.match(`${delivery_id} ${cursor}`, /^\d+ \d+$/);
  const record_id = event.event_id;
  assert.deepEqual(items, [
    { kind: 'new_event', cursor, fields: [], resource_url, record_id, delivery_id, record: event },
  ]);

  await deactivate(made);
  assert.deepEqual(
    (await hooksOf(made)).map(({ state, ended_reason }) => [state, ended_reason]),
    [['ended', 'deleted']],
  );
  await deactivate(made);
});

test('a hook test and a deleted record get 200 and start nothing', async () => {
  const made = createWorkflow('new_client');
  await activate(made);
  const [hook] = await hooksOf(made);
  const count = host.webhookResults.length;
  await service.carillon.hooks.test(hook?.id ?? '');
  const tested = (await host.waitForResults(count + 1))[count];
  assert.deepEqual([tested?.status, tested?.items], [200, []]);
  const gone = await service.carillon.clients.create({ client_name: 'Gone' });
  await host.waitForResults(count + 2);
  await service.carillon.clients.delete(gone.client_id);
  const answer = await post(webhookUrl(made), { resource_url: `${service.baseUrl}/v2/clients/${gone.client_id}` });
  assert.equal(answer.status, 200);
  assert.deepEqual((await host.waitForResults(count + 3))[count + 2]?.items, []);
  await deactivate(made);
});

/** Creates a project, and returns what a member does in it and outside of it, step by step. */
async function createTeam() {
  const { carillon } = service;
  const { project_id } = await carillon.projects.create({ project_name: 'Bells' });
  const apiKeyOfMember = await createMemberKey(service);
  const auth = apiKey({ domain: service.domain, key: apiKeyOfMember });
  const { events } = new Carillon({ baseUrl: service.baseUrl, auth });
  const { next } = await carillon.notifications.list({ after: 'latest', scope: 'account' });
  const ids: string[] = [];
  const steps = [
    async () => ids.push((await events.create({ ...launch, project_id })).event_id),
    async () => ids.push((await events.create(launch)).event_id),
    () => events.update(ids[0] ?? '', { event_name: 'Landing', due_date: '20270103' }),
    () => events.delete(ids[1] ?? ''),
    async () => ids.push((await carillon.users.create({ email: `${project_id}@team.test`, role: 'member' })).user_id),
    () => carillon.users.delete(ids[2] ?? ''),
  ];
  const readFeed = async () => (await carillon.notifications.list({ after: next, scope: 'account' })).data;
  return { project_id, apiKey: apiKeyOfMember, steps, readFeed };
}

type Team = Awaited<ReturnType<typeof createTeam>>;

/**
 * Takes all steps of a team. Waits after each until the workflow has been notified of it. Returns the entries of the
 * feed that `isReported` accepts, and the items by which the workflow was started.
 */
async function follow(made: HostedNode, { steps, readFeed }: Team, isReported: (entry: FeedEntry) => boolean) {
  const { pathname } = new URL(webhookUrl(made));
  const listResults = () => host.webhookResults.filter(({ path }) => path === pathname);
  let entries: readonly FeedEntry[] = [];
  for (const step of steps) {
    await step();
    entries = (await readFeed()).filter(isReported);
    await eventually(listResults, ({ length }) => length >= entries.length);
  }
  const items = listResults().flatMap((result) => result.items);
  return { entries, items: items.sort((one, other) => Number(one.cursor) - Number(other.cursor)) };
}

const placeOf = ({ cursor, kind, resource_url, fields }: FeedEntry | IDataObject) =>
  JSON.stringify([cursor, kind, resource_url, fields]);

test('X14 all events of the account start a workflow like its feed, with the record or the id of a deleted one', async () => {
  const team = await createTeam();
  const made = createTeamWorkflow({ events: ['*', 'new_event'], scope: 'account' });
  await activate(made);
  const [hook] = await hooksOf(made);
  assert.deepEqual([hook?.events, hook?.scope, hook?.project_id], [['*'], 'account', '0']);
  assert.equal(await activate(made), true);
  const { entries, items } = await follow(made, team, () => true);
  assert.deepEqual(items.map(placeOf), entries.map(placeOf));
  assert.deepEqual(
    items.map(({ kind, record }) => [kind, record === null]),
    [
      ['new_event', false],
      ['new_event', false],
      ['changed_event', false],
      ['deleted_event', true],
      ['new_user', false],
      ['deleted_user', true],
    ],
  );
  const [changed, deleted] = items.slice(2);
  assert.deepEqual(changed?.fields, ['event_name', 'due_date']);
  assert.deepEqual(changed?.record, await service.carillon.events.get(String(changed?.record_id)));
  assert.equal(deleted?.resource_url, `${service.baseUrl}/v2/events/${deleted?.record_id}`);
  await deactivate(made);
  const [ended] = await hooksOf(made);
  assert.equal(ended?.ended_reason, 'deleted');
});

test('X14 with the scope of a project, only the selected events in it start a workflow', async () => {
  const team = await createTeam();
  const made = createTeamWorkflow({
    events: ['changed_event', 'new_event'],
    scope: 'project',
    projectId: { __rl: true, mode: 'list', value: team.project_id, cachedResultName: 'Bells' },
  });
  await activate(made);
  const [hook] = await hooksOf(made);
  assert.deepEqual([hook?.scope, hook?.project_id], ['project', team.project_id]);
  made.node.parameters.events = ['new_event', 'changed_event'];
  assert.equal(await activate(made), true, 'the order of the events does not matter');
  const { entries, items } = await follow(made, team, (entry) => entry.project_id === team.project_id);
  assert.deepEqual(items.map(placeOf), entries.map(placeOf));
  assert.deepEqual(
    items.map(({ kind }) => kind),
    ['new_event', 'changed_event'],
  );
  await deactivate(made);
});

test('X13 X14 a changed scope changes the hook; the scope of the account needs an admin; no event is an error', async () => {
  const { apiKey: apiKeyOfMember, project_id } = await createTeam();
  const made = createTeamWorkflow({ events: ['new_event'], scope: 'own' });
  await activate(made);
  const other = await service.carillon.projects.create({ project_name: 'Towers' });
  for (const [scope, value] of [
    ['account', ''],
    ['project', project_id],
    ['project', other.project_id],
  ] as const) {
    made.node.parameters = { ...made.node.parameters, scope, projectId: { __rl: true, mode: 'id', value } };
    assert.equal(await activate(made), false, scope);
  }
  const listHooks = async () => (await hooksOf(made)).map((hook) => [hook.state, hook.scope, hook.project_id]);
  assert.deepEqual(await listHooks(), [['live', 'project', other.project_id]]);
  // A project that is gone is an error, and the hook stays as it is.
  const gone = { __rl: true, mode: 'id', value: '999999' };
  made.node.parameters = { ...made.node.parameters, projectId: gone };
  await assert.rejects(activate(made));
  assert.deepEqual(await listHooks(), [['live', 'project', other.project_id]]);
  await deactivate(made);
  const theirs = createTeamWorkflow({ events: ['new_event'], scope: 'account' }, { apiKey: apiKeyOfMember });
  await assert.rejects(activate(theirs), /Only hooks of admins can have the scope account/);
  const none = createTeamWorkflow({ events: [], scope: 'own' });
  await assert.rejects(activate(none), /Select at least one event/);
  assert.deepEqual([...(await hooksOf(theirs)), ...(await hooksOf(none))], []);
});

test('a notification of an event that is not selected, unknown or untrue gets 200 and starts nothing', async () => {
  const { event_id } = await service.carillon.events.create(launch);
  const made = createTeamWorkflow({ events: ['new_event', 'deleted_event'], scope: 'own' });
  const all = createTeamWorkflow({ events: ['*'], scope: 'own' });
  const resource_url = `${service.baseUrl}/v2/events/${event_id}`;
  for (const [workflow, kind, url] of [
    [made, 'changed_event', resource_url],
    [made, 'deleted_event', resource_url],
    [made, '', resource_url],
    [all, 'new_task', resource_url],
    [all, 'new_invoice', `${service.baseUrl}/v2/invoices/1`],
  ] as const) {
    const count = host.webhookResults.length;
    const { status } = await post(
      webhookUrl(workflow),
      { resource_url: url },
      kind === '' ? {} : { 'webhook-event': kind },
    );
    assert.equal(status, 200, kind);
    assert.deepEqual((await host.waitForResults(count + 1))[count]?.items, [], kind);
  }
});

test('projects are chosen by name from a list, also if the first pages have no match', async () => {
  for (let n = 0; n < 101; n += 1) await service.carillon.projects.create({ project_name: `Tower ${n}` });
  const { project_id } = await service.carillon.projects.create({ project_name: 'Carillon of Bruges' });
  const made = createTeamWorkflow({ events: ['*'], scope: 'project' });
  assert.deepEqual(await searchList(made, 'searchProjects', 'bruGES'), [
    [{ name: 'Carillon of Bruges', value: project_id }],
  ]);
  const pages = await searchList(made, 'searchProjects', '');
  assert.equal(
    new Set(pages.flat().map(({ value }) => value)).size,
    (await service.carillon.projects.list({ limit: 1 })).paging.total_records,
  );
  assert.ok(pages.length > 1);
  assert.deepEqual(await searchList(made, 'searchProjects', 'no such name'), [[]]);
});

test('an address of another service is rejected, and the key is not sent there', async (t) => {
  const foreign = await startForeignServer(t, (response) => response.end('{"data":{}}'));
  const made = createWorkflow('new_event');
  for (const resource_url of [
    `${foreign.url}/v2/events/1`,
    `${service.baseUrl}@${new URL(foreign.url).host}/v2/events/1`,
    `${service.baseUrl}/v2/events/../keys`,
    `${service.baseUrl}/v2/keys/1`,
    undefined,
  ]) {
    const count = host.webhookResults.length;
    assert.equal((await post(webhookUrl(made), { resource_url })).status, 400);
    assert.deepEqual((await host.waitForResults(count + 1))[count]?.items, []);
  }
  assert.equal(foreign.seen.length, 0);
});

test('no redirect is followed: the key stays with the base URL', async (t) => {
  const foreign = await startForeignServer(t, (response) => response.end('{"data":{"event_id":"1"}}'));
  const moved = await startForeignServer(t, (response) => {
    response.writeHead(302, { location: `${foreign.url}/v2/events/1` }).end();
  });
  const made = createWorkflow('new_event', { baseUrl: moved.url });
  assert.equal((await post(webhookUrl(made), { resource_url: `${moved.url}/v2/events/1` })).status, 502);
  assert.deepEqual([moved.seen.length, foreign.seen.length], [1, 0]);
});

test('a rejected key fails the activation, and never ends a hook', async () => {
  await assert.rejects(activate(createWorkflow('new_event', { apiKey: 'wrong' })), /do not name a valid key/);
  const made = createWorkflow('new_event', { apiKey: 'wrong' });
  const answer = await post(webhookUrl(made), { resource_url: `${service.baseUrl}/v2/events/1` });
  assert.equal(answer.status, 502, 'told again later; 401 would end the hook');
});

test('C12 a target taken by a hook of the same user is reused; one of another user is an error', async () => {
  const made = createWorkflow('new_project');
  const { id } = await service.carillon.hooks.create({ target_url: webhookUrl(made), event: 'new_project' });
  await activate(made);
  assert.deepEqual(
    (await hooksOf(made)).map((hook) => hook.id),
    [id],
  );

  const other = createWorkflow('new_project');
  await service.carillon.hooks.create({ target_url: webhookUrl(other), event: 'new_task' });
  await activate(other);
  const live = (await hooksOf(other)).filter(({ state }) => state === 'live');
  assert.deepEqual(
    live.map(({ event }) => event),
    ['new_project'],
  );

  const theirs = createWorkflow('new_project', { apiKey: await createMemberKey(service) });
  const before = await service.carillon.hooks.create({ target_url: webhookUrl(theirs), event: 'new_project' });
  await assert.rejects(activate(theirs), /Another hook has this target_url/);
  await service.carillon.hooks.delete(before.id);
  for (const one of [made, other]) await deactivate(one);
});

test('X1 a hook that ended while n8n was down is restored at the next start, and gets what it missed', async () => {
  const made = createWorkflow('new_task');
  await activate(made);
  const [hook] = await hooksOf(made);
  const { project_id } = await service.carillon.projects.create({ project_name: 'Release' });
  // From now on n8n fails every notification, because its key is rejected.
  made.additionalData.credentialsHelper = createHostedNode(
    'carillonTrigger',
    {},
    { ...credentials, apiKey: 'revoked' },
  ).additionalData.credentialsHelper;
  const count = host.webhookResults.length;
  const task = await service.carillon.tasks.create(project_id, { task_name: 'Missed' });
  assert.deepEqual(
    (await host.waitForResults(count + 3)).slice(count).map(({ status }) => status),
    [502, 502, 502],
  );
  await eventually(
    () => hooksOf(made),
    ([one]) => one?.ended_reason === 'three_failures',
  );

  made.additionalData.credentialsHelper = createWorkflow('new_task').additionalData.credentialsHelper;
  assert.equal(await activate(made), false);
  assert.deepEqual(
    (await hooksOf(made)).map(({ id, state }) => [id, state]),
    [[hook?.id, 'live']],
  );
  const { items } = (await host.waitForResults(count + 4))[count + 3] ?? {};
  assert.deepEqual(items?.[0]?.record, task);
  await deactivate(made);
});

test('X13 a workflow changed to more events keeps what is pending; an ended hook is replaced', async () => {
  const { hooks, events, deliveries } = service.carillon;
  const made = createTeamWorkflow({ events: ['new_event'], scope: 'own' });
  await activate(made);
  const [hook] = await hooksOf(made);
  const id = hook?.id ?? '';
  await hooks.update(id, { enabled: 0 });
  const { event_id } = await events.create(launch);
  made.node.parameters.events = ['new_event', 'changed_event'];
  assert.equal(await activate(made), false);
  const count = host.webhookResults.length;
  await hooks.update(id, { enabled: 1 });
  const { items } = (await host.waitForResults(count + 1))[count] ?? {};
  assert.deepEqual(
    items?.map(({ kind, record_id }) => [kind, record_id]),
    [['new_event', event_id]],
  );
  const { data } = await eventually(
    () => deliveries.list({ hook_id: id }),
    (page) => page.data.every(({ state }) => state === 'delivered'),
  );
  assert.equal(data.length, 1);
  const listEvents = async () => (await hooksOf(made)).map((one) => [one.state, one.events.join()]);
  assert.deepEqual(await listEvents(), [['live', 'new_event,changed_event']]);

  await hooks.delete(id);
  made.node.parameters.events = ['new_event'];
  assert.equal(await activate(made), false);
  assert.deepEqual(await listEvents(), [
    ['ended', 'new_event,changed_event'],
    ['live', 'new_event'],
  ]);
  await deactivate(made);
});

test('X14 on an earlier version of the service, a workflow with one event has a hook of this kind', async (t) => {
  const calls: string[] = [];
  let hook: IDataObject | undefined;
  const earlier = await startForeignServer(t, async (response) => {
    const { method, url = '' } = response.req;
    calls.push(`${method} ${url}`);
    const answer = (status: number, body: object) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    if (method === 'GET' && url === '/v2/hooks/7' && hook !== undefined) return answer(200, { data: hook });
    if (method === 'GET') return answer(404, {});
    if (method === 'DELETE') {
      hook = undefined;
      return answer(200, {});
    }
    const { target_url, event } = JSON.parse((await response.req.toArray()).join(''));
    if (event === undefined)
      return answer(400, { message: 'no', errors: [{ field: 'event', message: 'is required' }] });
    hook = { id: '7', target_url, event, state: 'live' };
    return answer(201, { id: '7' });
  });
  const made = createTeamWorkflow({ events: ['new_event'], scope: 'own' }, { baseUrl: earlier.url });
  assert.equal(await activate(made), false);
  assert.equal(await activate(made), true);
  assert.equal(hook?.event, 'new_event');
  made.node.parameters.events = ['new_task'];
  assert.equal(await activate(made), false);
  assert.deepEqual([hook?.event, calls.filter((call) => call.startsWith('PUT'))], ['new_task', []]);
  for (const parameters of [{ events: ['new_task', 'new_event'] }, { scope: 'account' }]) {
    const impossible = createTeamWorkflow(
      { events: ['new_task'], scope: 'own', ...parameters },
      { baseUrl: earlier.url },
    );
    await assert.rejects(activate(impossible));
  }
  await deactivate(made);
  assert.equal(hook, undefined);
});

test('a workflow changed to another kind has one hook, of the new kind', async () => {
  const made = createWorkflow('new_task');
  await activate(made);
  made.node.parameters.kind = 'completed_task';
  assert.equal(await activate(made), false);
  const live = (await hooksOf(made)).filter(({ state }) => state === 'live');
  assert.deepEqual(
    live.map(({ event }) => event),
    ['completed_task'],
  );
  await deactivate(made);
});

test('a test in the editor has a hook and URL of its own and does not affect the active workflow', async () => {
  const made = createWorkflow('new_project');
  await activate(made);
  const tried = { ...createWorkflow('new_project'), node: made.node };
  assert.notEqual(webhookUrl(tried, true), webhookUrl(made));
  await activate(tried, true);
  const { data } = await service.carillon.hooks.list({ state: 'live' });
  assert.equal(data.filter(({ target_url }) => target_url === webhookUrl(tried, true)).length, 1);
  await deactivate(tried, true);
  assert.deepEqual(
    (await hooksOf(made)).map(({ state }) => state),
    ['live'],
  );
  await deactivate(made);
});

test('a workflow copied to another n8n with its static data does not take the hook of the original', async () => {
  const made = createWorkflow('new_project');
  await activate(made);
  const copy = createHostedNode('carillonTrigger', made.node.parameters, credentials, 'http://127.0.0.1:9');
  Object.assign(copy.workflow.getStaticData('node', copy.node), made.workflow.getStaticData('node', made.node));
  assert.equal(await activate(copy), false);
  assert.deepEqual(
    [...(await hooksOf(made)), ...(await hooksOf(copy))].map(({ state }) => state),
    ['live', 'live'],
  );
  for (const one of [made, copy]) await deactivate(one);
});

test('a workflow deactivated while the service is unreachable drops its hook; the log contains no key', async () => {
  const made = createWorkflow('new_task');
  await activate(made);
  const { credentialsHelper } = made.additionalData;
  const away = createWorkflow('new_task', { baseUrl: 'http://127.0.0.1:1' });
  made.additionalData.credentialsHelper = away.additionalData.credentialsHelper;
  const { status } = await post(webhookUrl(made), { resource_url: 'http://127.0.0.1:1/v2/tasks/1' });
  assert.equal(status, 502);
  await deactivate(made);
  assert.deepEqual(made.workflow.getStaticData('node', made.node), {});
  assert.match(
    loggedWarnings.join(),
    /could not fetch http:\/\/127\.0\.0\.1:1\/v2\/tasks\/1: .*was not deleted; it ends/s,
  );
  assert.equal(loggedWarnings.join().includes(service.key), false);
  // When activated again, the workflow reuses the existing hook.
  made.additionalData.credentialsHelper = credentialsHelper;
  const [before] = await hooksOf(made);
  await activate(made);
  assert.deepEqual(
    (await hooksOf(made)).map(({ id, state }) => [id, state]),
    [[before?.id, 'live']],
  );
  await deactivate(made);
});
