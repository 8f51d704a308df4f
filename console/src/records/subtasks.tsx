import { useEffect } from 'preact/hooks';
import type { Subtask, Task } from '../../../packages/sdk/src/resources.ts';
import { client } from '../app/client.ts';
import { listFullPage } from '../app/full-page-navigation.ts';
import { fieldError } from '../app/optimistic-update.ts';
import { LoadingSkeleton, Note } from '../components/badge.tsx';
import { Button } from '../components/button.tsx';
import { QuickAddField } from '../components/inline-edit.tsx';
import { AssigneesButton } from './assignee-picker.tsx';
import { setSubtaskCompleted } from './complete-task.ts';
import { useDelete } from './delete-with-undo.tsx';
import { InlineField } from './editable-fields.tsx';
import { useRecords } from './records.ts';
import { subtaskFields, subtasks } from './task-fields.tsx';

type SubtasksProps = {
  readonly task: Task;
  /** Incremented to reload the subtasks. */
  readonly reloads: number;
  /** Called when a subtask was added or deleted. */
  readonly onCount?: () => void;
};

/** List of the subtasks of a task, which the user can complete, edit inline, delete and add. */
export function Subtasks({ task, reloads, onCount = () => {} }: SubtasksProps) {
  const { task_id } = task;
  const records = useRecords((signal) => listFullPage(client.subtasks, { task_id }, signal), [task_id], subtasks.idOf);
  useEffect(() => {
    if (reloads > 0) records.reload();
  }, [reloads]);
  // Optimistic update: when the task is completed, show its subtasks as completed. The reload confirms this.
  useEffect(() => {
    if (task.completed === '1') for (const row of records.rows ?? []) records.put({ ...row, completed: '1' });
  }, [task.completed]);
  const thenReportCount = (show: (subtask: Subtask) => void) => (subtask: Subtask) => {
    show(subtask);
    onCount();
  };
  const deleting = useDelete(subtasks, {
    onGone: thenReportCount(records.drop),
    onBack: thenReportCount(records.append),
  });
  return (
    <div class="subtasks">
      {records.fault !== undefined && <Note tone="bad">{records.fault}</Note>}
      {records.rows === undefined && records.fault === undefined && <LoadingSkeleton lines={2} />}
      {records.rows !== undefined && (
        <ul aria-label={`Subtasks of ${task.task_name}`}>
          {records.rows.map((subtask) => (
            <li key={subtask.subtask_id} class={subtask.completed === '1' ? 'done' : ''}>
              <input
                type="checkbox"
                aria-label={`Complete ${subtask.subtask_name}`}
                checked={subtask.completed === '1'}
                onChange={(event) => {
                  const callbacks = { show: records.put, next: records.reload };
                  void setSubtaskCompleted(subtask, event.currentTarget.checked, callbacks);
                }}
              />
              <span class="grow">
                <InlineField kept={subtasks} record={subtask} field={subtaskFields.name} onChange={records.put} />
              </span>
              <InlineField kept={subtasks} record={subtask} field={subtaskFields.due} onChange={records.put} />
              <AssigneesButton kept={subtasks} record={subtask} onChange={records.put} />
              <Button
                variant="quiet"
                icon="trash"
                label={`Delete ${subtask.subtask_name}`}
                onClick={() => deleting.begin(subtask)}
              />
            </li>
          ))}
        </ul>
      )}
      <QuickAddField
        label={`Add a subtask to ${task.task_name}`}
        explain={(error) => fieldError(error, 'Name')}
        onAdd={async (subtask_name) =>
          thenReportCount(records.append)(await client.subtasks.create(task_id, { subtask_name }))
        }
      />
      {deleting.question}
    </div>
  );
}
