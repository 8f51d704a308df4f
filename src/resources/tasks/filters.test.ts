import assert from 'node:assert/strict';
import { after } from 'node:test';
import { stores } from '../../../test/kit/service/stores.ts';
import { systemClock } from '../../clock.ts';

for (const { test, testService } of stores) {
  let now = Date.parse('2027-03-01T00:00:00Z');
  const clock = { ...systemClock, now: () => now };
  const carillon = await testService({ after }, { ports: { clock } });
  const owner = await carillon.account('acme.test');
  const bells = await owner.carillon.projects.create({ project_name: 'Bells' });
  const other = await owner.carillon.projects.create({ project_name: 'Other' });

  /** All tasks of the account: project, time of creation, and time of completion if completed. */
  const tasks: [project: string, task: Record<string, unknown>, created: string, completed?: string][] = [
    [bells.project_id, { task_name: 'a', due_date: '2027-03-10 00:00:00', tags: 'red' }, '2027-03-09T23:59:59.999Z'],
    [bells.project_id, { task_name: 'b', due_date: '2027-03-10 23:59:59', active: 2 }, '2027-03-10T00:00:00Z'],
    [
      other.project_id,
      { task_name: 'c', due_date: '20270309', active: 0, tags: 'reddish' },
      '2027-03-10T23:59:59.999Z',
    ],
    [other.project_id, { task_name: 'd', archived: 1 }, '2027-03-11T00:00:00Z'],
    [
      bells.project_id,
      { task_name: 'e', due_date: '20270311', progress: 40 },
      '2027-03-01T00:00:00Z',
      '2027-03-20T00:00:00Z',
    ],
    [bells.project_id, { task_name: 'f', tags: 'green,red' }, '2027-03-01T00:00:00Z', '2027-03-20T23:59:59.999Z'],
    [bells.project_id, { task_name: 'g', archived: 1, progress: 90 }, '2027-03-01T00:00:00Z', '2027-03-21T00:00:00Z'],
  ];
  for (const [projectId, task, created, completed] of tasks) {
    now = Date.parse(created);
    const { json } = await carillon.call(owner, 'POST', `/v2/tasks/${projectId}`, task);
    now = Date.parse(completed ?? created);
    if (completed !== undefined) await owner.carillon.tasks.complete(json.data.task_id);
  }

  async function named(query: string): Promise<string> {
    const { status, json } = await carillon.call(owner, 'GET', `/v2/tasks?${query}`);
    assert.equal(status, 200, `${query}: ${JSON.stringify(json)}`);
    assert.equal(json.paging.total_records, json.data.length, query);
    return json.data.map((task: { task_name: string }) => task.task_name).join('');
  }

  const cases: [query: string, left: string][] = [
    ['', 'abcdefg'],
    [`project_id=${bells.project_id}`, 'abefg'],
    ['due_from=20270310', 'abe'],
    ['due_to=20270310', 'abc'],
    ['due_from=20270310&due_to=20270310', 'ab'],
    ['created_from=20270310', 'bcd'],
    ['created_to=20270310', 'abcefg'],
    ['created_from=20270310&created_to=20270310', 'bc'],
    ['completed_from=20270320', 'efg'],
    ['completed_to=20270320', 'ef'],
    ['completed_from=20270321', 'g'],
    ['tag=red', 'af'],
    ['status=open', 'abc'],
    ['status=completed', 'efg'],
    ['status=active', 'adefg'],
    ['status=onhold', 'b'],
    ['status=inactive', 'c'],
    ['status=archived', 'dg'],
    [`status=open&project_id=${bells.project_id}&due_to=20270310&tag=red`, 'a'],
    ['order=taskname', 'abcdefg'],
    ['order=duedate', 'cabedfg'],
    ['order=progress', 'gefdcba'],
    ['order=latest', 'dcbagfe'],
    ['order=duedate&status=open', 'cab'],
  ];

  for (const [query, left] of cases) {
    test(`C31 GET /v2/tasks?${query}`, async () => {
      assert.equal(await named(query), left);
    });
  }

  test('C7 C31 every order is total: paging returns each task once', async () => {
    for (const order of ['taskname', 'duedate', 'progress', 'latest']) {
      let paged = '';
      for (let offset = 0; offset < tasks.length; offset += 1) {
        const { json } = await carillon.call(owner, 'GET', `/v2/tasks?order=${order}&limit=1&offset=${offset}`);
        paged += json.data[0].task_name;
      }
      assert.equal(paged, await named(`order=${order}`), order);
    }
  });

  test('C31 an invalid filter or order is rejected, naming it', async () => {
    for (const [name, value] of [
      ['project_id', 'x'],
      ['status', 'closed'],
      ['tag', ''],
      ['order', 'projectname'],
      ['completed_from', '2027-03-20'],
      ['created_to', '20270229'],
    ]) {
      const { status, json } = await carillon.call(owner, 'GET', `/v2/tasks?${name}=${value}`);
      assert.equal(status, 400, `${name}=${value}`);
      assert.equal(json.errors[0].field, name);
    }
  });
}
