import type { Subtask, Task } from '../../../packages/sdk/src/resources.ts';
import { client } from '../app/client.ts';
import { runWithToast } from '../app/use-query.ts';
import { showToast } from '../components/toast.tsx';

/** Callbacks that show the changes of a task on the screen. */
type TaskCallbacks = {
  /** Shows the changed task. */
  showTask(task: Task): void;
  /** Reloads the subtasks, because completing a task completes them as well. */
  reloadSubtasks(): void;
  /** Reloads the list, because the service has created the next task of a recurring task. */
  reloadList?(): void;
};

const formatSubtasksSuffix = (subtaskCount: number) =>
  subtaskCount === 0 ? '' : `, with ${subtaskCount === 1 ? 'its subtask' : `${subtaskCount} subtasks`}`;

/**
 * Completes a task and its open subtasks (C33), as an optimistic update. Undo reopens the task and those subtasks that
 * were completed together with the task. A recurring task has no Undo, because the next task, which the service has
 * created, would remain (C41).
 */
export async function completeTask(task: Task, callbacks: TaskCallbacks): Promise<void> {
  callbacks.showTask({ ...task, completed: '1' });
  const openSubtasks: Subtask[] = [];
  const hasSucceeded = await runWithToast(async () => {
    for await (const subtask of client.subtasks.each({ task_id: task.task_id }))
      if (subtask.completed === '0') openSubtasks.push(subtask);
    callbacks.showTask(await client.tasks.complete(task.task_id));
  });
  if (!hasSucceeded) callbacks.showTask(task);
  callbacks.reloadSubtasks();
  if (!hasSucceeded) return;
  if (task.recurring !== '') {
    callbacks.reloadList?.();
    showToast(`“${task.task_name}” completed${formatSubtasksSuffix(openSubtasks.length)}. The next one is open.`);
    return;
  }
  showToast(`“${task.task_name}” completed${formatSubtasksSuffix(openSubtasks.length)}.`, {
    undo: () => void reopenTask(task, openSubtasks, callbacks),
  });
}

/** Reopens a task and the given subtasks, as an optimistic update. */
export async function reopenTask(task: Task, subtasks: readonly Subtask[], callbacks: TaskCallbacks): Promise<void> {
  callbacks.showTask({ ...task, completed: '0' });
  const hasSucceeded = await runWithToast(
    async () => {
      const reopenedTask = await client.tasks.resume(task.task_id);
      for (const { subtask_id } of subtasks) await client.subtasks.resume(subtask_id);
      callbacks.showTask(reopenedTask);
    },
    `“${task.task_name}” is open again${formatSubtasksSuffix(subtasks.length)}.`,
  );
  if (!hasSucceeded) callbacks.showTask(task);
  callbacks.reloadSubtasks();
}

/** Callbacks that show a changed subtask, and reload the list after a recurring subtask was completed. */
type SubtaskCallbacks = { showSubtask(subtask: Subtask): void; reloadList(): void };

/** Completes or reopens a subtask, as an optimistic update. */
export async function setSubtaskCompleted(
  subtask: Subtask,
  isCompleted: boolean,
  { showSubtask, reloadList }: SubtaskCallbacks,
): Promise<void> {
  const { subtask_id } = subtask;
  showSubtask({ ...subtask, completed: isCompleted ? '1' : '0' });
  const { complete, resume } = client.subtasks;
  const hasSucceeded = await runWithToast(async () =>
    showSubtask(await (isCompleted ? complete(subtask_id) : resume(subtask_id))),
  );
  if (!hasSucceeded) showSubtask(subtask);
  else if (isCompleted && subtask.recurring !== '') reloadList();
}
