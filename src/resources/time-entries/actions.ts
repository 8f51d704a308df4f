import { sql } from 'kysely';
import { localAt } from '../../ical/zone.ts';
import type { AccountView } from '../../store/account.ts';
import { recordsOf } from '../records.ts';
import { inOrder } from '../spans.ts';
import { timeEntryChangeFields, timeEntryFields, timeEntryFilters } from './schema.ts';

export const timeEntries = recordsOf('time_entry', {
  fields: timeEntryFields,
  changes: timeEntryChangeFields,
  filters: timeEntryFilters,
  shown: (view) =>
    view
      .selectFrom('time_entries')
      .innerJoin('tasks', 'tasks.task_id', 'time_entries.task_id')
      .innerJoin('projects', 'projects.project_id', 'tasks.project_id')
      .innerJoin('users', 'users.user_id', 'time_entries.user_id')
      .leftJoin('subtasks', 'subtasks.subtask_id', 'time_entries.subtask_id')
      .selectAll('time_entries')
      .select(['tasks.project_id', 'tasks.task_name', 'projects.project_name', 'subtasks.subtask_name'])
      .select([
        sql<number>`time_entries.seconds / 3600`.as('hours'),
        sql<number>`time_entries.seconds / 60 % 60`.as('minutes'),
        sql<string>`trim(users.first_name || ' ' || users.last_name)`.as('user_name'),
      ]),
  check: inOrder('date_started', 'date_stopped'),
  async stored(given, before, view) {
    const { date_started } = { ...before, ...given };
    return given.date === null ? { ...given, date: await dayOf(view, date_started) } : given;
  },
});

/** The day that work began; else the day that it is now, where the account is. */
async function dayOf(view: AccountView, dateStarted: string | null | undefined): Promise<string> {
  const { time_zone } = await view.selectFrom('accounts').select('accounts.time_zone').executeTakeFirstOrThrow();
  return `${(dateStarted ?? localAt(time_zone, view.now)).slice(0, 10)} 00:00:00`;
}
