import { useEffect } from 'preact/hooks';
import type { Subtask, Task } from '../../../packages/sdk/src/resources.ts';
import { client } from '../app/client.ts';
import { listFullPage } from '../app/full-page-navigation.ts';
import { describeFieldError } from '../app/optimistic-update.ts';
import { LoadingSkeleton, Note } from '../components/badge.tsx';
import { Button } from '../components/button.tsx';
import { QuickAddField } from '../components/inline-edit.tsx';
import { AssigneesButton } from './assignee-picker.tsx';
import { setSubtaskCompleted } from './complete-task.ts';
import { useDelete } from './delete-with-undo.tsx';
import { InlineField } from './editable-fields.tsx';
import { useRecords } from './records.ts';
import { subtaskFields, subtaskResource } from './task-fields.tsx';

type SubtaskListProps = {
  readonly task: Task;
  /** The parent component increments this counter to reload the subtasks. */
  readonly reloadCount: number;
  /** Called when a subtask was added or deleted. */
  readonly onCountChange?: () => void;
};

/** List of the subtasks of a task, which the user can complete, edit inline, delete and add. */
export function SubtaskList({ task, reloadCount, onCountChange = () => {} }: SubtaskListProps) {
  const { task_id } = task;
  const records = useRecords(
    (signal) => listFullPage(client.subtasks, { task_id }, signal),
    [task_id],
    subtaskResource.idOf,
  );
  useEffect(() => {
    if (reloadCount > 0) records.reload();
  }, [reloadCount]);
  // Optimistic update: when the task is completed, show its subtasks as completed. The reload confirms this.
  useEffect(() => {
    if (task.completed === '1') for (const row of records.rows ?? []) records.replace({ ...row, completed: '1' });
  }, [task.completed]);
  /** Wraps an update of the list, so that it also calls `onCountChange`. */
  const notifyAfterUpdate = (updateList: (subtask: Subtask) => void) => (subtask: Subtask) => {
    updateList(subtask);
    onCountChange();
  };
  const deletion = useDelete(subtaskResource, {
    onDeleted: notifyAfterUpdate(records.remove),
    onRestored: notifyAfterUpdate(records.append),
  });
  return (
    <div class="subtasks">
      {records.errorText !== undefined && <Note tone="bad">{records.errorText}</Note>}
      {records.rows === undefined && records.errorText === undefined && <LoadingSkeleton lineCount={2} />}
      {records.rows !== undefined && (
        <ul aria-label={`Subtasks of ${task.task_name}`}>
          {records.rows.map((subtask) => (
            <li key={subtask.subtask_id} class={subtask.completed === '1' ? 'done' : ''}>
              <input
                type="checkbox"
                aria-label={`Complete ${subtask.subtask_name}`}
                checked={subtask.completed === '1'}
                onChange={(event) => {
                  const callbacks = { showSubtask: records.replace, reloadList: records.reload };
                  void setSubtaskCompleted(subtask, event.currentTarget.checked, callbacks);
                }}
              />
              <span class="grow">
                <InlineField
                  editableResource={subtaskResource}
                  record={subtask}
                  field={subtaskFields.name}
                  onChange={records.replace}
                />
              </span>
              <InlineField
                editableResource={subtaskResource}
                record={subtask}
                field={subtaskFields.due}
                onChange={records.replace}
              />
              <AssigneesButton editableResource={subtaskResource} record={subtask} onChange={records.replace} />
              <Button
                variant="quiet"
                icon="trash"
                label={`Delete ${subtask.subtask_name}`}
                onClick={() => deletion.startDelete(subtask)}
              />
            </li>
          ))}
        </ul>
      )}
      <QuickAddField
        label={`Add a subtask to ${task.task_name}`}
        formatError={(error) => describeFieldError(error, 'Name')}
        onAdd={async (subtask_name) =>
          notifyAfterUpdate(records.append)(await client.subtasks.create(task_id, { subtask_name }))
        }
      />
      {deletion.confirmDialog}
    </div>
  );
}
