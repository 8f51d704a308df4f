import type { Caller } from '../../access.ts';
import type { Fact } from '../../delivery/record.ts';
import type { AccountWrite } from '../../store/account.ts';
import { isCompleted, withCompletion } from '../completion.ts';
import { falling, number, rising, text } from '../order.ts';
import { recordsOf } from '../records.ts';
import { periodOf, repeatTask } from '../recurring.ts';
import { mustBeInOrder } from '../spans.ts';
import { trackedSeconds } from '../tracked.ts';
import { taskChangeFields, taskFields, taskFilters } from './schema.ts';

export const tasks = recordsOf('task', {
  fields: taskFields,
  changes: taskChangeFields,
  filters: taskFilters,
  orders: {
    says: 'taskname and duedate ascending (what has no due date comes last), progress and latest descending; else by id.',
    by: {
      taskname: rising(text('fold(tasks.task_name)')),
      duedate: rising(text("coalesce(tasks.due_date, '9999-99')")),
      progress: falling(number('tasks.progress')),
      latest: falling(number('tasks.date_created')),
    },
  },
  shown: (view) =>
    view
      .selectFrom('tasks')
      .innerJoin('projects', 'projects.project_id', 'tasks.project_id')
      .selectAll('tasks')
      .select(['projects.project_name', trackedSeconds('tasks.task_id')]),
  check: mustBeInOrder,
  stored: withCompletion,
  changed: {
    kinds: ['completed_subtask', 'completed_task', 'changed_task', 'new_task', 'new_subtask'],
    async facts(write, caller, before, stored) {
      const { task_id: id } = before;
      const completes = isCompleted(before, stored);
      const period = completes ? periodOf(before, stored) : undefined;
      return [
        ...(completes ? await completeSubtasks(write, caller, id) : []),
        { kind: completes ? 'completed_task' : 'changed_task', recordId: id, userId: caller.userId },
        ...(period === undefined ? [] : await repeatTask(write, period, id)),
      ];
    },
  },
});

/** C33: completing a task completes its open subtasks, and each of those is an occurrence of its own. */
async function completeSubtasks(write: AccountWrite, { userId }: Caller, taskId: number): Promise<Fact[]> {
  const rows = await write
    .updateTable('subtasks')
    .set({ completed: 1, date_completed: write.now, date_modified: write.now })
    .where('task_id', '=', taskId)
    .where('completed', '=', 0)
    .returning('subtask_id')
    .execute();
  const ids = rows.map((row) => row.subtask_id).sort((a, b) => a - b);
  return ids.map((id) => ({ kind: 'completed_subtask', recordId: id, userId }));
}
