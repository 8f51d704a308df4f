import { useState } from 'preact/hooks';
import type { Task } from '../../../src/sdk/tasks.ts';
import { client } from '../client.ts';
import { Ask } from '../design/dialog.tsx';
import { tell } from '../design/toast.tsx';
import { attempt } from '../load.ts';

type Ends = {
  /** Shows that it is gone. */
  readonly onGone: (task: Task) => void;
  /** Shows that it is there again, under another id. */
  readonly onBack: (task: Task) => void;
};

/** Deletes tasks: at once and with a way back where nothing hangs on one, else after a question. */
export function useDeleteTask({ onGone, onBack }: Ends) {
  const [asked, setAsked] = useState<{ readonly task: Task; readonly count: number }>();
  const remove = async (task: Task, said: { readonly undo?: () => void }) => {
    if (!(await attempt(() => client.tasks.delete(task.task_id)))) return;
    onGone(task);
    tell(`“${task.task_name}” deleted.`, said);
  };
  const begin = (task: Task) =>
    attempt(async () => {
      const { paging } = await client.subtasks.list({ task_id: task.task_id, limit: 1 });
      if (paging.total_records > 0) setAsked({ task, count: paging.total_records });
      else await remove(task, { undo: () => void attempt(async () => onBack(await createAgain(task))) });
    });
  const question = asked !== undefined && (
    <Ask
      title={`Delete “${asked.task.task_name}”?`}
      yes={`Delete with ${asked.count === 1 ? 'its subtask' : `${asked.count} subtasks`}`}
      onYes={() => void remove(asked.task, {})}
      onClose={() => setAsked(undefined)}
    >
      {asked.count === 1 ? 'Its subtask goes' : `Its ${asked.count} subtasks go`} with it. This cannot be taken back.
    </Ask>
  );
  return { begin, question };
}

/** A deleted task, made anew with what it was. */
function createAgain({ project_id, users, ...fields }: Task): Promise<Task> {
  const { task_name, description, color, tags, notes, start_date, due_date, ongoing, estimated_hours } = fields;
  const { estimated_cost, hourly_rate, fixed_price, price, task_order, active, important } = fields;
  const { completed, progress, recurring, archived } = fields;
  return client.tasks.create(project_id, {
    ...{ task_name, description, color, tags, notes, start_date, due_date, ongoing, estimated_hours },
    ...{ estimated_cost, hourly_rate, fixed_price, price, task_order, active, important },
    ...{ completed, progress, recurring, archived },
    users: users.map(({ user_id }) => user_id),
  });
}
