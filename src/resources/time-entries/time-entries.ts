import { sql } from 'kysely';
import { calendarDayOrNone, calendarTimeOrNone, createDateOrderCheck } from '../../http/fields/dates.ts';
import { ownRecordId, readOnlyId, recordId, recordIdOrNone } from '../../http/fields/reference-fields.ts';
import { longText, numberFlag, readOnlyInteger, readOnlyText, seconds } from '../../http/fields/scalar-fields.ts';
import type { Route } from '../../http/routes/route.ts';
import { localTimeAt } from '../../ical/zone.ts';
import type { AccountView } from '../../store/account-scope.ts';
import { defineResource } from '../core/define-resource.ts';
import {
  dateFromFilter,
  dateUpToFilter,
  enumFilter,
  idFilter,
  relatedIdFilter,
  sqlCondition,
  timestampFromFilter,
  timestampUpToFilter,
} from '../core/filters.ts';
import { createAliasRoutes, createResourceRoutes } from '../core/resource-routes.ts';

/** Fields of a time entry: time that a user worked on a task (C38). */
const timeEntryFields = {
  entry_id: ownRecordId('Identifier of the time entry.'),
  date: calendarDayOrNone(
    "The day of the work. Default: the day of date_started, or today in the account's time zone.",
  ),
  date_started: calendarTimeOrNone('When the work began.'),
  date_stopped: calendarTimeOrNone('When the work ended. A running timer is started, not stopped, and has 0 seconds.'),
  project_id: readOnlyId('The project of its task.'),
  task_id: readOnlyId('The task that was worked on.'),
  subtask_id: recordIdOrNone('The subtask that was worked on.'),
  project_name: readOnlyText('The name of that project.'),
  task_name: readOnlyText('The name of that task.'),
  subtask_name: readOnlyText('The name of that subtask.'),
  hours: readOnlyInteger('Whole hours.'),
  minutes: readOnlyInteger('Minutes in addition to the hours.'),
  seconds: seconds('Duration in seconds.'),
  description: longText('Description of the work.'),
  billed: numberFlag('Whether it was billed.'),
  user_id: recordIdOrNone('The user who worked. Only admins may give another user.'),
  user_name: readOnlyText('The name of that user.'),
};

/** Input fields of a change: the entry can also move to another task. */
const timeEntryChangeFields = { ...timeEntryFields, task_id: recordId('The task it moves to.') };

/** SQL condition: the entry is a running timer, which is started, not stopped, and has 0 seconds. */
const IS_RUNNING_TIMER_SQL =
  'time_entries.date_started is not null and time_entries.date_stopped is null and time_entries.seconds = 0';

const timeEntryFilters = {
  user_id: idFilter('Only entries of this user.', 'time_entries.user_id'),
  client_id: relatedIdFilter(
    'Only entries of projects for this client; 0 for projects without one.',
    'time_entries.task_id',
    'tasks.project_id',
    'projects.client_id',
  ),
  project_id: relatedIdFilter('Only entries of this project.', 'time_entries.task_id', 'tasks.project_id'),
  task_id: idFilter('Only entries of this task.', 'time_entries.task_id'),
  subtask_id: idFilter('Only entries of this subtask; 0 for entries without one.', 'time_entries.subtask_id'),
  hide_billed: enumFilter('1 leaves out billed entries.', {
    0: sqlCondition('1 = 1'),
    1: sqlCondition('time_entries.billed = 0'),
  }),
  running: enumFilter('1: running timers; 0: all others.', {
    0: sqlCondition(`not (${IS_RUNNING_TIMER_SQL})`),
    1: sqlCondition(IS_RUNNING_TIMER_SQL),
  }),
  created_from: timestampFromFilter('Created on this day (UTC) or later.', 'time_entries.date_created'),
  created_to: timestampUpToFilter('Created on this day (UTC) or earlier.', 'time_entries.date_created'),
  date_from: dateFromFilter('Worked on this day or later.', 'time_entries.date'),
  date_to: dateUpToFilter('Worked on this day or earlier.', 'time_entries.date'),
};

const timeEntries = defineResource('time_entry', {
  fields: timeEntryFields,
  changeFields: timeEntryChangeFields,
  filters: timeEntryFilters,
  select: (view) =>
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
  // Time entries may overlap, and `seconds` (the duration) is independent of start and stop.
  requireConsistency: createDateOrderCheck('date_started', 'date_stopped'),
  async toColumns(input, oldRecord, view) {
    const { date_started } = { ...oldRecord, ...input };
    return input.date === null ? { ...input, date: await determineWorkDay(view, date_started) } : input;
  },
});

/** Returns the day on which the work started. If it has no start, returns today in the time zone of the account. */
async function determineWorkDay(view: AccountView, dateStarted: string | null | undefined): Promise<string> {
  const { time_zone } = await view.selectFrom('accounts').select('accounts.time_zone').executeTakeFirstOrThrow();
  return `${(dateStarted ?? localTimeAt(time_zone, view.now)).slice(0, 10)} 00:00:00`;
}

const baseRoutes = createResourceRoutes(timeEntries, {
  list: 'Lists time entries.',
  create: 'Creates a time entry for a task.',
  get: 'Returns a time entry.',
  change: 'Changes the given fields of a time entry.',
  remove: 'Deletes a time entry.',
});

export const timeEntryRoutes: readonly Route[] = [
  ...baseRoutes,
  ...createAliasRoutes(baseRoutes, 'PUT', '/time_entry'),
];
