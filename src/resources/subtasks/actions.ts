import type { Fact } from '../../delivery/record.ts';
import { invalidInput } from '../../problems.ts';
import type { AccountView } from '../../store/account.ts';
import { isCompleted, withCompletion } from '../completion.ts';
import { moveAlong } from '../moves.ts';
import { recordsOf } from '../records.ts';
import { mustBeInOrder } from '../spans.ts';
import { tasks } from '../tasks/actions.ts';
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
    kinds: ['changed_comment', 'changed_time_entry', 'completed_subtask', 'changed_subtask'],
    async facts(write, caller, before, stored) {
      const kind = isCompleted(before, stored) ? 'completed_subtask' : 'changed_subtask';
      const own: Fact = { kind, recordId: before.subtask_id, userId: caller.userId };
      const task_id = Number(stored.task_id ?? before.task_id);
      if (task_id === before.task_id) return [own];
      const { project_id } = await tasks.get(write, task_id);
      const to = { task_id, project_id: Number(project_id) };
      return [...(await moveAlong(write, caller, { noun: 'subtask', id: before.subtask_id }, to)), own];
    },
  },
});

/** What names a task and a subtask names one of its own. */
export async function mustBeSubtaskOf(view: AccountView, subtaskId: number, taskId: number): Promise<void> {
  const subtask = await view
    .selectFrom('subtasks')
    .select('subtasks.task_id')
    .where('subtasks.subtask_id', '=', subtaskId)
    .executeTakeFirst();
  if (subtask?.task_id === taskId) return;
  throw invalidInput([{ field: 'subtask_id', message: 'must be a subtask of the task' }]);
}
