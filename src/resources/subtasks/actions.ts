import { isCompleted, withCompletion } from '../completion.ts';
import { recordsOf } from '../records.ts';
import { mustBeInOrder } from '../spans.ts';
import { trackedSeconds } from '../tracked.ts';
import { subtaskChangeFields, subtaskFields, subtaskFilters } from './schema.ts';

export const subtasks = recordsOf('subtask', {
  fields: subtaskFields,
  changes: subtaskChangeFields,
  filters: subtaskFilters,
  shown: (view) =>
    view
      .selectFrom('subtasks')
      .innerJoin('tasks', 'tasks.task_id', 'subtasks.task_id')
      .innerJoin('projects', 'projects.project_id', 'tasks.project_id')
      .selectAll('subtasks')
      .select(['tasks.task_name', 'tasks.project_id', 'projects.project_name', trackedSeconds('subtasks.subtask_id')]),
  check: mustBeInOrder,
  stored: withCompletion,
  changed: {
    kinds: ['completed_subtask', 'changed_subtask'],
    async facts(_write, { userId }, before, stored) {
      const kind = isCompleted(before, stored) ? 'completed_subtask' : 'changed_subtask';
      return [{ kind, recordId: before.subtask_id, userId }];
    },
  },
});
