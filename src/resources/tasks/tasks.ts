import type { NewOccurrence } from '../../delivery/outbox/record-occurrences.ts';
import { calendarTimeOrNone, readOnlyTimestamp, requireDateOrder } from '../../http/fields/dates.ts';
import { ownRecordId, readOnlyId, recordId } from '../../http/fields/reference-fields.ts';
import {
  decimal,
  flag,
  integer,
  longText,
  readOnlyDigits,
  readOnlyText,
  requiredName,
  shortText,
  tags,
  writeOnlyFlag,
} from '../../http/fields/scalar-fields.ts';
import type { AccountWrite } from '../../store/account-scope.ts';
import { isNewlyCompleted, isReopened, toCompletionColumns } from '../core/completion.ts';
import { defineResource } from '../core/define-resource.ts';
import {
  activeState,
  assignedTeams,
  assignedUsers,
  commonFields,
  fixedPrice,
  sortPosition,
} from '../core/domain-fields.ts';
import {
  dateFromFilter,
  dateUpToFilter,
  enumFilter,
  idFilter,
  sqlCondition,
  tagFilter,
  timestampFromFilter,
  timestampUpToFilter,
} from '../core/filters.ts';
import { createNextRecurringTask, getRecurrencePeriod, recurrenceField } from '../core/recurring-tasks.ts';
import { createResourceRoutes } from '../core/resource-routes.ts';
import { loadIdBatches } from '../core/resource-tables.ts';
import { ascendingBy, descendingBy, numberKey, textKey } from '../core/sorting.ts';
import { selectTrackedSeconds } from '../core/tracked-seconds.ts';

/** Fields of a task (C31). */
export const taskFields = {
  task_id: ownRecordId('Identifier of the task.'),
  task_name: requiredName('Name of the task.'),
  description: longText('Description.'),
  color: shortText('Colour.', 32),
  tags: tags('Tags, separated by commas.'),
  notes: longText('Notes.'),
  start_date: calendarTimeOrNone('First day.'),
  due_date: calendarTimeOrNone('Last day.'),
  date_completed: readOnlyTimestamp('When it was completed, UTC.'),
  ongoing: flag('Whether it has no end date.'),
  project_id: readOnlyId('The project it belongs to.'),
  project_name: readOnlyText('The name of that project.'),
  estimated_hours: decimal('Estimated hours.'),
  estimated_cost: decimal('Estimated cost.'),
  hourly_rate: decimal('Rate for one hour.'),
  fixed_price: fixedPrice('Whether it has a fixed price.'),
  price: decimal('Price of the task, in the currency of its project.'),
  task_order: sortPosition('Its position among the tasks of the project.'),
  active: activeState(),
  important: flag('Whether it is important.'),
  completed: flag('Whether it is completed. 1 completes the task and its open subtasks, 0 reopens the task.'),
  progress: integer('Progress in percent.', 100),
  notifications: flag('Stored for existing clients; it has no effect.'),
  recurring: recurrenceField('Its recurrence: completing it creates the next one.'),
  archived: flag('Whether it is archived.'),
  tracked_seconds: readOnlyDigits('Seconds worked on it: the sum of its time entries.'),
  ...commonFields,
  users: assignedUsers('The assigned users.'),
  teams: assignedTeams('The assigned teams.'),
};

/** Input fields of a change. The task can also move to another project, and `resume` reopens it (C33). */
const taskChangeFields = {
  ...taskFields,
  project_id: recordId('The project it moves to.'),
  resume: writeOnlyFlag('1 reopens a completed task.'),
};

const taskFilters = {
  project_id: idFilter('Only tasks of this project.', 'tasks.project_id'),
  due_from: dateFromFilter('Due on this day or later.', 'tasks.due_date'),
  due_to: dateUpToFilter('Due on this day or earlier.', 'tasks.due_date'),
  created_from: timestampFromFilter('Created on this day (UTC) or later.', 'tasks.date_created'),
  created_to: timestampUpToFilter('Created on this day (UTC) or earlier.', 'tasks.date_created'),
  completed_from: timestampFromFilter('Completed on this day (UTC) or later.', 'tasks.date_completed'),
  completed_to: timestampUpToFilter('Completed on this day (UTC) or earlier.', 'tasks.date_completed'),
  tag: tagFilter('With this tag.', 'tasks.tags'),
  status: enumFilter('open leaves out completed and archived.', {
    open: sqlCondition('tasks.completed = 0 and tasks.archived = 0'),
    completed: sqlCondition('tasks.completed = 1'),
    active: sqlCondition('tasks.active = 1'),
    onhold: sqlCondition('tasks.active = 2'),
    inactive: sqlCondition('tasks.active = 0'),
    archived: sqlCondition('tasks.archived = 1'),
  }),
};

export const tasks = defineResource('task', {
  fields: taskFields,
  changeFields: taskChangeFields,
  filters: taskFilters,
  orders: {
    description:
      'taskname and duedate ascending (tasks without a due date last), progress and latest descending; else by id.',
    byName: {
      taskname: ascendingBy(textKey('fold(tasks.task_name)')),
      duedate: ascendingBy(textKey("coalesce(tasks.due_date, '9999-99')")),
      progress: descendingBy(numberKey('tasks.progress')),
      latest: descendingBy(numberKey('tasks.date_created')),
    },
  },
  select: (view) =>
    view
      .selectFrom('tasks')
      .innerJoin('projects', 'projects.project_id', 'tasks.project_id')
      .selectAll('tasks')
      .select(['projects.project_name', selectTrackedSeconds('tasks.task_id')]),
  requireConsistency: requireDateOrder,
  toColumns: toCompletionColumns,
  changeOccurrences: {
    kinds: ['completed_subtask', 'completed_task', 'changed_task', 'reopened_task', 'new_task', 'new_subtask'],
    async createOccurrences(write, change, oldRecord, newValues) {
      const isCompletion = isNewlyCompleted(oldRecord, newValues);
      const period = isCompletion ? getRecurrencePeriod(oldRecord, newValues) : undefined;
      return [
        ...(isCompletion ? await completeOpenSubtasks(write, change) : []),
        isCompletion ? { ...change, kind: 'completed_task' } : change,
        ...(isReopened(oldRecord, newValues) ? [{ ...change, kind: 'reopened_task' } as const] : []),
        ...(period === undefined ? [] : await createNextRecurringTask(write, period, oldRecord.task_id)),
      ];
    },
  },
});

/** Completes the open subtasks of a completed task; each completion is a separate occurrence (C33). */
async function completeOpenSubtasks(write: AccountWrite, change: NewOccurrence): Promise<NewOccurrence[]> {
  const occurrences: NewOccurrence[] = [];
  for await (const ids of loadIdBatches(write, 'subtask', 'task_id', [change.recordId])) {
    const rows = await write
      .updateTable('subtasks')
      .set({ completed: 1, date_completed: write.now, date_modified: write.now })
      .where('subtask_id', 'in', ids)
      .where('completed', '=', 0)
      .returning('subtask_id')
      .execute();
    const completedIds = rows.map((row) => row.subtask_id).sort((a, b) => a - b);
    occurrences.push(
      ...completedIds.map((recordId): NewOccurrence => ({ ...change, kind: 'completed_subtask', recordId })),
    );
  }
  return occurrences;
}

export const taskRoutes = createResourceRoutes(tasks, {
  list: 'Lists tasks.',
  create: 'Creates a task in a project.',
  get: 'Returns a task.',
  change: 'Changes the given fields of a task, completes or reopens it.',
  remove: 'Deletes a task with its subtasks, time entries and comments.',
});
