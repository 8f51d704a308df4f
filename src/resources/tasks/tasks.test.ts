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
  const project = await owner.carillon.projects.create({ project_name: 'Bells' });
  const { tasks, subtasks } = owner.carillon;

  const NEVER = '0000-00-00 00:00:00';
  const TIME = /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/;

  /** Every writable field: the written value, and the returned value if it differs. */
  const everything: Record<string, [written: unknown, shown?: unknown]> = {
    task_name: ['Cast'],
    description: ['Described'],
    color: ['#aabbcc'],
    tags: ['red,green'],
    notes: ['Noted'],
    start_date: ['20270101', '2027-01-01 00:00:00'],
    due_date: ['2027-02-01 12:30:00'],
    ongoing: [true, '1'],
    estimated_hours: [1.25, '1.25'],
    estimated_cost: ['99.9999'],
    hourly_rate: ['0'],
    fixed_price: ['1'],
    price: [7, '7'],
    task_order: [1_415_893_855_123, '1415893855123'],
    active: ['2'],
    important: [1, '1'],
    progress: ['100'],
    notifications: [1, '1'],
    recurring: ['W'],
    archived: ['1'],
  };

  const shownOf = ([written, shown]: [unknown, unknown?]) => shown ?? written;
  const put = (id: string, body: unknown, who = owner) => carillon.call(who, 'PUT', `/v2/tasks/${id}`, body);

  test('C31 a task has these fields; missing ones are empty', async () => {
    const { status, json } = await carillon.call(owner, 'POST', `/v2/tasks/${project.project_id}`, {
      task_name: 'Plain',
    });
    assert.equal(status, 201);
    const { task_id, date_created, ...rest } = json.data;
    const zeros = ['ongoing', 'estimated_hours', 'estimated_cost', 'hourly_rate', 'fixed_price', 'price', 'task_order'];
    const flags = ['important', 'completed', 'progress', 'notifications', 'archived'];
    assert.deepEqual(rest, {
      ...{ task_name: 'Plain', description: '', color: '', tags: '', notes: '', active: '1', recurring: '' },
      ...Object.fromEntries([...zeros, ...flags].map((name) => [name, '0'])),
      ...{ start_date: NEVER, due_date: NEVER, date_completed: NEVER, date_modified: NEVER },
      ...{
        project_id: project.project_id,
        project_name: 'Bells',
        user_id: owner.userId,
        users: [],
        teams: [],
        tracked_seconds: '0',
      },
    });
    assert.match(date_created, TIME);
    assert.deepEqual((await carillon.call(owner, 'GET', `/v2/tasks/${task_id}`)).json, json);
  });

  test('C31 every field is returned as it was written', async () => {
    const body = Object.fromEntries(Object.entries(everything).map(([name, [written]]) => [name, written]));
    const path = `/v2/tasks/${project.project_id}`;
    const { status, json } = await carillon.call(owner, 'POST', path, { ...body, users: [Number(member.userId)] });
    assert.equal(status, 201, JSON.stringify(json));
    for (const [name, field] of Object.entries(everything)) assert.equal(json.data[name], shownOf(field), name);
    assert.deepEqual(json.data.users, [{ user_id: member.userId, user_name: 'Test member' }]);
  });

  test('C31 changing one field changes no other', async () => {
    let wanted: Record<string, unknown> = { ...(await tasks.create(project.project_id, { task_name: 'Before' })) };
    for (const [name, field] of Object.entries(everything)) {
      const id = String(wanted.task_id);
      const { result, recorded } = await recordOccurrences(carillon, owner, () => put(id, { [name]: field[0] }));
      assert.equal(result.status, 200, name);
      wanted = { ...wanted, [name]: shownOf(field), date_modified: result.json.data.date_modified };
      assert.deepEqual(result.json.data, wanted);
      assert.deepEqual(recorded, [{ kind: 'changed_task', record_id: id, user_id: owner.userId }]);
    }
  });

  test('C31 a task can move to another project of the same account only', async () => {
    const other = await owner.carillon.projects.create({ project_name: 'Other' });
    const theirs = await stranger.carillon.projects.create({ project_name: 'Theirs' });
    const task = await tasks.create(project.project_id, { task_name: 'Moves' });
    const moved = await put(task.task_id, { project_id: other.project_id });
    assert.deepEqual([moved.json.data.project_id, moved.json.data.project_name], [other.project_id, 'Other']);
    for (const [project_id, wanted] of [
      [theirs.project_id, 404],
      ['999999', 404],
      ['0', 404],
      [null, 400],
    ] as const) {
      assert.equal((await put(task.task_id, { project_id })).status, wanted, String(project_id));
    }
    assert.equal((await tasks.get(task.task_id)).project_id, other.project_id);
  });

  test('C31 progress goes from 0 to 100', async () => {
    const task = await tasks.create(project.project_id, { task_name: 'Progress' });
    for (const progress of [0, 100, '0', '37']) assert.equal((await put(task.task_id, { progress })).status, 200);
    for (const progress of [101, -1, 0.5, '101', '-1', '1.5', '', 'half', null, true]) {
      const { status, json } = await put(task.task_id, { progress });
      assert.equal(status, 400, JSON.stringify(progress));
      assert.equal(json.errors[0].field, 'progress');
    }
    assert.equal((await tasks.get(task.task_id)).progress, '37');
  });

  test('C33 completing a task completes its open subtasks, each an occurrence of its own', async () => {
    const task = await tasks.create(project.project_id, { task_name: 'Parent' });
    const done = await subtasks.create(task.task_id, { subtask_name: 'Done', completed: 1 });
    const first = await subtasks.create(task.task_id, { subtask_name: 'First' });
    const second = await subtasks.create(task.task_id, { subtask_name: 'Second' });
    const elsewhere = await tasks.create(project.project_id, { task_name: 'Elsewhere' });
    const other = await subtasks.create(elsewhere.task_id, { subtask_name: 'Other' });

    // The occurrence names the user who completes the task, not its creator (C14).
    const { result, recorded } = await recordOccurrences(carillon, owner, () =>
      put(task.task_id, { completed: 1 }, member),
    );
    assert.equal(result.json.data.completed, '1');
    assert.match(result.json.data.date_completed, TIME);
    assert.notEqual(result.json.data.date_completed, NEVER);
    assert.equal(result.json.data.user_id, owner.userId);
    const user_id = member.userId;
    assert.deepEqual(recorded, [
      { kind: 'completed_subtask', record_id: first.subtask_id, user_id },
      { kind: 'completed_subtask', record_id: second.subtask_id, user_id },
      { kind: 'completed_task', record_id: task.task_id, user_id },
    ]);
    for (const { subtask_id } of [first, second]) {
      const { completed, date_completed } = await subtasks.get(subtask_id);
      assert.deepEqual([completed, date_completed], ['1', result.json.data.date_completed]);
    }
    assert.deepEqual(await subtasks.get(done.subtask_id), done, 'what was complete keeps its date');
    assert.deepEqual(await subtasks.get(other.subtask_id), other);
  });

  test('C33 completing a complete task records nothing and keeps its date', async () => {
    const task = await tasks.create(project.project_id, { task_name: 'Once' });
    const first = await put(task.task_id, { completed: 1 });
    const late = await subtasks.create(task.task_id, { subtask_name: 'Late' });
    for (const completed of [1, '1', true]) {
      const { result, recorded } = await recordOccurrences(carillon, owner, () => put(task.task_id, { completed }));
      assert.deepEqual([result.status, result.json.data.completed], [200, '1']);
      assert.equal(result.json.data.date_completed, first.json.data.date_completed);
      assert.deepEqual(
        recorded.map((one) => one.kind),
        ['changed_task'],
      );
    }
    assert.equal((await subtasks.get(late.subtask_id)).completed, '0');
  });

  test('C33 resume and completed: 0 reopen a task, which can then be completed and recorded again', async () => {
    for (const body of [{ resume: 1 }, { resume: '1' }, { resume: true }, { completed: 0 }, { completed: false }]) {
      const task = await tasks.create(project.project_id, { task_name: 'Again' });
      const completing = () => recordOccurrences(carillon, owner, () => put(task.task_id, { completed: 1 }));
      assert.equal((await completing()).recorded[0]?.kind, 'completed_task');
      const { result, recorded } = await recordOccurrences(carillon, owner, () => put(task.task_id, body));
      const { completed, date_completed } = result.json.data;
      assert.deepEqual([result.status, completed, date_completed], [200, '0', NEVER], JSON.stringify(body));
      assert.equal(result.json.data.resume, undefined);
      const occurrence = { record_id: task.task_id, user_id: owner.userId };
      assert.deepEqual(recorded, [
        { kind: 'changed_task', ...occurrence },
        { kind: 'reopened_task', ...occurrence },
      ]);
      assert.equal((await completing()).recorded[0]?.kind, 'completed_task');
    }
  });

  test('C33 resume: 0 has no effect; resume together with completed: 1 is rejected', async () => {
    const task = await tasks.create(project.project_id, { task_name: 'Both' });
    assert.equal((await put(task.task_id, { resume: 0, completed: 1 })).json.data.completed, '1');
    assert.equal((await put(task.task_id, { resume: 0 })).json.data.completed, '1');
    const { status, json } = await put(task.task_id, { resume: 1, completed: 1 });
    assert.deepEqual([status, json.errors[0].field], [400, 'resume']);
  });

  test('C33 a task that is created complete records no completion', async () => {
    const { result, recorded } = await recordOccurrences(carillon, owner, () =>
      carillon.call(owner, 'POST', `/v2/tasks/${project.project_id}`, { task_name: 'Born done', completed: 1 }),
    );
    assert.equal(result.json.data.completed, '1');
    assert.notEqual(result.json.data.date_completed, NEVER);
    assert.deepEqual(recorded, [{ kind: 'new_task', record_id: result.json.data.task_id, user_id: owner.userId }]);
    const { recorded: again } = await recordOccurrences(carillon, owner, () =>
      put(result.json.data.task_id, { completed: 1 }),
    );
    assert.deepEqual(
      again.map((one) => one.kind),
      ['changed_task'],
    );
  });

  test('C34 creating a task in an unknown project is 404 and writes nothing', async () => {
    const theirs = await stranger.carillon.projects.create({ project_name: 'Theirs' });
    const gone = await owner.carillon.projects.create({ project_name: 'Gone' });
    await owner.carillon.projects.delete(gone.project_id);
    const { recorded } = await recordOccurrences(carillon, owner, async () => {
      for (const id of ['999999', '0', theirs.project_id, gone.project_id, 'abc', '-1']) {
        const { status, json } = await carillon.call(owner, 'POST', `/v2/tasks/${id}`, { task_name: 'Orphan' });
        assert.deepEqual([status, json.code], [404, 'not_found'], id);
      }
    });
    assert.deepEqual(recorded, []);
  });

  test('C34 deleting a task deletes its subtasks and records each deletion', async () => {
    const users = [member.userId];
    const task = await tasks.create(project.project_id, { task_name: 'Gone', users });
    const first = await subtasks.create(task.task_id, { subtask_name: 'First', users });
    const second = await subtasks.create(task.task_id, { subtask_name: 'Second' });
    const { recorded } = await recordOccurrences(carillon, owner, () => tasks.delete(task.task_id));
    const user_id = owner.userId;
    assert.deepEqual(recorded, [
      { kind: 'deleted_subtask', record_id: first.subtask_id, user_id },
      { kind: 'deleted_subtask', record_id: second.subtask_id, user_id },
      { kind: 'deleted_task', record_id: task.task_id, user_id },
    ]);
    for (const path of [`/v2/tasks/${task.task_id}`, `/v2/subtasks/${first.subtask_id}`]) {
      assert.equal((await carillon.call(owner, 'GET', path)).status, 404, path);
    }
    const again = await carillon.call(owner, 'DELETE', `/v2/tasks/${task.task_id}`);
    assert.equal(again.status, 404);
    assert.equal((await owner.carillon.projects.get(project.project_id)).project_id, project.project_id);
  });
}

for (const { test, testService } of stores) {
  let now = Date.parse('2027-03-01T00:00:00Z');
  const clock = { ...systemClock, now: () => now };
  const carillon = await testService({ after }, { deps: { clock } });
  const owner = await carillon.createAccount('acme.test');
  const bells = await owner.carillon.projects.create({ project_name: 'Bells' });
  const other = await owner.carillon.projects.create({ project_name: 'Other' });

  /**
   * All tasks of the account: the project, the fields, the time of creation, and the time of completion if the task is
   * completed.
   */
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
