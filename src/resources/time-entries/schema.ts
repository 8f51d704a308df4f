import {
  calendarDayOrNone,
  calendarTimeOrNone,
  key,
  numberFlag,
  prose,
  reference,
  referenceOrNone,
  seconds,
  shownCount,
  shownId,
  shownText,
} from '../../http/fields.ts';
import { condition, fromDay, idFilter, sinceDay, throughFilter, toDay, untilDay, wordFilter } from '../filters.ts';

/** A time entry: what somebody worked on a task (C38). */
export const timeEntryFields = {
  entry_id: key('Identifier of the time entry.'),
  date: calendarDayOrNone('The day it was worked; left out, the day that it is for the account.'),
  date_started: calendarTimeOrNone('When the work began.'),
  date_stopped: calendarTimeOrNone('When it ended; started, not stopped and of 0 seconds is a timer that runs.'),
  project_id: shownId('The project of its task.'),
  task_id: shownId('The task that was worked on.'),
  subtask_id: referenceOrNone('The subtask of it.'),
  project_name: shownText('The name of that project.'),
  task_name: shownText('The name of that task.'),
  subtask_name: shownText('The name of that subtask.'),
  hours: shownCount('Whole hours of it.'),
  minutes: shownCount('Whole minutes beside these hours.'),
  seconds: seconds('How long it took, in seconds.'),
  description: prose('What was done.'),
  billed: numberFlag('It was billed.'),
  user_id: referenceOrNone('Who worked. Only admins may name another user than themselves.'),
  user_name: shownText('The name of that user.'),
};

/** What a change takes: the entry may also move to another task. */
export const timeEntryChangeFields = { ...timeEntryFields, task_id: reference('The task it moves to.') };

/** A timer that runs: started, not stopped, and nothing entered of it yet. */
const RUNNING =
  'time_entries.date_started is not null and time_entries.date_stopped is null and time_entries.seconds = 0';

export const timeEntryFilters = {
  user_id: idFilter('Of this user.', 'time_entries.user_id'),
  client_id: throughFilter(
    'Of projects for this client; 0 for those of none.',
    'time_entries.task_id',
    'tasks.project_id',
    'projects.client_id',
  ),
  project_id: throughFilter('Of this project.', 'time_entries.task_id', 'tasks.project_id'),
  task_id: idFilter('Of this task.', 'time_entries.task_id'),
  subtask_id: idFilter('Of this subtask; 0 for those of none.', 'time_entries.subtask_id'),
  hide_billed: wordFilter('1 leaves out what was billed.', {
    0: condition('1 = 1'),
    1: condition('time_entries.billed = 0'),
  }),
  running: wordFilter('1: timers that run; 0: all but these.', {
    0: condition(`not (${RUNNING})`),
    1: condition(RUNNING),
  }),
  created_from: sinceDay('Entered on this day (UTC) or later.', 'time_entries.date_created'),
  created_to: untilDay('Entered on this day (UTC) or earlier.', 'time_entries.date_created'),
  date_from: fromDay('Worked on this day or later.', 'time_entries.date'),
  date_to: toDay('Worked on this day or earlier.', 'time_entries.date'),
};
