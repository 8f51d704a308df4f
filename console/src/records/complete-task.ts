import type { Subtask, Task } from '../../../packages/sdk/src/resources.ts';
import { client } from '../app/client.ts';
import { attempt } from '../app/use-query.ts';
import { showToast } from '../components/toast.tsx';

/** Callbacks that show the changes of a task on the screen. */
type TaskUpdates = {
  task(task: Task): void;
  /** Reloads the subtasks, because completing a task completes them as well. */
  subtasks(): void;
  /** Reloads the list, because the service has created the next task of a recurring task. */
  next?(): void;
};

const withSubtasks = (count: number) =>
  count === 0 ? '' : `, with ${count === 1 ? 'its subtask' : `${count} subtasks`}`;

/**
 * Completes a task and its open subtasks (C33) as an optimistic update. Undo reopens the task and those subtasks that
 * were completed together with the task. A recurring task has no Undo, because the next task, which the service has
 * created, would remain (C41).
 */
export async function completeTask(task: Task, updates: TaskUpdates): Promise<void> {
  updates.task({ ...task, completed: '1' });
  const open: Subtask[] = [];
  const isDone = await attempt(async () => {
    for await (const subtask of client.subtasks.each({ task_id: task.task_id }))
      if (subtask.completed === '0') open.push(subtask);
    updates.task(await client.tasks.complete(task.task_id));
  });
  if (!isDone) updates.task(task);
  updates.subtasks();
  if (!isDone) return;
  if (task.recurring !== '') {
    updates.next?.();
    showToast(`“${task.task_name}” completed${withSubtasks(open.length)}. The next one is open.`);
    return;
  }
  showToast(`“${task.task_name}” completed${withSubtasks(open.length)}.`, {
    undo: () => void reopenTask(task, open, updates),
  });
}

/** Reopens a task and the given subtasks, as an optimistic update. */
export async function reopenTask(task: Task, subtasks: readonly Subtask[], shows: TaskUpdates): Promise<void> {
  shows.task({ ...task, completed: '0' });
  const isDone = await attempt(
    async () => {
      const reopened = await client.tasks.resume(task.task_id);
      for (const { subtask_id } of subtasks) await client.subtasks.resume(subtask_id);
      shows.task(reopened);
    },
    `“${task.task_name}” is open again${withSubtasks(subtasks.length)}.`,
  );
  if (!isDone) shows.task(task);
  shows.subtasks();
}

type SubtaskUpdates = { show(subtask: Subtask): void; next(): void };

/** Completes or reopens a subtask, as an optimistic update. */
export async function tickSubtask(subtask: Subtask, isDone: boolean, { show, next }: SubtaskUpdates): Promise<void> {
  const { subtask_id } = subtask;
  show({ ...subtask, completed: isDone ? '1' : '0' });
  const { complete, resume } = client.subtasks;
  const wasDone = await attempt(async () => show(await (isDone ? complete(subtask_id) : resume(subtask_id))));
  if (!wasDone) show(subtask);
  else if (isDone && subtask.recurring !== '') next();
}
