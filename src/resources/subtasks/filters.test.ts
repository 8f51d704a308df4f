import assert from 'node:assert/strict';
import { after } from 'node:test';
import { stores } from '../../../test/kit/service/stores.ts';
import { systemClock } from '../../clock.ts';

for (const { test, testService } of stores) {
  let now = Date.parse('2027-03-01T00:00:00Z');
  const clock = { ...systemClock, now: () => now };
  const carillon = await testService({ after }, { ports: { clock } });
  const owner = await carillon.account('acme.test');
  const member = await carillon.user(owner, 'member');
  const project = await owner.carillon.projects.create({ project_name: 'Bells' });
  const cast = await owner.carillon.tasks.create(project.project_id, { task_name: 'Cast' });
  const hang = await owner.carillon.tasks.create(project.project_id, { task_name: 'Hang' });
  const old = await owner.carillon.tasks.create(project.project_id, { task_name: 'Old', archived: 1 });
  const { team_id } = await owner.carillon.teams.create({ team_name: 'Casting' });

  /** All subtasks of the account: task, and time of completion if completed. */
  const subtasks: [task: string, subtask: Record<string, unknown>, completed?: string][] = [
    [cast.task_id, { subtask_name: 'a', due_date: '2027-03-10 00:00:00', users: [member.userId] }],
    [cast.task_id, { subtask_name: 'b', due_date: '2027-03-10 23:59:59', active: 2 }],
    [hang.task_id, { subtask_name: 'c', due_date: '20270309', active: 0, users: [owner.userId, member.userId] }],
    [hang.task_id, { subtask_name: 'd', due_date: '20270311' }, '2027-03-20T00:00:00Z'],
    [cast.task_id, { subtask_name: 'e', users: [owner.userId] }, '2027-03-20T23:59:59.999Z'],
    [cast.task_id, { subtask_name: 'f' }, '2027-03-21T00:00:00Z'],
    [old.task_id, { subtask_name: 'g', teams: [team_id] }],
  ];
  for (const [taskId, subtask, completed] of subtasks) {
    const { json } = await carillon.call(owner, 'POST', `/v2/subtasks/${taskId}`, subtask);
    if (completed === undefined) continue;
    now = Date.parse(completed);
    await owner.carillon.subtasks.complete(json.data.subtask_id);
  }

  const cases: [query: string, left: string][] = [
    ['', 'abcdefg'],
    [`task_id=${hang.task_id}`, 'cd'],
    [`user_id=${member.userId}`, 'ac'],
    [`user_id=${owner.userId}`, 'ce'],
    ['user_id=999999', ''],
    ['due_from=20270310', 'abd'],
    ['due_to=20270310', 'abc'],
    ['completed_from=20270320', 'def'],
    ['completed_to=20270320', 'de'],
    ['status=open', 'abc'],
    ['status=completed', 'def'],
    ['status=active', 'adefg'],
    ['status=archived', 'g'],
    [`team_id=${team_id}`, 'g'],
    ['team_id=999999', ''],
    ['status=onhold', 'b'],
    ['status=inactive', 'c'],
    [`status=open&user_id=${member.userId}&due_to=20270309`, 'c'],
  ];

  for (const [query, left] of cases) {
    test(`C32 GET /v2/subtasks?${query}`, async () => {
      const { status, json } = await carillon.call(owner, 'GET', `/v2/subtasks?${query}`);
      assert.equal(status, 200, JSON.stringify(json));
      assert.equal(json.data.map((one: { subtask_name: string }) => one.subtask_name).join(''), left);
      assert.equal(json.paging.total_records, left.length);
    });
  }

  test('C32 a deleted user is assigned to nothing, in responses and in filters', async () => {
    const gone = await carillon.user(owner, 'member');
    const assigned = { subtask_name: 'h', users: [gone.userId, owner.userId] };
    const { subtask_id } = await owner.carillon.subtasks.create(hang.task_id, assigned);
    assert.equal((await owner.carillon.subtasks.list({ user_id: gone.userId })).paging.total_records, 1);
    await owner.carillon.users.delete(gone.userId);
    const { users } = await owner.carillon.subtasks.get(subtask_id);
    assert.deepEqual(
      users.map(({ user_id }) => user_id),
      [owner.userId],
    );
    assert.equal((await owner.carillon.subtasks.list({ user_id: gone.userId })).paging.total_records, 0);
  });

  test('C32 an invalid filter is rejected, naming it', async () => {
    for (const [name, value] of [
      ['task_id', ''],
      ['user_id', 'me'],
      ['status', 'closed'],
      ['team_id', 'us'],
      ['due_to', '20270229'],
      ['completed_from', 'x'],
    ]) {
      const { status, json } = await carillon.call(owner, 'GET', `/v2/subtasks?${name}=${value}`);
      assert.equal(status, 400, `${name}=${value}`);
      assert.equal(json.errors[0].field, name);
    }
  });
}
