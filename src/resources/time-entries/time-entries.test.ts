import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { recordOccurrences } from '../../../test/kit/service/occurrences.ts';
import { stores } from '../../../test/kit/service/stores.ts';
import { migrate } from '../../store/migrate.ts';
import { dialect } from '../../store/sqlite/open.ts';
import { PROJECT_TRACKED_SECONDS_SQL } from '../core/tracked-seconds.ts';

for (const { test, testService } of stores) {
  const carillon = await testService({ after });
  const owner = await carillon.createAccount('acme.test');
  const member = await carillon.createUser(owner, 'member');
  const stranger = await carillon.createAccount('other.test');
  const { clients, projects, tasks, subtasks, timeEntries } = owner.carillon;
  const { client_id } = await clients.create({ client_name: 'Client' });
  const { project_id } = await projects.create({ project_name: 'Project', client_id });

  const NEVER = '0000-00-00 00:00:00';
  const newTask = () => tasks.create(project_id, { task_name: 'Task' });
  const idsOf = async (filters: Parameters<typeof timeEntries.list>[0]) =>
    (await timeEntries.list(filters)).data.map(({ entry_id }) => entry_id);

  test('C38 a time entry has these fields, seconds as a text, and hours, minutes and billed as numbers', async () => {
    const { task_id } = await newTask();
    const { subtask_id } = await subtasks.create(task_id, { subtask_name: 'Subtask' });
    const { user_name } = await owner.carillon.user.get();
    const plain = await timeEntries.create(task_id, { seconds: 59 });
    const { entry_id, date, ...rest } = plain;
    const shown = {
      ...{ date_started: NEVER, date_stopped: NEVER, project_id, task_id, subtask_id: '0' },
      ...{ project_name: 'Project', task_name: 'Task', subtask_name: '', hours: 0, minutes: 0, seconds: '59' },
      ...{ description: '', billed: 0, user_id: owner.userId, user_name },
    };
    assert.deepEqual(rest, shown);
    assert.equal(date, new Date(Date.now()).toISOString().slice(0, 10));
    const given = { date: '20270301', seconds: '7384', subtask_id, description: 'Cast', billed: true } as const;
    const times = { date_started: '2027-03-01 09:00:00', date_stopped: '2027-03-01 11:03:04' };
    const full = await timeEntries.create(task_id, { ...given, ...times });
    const more = { date: '2027-03-01', subtask_id, subtask_name: 'Subtask', hours: 2, minutes: 3, seconds: '7384' };
    assert.deepEqual(full, { ...plain, entry_id: full.entry_id, ...times, ...more, description: 'Cast', billed: 1 });
    assert.deepEqual(await timeEntries.get(full.entry_id), full);
    assert.deepEqual(await timeEntries.update(entry_id, { ...given, ...times, date: full.date }), {
      ...full,
      entry_id,
    });
    assert.equal((await timeEntries.update(entry_id, { subtask_id: '' })).subtask_id, '0');
  });

  test('C38 a time entry is changed at both paths', async () => {
    const { entry_id } = await timeEntries.create((await newTask()).task_id, { seconds: 1 });
    for (const [path, seconds] of [
      ['time_entries', '2'],
      ['time_entry', '3'],
    ] as const) {
      const { status, json } = await carillon.call(owner, 'PUT', `/v2/${path}/${entry_id}`, { seconds });
      assert.deepEqual([status, json.data.seconds], [200, seconds]);
    }
    assert.equal((await carillon.call(owner, 'GET', `/v2/time_entry/${entry_id}`)).status, 404);
    const old = { 'if-match': '"as-it-was"' };
    const refused = await carillon.call(owner, 'PUT', `/v2/time_entry/${entry_id}`, { seconds: 4 }, old);
    assert.deepEqual([refused.status, (await timeEntries.get(entry_id)).seconds], [412, '3']);
  });

  test('C38 the default date is the day of date_started, else today in the account’s zone', async () => {
    const { task_id } = await newTask();
    const begun = await timeEntries.create(task_id, { seconds: 0, date_started: '2027-05-01 23:00:00' });
    assert.equal(begun.date, '2027-05-01');
    await timeEntries.update(begun.entry_id, { date: '20270601' });
    assert.equal((await timeEntries.update(begun.entry_id, { date: '' })).date, '2027-05-01', 'as it was begun');
    const days = ['Pacific/Kiritimati', 'Pacific/Pago_Pago'].map(async (time_zone, index) => {
      const domain = `zone-${index}.test`;
      const far = (await carillon.createAccount(domain)).carillon;
      await carillon.store.write(({ queries }) =>
        queries.updateTable('accounts').set({ time_zone }).where('domain', '=', domain).execute(),
      );
      const place = await far.projects.create({ project_name: 'Far' });
      const task = await far.tasks.create(place.project_id, { task_name: 'Far' });
      const entry = await far.timeEntries.create(task.task_id, { seconds: 0 });
      return [entry.date, new Intl.DateTimeFormat('en-CA', { timeZone: time_zone }).format(Date.now())];
    });
    for (const [is, wanted] of await Promise.all(days)) assert.equal(is, wanted);
  });

  test('C38 tracked time of a task and of a subtask is the sum of their time entries', async () => {
    const { task_id } = await newTask();
    const { subtask_id } = await subtasks.create(task_id, { subtask_name: 'Subtask' });
    const tracked = async () => [
      (await tasks.get(task_id)).tracked_seconds,
      (await subtasks.get(subtask_id)).tracked_seconds,
    ];
    assert.deepEqual(await tracked(), ['0', '0']);
    const own = await timeEntries.create(task_id, { seconds: 100 });
    const ofBoth = await timeEntries.create(task_id, { seconds: 20, subtask_id });
    assert.deepEqual(await tracked(), ['120', '20']);
    assert.equal(
      (await tasks.list({ project_id })).data.find((one) => one.task_id === task_id)?.tracked_seconds,
      '120',
    );
    await timeEntries.update(own.entry_id, { seconds: 1 });
    assert.deepEqual(await tracked(), ['21', '20']);
    await timeEntries.delete(ofBoth.entry_id);
    assert.deepEqual(await tracked(), ['1', '0']);
  });

  test('C38 the subtask of an entry belongs to its task, before and after a change', async () => {
    const [task, other] = [await newTask(), await newTask()];
    const { subtask_id } = await subtasks.create(task.task_id, { subtask_name: 'Subtask' });
    const isWrong = (error: { code: string; errors: readonly { field: string }[] }) => {
      assert.deepEqual([error.code, error.errors[0]?.field], ['invalid_input', 'subtask_id']);
      return true;
    };
    await assert.rejects(timeEntries.create(other.task_id, { seconds: 1, subtask_id }), isWrong);
    const { entry_id } = await timeEntries.create(task.task_id, { seconds: 1, subtask_id });
    await assert.rejects(timeEntries.update(entry_id, { task_id: other.task_id }), isWrong);
    const moved = await timeEntries.update(entry_id, { task_id: other.task_id, subtask_id: '' });
    assert.equal(moved.task_id, other.task_id);
    await assert.rejects(timeEntries.update(entry_id, { subtask_id }), isWrong);
  });

  test('C38 an entry that ends before it begins is rejected, naming the given field', async () => {
    const { task_id } = await newTask();
    const times = { date_started: '2027-03-01 09:00:00', date_stopped: '2027-03-01 08:00:00' };
    const naming = (field: string) => (error: { errors: readonly { field: string }[] }) =>
      error.errors[0]?.field === field;
    await assert.rejects(timeEntries.create(task_id, { seconds: 1, ...times }), naming('date_stopped'));
    const { entry_id } = await timeEntries.create(task_id, { seconds: 1, date_stopped: times.date_stopped });
    await assert.rejects(timeEntries.update(entry_id, { date_started: times.date_started }), naming('date_started'));
  });

  test('C38 a list is filtered by user, client, project, task, subtask, billed and days', async () => {
    const { task_id } = await newTask();
    const { subtask_id } = await subtasks.create(task_id, { subtask_name: 'Subtask' });
    const place = await projects.create({ project_name: 'Of no client' });
    const elsewhere = await tasks.create(place.project_id, { task_name: 'Elsewhere' });
    const make = async (...given: Parameters<typeof timeEntries.create>) =>
      (await timeEntries.create(...given)).entry_id;
    const first = await make(task_id, { seconds: 1, date: '20280101', billed: 1 });
    const second = await make(task_id, { seconds: 2, date: '20280102', subtask_id });
    const third = await make(elsewhere.task_id, { seconds: 3, date: '20280103', user_id: member.userId });
    const days = { date_from: '20280101', date_to: '20280103' };
    assert.deepEqual(await idsOf(days), [first, second, third]);
    assert.deepEqual(await idsOf({ date_from: '20280102', date_to: '20280102' }), [second]);
    assert.deepEqual(await idsOf({ ...days, user_id: member.userId }), [third]);
    assert.deepEqual(await idsOf({ ...days, client_id }), [first, second]);
    assert.deepEqual(await idsOf({ ...days, client_id: 0 }), [third]);
    assert.deepEqual(await idsOf({ ...days, project_id: place.project_id }), [third]);
    assert.deepEqual(await idsOf({ ...days, task_id }), [first, second]);
    assert.deepEqual(await idsOf({ subtask_id }), [second]);
    assert.deepEqual(await idsOf({ ...days, hide_billed: '1' }), [second, third]);
    assert.deepEqual(await idsOf({ ...days, hide_billed: '0' }), [first, second, third]);
    const today = new Date(Date.now()).toISOString().slice(0, 10).replaceAll('-', '');
    assert.deepEqual(await idsOf({ ...days, created_from: today, created_to: today }), [first, second, third]);
    assert.deepEqual(await idsOf({ ...days, created_to: '20200101' }), []);
  });

  test('C38 running timers are found: started, not stopped, 0 seconds', async () => {
    const { task_id } = await newTask();
    const date_started = '2029-01-01 09:00:00';
    const make = async (given: object) => (await timeEntries.create(task_id, { seconds: 0, ...given })).entry_id;
    const running = await make({ date_started });
    const others = [
      await make({}),
      await make({ date_started, seconds: 60 }),
      await make({ date_started, date_stopped: date_started }),
    ];
    assert.deepEqual(await idsOf({ task_id, running: '1' }), [running]);
    assert.deepEqual(await idsOf({ task_id, running: '0' }), others);
  });

  test('C34 C38 deleting a task deletes its time entries; a deleted subtask leaves them to its task, a moved one takes them along', async () => {
    const [{ task_id }, other] = [await newTask(), await newTask()];
    const [one, two] = [
      await subtasks.create(task_id, { subtask_name: 'One' }),
      await subtasks.create(task_id, { subtask_name: 'Two' }),
    ];
    const { entry_id } = await timeEntries.create(task_id, { seconds: 1, subtask_id: one.subtask_id });
    const moving = await timeEntries.create(task_id, { seconds: 1, subtask_id: two.subtask_id });
    const kindsOf = async (act: () => Promise<unknown>) =>
      (await recordOccurrences(carillon, owner, act)).recorded.map(({ kind, record_id }) => [kind, record_id]);
    assert.deepEqual(await kindsOf(() => subtasks.delete(one.subtask_id)), [
      ['changed_time_entry', entry_id],
      ['deleted_subtask', one.subtask_id],
    ]);
    assert.equal((await timeEntries.get(entry_id)).subtask_id, '0');
    assert.deepEqual(await kindsOf(() => subtasks.update(two.subtask_id, { task_id: other.task_id })), [
      ['changed_time_entry', moving.entry_id],
      ['changed_subtask', two.subtask_id],
    ]);
    assert.equal((await timeEntries.get(moving.entry_id)).task_id, other.task_id);
    assert.deepEqual(await kindsOf(() => tasks.delete(task_id)), [
      ['deleted_time_entry', entry_id],
      ['deleted_task', task_id],
    ]);
  });

  test('C14 C38 only admins enter time for another user, and a deleted user keeps a name', async () => {
    const { task_id } = await newTask();
    const gone = await carillon.createUser(owner, 'member');
    const mine = { seconds: 1, user_id: gone.userId };
    await assert.rejects(member.carillon.timeEntries.create(task_id, mine), { code: 'not_permitted' });
    const made = await timeEntries.create(task_id, mine);
    assert.equal(made.user_id, gone.userId);
    await owner.carillon.users.delete(gone.userId);
    assert.equal((await timeEntries.get(made.entry_id)).user_name, made.user_name);
  });

  test('C3 C38 time cannot be entered on a task of another account', async () => {
    const { task_id } = await newTask();
    await assert.rejects(stranger.carillon.timeEntries.create(task_id, { seconds: 1 }), { code: 'not_found' });
  });
}

test('the time of a project is summed over its own tasks, without scanning all time entries of the account', () => {
  const database = new DatabaseSync(':memory:');
  migrate(database, dialect);
  const plan = database
    .prepare(
      `explain query plan select projects.project_id, ${PROJECT_TRACKED_SECONDS_SQL} from projects where account_id = 1`,
    )
    .all()
    .map(({ detail }) => String(detail));
  database.close();
  const steps = plan.filter((step) => /tasks_by_|time_entries_by_/.test(step));
  assert.deepEqual(steps, [
    'SEARCH tasks USING COVERING INDEX tasks_by_project (account_id=? AND project_id=?)',
    'SEARCH time_entries USING COVERING INDEX time_entries_by_task (account_id=? AND task_id=?)',
  ]);
});
