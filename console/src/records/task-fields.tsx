import type { Subtask, SubtaskChanges, Task, TaskChanges } from '../../../packages/sdk/src/resources.ts';
import { dayOrEmpty } from '../app/calendar-dates.ts';
import { client } from '../app/client.ts';
import { countDependents, type DeletableResource, describeDependents, toCreateInput } from './delete-with-undo.tsx';
import {
  defineChoiceField,
  defineDateField,
  defineTextField,
  type EditableResource,
  type FieldDefinition,
} from './editable-fields.tsx';
import { DueDate, ProgressPercent } from './tags.tsx';

export const taskResource: EditableResource<Task, TaskChanges> & DeletableResource<Task> = {
  resource: client.tasks,
  idOf: ({ task_id }) => task_id,
  nameOf: ({ task_name }) => task_name,
  async findDeleteWarning({ task_id }) {
    const countFilters = { task_id, limit: 1 };
    const warning = await describeDependents([
      countDependents('subtask', client.subtasks.list(countFilters)),
      countDependents('comment', client.comments.list(countFilters)),
      countDependents('time entry', client.timeEntries.list(countFilters)),
    ]);
    return warning && { ...warning, text: `${warning.text} This cannot be taken back.` };
  },
  recreate: (task) => client.tasks.create(task.project_id, toCreateInput(task)),
};

export const subtaskResource: EditableResource<Subtask, SubtaskChanges> & DeletableResource<Subtask> = {
  resource: client.subtasks,
  idOf: ({ subtask_id }) => subtask_id,
  nameOf: ({ subtask_name }) => subtask_name,
  async findDeleteWarning({ subtask_id }) {
    const countFilters = { subtask_id, limit: 1 };
    const [warning, { paging }] = await Promise.all([
      describeDependents([countDependents('comment', client.comments.list(countFilters))]),
      client.timeEntries.list(countFilters),
    ]);
    const timeEntriesText = paging.total_records > 0 ? ' The time that was worked on it stays with its task.' : '';
    if (warning === undefined && timeEntriesText === '') return undefined;
    return {
      confirmLabel: warning?.confirmLabel ?? 'Delete',
      text: `${warning?.text ?? ''}${timeEntriesText} This cannot be taken back.`.trim(),
    };
  },
  recreate: (subtask) => client.subtasks.create(subtask.task_id, toCreateInput(subtask)),
};

type RecordWithDueDate = { readonly due_date: string };
type RecordWithProgress = { readonly progress: string; readonly completed: string };

const yesNoOptions = [
  { value: '0', text: 'No' },
  { value: '1', text: 'Yes' },
];

const recurrenceOptions = [
  { value: '', text: 'None' },
  { value: 'D', text: 'Daily' },
  { value: 'W', text: 'Weekly' },
  { value: 'M', text: 'Monthly' },
  { value: 'Q', text: 'Quarterly' },
  { value: 'S', text: 'Every six months' },
  { value: 'Y', text: 'Yearly' },
];

const defineDueDateField = <T extends RecordWithDueDate, Changes>(
  isDone: (record: T) => boolean,
): FieldDefinition<T, Changes> =>
  defineDateField<T, Changes>('due_date', 'Due', {
    renderValue: (record) =>
      dayOrEmpty(record.due_date) === '' ? undefined : <DueDate due={record.due_date} isDone={isDone(record)} />,
  });

const isCompleted = ({ completed }: RecordWithProgress) => completed === '1';

/** Editable fields of a task. */
export const taskFields = {
  name: defineTextField<Task, TaskChanges>('task_name', 'Name'),
  start: defineDateField<Task, TaskChanges>('start_date', 'Start'),
  due: defineDueDateField<Task, TaskChanges>(isCompleted),
  progress: defineTextField<Task, TaskChanges>('progress', 'Progress', {
    type: 'number',
    renderValue: (task) => (
      <ProgressPercent percent={isCompleted(task) ? 100 : Number(task.progress)} name={task.task_name} />
    ),
  }),
  state: defineChoiceField<Task, TaskChanges>('active', 'State', [
    { value: '1', text: 'Active' },
    { value: '2', text: 'On hold' },
    { value: '0', text: 'Inactive' },
  ]),
  recurring: defineChoiceField<Task, TaskChanges>('recurring', 'Recurring', recurrenceOptions),
  important: defineChoiceField<Task, TaskChanges>('important', 'Important', yesNoOptions),
  archived: defineChoiceField<Task, TaskChanges>('archived', 'Archived', yesNoOptions),
  estimatedHours: defineTextField<Task, TaskChanges>('estimated_hours', 'Estimated hours', { type: 'number' }),
  tags: defineTextField<Task, TaskChanges>('tags', 'Tags', { emptyText: 'None; several with commas between' }),
  description: defineTextField<Task, TaskChanges>('description', 'Description', {
    type: 'area',
    emptyText: 'Add a description',
  }),
  notes: defineTextField<Task, TaskChanges>('notes', 'Notes', { type: 'area', emptyText: 'Add notes' }),
};

/** Editable fields of a subtask. */
export const subtaskFields = {
  name: defineTextField<Subtask, SubtaskChanges>('subtask_name', 'Name'),
  due: defineDueDateField<Subtask, SubtaskChanges>(isCompleted),
};
