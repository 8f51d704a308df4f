import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { eventually } from '../../../test/kit/eventually.ts';
import { createMemberKey, startService } from '../../service.ts';
import { type Credentials, createHostedNode, startForeignServer, startTrigger } from './platform.ts';

const service = await startService({ after });
const credentials: Credentials = { baseUrl: service.baseUrl, domain: service.domain, apiKey: service.key };
const feed = (parameters: object = {}, given: Partial<Credentials> = {}) =>
  createHostedNode('carillonFeedTrigger', { kinds: [], scope: 'account', ...parameters }, { ...credentials, ...given });
const { events, clients } = service.carillon;
const launch = { event_name: 'Launch', start_date: '20270101', due_date: '20270101' };

test('X2 occurrences by any user start the workflow from its activation on: changes with the record, deletions without', async (t) => {
  await events.create({ ...launch, event_name: 'Before' });
  const trigger = await startTrigger(t, feed());
  const event = await events.create(launch);
  await trigger.waitForItems(1);
  const changed = await events.update(event.event_id, { event_name: 'Landing' });
  await trigger.waitForItems(2);
  await events.delete(event.event_id);
  await trigger.waitForItems(3);
  assert.deepEqual(
    trigger.items.map(({ kind, record }) => [kind, record]),
    [
      ['new_event', event],
      ['changed_event', changed],
      ['deleted_event', null],
    ],
  );
  assert.equal(trigger.items[0]?.resource_url, `${service.baseUrl}/v2/events/${event.event_id}`);
  await trigger.close();
  assert.deepEqual(trigger.errors, []);
});

test('X2 occurrences while n8n was down arrive at its next start: the cursor is saved with the workflow', async (t) => {
  const made = feed({ kinds: ['new_client', 'deleted_client'] });
  const first = await startTrigger(t, made);
  const seen = await clients.create({ client_name: 'Seen' });
  await first.waitForItems(1);
  await first.close();
  assert.match(String(made.workflow.getStaticData('node', made.node).cursor), /^\d+$/);

  await events.create(launch);
  const missed = await clients.create({ client_name: 'Missed' });
  const gone = await clients.create({ client_name: 'Gone' });
  await clients.delete(gone.client_id);
  const second = await startTrigger(t, made);
  await second.waitForItems(2);
  await second.close();
  assert.deepEqual(
    first.items.map(({ record }) => record),
    [seen],
  );
  // A client that was deleted meanwhile yields only its deletion. Kinds of events are not selected.
  assert.deepEqual(
    second.items.map(({ kind, record }) => [kind, record]),
    [
      ['new_client', missed],
      ['deleted_client', null],
    ],
  );
});

test('X2 with scope own, occurrences by others start nothing', async (t) => {
  const member = await createMemberKey(service);
  const trigger = await startTrigger(t, feed({ scope: 'own' }, { apiKey: member }));
  await events.create(launch);
  const answer = await fetch(`${service.baseUrl}/v2/events`, {
    method: 'POST',
    headers: { key: member, domain: service.domain, 'content-type': 'application/json' },
    body: JSON.stringify({ ...launch, event_name: 'Their own' }),
  });
  assert.equal(answer.status, 201);
  await trigger.waitForItems(1);
  await trigger.close();
  assert.deepEqual(
    trigger.items.map(({ record }) => Reflect.get(Object(record), 'event_name')),
    ['Their own'],
  );
  await assert.rejects(startTrigger(t, feed({}, { apiKey: member })), /Only admins may follow the whole account/);
});

test('X14 with the scope of a project, occurrences in other projects start nothing', async (t) => {
  const { project_id } = await service.carillon.projects.create({ project_name: 'Bells' });
  const projectId = { __rl: true, mode: 'id', value: project_id };
  const trigger = await startTrigger(t, feed({ scope: 'project', projectId }));
  await events.create(launch);
  const inside = await events.create({ ...launch, project_id });
  await trigger.waitForItems(1);
  await trigger.close();
  assert.deepEqual(
    trigger.items.map(({ record }) => record),
    [inside],
  );
});

test('a cursor that is gone is reported once, and the workflow continues with new occurrences', async (t) => {
  const made = feed();
  made.workflow.getStaticData('node', made.node).cursor = '999999999';
  const trigger = await startTrigger(t, made);
  await trigger.waitForError();
  await eventually(
    () => made.workflow.getStaticData('node', made.node).cursor,
    (cursor) => cursor !== '999999999',
  );
  await events.create(launch);
  await trigger.waitForItems(1);
  await trigger.close();
  assert.deepEqual(
    trigger.errors.map(({ message }) => /no longer stored/.test(message)),
    [true],
  );
});

test('a revoked key is reported once; with a new key nothing was missed', async (t) => {
  const { id, key } = await service.carillon.keys.create({ permissions: ['hooks:read', 'events:read'] });
  const made = feed({}, { apiKey: key });
  const trigger = await startTrigger(t, made);
  await service.carillon.keys.revoke(id);
  await trigger.waitForError();
  const missed = await events.create(launch);
  made.additionalData.credentialsHelper = feed().additionalData.credentialsHelper;
  await trigger.waitForItems(1);
  await trigger.close();
  assert.deepEqual(
    trigger.items.map(({ record }) => record),
    [missed],
  );
  assert.equal(trigger.errors.length, 1);
});

test('an unreachable service is retried, and nothing is missed', async (t) => {
  const replies = [
    { status: 503, body: {} },
    { status: 200, body: { data: [{ cursor: '5', kind: 'new_event', resource_url: 'URL/v2/events/1' }], next: '5' } },
    { status: 502, body: {} },
    { status: 200, body: { data: { event_id: '1' } } },
  ];
  const passing = await startForeignServer(t, (response) => {
    const { status, body } = replies.shift() ?? { status: 200, body: { data: [], next: '5' } };
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body).replace('URL', passing.url));
  });
  const made = feed({}, { baseUrl: passing.url });
  made.workflow.getStaticData('node', made.node).cursor = '4';
  const trigger = await startTrigger(t, made);
  await trigger.waitForItems(1);
  await trigger.close();
  assert.deepEqual(trigger.items[0]?.record, { event_id: '1' });
  assert.deepEqual(trigger.errors, []);
});
