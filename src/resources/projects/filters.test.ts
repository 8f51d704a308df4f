import assert from 'node:assert/strict';
import { after } from 'node:test';
import { stores } from '../../../test/kit/service/stores.ts';
import { systemClock } from '../../clock.ts';

for (const { test, testService } of stores) {
  let now = Date.parse('2027-03-09T23:59:59.999Z');
  const clock = { ...systemClock, now: () => now };
  const carillon = await testService({ after }, { ports: { clock } });
  const owner = await carillon.account('acme.test');
  const client = await owner.carillon.clients.create({ client_name: 'Client' });

  /** All projects of the account, with their creation times. */
  const projects: [created: string, project: Record<string, unknown>][] = [
    ['2027-03-09T23:59:59.999Z', { project_name: 'beta', due_date: '2027-03-10 00:00:00', progress: 10, tags: 'red' }],
    ['2027-03-10T00:00:00.000Z', { project_name: 'Alpha', due_date: '2027-03-10 23:59:59', progress: 90, closed: 1 }],
    ['2027-03-10T23:59:59.999Z', { project_name: 'Delta', tags: 'reddish, green', client_id: client.client_id }],
    ['2027-03-11T00:00:00.000Z', { project_name: 'Älpler', due_date: '20270311', progress: 50, archived: 1 }],
    ['2027-03-11T00:00:00.000Z', { project_name: 'gamma', due_date: '20270309', progress: 50, tags: 'green,red' }],
  ];
  /** Seconds worked on tasks of these projects. */
  const worked: Readonly<Record<string, readonly number[]>> = { Delta: [60, 30], beta: [80] };
  for (const [created, project] of projects) {
    now = Date.parse(created);
    const { status, json } = await carillon.call(owner, 'POST', '/v2/projects', project);
    assert.equal(status, 201);
    for (const seconds of worked[String(project.project_name)] ?? []) {
      const { task_id } = await owner.carillon.tasks.create(json.data.project_id, { task_name: 'Task' });
      await owner.carillon.timeEntries.create(task_id, { seconds });
    }
  }

  async function named(query: string): Promise<string[]> {
    const { status, json } = await carillon.call(owner, 'GET', `/v2/projects?${query}`);
    assert.equal(status, 200, `${query}: ${JSON.stringify(json)}`);
    assert.equal(json.paging.total_records, json.data.length, query);
    return json.data.map((project: { project_name: string }) => project.project_name);
  }

  const cases: [query: string, left: string[]][] = [
    ['', ['beta', 'Alpha', 'Delta', 'Älpler', 'gamma']],
    [`client_id=${client.client_id}`, ['Delta']],
    ['client_id=0', ['beta', 'Alpha', 'Älpler', 'gamma']],
    ['due_from=20270310', ['beta', 'Alpha', 'Älpler']],
    ['due_to=20270310', ['beta', 'Alpha', 'gamma']],
    ['due_from=20270310&due_to=20270310', ['beta', 'Alpha']],
    ['created_from=20270310', ['Alpha', 'Delta', 'Älpler', 'gamma']],
    ['created_to=20270310', ['beta', 'Alpha', 'Delta']],
    ['created_from=20270310&created_to=20270310', ['Alpha', 'Delta']],
    ['tag=red', ['beta', 'gamma']],
    ['tag=green', ['Delta', 'gamma']],
    ['tag=gre', []],
    ['tag=%25', []],
    ['status=open', ['beta', 'Delta', 'gamma']],
    ['status=closed', ['Alpha']],
    ['status=archived', ['Älpler']],
    ['status=templates', []],
    ['status=open&tag=red&due_from=20270310', ['beta']],
    ['order=projectname', ['Alpha', 'beta', 'Delta', 'gamma', 'Älpler']],
    ['order=duedate', ['Delta', 'gamma', 'beta', 'Alpha', 'Älpler']],
    ['order=progress', ['Alpha', 'gamma', 'Älpler', 'beta', 'Delta']],
    ['order=billablehours', ['Delta', 'beta', 'gamma', 'Älpler', 'Alpha']],
    ['order=latest', ['gamma', 'Älpler', 'Delta', 'Alpha', 'beta']],
    ['order=latest&status=open', ['gamma', 'Delta', 'beta']],
  ];

  for (const [query, left] of cases) {
    test(`C30 GET /v2/projects?${query}`, async () => {
      assert.deepEqual(await named(query), left);
    });
  }

  test('C7 C30 every order is total: paging returns each project once', async () => {
    for (const order of ['projectname', 'duedate', 'progress', 'billablehours', 'latest']) {
      const paged: string[] = [];
      for (let offset = 0; offset < 5; offset += 1) {
        const { json } = await carillon.call(owner, 'GET', `/v2/projects?order=${order}&limit=1&offset=${offset}`);
        paged.push(json.data[0].project_name);
      }
      assert.deepEqual(paged, await named(`order=${order}`), order);
    }
  });

  test('C30 an invalid filter or order is rejected, naming it', async () => {
    for (const [name, value] of [
      ['order', 'name'],
      ['order', ''],
      ['status', 'active'],
      ['status', 'OPEN'],
      ['tag', ''],
      ['client_id', 'x'],
      ['due_from', '2027-03-10'],
      ['created_to', '20270229'],
    ]) {
      const { status, json } = await carillon.call(owner, 'GET', `/v2/projects?${name}=${value}`);
      assert.equal(status, 400, `${name}=${value}`);
      assert.deepEqual(
        json.errors.map((error: { field: string }) => error.field),
        [name],
      );
    }
  });
}
