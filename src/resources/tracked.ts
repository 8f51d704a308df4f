import { sql } from 'kysely';

/** How many seconds were worked on a task or a subtask: the sum of its time entries (C38). */
export const trackedSeconds = (id: 'tasks.task_id' | 'subtasks.subtask_id') => {
  const [table = '', key = ''] = id.split('.');
  return sql<number>`(select cast(coalesce(sum(time_entries.seconds), 0) as bigint) from time_entries
    where time_entries.account_id = ${sql.ref(`${table}.account_id`)}
    and ${sql.ref(`time_entries.${key}`)} = ${sql.ref(id)})`.as('tracked_seconds');
};
