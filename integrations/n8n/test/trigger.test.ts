import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { eventually } from '../../../test/kit/eventually.ts';
import { createMemberKey, startService } from '../../service.ts';
import {
  activate,
  type Credentials,
  createHostedNode,
  deactivate,
  loggedWarnings,
  startForeignServer,
  startWebhookHost,
  webhookUrl,
} from './platform.ts';

// Short retry waits, so that hooks end soon.
const service = await startService({ after }, { CARILLON_RETRY_WAITS: '1ms,1ms' });
const host = await startWebhookHost({ after });
const credentials: Credentials = { baseUrl: `${service.baseUrl}/`, domain: service.domain, apiKey: service.key };

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

/** Lists the hooks whose target is the webhook URL of a workflow, newest last. */
async function hooksOf(made: ReturnType<typeof createWorkflow>) {
  const { data } = await service.carillon.hooks.list();
  return data.filter(({ target_url }) => target_url === webhookUrl(made));
}

const launch = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };
const post = (url: string, body: object) =>
  fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

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
  assert.match(String(items?.[0]?.delivery_id), /^\d+$/);
  assert.deepEqual(items, [{ kind: 'new_event', resource_url, delivery_id: items?.[0]?.delivery_id, record: event }]);

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
