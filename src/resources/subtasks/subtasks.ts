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
  writeOnlyFlag,
} from '../../http/fields/scalar-fields.ts';
import { isNewlyCompleted, isReopened, toCompletionColumns } from '../core/completion.ts';
import { defineResource } from '../core/define-resource.ts';
import { activeState, assignedTeams, assignedUsers, commonFields, sortPosition } from '../core/domain-fields.ts';
import {
  assignedTeamFilter,
  assignedUserFilter,
  dateFromFilter,
  dateUpToFilter,
  enumFilter,
  idFilter,
  sqlCondition,
  timestampFromFilter,
  timestampUpToFilter,
} from '../core/filters.ts';
import { createNextRecurringSubtask, getRecurrencePeriod, recurrenceField } from '../core/recurring-tasks.ts';
import { createResourceRoutes } from '../core/resource-routes.ts';
import { selectTrackedSeconds } from '../core/tracked-seconds.ts';

/** Fields of a subtask (C32). */
export const subtaskFields = {
  subtask_id: ownRecordId('Identifier of the subtask.'),
  subtask_name: requiredName('Name of the subtask.'),
  description: longText('Description.'),
  color: shortText('Colour.', 32),
  notes: longText('Notes.'),
  start_date: calendarTimeOrNone('First day.'),
  due_date: calendarTimeOrNone('Last day.'),
  date_completed: readOnlyTimestamp('When it was completed, UTC.'),
  ongoing: flag('Whether it has no end date.'),
  project_id: readOnlyId('The project of its task.'),
  project_name: readOnlyText('The name of that project.'),
  task_id: readOnlyId('The task it belongs to.'),
  task_name: readOnlyText('The name of that task.'),
  estimated_hours: decimal('Estimated hours.'),
  subtask_order: sortPosition('Its position among the subtasks of the task.'),
  active: activeState(),
  important: flag('Whether it is important.'),
  completed: flag('Whether it is completed. 1 completes the subtask, 0 reopens it.'),
  progress: integer('Progress in percent.', 100),
  notifications: flag('Stored for existing clients; it has no effect.'),
  recurring: recurrenceField('Its recurrence: completing it creates the next one.'),
  tracked_seconds: readOnlyDigits('Seconds worked on it: the sum of its time entries.'),
  ...commonFields,
  users: assignedUsers('The assigned users.'),
  teams: assignedTeams('The assigned teams.'),
};

/** SQL condition: the subtask is archived. Subtasks have no archive of their own; they are archived with their task. */
const IS_ARCHIVED_SQL = `exists (select 1 from tasks where tasks.account_id = subtasks.account_id
  and tasks.task_id = subtasks.task_id and tasks.archived = 1)`;

/** Input fields of a change. The subtask can also move to another task, and `resume` reopens it (C33). */
const subtaskChangeFields = {
  ...subtaskFields,
  task_id: recordId('The task it moves to.'),
  resume: writeOnlyFlag('1 reopens a completed subtask.'),
};

const subtaskFilters = {
  task_id: idFilter('Only subtasks of this task.', 'subtasks.task_id'),
  user_id: assignedUserFilter('Assigned to this user.', 'subtask'),
  team_id: assignedTeamFilter('Assigned to this team.', 'subtask'),
  due_from: dateFromFilter('Due on this day or later.', 'subtasks.due_date'),
  due_to: dateUpToFilter('Due on this day or earlier.', 'subtasks.due_date'),
  completed_from: timestampFromFilter('Completed on this day (UTC) or later.', 'subtasks.date_completed'),
  completed_to: timestampUpToFilter('Completed on this day (UTC) or earlier.', 'subtasks.date_completed'),
  status: enumFilter('open leaves out completed and archived; archived are those of archived tasks.', {
    open: sqlCondition(`subtasks.completed = 0 and not ${IS_ARCHIVED_SQL}`),
    completed: sqlCondition('subtasks.completed = 1'),
    active: sqlCondition('subtasks.active = 1'),
    onhold: sqlCondition('subtasks.active = 2'),
    inactive: sqlCondition('subtasks.active = 0'),
    archived: sqlCondition(IS_ARCHIVED_SQL),
  }),
};

export const subtasks = defineResource('subtask', {
  fields: subtaskFields,
  changeFields: subtaskChangeFields,
  filters: subtaskFilters,
  select: (view) =>
    view
      .selectFrom('subtasks')
      .innerJoin('tasks', 'tasks.task_id', 'subtasks.task_id')
      .innerJoin('projects', 'projects.project_id', 'tasks.project_id')
      .selectAll('subtasks')
      .select([
        'tasks.task_name',
        'tasks.project_id',
        'projects.project_name',
        selectTrackedSeconds('subtasks.subtask_id'),
      ]),
  requireConsistency: requireDateOrder,
  toColumns: toCompletionColumns,
  changeOccurrences: {
    kinds: ['completed_subtask', 'changed_subtask', 'reopened_subtask', 'new_subtask'],
    async createOccurrences(write, change, oldRecord, newValues) {
      const isCompletion = isNewlyCompleted(oldRecord, newValues);
      const period = isCompletion ? getRecurrencePeriod(oldRecord, newValues) : undefined;
      return [
        isCompletion ? { ...change, kind: 'completed_subtask' } : change,
        ...(isReopened(oldRecord, newValues) ? [{ ...change, kind: 'reopened_subtask' } as const] : []),
        ...(period === undefined ? [] : await createNextRecurringSubtask(write, period, oldRecord.subtask_id)),
      ];
    },
  },
});

export const subtaskRoutes = createResourceRoutes(subtasks, {
  list: 'Lists subtasks.',
  create: 'Creates a subtask of a task.',
  get: 'Returns a subtask.',
  change: 'Changes the given fields of a subtask, completes or reopens it.',
  remove: 'Deletes a subtask with its comments; its time entries stay with the task.',
});
