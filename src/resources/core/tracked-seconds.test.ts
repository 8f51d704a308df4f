import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { migrate } from '../../store/migrate.ts';
import { dialect } from '../../store/sqlite/open.ts';
import { PROJECT_TRACKED_SECONDS_SQL } from './tracked-seconds.ts';

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
