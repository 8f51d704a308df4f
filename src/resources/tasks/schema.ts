import {
  active,
  askedFlag,
  assigned,
  assignedTeams,
  calendarTimeOrNone,
  decimal,
  fixedPrice,
  flag,
  key,
  line,
  name,
  order,
  prose,
  reference,
  shownId,
  shownMoment,
  shownNumber,
  shownText,
  tags,
  whole,
} from '../../http/fields.ts';
import { condition, fromDay, idFilter, sinceDay, tagIn, toDay, untilDay, wordFilter } from '../filters.ts';
import { recurring } from '../periods.ts';
import { stamps } from '../stamps.ts';

/** A task (C31). */
export const taskFields = {
  task_id: key('Identifier of the task.'),
  task_name: name('Name of the task.'),
  description: prose('Description.'),
  color: line('Colour.', 32),
  tags: tags('Tags, separated by commas.'),
  notes: prose('Notes.'),
  start_date: calendarTimeOrNone('First day.'),
  due_date: calendarTimeOrNone('Last day.'),
  date_completed: shownMoment('When it was completed, UTC.'),
  ongoing: flag('It has no end in sight.'),
  project_id: shownId('The project it belongs to.'),
  project_name: shownText('The name of that project.'),
  estimated_hours: decimal('Estimated hours.'),
  estimated_cost: decimal('Estimated cost.'),
  hourly_rate: decimal('Rate for one hour.'),
  fixed_price: fixedPrice('It has a fixed price.'),
  price: decimal('Price.'),
  task_order: order('Its place among the tasks of the project.'),
  active: active(),
  important: flag('It is important.'),
  completed: flag(
    'It is completed. Setting it completes the task and its open subtasks; clearing it reopens the task.',
  ),
  progress: whole('Progress in percent.', 100),
  notifications: flag('Kept for clients that set it; it changes nothing here.'),
  recurring: recurring('How it recurs: completing it creates the next one.'),
  archived: flag('It is archived.'),
  tracked_seconds: shownNumber('Seconds that were worked on it, by its time entries.'),
  ...stamps,
  users: assigned('Who is assigned.'),
  teams: assignedTeams('Which teams are assigned.'),
};

/** What a change takes: the task may also move to another project, and be reopened by `resume` (C33). */
export const taskChangeFields = {
  ...taskFields,
  project_id: reference('The project it moves to.'),
  resume: askedFlag('1 reopens a completed task.'),
};

export const taskFilters = {
  project_id: idFilter('Of this project.', 'tasks.project_id'),
  due_from: fromDay('Due on this day or later.', 'tasks.due_date'),
  due_to: toDay('Due on this day or earlier.', 'tasks.due_date'),
  created_from: sinceDay('Created on this day (UTC) or later.', 'tasks.date_created'),
  created_to: untilDay('Created on this day (UTC) or earlier.', 'tasks.date_created'),
  completed_from: sinceDay('Completed on this day (UTC) or later.', 'tasks.date_completed'),
  completed_to: untilDay('Completed on this day (UTC) or earlier.', 'tasks.date_completed'),
  tag: tagIn('With this tag.', 'tasks.tags'),
  status: wordFilter('open leaves out completed and archived.', {
    open: condition('tasks.completed = 0 and tasks.archived = 0'),
    completed: condition('tasks.completed = 1'),
    active: condition('tasks.active = 1'),
    onhold: condition('tasks.active = 2'),
    inactive: condition('tasks.active = 0'),
    archived: condition('tasks.archived = 1'),
  }),
};
