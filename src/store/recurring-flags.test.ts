import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { openStoreAt } from '../../test/kit/database/database.ts';
import { everyStore } from '../../test/kit/service/stores.ts';
import { type Dialect, loadMigrations } from './migrate.ts';
import { dialect as postgresDialect } from './postgres/migrate.ts';
import { dialect as sqliteDialect } from './sqlite/open.ts';

/** The migration that converts the flags to letters. */
const LETTERS = 11;

/** Statements that create a database of the previous version, with rows. */
const before = (dialect: Dialect): string[] => [
  'create table migrations (version integer primary key, name text not null)',
  ...loadMigrations(dialect)
    .filter(({ version }) => version < LETTERS)
    .flatMap(({ version, name, sql }) => [
      sql,
      `insert into migrations (version, name) values (${version}, '${name}')`,
    ]),
  `insert into accounts (account_id, domain, company_name, date_created) values (1, 'acme.test', 'Acme', 0)`,
  `insert into projects values (1, 1, 'P', '', '', '', '', '', null, null, 0, 0, '', '0', 0, '0', 0, 1, 0, 0, 0, 0, 0, null, 1)`,
  ...[0, 1].flatMap((flag) => [
    `insert into tasks values (${flag + 1}, 1, 'T${flag}', '', '', '', '', '2027-01-31 00:00:00', null, null, 0, 1, '0', '0', '0', 0, '0', 7, 1, 0, 0, 40, ${flag}, 0, 5, null, 1)`,
    `insert into subtasks values (${flag + 1}, 1, 'S${flag}', '', '', '', null, null, null, 0, 1, '0', 3, 1, 0, 0, 20, ${flag}, 5, null, 1)`,
  ]),
];

async function run(database: string): Promise<void> {
  if (database.startsWith('sqlite:')) {
    const file = new DatabaseSync(database.slice('sqlite:'.length));
    for (const statement of before(sqliteDialect)) file.exec(statement);
    return file.close();
  }
  const templateValues = { ...postgresDialect.templateValues, unicode: '"default"' };
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  for (const statement of before({ ...postgresDialect, templateValues })) await client.query(statement);
  await client.end();
}

for (const { test, database } of everyStore) {
  test('C41 records with the old recurring flag are kept, and do not recur until a period is chosen', async (t) => {
    const address = await database(t);
    await run(address);
    const store = await openStoreAt(t, address);
    const tasks = await store.read.selectFrom('tasks').selectAll().orderBy('task_id').execute();
    assert.deepEqual(
      tasks.map((row) => [row.task_name, row.start_date, row.task_order, row.progress, row.archived, row.recurring]),
      [
        ['T0', '2027-01-31 00:00:00', 7, 40, 0, ''],
        ['T1', '2027-01-31 00:00:00', 7, 40, 0, ''],
      ],
    );
    const subtasks = await store.read.selectFrom('subtasks').selectAll().orderBy('subtask_id').execute();
    assert.deepEqual(
      subtasks.map((row) => [row.subtask_name, row.subtask_order, row.progress, row.recurring, row.notifications]),
      [
        ['S0', 3, 20, '', 0],
        ['S1', 3, 20, '', 0],
      ],
    );
    const [project] = await store.read.selectFrom('projects').selectAll().execute();
    const { recurring, notifications, estimated_hours, project_order } = project ?? {};
    assert.deepEqual([recurring, notifications, estimated_hours, project_order], ['', 0, '0', 0]);
  });
}
