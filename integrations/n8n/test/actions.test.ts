import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startService } from '../../service.ts';
import { createHostedNode, execute } from './platform.ts';

const service = await startService({ after });
const credentials = { baseUrl: service.baseUrl, domain: service.domain, apiKey: service.key };

async function run(resource: string, operation: string, parameters: object = {}) {
  const output = await execute(createHostedNode('carillon', { resource, operation, ...parameters }, credentials));
  return output.map(({ json }) => json);
}

test('an event is created, read, changed, listed and deleted; dates are not converted between zones', async () => {
  const [event] = await run('event', 'create', {
    event_name: 'Launch',
    start_date: '2027-01-01T09:30:00',
    due_date: '2027-01-02T00:00:00.000+02:00',
    creation: {},
  });
  assert.equal(event?.start_date, '2027-01-01 09:30:00');
  assert.equal(event?.due_date, '2027-01-02 00:00:00');
  const event_id = event?.event_id;
  assert.deepEqual(await run('event', 'get', { event_id }), [event]);
  const [changed] = await run('event', 'update', { event_id, change: { event_name: 'Landing' } });
  assert.equal(changed?.event_name, 'Landing');
  const listed = (day: string) => run('event', 'getAll', { returnAll: true, filters: { start_from: day } });
  assert.deepEqual(await listed('2027-01-01T00:00:00'), [changed]);
  assert.deepEqual(await listed('2027-01-02T00:00:00'), []);
  assert.deepEqual(await run('event', 'delete', { event_id }), [{ deleted: true }]);
  await assert.rejects(run('event', 'get', { event_id }), /There is nothing here/);
});

test('a task below its project, a subtask below its task; completing and resuming', async () => {
  const [client] = await run('client', 'create', { client_name: 'Acme', creation: { email: 'office@acme.test' } });
  const creation = { client_id: client?.client_id, important: true, users: '1' };
  const [project] = await run('project', 'create', { project_name: 'Release', creation });
  assert.deepEqual([project?.client_name, project?.important], ['Acme', '1']);
  const { project_id } = project ?? {};
  const [task] = await run('task', 'create', { project_id, task_name: 'Write', creation: { estimated_hours: 2.5 } });
  const { task_id } = task ?? {};
  const [subtask] = await run('subtask', 'create', { task_id, subtask_name: 'Proofread', creation: {} });
  assert.deepEqual([task?.project_id, task?.estimated_hours, subtask?.task_id], [project_id, '2.5', task_id]);
  const [completed] = await run('task', 'complete', { task_id });
  assert.equal(completed?.completed, '1');
  const open = () => run('subtask', 'getAll', { returnAll: true, filters: { status: 'open' } });
  assert.deepEqual(await open(), []);
  await run('subtask', 'resume', { subtask_id: subtask?.subtask_id });
  assert.equal((await open()).length, 1);
});

test('lists span the pages of the service, up to the limit', async () => {
  for (let n = 0; n < 3; n += 1) await service.carillon.clients.create({ client_name: `Paged ${n}` });
  const filters = { client_name: 'paged' };
  const names = async (given: object) =>
    (await run('client', 'getAll', { filters, ...given })).map((one) => one.client_name);
  assert.deepEqual(await names({ returnAll: false, limit: 2 }), ['Paged 0', 'Paged 1']);
  assert.deepEqual(await names({ returnAll: true }), ['Paged 0', 'Paged 1', 'Paged 2']);
});

test('C7 a list continues after a page that ends early because its records are long', async () => {
  const notes = '€'.repeat(20_000);
  for (let n = 0; n < 150; n += 1) await service.carillon.clients.create({ client_name: `Long ${n}`, notes });
  const filters = { client_name: 'long' };
  const first = await service.carillon.clients.list(filters);
  assert.ok(first.data.length < 150 && first.next !== undefined);
  assert.equal((await run('client', 'getAll', { filters, returnAll: true })).length, 150);
  assert.equal((await run('client', 'getAll', { filters, returnAll: false, limit: 149 })).length, 149);
});

test('X1 an ended hook is restored; a live one cannot be', async () => {
  const { id } = await service.carillon.hooks.create({ target_url: 'http://127.0.0.1:9/bell', event: 'new_event' });
  await service.carillon.hooks.delete(id);
  assert.equal((await run('hook', 'getAll', { returnAll: true, filters: { state: 'ended' } })).length, 1);
  const [restored] = await run('hook', 'restore', { id });
  assert.deepEqual([restored?.id, restored?.state], [id, 'live']);
  await assert.rejects(run('hook', 'restore', { id }), /There is nothing here/);
});

test('errors show the message of the service, for the run or for a single item', async () => {
  const wrong = {
    resource: 'event',
    operation: 'create',
    event_name: '',
    start_date: 'soon',
    due_date: '20270101',
    creation: {},
  };
  await assert.rejects(execute(createHostedNode('carillon', wrong, credentials)), /event_name: .*; start_date: /);
  const going = createHostedNode('carillon', wrong, credentials);
  going.node.onError = 'continueRegularOutput';
  const output = await execute(going, [{}, {}]);
  assert.deepEqual(
    output.map(({ json, pairedItem }) => [json.status, pairedItem]),
    [
      ['400', { item: 0 }],
      ['400', { item: 1 }],
    ],
  );
  assert.match(String(output[0]?.json.error), /event_name: /);
});
