import assert from 'node:assert/strict';
import { after } from 'node:test';
import { recordOccurrences } from '../../../test/kit/service/occurrences.ts';
import { stores } from '../../../test/kit/service/stores.ts';
import { systemClock } from '../../clock.ts';

for (const { test, testService } of stores) {
  const carillon = await testService({ after });
  const owner = await carillon.createAccount('acme.test');
  const stranger = await carillon.createAccount('other.test');
  const member = await carillon.createUser(owner, 'member');
  const { tasks, subtasks } = owner.carillon;
  const project = await owner.carillon.projects.create({ project_name: 'Bells' });
  const task = await tasks.create(project.project_id, { task_name: 'Cast' });

  const NEVER = '0000-00-00 00:00:00';
  const TIME = /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/;

  /** Every writable field: the written value, and the returned value if it differs. */
  const everything: Record<string, [written: unknown, shown?: unknown]> = {
    subtask_name: ['Melt'],
    description: ['Described'],
    color: ['#aabbcc'],
    notes: ['Noted'],
    start_date: ['20270101', '2027-01-01 00:00:00'],
    due_date: ['2027-02-01 12:30:00'],
    ongoing: [true, '1'],
    estimated_hours: [1.25, '1.25'],
    subtask_order: ['1418804699'],
    active: [0, '0'],
    important: [1, '1'],
    progress: [99, '99'],
    notifications: ['1'],
    recurring: ['M'],
  };

  const shownOf = ([written, shown]: [unknown, unknown?]) => shown ?? written;
  const put = (id: string, body: unknown, who = owner) => carillon.call(who, 'PUT', `/v2/subtasks/${id}`, body);

  test('C32 a subtask has these fields; missing ones are empty', async () => {
    const { status, json } = await carillon.call(owner, 'POST', `/v2/subtasks/${task.task_id}`, {
      subtask_name: 'Plain',
    });
    assert.equal(status, 201);
    const { subtask_id, date_created, ...rest } = json.data;
    const zeros = [
      'ongoing',
      'estimated_hours',
      'subtask_order',
      'important',
      'completed',
      'progress',
      'notifications',
    ];
    assert.deepEqual(rest, {
      ...{ subtask_name: 'Plain', description: '', color: '', notes: '', active: '1', recurring: '' },
      ...Object.fromEntries(zeros.map((name) => [name, '0'])),
      ...{ start_date: NEVER, due_date: NEVER, date_completed: NEVER, date_modified: NEVER },
      ...{ project_id: project.project_id, project_name: 'Bells', task_id: task.task_id, task_name: 'Cast' },
      ...{ user_id: owner.userId, users: [], teams: [], tracked_seconds: '0' },
    });
    assert.match(date_created, TIME);
    assert.deepEqual((await carillon.call(owner, 'GET', `/v2/subtasks/${subtask_id}`)).json, json);
  });

  test('C32 every field is returned as it was written', async () => {
    const body = Object.fromEntries(Object.entries(everything).map(([name, [written]]) => [name, written]));
    const path = `/v2/subtasks/${task.task_id}`;
    const { status, json } = await carillon.call(owner, 'POST', path, { ...body, users: [member.userId] });
    assert.equal(status, 201, JSON.stringify(json));
    for (const [name, field] of Object.entries(everything)) assert.equal(json.data[name], shownOf(field), name);
    assert.deepEqual(json.data.users, [{ user_id: member.userId, user_name: 'Test member' }]);
  });

  test('C32 changing one field changes no other', async () => {
    let wanted: Record<string, unknown> = { ...(await subtasks.create(task.task_id, { subtask_name: 'Before' })) };
    for (const [name, field] of Object.entries(everything)) {
      const id = String(wanted.subtask_id);
      const { result, recorded } = await recordOccurrences(carillon, owner, () => put(id, { [name]: field[0] }));
      assert.equal(result.status, 200, name);
      wanted = { ...wanted, [name]: shownOf(field), date_modified: result.json.data.date_modified };
      assert.deepEqual(result.json.data, wanted);
      assert.deepEqual(recorded, [{ kind: 'changed_subtask', record_id: id, user_id: owner.userId }]);
    }
  });

  test('C32 a subtask can move to another task of the same account only', async () => {
    const elsewhere = await owner.carillon.projects.create({ project_name: 'Elsewhere' });
    const other = await tasks.create(elsewhere.project_id, { task_name: 'Other' });
    const theirProject = await stranger.carillon.projects.create({ project_name: 'Theirs' });
    const theirs = await stranger.carillon.tasks.create(theirProject.project_id, { task_name: 'Theirs' });
    const { subtask_id } = await subtasks.create(task.task_id, { subtask_name: 'Moves' });
    const moved = await put(subtask_id, { task_id: Number(other.task_id) });
    assert.deepEqual([moved.json.data.task_name, moved.json.data.project_name], ['Other', 'Elsewhere']);
    for (const [task_id, wanted] of [
      [theirs.task_id, 404],
      ['999999', 404],
      ['', 400],
      [null, 400],
    ] as const) {
      assert.equal((await put(subtask_id, { task_id })).status, wanted, String(task_id));
    }
    assert.equal((await subtasks.get(subtask_id)).task_id, other.task_id);
  });

  test('C33 a subtask is completed, is not recorded as completed a second time, and reopens', async () => {
    const { subtask_id } = await subtasks.create(task.task_id, { subtask_name: 'Once' });
    const noted = async (body: unknown, who = owner) => {
      const { result, recorded } = await recordOccurrences(carillon, owner, () => put(subtask_id, body, who));
      assert.equal(result.status, 200);
      const { completed, date_completed } = result.json.data;
      return { completed, at: date_completed, noted: recorded };
    };
    // The occurrence names the user who completes the subtask (C14).
    const first = await noted({ completed: 1 }, member);
    assert.deepEqual(first.noted, [{ kind: 'completed_subtask', record_id: subtask_id, user_id: member.userId }]);
    assert.equal(first.completed, '1');
    assert.notEqual(first.at, NEVER);
    const changed = [{ kind: 'changed_subtask', record_id: subtask_id, user_id: owner.userId }];
    assert.deepEqual(await noted({ completed: '1' }), { completed: '1', at: first.at, noted: changed });
    const reopened = [...changed, { kind: 'reopened_subtask', record_id: subtask_id, user_id: owner.userId }];
    assert.deepEqual(await noted({ resume: 1 }), { completed: '0', at: NEVER, noted: reopened });
    assert.equal((await noted({ completed: true })).noted[0]?.kind, 'completed_subtask');
    assert.deepEqual(await noted({ completed: 0 }), { completed: '0', at: NEVER, noted: reopened });
    assert.equal((await tasks.get(task.task_id)).completed, '0', 'the task is not completed by its subtasks');
  });

  test('C33 a subtask that is created complete records no completion', async () => {
    const { result, recorded } = await recordOccurrences(carillon, owner, () =>
      subtasks.create(task.task_id, { subtask_name: 'Born done', completed: true }),
    );
    assert.equal(result.completed, '1');
    assert.notEqual(result.date_completed, NEVER);
    assert.deepEqual(recorded, [{ kind: 'new_subtask', record_id: result.subtask_id, user_id: owner.userId }]);
  });

  test('C34 creating a subtask of an unknown task is 404 and writes nothing', async () => {
    const theirProject = await stranger.carillon.projects.create({ project_name: 'Theirs' });
    const theirs = await stranger.carillon.tasks.create(theirProject.project_id, { task_name: 'Theirs' });
    const { recorded } = await recordOccurrences(carillon, owner, async () => {
      for (const id of ['999999', '0', theirs.task_id, 'abc', '01']) {
        const { status, json } = await carillon.call(owner, 'POST', `/v2/subtasks/${id}`, { subtask_name: 'Orphan' });
        assert.deepEqual([status, json.code], [404, 'not_found'], id);
      }
    });
    assert.deepEqual(recorded, []);
  });

  test('C34 deleting a subtask keeps its task; a second time is 404', async () => {
    const { subtask_id } = await subtasks.create(task.task_id, { subtask_name: 'Gone', users: [member.userId] });
    const { recorded } = await recordOccurrences(carillon, owner, () => subtasks.delete(subtask_id));
    assert.deepEqual(recorded, [{ kind: 'deleted_subtask', record_id: subtask_id, user_id: owner.userId }]);
    assert.equal((await carillon.call(owner, 'DELETE', `/v2/subtasks/${subtask_id}`)).status, 404);
    assert.equal((await tasks.get(task.task_id)).task_id, task.task_id);
  });
}

for (const { test, testService } of stores) {
  let now = Date.parse('2027-03-01T00:00:00Z');
  const clock = { ...systemClock, now: () => now };
  const carillon = await testService({ after }, { deps: { clock } });
  const owner = await carillon.createAccount('acme.test');
  const member = await carillon.createUser(owner, 'member');
  const project = await owner.carillon.projects.create({ project_name: 'Bells' });
  const cast = await owner.carillon.tasks.create(project.project_id, { task_name: 'Cast' });
  const hang = await owner.carillon.tasks.create(project.project_id, { task_name: 'Hang' });
  const old = await owner.carillon.tasks.create(project.project_id, { task_name: 'Old', archived: 1 });
  const { team_id } = await owner.carillon.teams.create({ team_name: 'Casting' });

  /** All subtasks of the account: the task, the fields, and the time of completion if the subtask is completed. */
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
    const gone = await carillon.createUser(owner, 'member');
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
