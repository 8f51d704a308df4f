import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { account } from '../../test/corpus/existing-service.ts';
import { runCarillon } from '../../test/kit/service/command.ts';
import { importFromApi, startScriptedSource } from '../../test/kit/service/import-from-api.ts';
import { createTemporaryFolder, type Json } from '../../test/kit/service/service.ts';
import { stores } from '../../test/kit/service/stores.ts';

const KEY = { key: 'k', domain: 'bells.example' };
const NEVER = '0000-00-00 00:00:00';

const reported = (path: string): Json[] =>
  readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

for (const { test, database, testService } of stores) {
  test('C42 an account of the existing service is imported completely: every record, in all forms used there', async (t) => {
    const { base } = await startScriptedSource(t, account);
    const work = join(createTemporaryFolder(t), 'work');
    const into = await database(t);
    const moved = await importFromApi({ base, headers: KEY, database: into, work });
    assert.deepEqual(
      moved.comparisons.map(({ resourceType, there, here, leftOut }) => [resourceType, there, here, leftOut]),
      Object.entries(account.lists).map(([resourceType, list]) => [resourceType, list.length, list.length, 0]),
    );
    assert.deepEqual([moved.leftOut, moved.skipped], [0, []]);
    const changed = reported(`${work}.report`).flatMap(({ resource: resourceType, id, changed }) =>
      changed.map(({ field, was }: Json) => [resourceType, id, field, was]),
    );
    assert.deepEqual(changed, [
      ['users', '1234', 'role', undefined],
      ['tasks', '503', 'task_order', '1415894000.5'],
      ['tasks', '503', 'progress', '33.3'],
      ['tasks', '504', 'hourly_rate', 33.333333],
    ]);

    const here = await testService(t, { database: into });
    const person = await here.createKey({ domain: 'acme.test', userId: String(moved.ownerId) }, {});
    const { tasks, subtasks, projects } = person.carillon;
    const shown = (await tasks.list()).data.map((task) => [task.task_id, task.task_order, task.recurring, task.price]);
    assert.deepEqual(shown, [
      ['501', '1415893855', '', '0'],
      ['502', '1415893999', 'W', '0'],
      ['503', '1415894001', '', '1500'],
      ['504', '1415894123', '', '0'],
    ]);
    const [, , fixed, done] = (await tasks.list()).data;
    assert.deepEqual([fixed?.fixed_price, fixed?.progress, fixed?.notifications], ['1', '33', '1']);
    assert.deepEqual([done?.hourly_rate, done?.date_completed], ['33.3333', '2014-12-01 10:00:00']);
    assert.deepEqual(
      (await subtasks.list()).data.map(({ subtask_order, recurring }) => [subtask_order, recurring]),
      [
        ['0', ''],
        ['1418804699', 'M'],
      ],
    );
    assert.deepEqual(
      (await projects.list()).data.map((project) => [project.project_order, project.recurring, project.notifications]),
      [
        ['0', '', '1'],
        ['0', '', '1'],
        ['1415893856', 'Y', '1'],
      ],
    );
    // A recurring record of the source also recurs at this service.
    await tasks.complete('502');
    assert.equal((await tasks.list({ status: 'open', order: 'latest' })).data[0]?.due_date, '2014-09-22 00:00:00');
  });

  test('an invalid optional field never drops the record or records that refer to it', async (t) => {
    const { lists, singles } = account;
    const [project] = lists.projects;
    const [task] = lists.tasks;
    const bad = { color: 'x'.repeat(33), progress: 'half', price: -1, currency: 'francs', closed: 'maybe' };
    const source = {
      singles,
      lists: {
        ...lists,
        clients: lists.clients.map((client) => ({ ...client, email: 'at the door', active: 7 })),
        projects: [{ ...project, ...bad, recurring: 'fortnightly', due_date: '2014-08-01 00:00:00' }],
        tasks: [{ ...task, recurring: '1', start_date: 'soon', tags: ['a', 7], fixed_price: 'yes' }],
        subtasks: lists.subtasks.slice(0, 1),
      },
    };
    const { base } = await startScriptedSource(t, source);
    const work = join(createTemporaryFolder(t), 'work');
    const into = await database(t);
    const moved = await importFromApi({ base, headers: KEY, database: into, work });
    assert.equal(moved.leftOut, 0, JSON.stringify(moved.skipped));
    const fieldsOf = (resourceType: string) =>
      reported(`${work}.report`)
        .filter((one) => one.resource === resourceType)
        .flatMap(({ changed }) => changed.map(({ field }: Json) => field))
        .sort();
    assert.deepEqual(fieldsOf('clients'), ['active', 'active', 'email', 'email']);
    assert.deepEqual(fieldsOf('projects'), [...Object.keys(bad), 'due_date', 'recurring'].sort());
    assert.deepEqual(fieldsOf('tasks'), ['fixed_price', 'recurring', 'start_date', 'tags']);
    const here = await testService(t, { database: into });
    const person = await here.createKey({ domain: 'acme.test', userId: String(moved.ownerId) }, {});
    const [one] = (await person.carillon.projects.list()).data;
    assert.deepEqual(
      [one?.color, one?.progress, one?.price, one?.currency, one?.closed, one?.recurring, one?.due_date],
      ['', '0', '0', '', '0', '', NEVER],
    );
    assert.equal((await person.carillon.subtasks.list()).paging.total_records, 1);
  });

  test('C42 left-out records are listed, one per line, and the command exits with 2', async (t) => {
    const { lists, singles } = account;
    const [task] = lists.tasks;
    const tasks = [task, { ...task, task_id: '505', task_name: '' }, { ...task, task_id: '506', project_id: '99' }];
    const { base } = await startScriptedSource(t, { singles, lists: { ...lists, tasks, subtasks: [] } });
    const cwd = createTemporaryFolder(t);
    const args = ['import', '--database', await database(t), '--from-api', base, '--domain', 'bells.example'];
    const environment = { CARILLON_IMPORT_KEY: 'k' };
    const { code, stdout } = await runCarillon(args, { cwd, environment });
    assert.equal(code, 2, stdout);
    assert.match(stdout, /^tasks: 1 of 3, 2 left out$/m);
    assert.match(stdout, /^left out: tasks 505: task_name must be a text of 1 to 255 characters$/m);
    assert.match(stdout, /^left out: tasks 506: project_id refers to none of the imported projects$/m);
    const again = await runCarillon([...args, '--as-domain', 'other.example', '--report', 'r', '--json'], {
      ...{ cwd, environment },
    });
    assert.equal(again.code, 2);
    assert.deepEqual(
      JSON.parse(again.stdout).skipped.map(({ resource: resourceType, id, left_out }: Json) => [
        resourceType,
        id,
        left_out.map(({ field }: Json) => field),
      ]),
      [
        ['tasks', '505', ['task_name']],
        ['tasks', '506', ['project_id']],
      ],
    );
  });
}
