import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { TaskInput } from '../../../packages/sdk/src/resources.ts';
import { eventually } from '../../../test/kit/eventually.ts';
import { startTarget } from '../../../test/kit/network/target.ts';
import { recordOccurrences } from '../../../test/kit/service/occurrences.ts';
import type { Json } from '../../../test/kit/service/service.ts';
import { sharedStores, stores } from '../../../test/kit/service/stores.ts';
import type { SendAttempt } from '../../delivery/transport/attempt.ts';

const NEVER = '0000-00-00 00:00:00';

for (const { test, testService } of stores) {
  const carillon = await testService({ after });
  const owner = await carillon.createAccount('acme.test');
  const member = await carillon.createUser(owner, 'member');
  const { projects, tasks, subtasks, teams } = owner.carillon;
  const { project_id } = await projects.create({ project_name: 'Bells' });
  const { team_id } = await teams.create({ team_name: 'Casting' });

  const taskDates = { start_date: '20270101', due_date: '2027-01-31 17:30:00' } as const;
  const complete = (resourceType: 'tasks' | 'subtasks', id: string, more: object = {}, who = owner) =>
    recordOccurrences(carillon, owner, async () => {
      const answer = await carillon.call(who, 'PUT', `/v2/${resourceType}/${id}`, { completed: 1, ...more });
      assert.equal(answer.status, 200, answer.text);
      return answer.json.data as Json;
    });

  /** Fetches the records that were created, as recorded in the occurrences. */
  async function createdRecords(
    resourceType: 'tasks' | 'subtasks',
    noted: readonly { kind: string; record_id: string }[],
  ) {
    const ids = noted
      .filter(({ kind }) => kind === `new_${resourceType.slice(0, -1)}`)
      .map(({ record_id }) => record_id);
    return Promise.all(
      ids.map(async (id) => (await carillon.call(owner, 'GET', `/v2/${resourceType}/${id}`)).json.data),
    );
  }

  test('C41 completing a recurring task creates an open copy one period later, which recurs in turn', async () => {
    const assigned = { users: [member.userId, owner.userId], teams: [team_id] };
    const given: TaskInput = {
      ...{ task_name: 'Tune', description: 'Fork in hand', color: '#fff', tags: 'a,b', notes: 'N', ongoing: true },
      ...{ estimated_hours: 2.5, estimated_cost: 7, hourly_rate: 12, fixed_price: 30, task_order: 1_415_893_855 },
      ...{ active: '2', important: true, progress: 40, notifications: true, recurring: 'M', archived: false },
    };
    const task = await tasks.create(project_id, { ...given, ...taskDates, ...assigned });
    const { result, recorded } = await complete('tasks', task.task_id);
    assert.deepEqual([result.completed, result.recurring], ['1', '']);
    assert.deepEqual(
      recorded.map(({ kind, user_id }) => [kind, user_id]),
      [
        ['completed_task', owner.userId],
        ['new_task', owner.userId],
      ],
    );
    const [next] = await createdRecords('tasks', recorded);
    assert.deepEqual(next, {
      ...task,
      task_id: next.task_id,
      ...{ start_date: '2027-02-01 00:00:00', due_date: '2027-02-28 17:30:00', date_created: next.date_created },
    });
    assert.equal((await complete('tasks', next.task_id)).result.recurring, '');
  });

  test('C33 C41 its open and completed subtasks are copied as open, with dates moved and with their recurrence', async () => {
    const task = await tasks.create(project_id, { task_name: 'Round', recurring: 'W', due_date: '20270228' });
    const make = (subtask_name: string, more: object = {}) => subtasks.create(task.task_id, { subtask_name, ...more });
    const open = await make('Open', { users: [member.userId], due_date: '20270227' });
    const done = await make('Done', { completed: 1, progress: 100 });
    const own = await make('Own', { recurring: 'D', teams: [team_id], start_date: '2027-02-20 08:00:00' });
    const { recorded } = await complete('tasks', task.task_id);
    assert.deepEqual(
      recorded.map(({ kind }) => kind),
      [
        ...['completed_subtask', 'completed_subtask', 'completed_task'],
        ...['new_task', 'new_subtask', 'new_subtask', 'new_subtask'],
      ],
    );
    const [[next], copies] = [await createdRecords('tasks', recorded), await createdRecords('subtasks', recorded)];
    assert.deepEqual([next.due_date, next.recurring], ['2027-03-07 00:00:00', 'W']);
    for (const [index, before] of [open, done, own].entries()) {
      const copy = copies[index];
      const moved = [
        { due_date: '2027-03-06 00:00:00' },
        { completed: '0', date_completed: NEVER },
        { start_date: '2027-02-27 08:00:00' },
      ][index];
      const { subtask_id, task_id, date_created } = copy;
      assert.deepEqual(copy, { ...before, ...moved, subtask_id, task_id, date_created });
      assert.equal(task_id, next.task_id);
      assert.equal((await subtasks.get(before.subtask_id)).recurring, '', 'the letter moved');
    }
  });

  test('C41 completing a recurring subtask creates the next one in its task, and the task stays open', async () => {
    const task = await tasks.create(project_id, { task_name: 'Holds' });
    const given = { subtask_name: 'Oil', recurring: 'Q', due_date: '20271130', users: [member.userId] } as const;
    const subtask = await subtasks.create(task.task_id, given);
    const { result, recorded } = await complete('subtasks', subtask.subtask_id);
    assert.equal(result.recurring, '');
    assert.deepEqual(
      recorded.map(({ kind }) => kind),
      ['completed_subtask', 'new_subtask'],
    );
    const [next] = await createdRecords('subtasks', recorded);
    const { subtask_id, date_created } = next;
    assert.deepEqual(next, { ...subtask, subtask_id, date_created, due_date: '2028-02-29 00:00:00' });
    assert.equal((await tasks.get(task.task_id)).completed, '0');
  });

  test('C41 a recurring subtask completed with its task does not recur, and recurs again after both are reopened', async () => {
    const task = await tasks.create(project_id, { task_name: 'Once' });
    const { subtask_id } = await subtasks.create(task.task_id, { subtask_name: 'Often', recurring: 'D' });
    const { recorded } = await complete('tasks', task.task_id);
    assert.deepEqual(
      recorded.map(({ kind }) => kind),
      ['completed_subtask', 'completed_task'],
    );
    assert.equal((await subtasks.get(subtask_id)).recurring, 'D');
    await subtasks.resume(subtask_id);
    const again = await complete('subtasks', subtask_id);
    assert.deepEqual(
      again.recorded.map(({ kind }) => kind),
      ['completed_subtask', 'new_subtask'],
    );
  });

  test('C33 C41 a task that is already complete, created complete, or no longer recurring creates no next one', async () => {
    const kindsOf = async (id: string, more: object = {}) =>
      (await complete('tasks', id, more)).recorded.map(({ kind }) => kind);
    const task = await tasks.create(project_id, { task_name: 'T', recurring: 'D' });
    assert.deepEqual(await kindsOf(task.task_id), ['completed_task', 'new_task']);
    assert.deepEqual(await kindsOf(task.task_id), ['changed_task']);
    assert.deepEqual(await kindsOf(task.task_id, { recurring: 'D' }), ['changed_task'], 'it is complete already');
    const born = await recordOccurrences(carillon, owner, () =>
      tasks.create(project_id, { task_name: 'T', recurring: 'D', completed: 1 }),
    );
    assert.deepEqual(
      born.recorded.map(({ kind }) => kind),
      ['new_task'],
    );
    const stops = await tasks.create(project_id, { task_name: 'T', recurring: 'D' });
    assert.deepEqual(await kindsOf(stops.task_id, { recurring: '' }), ['completed_task']);
    const begins = await tasks.create(project_id, { task_name: 'T' });
    const { recorded } = await complete('tasks', begins.task_id, { recurring: 'Y', task_name: 'Renamed' });
    const [next] = await createdRecords('tasks', recorded);
    assert.deepEqual([next.task_name, next.recurring, next.due_date], ['Renamed', 'Y', NEVER]);
  });

  test('C14 C41 the completion is by the caller, the next task by the creator of the old one, and each is notified once', async (t) => {
    const target = await startTarget(t);
    const stage = await carillon.createAccount('told.test');
    const helper = await carillon.createUser(stage, 'admin');
    for (const [who, name] of [
      [stage, 'owner'],
      [helper, 'helper'],
    ] as const)
      for (const event of ['new_task', 'completed_task', 'new_subtask', 'completed_subtask'] as const)
        await who.carillon.hooks.create({ target_url: target.urlOf(`/${name}/${event}`), event });
    const place = await stage.carillon.projects.create({ project_name: 'P' });
    const task = await stage.carillon.tasks.create(place.project_id, { task_name: 'T', recurring: 'D' });
    await helper.carillon.subtasks.create(task.task_id, { subtask_name: 'S' });
    await helper.carillon.tasks.complete(task.task_id);
    const { data } = await stage.carillon.tasks.list({ status: 'open' });
    assert.deepEqual(
      data.map(({ user_id, recurring }) => [user_id, recurring]),
      [[stage.userId, 'D']],
    );
    const arrived = await target.waitForArrivals(6);
    assert.deepEqual(arrived.map(({ path }) => path).sort(), [
      '/helper/completed_subtask',
      '/helper/completed_task',
      ...['/helper/new_subtask', '/helper/new_subtask'],
      ...['/owner/new_task', '/owner/new_task'],
    ]);
    const told = arrived.filter(({ path }) => path === '/owner/new_task').map(({ resourceUrl }) => resourceUrl);
    assert.ok(told.includes(`${carillon.baseUrl}/v2/tasks/${data[0]?.task_id}`));
  });

  test('C41 of many concurrent completions exactly one creates the next task', async () => {
    const task = await tasks.create(project_id, { task_name: 'Race', recurring: 'M' });
    await subtasks.create(task.task_id, { subtask_name: 'Part' });
    const { result, recorded } = await recordOccurrences(carillon, owner, () =>
      Promise.all(
        Array.from({ length: 12 }, (_, index) =>
          carillon.call(index % 2 === 0 ? owner : member, 'PUT', `/v2/tasks/${task.task_id}`, { completed: 1 }),
        ),
      ),
    );
    assert.deepEqual([...new Set(result.map(({ status }) => status))], [200]);
    const counts = Object.fromEntries(
      [...Map.groupBy(recorded, ({ kind }) => kind)].map(([kind, each]) => [kind, each.length]),
    );
    assert.deepEqual(counts, {
      ...{ completed_subtask: 1, completed_task: 1, new_task: 1, new_subtask: 1, changed_task: 11 },
    });
  });

  test('C41 above the pending quota nothing is created, and the task stays open and recurring', async (t) => {
    const attempt: SendAttempt = ({ signal }) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve({ kind: 'local_error', code: 'stopped', durationMs: 1 }));
      });
    const full = await testService(t, { options: { maxPending: '2' }, deps: { sendAttempt: attempt } });
    const boss = await full.createAccount('full.test');
    const place = await boss.carillon.projects.create({ project_name: 'P' });
    const task = await boss.carillon.tasks.create(place.project_id, { task_name: 'T', recurring: 'D' });
    const plain = await boss.carillon.tasks.create(place.project_id, { task_name: 'T' });
    await boss.carillon.hooks.create({ target_url: 'http://127.0.0.1:9/full', event: 'new_task' });
    const create = () => full.call(boss, 'POST', `/v2/tasks/${place.project_id}`, { task_name: 'More' });
    await eventually(create, ({ status }) => status === 429);
    const before = (await boss.carillon.tasks.list()).paging.total_records;
    const { status, json } = await full.call(boss, 'PUT', `/v2/tasks/${task.task_id}`, { completed: 1 });
    assert.deepEqual([status, json.code], [429, 'pending_quota_exceeded']);
    const { completed: isDone, recurring } = await boss.carillon.tasks.get(task.task_id);
    assert.deepEqual([isDone, recurring], ['0', 'D']);
    assert.equal((await full.call(boss, 'PUT', `/v2/tasks/${plain.task_id}`, { completed: 1 })).status, 200);
    assert.equal((await boss.carillon.tasks.list()).paging.total_records, before);
  });

  test('C41 a deleted creator is still the creator of the next task, but is not assigned to it', async () => {
    const gone = await carillon.createUser(owner, 'admin');
    const task = await gone.carillon.tasks.create(project_id, {
      ...{ task_name: 'Left', recurring: 'D', users: [gone.userId, member.userId] },
    });
    await owner.carillon.users.delete(gone.userId);
    const { recorded } = await complete('tasks', task.task_id);
    const [next] = await createdRecords('tasks', recorded);
    assert.equal(next.user_id, gone.userId);
    assert.deepEqual(
      next.users.map(({ user_id }: Json) => user_id),
      [member.userId],
    );
  });

  test('C41 a recurring project keeps its recurrence and is not copied when it is closed', async () => {
    const project = await projects.create({ project_name: 'Yearly', recurring: 'Y' });
    const { recorded } = await recordOccurrences(carillon, owner, () =>
      projects.update(project.project_id, { closed: 1 }),
    );
    assert.deepEqual(
      recorded.map(({ kind }) => kind),
      ['changed_project'],
    );
    assert.equal((await projects.get(project.project_id)).recurring, 'Y');
  });
}

for (const { test, testService, database } of sharedStores) {
  test('C41 two nodes that complete a recurring task concurrently create one next task', async (t) => {
    const address = await database(t);
    const [one, other] = [await testService(t, { database: address }), await testService(t, { database: address })];
    const owner = await one.createAccount('acme.test');
    const { projects, tasks } = owner.carillon;
    const { project_id } = await projects.create({ project_name: 'P' });
    for (let round = 0; round < 5; round += 1) {
      const { task_id } = await tasks.create(project_id, { task_name: `Round ${round}`, recurring: 'W' });
      const answers = await Promise.all(
        [one, other, one, other].map((node) => node.call(owner, 'PUT', `/v2/tasks/${task_id}`, { completed: 1 })),
      );
      assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
    }
    const { data } = await tasks.list({ status: 'open' });
    assert.deepEqual(
      data.map(({ task_name, recurring }) => [task_name, recurring]),
      [0, 1, 2, 3, 4].map((round) => [`Round ${round}`, 'W']),
    );
  });
}
