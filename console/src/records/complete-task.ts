import type { Subtask, Task } from '../../../packages/sdk/src/resources.ts';
import { client } from '../app/client.ts';
import { runWithToast } from '../app/use-query.ts';
import { showToast } from '../components/toast.tsx';

/** Callbacks that show the changes of a task on the screen. */
type TaskCallbacks = {
  task(task: Task): void;
  /** Reloads the subtasks, because completing a task completes them as well. */
  subtasks(): void;
  /** Reloads the list, because the service has created the next task of a recurring task. */
  next?(): void;
};

const subtasksSuffix = (count: number) =>
  count === 0 ? '' : `, with ${count === 1 ? 'its subtask' : `${count} subtasks`}`;

/**
 * Completes a task and its open subtasks (C33) as an optimistic update. Undo reopens the task and those subtasks that
 * were completed together with the task. A recurring task has no Undo, because the next task, which the service has
 * created, would remain (C41).
 */
export async function completeTask(task: Task, updates: TaskCallbacks): Promise<void> {
  updates.task({ ...task, completed: '1' });
  const openSubtasks: Subtask[] = [];
  const isDone = await runWithToast(async () => {
    for await (const subtask of client.subtasks.each({ task_id: task.task_id }))
      if (subtask.completed === '0') openSubtasks.push(subtask);
    updates.task(await client.tasks.complete(task.task_id));
  });
  if (!isDone) updates.task(task);
  updates.subtasks();
  if (!isDone) return;
  if (task.recurring !== '') {
    updates.next?.();
    showToast(`“${task.task_name}” completed${subtasksSuffix(openSubtasks.length)}. The next one is open.`);
    return;
  }
  showToast(`“${task.task_name}” completed${subtasksSuffix(openSubtasks.length)}.`, {
    undo: () => void reopenTask(task, openSubtasks, updates),
  });
}

/** Reopens a task and the given subtasks, as an optimistic update. */
export async function reopenTask(task: Task, subtasks: readonly Subtask[], updates: TaskCallbacks): Promise<void> {
  updates.task({ ...task, completed: '0' });
  const isDone = await runWithToast(
    async () => {
      const reopened = await client.tasks.resume(task.task_id);
      for (const { subtask_id } of subtasks) await client.subtasks.resume(subtask_id);
      updates.task(reopened);
    },
    `“${task.task_name}” is open again${subtasksSuffix(subtasks.length)}.`,
  );
  if (!isDone) updates.task(task);
  updates.subtasks();
}

type SubtaskCallbacks = { show(subtask: Subtask): void; next(): void };

/** Completes or reopens a subtask, as an optimistic update. */
export async function setSubtaskCompleted(
  subtask: Subtask,
  isDone: boolean,
  { show, next }: SubtaskCallbacks,
): Promise<void> {
  const { subtask_id } = subtask;
  show({ ...subtask, completed: isDone ? '1' : '0' });
  const { complete, resume } = client.subtasks;
  const hasSucceeded = await runWithToast(async () => show(await (isDone ? complete(subtask_id) : resume(subtask_id))));
  if (!hasSucceeded) show(subtask);
  else if (isDone && subtask.recurring !== '') next();
}
