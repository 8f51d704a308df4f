import { isCompleted, withCompletion } from '../completion.ts';
import { recordsOf } from '../records.ts';
import { periodOf, repeatSubtask } from '../recurring.ts';
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
    kinds: ['completed_subtask', 'changed_subtask', 'new_subtask'],
    async facts(write, { userId }, before, stored) {
      const { subtask_id: id } = before;
      const completes = isCompleted(before, stored);
      const period = completes ? periodOf(before, stored) : undefined;
      return [
        { kind: completes ? 'completed_subtask' : 'changed_subtask', recordId: id, userId },
        ...(period === undefined ? [] : await repeatSubtask(write, period, id)),
      ];
    },
  },
});
