import type { Subtask, SubtaskChanges, Task, TaskChanges } from '../../../packages/sdk/src/resources.ts';
import { dayOf } from '../app/calendar-dates.ts';
import { client } from '../app/client.ts';
import { countDependents, type Deletable, deleteWarning, inputOf } from './delete-with-undo.tsx';
import { choice, day, type EditableResource, type FieldDefinition, text } from './editable-fields.tsx';
import { Due, Percent } from './tags.tsx';

export const tasks: EditableResource<Task, TaskChanges> & Deletable<Task> = {
  resource: client.tasks,
  idOf: ({ task_id }) => task_id,
  nameOf: ({ task_name }) => task_name,
  async findWarning({ task_id }) {
    const countOnly = { task_id, limit: 1 };
    const gone = await deleteWarning([
      countDependents('subtask', client.subtasks.list(countOnly)),
      countDependents('comment', client.comments.list(countOnly)),
      countDependents('time entry', client.timeEntries.list(countOnly)),
    ]);
    return gone && { ...gone, text: `${gone.text} This cannot be taken back.` };
  },
  recreate: (task) => client.tasks.create(task.project_id, inputOf(task)),
};

export const subtasks: EditableResource<Subtask, SubtaskChanges> & Deletable<Subtask> = {
  resource: client.subtasks,
  idOf: ({ subtask_id }) => subtask_id,
  nameOf: ({ subtask_name }) => subtask_name,
  async findWarning({ subtask_id }) {
    const countOnly = { subtask_id, limit: 1 };
    const [gone, { paging }] = await Promise.all([
      deleteWarning([countDependents('comment', client.comments.list(countOnly))]),
      client.timeEntries.list(countOnly),
    ]);
    const stays = paging.total_records > 0 ? ' The time that was worked on it stays with its task.' : '';
    if (gone === undefined && stays === '') return undefined;
    return { yes: gone?.yes ?? 'Delete', text: `${gone?.text ?? ''}${stays} This cannot be taken back.`.trim() };
  },
  recreate: (subtask) => client.subtasks.create(subtask.task_id, inputOf(subtask)),
};

type WithDueDate = { readonly due_date: string };
type WithProgress = { readonly progress: string; readonly completed: string };

const yesOrNo = [
  { value: '0', text: 'No' },
  { value: '1', text: 'Yes' },
];

const periods = [
  { value: '', text: 'None' },
  { value: 'D', text: 'Daily' },
  { value: 'W', text: 'Weekly' },
  { value: 'M', text: 'Monthly' },
  { value: 'Q', text: 'Quarterly' },
  { value: 'S', text: 'Every six months' },
  { value: 'Y', text: 'Yearly' },
];

export const due = <T extends WithDueDate, C>(isDone: (record: T) => boolean): FieldDefinition<T, C> =>
  day<T, C>('due_date', 'Due', {
    show: (record) =>
      dayOf(record.due_date) === '' ? undefined : <Due due={record.due_date} isDone={isDone(record)} />,
  });

const isComplete = ({ completed }: WithProgress) => completed === '1';

/** Editable fields of a task. */
export const taskFields = {
  name: text<Task, TaskChanges>('task_name', 'Name'),
  start: day<Task, TaskChanges>('start_date', 'Start'),
  due: due<Task, TaskChanges>(isComplete),
  progress: text<Task, TaskChanges>('progress', 'Progress', {
    type: 'number',
    show: (task) => <Percent percent={isComplete(task) ? 100 : Number(task.progress)} name={task.task_name} />,
  }),
  state: choice<Task, TaskChanges>('active', 'State', [
    { value: '1', text: 'Active' },
    { value: '2', text: 'On hold' },
    { value: '0', text: 'Inactive' },
  ]),
  recurring: choice<Task, TaskChanges>('recurring', 'Recurring', periods),
  important: choice<Task, TaskChanges>('important', 'Important', yesOrNo),
  archived: choice<Task, TaskChanges>('archived', 'Archived', yesOrNo),
  hours: text<Task, TaskChanges>('estimated_hours', 'Estimated hours', { type: 'number' }),
  tags: text<Task, TaskChanges>('tags', 'Tags', { empty: 'None; several with commas between' }),
  description: text<Task, TaskChanges>('description', 'Description', { type: 'area', empty: 'Add a description' }),
  notes: text<Task, TaskChanges>('notes', 'Notes', { type: 'area', empty: 'Add notes' }),
};

/** Editable fields of a subtask. */
export const subtaskFields = {
  name: text<Subtask, SubtaskChanges>('subtask_name', 'Name'),
  due: due<Subtask, SubtaskChanges>(isComplete),
};
