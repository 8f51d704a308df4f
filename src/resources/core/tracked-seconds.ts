import { sql } from 'kysely';

/** Selects the seconds tracked on a task or subtask: the sum of its time entries (C38). */
export const selectTrackedSeconds = (idColumn: 'tasks.task_id' | 'subtasks.subtask_id') => {
  const [table = '', key = ''] = idColumn.split('.');
  return sql<number>`(select cast(coalesce(sum(time_entries.seconds), 0) as bigint) from time_entries
    where time_entries.account_id = ${sql.ref(`${table}.account_id`)}
    and ${sql.ref(`time_entries.${key}`)} = ${sql.ref(idColumn)})`.as('tracked_seconds');
};

/**
 * SQL for the seconds tracked on the tasks of a project, never null. The sums are nested so that both databases go from
 * the project to its tasks, and from each task to its time entries. A join was planned as a scan of all time entries.
 */
export const PROJECT_TRACKED_SECONDS_SQL = `(select cast(coalesce(sum((
    select sum(time_entries.seconds) from time_entries
    where time_entries.account_id = tasks.account_id and time_entries.task_id = tasks.task_id
  )), 0) as bigint) from tasks
  where tasks.account_id = projects.account_id and tasks.project_id = projects.project_id)`;
