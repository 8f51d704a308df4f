import { create, list, one, type Route, remove, update } from '../../http/route.ts';
import { changeSubtask, createSubtask, deleteSubtask, getSubtask, listSubtasks } from './actions.ts';
import { subtaskChangeFields, subtaskFields, subtaskFilters } from './schema.ts';

export const subtaskRoutes: readonly Route[] = [
  list({
    path: '/subtasks',
    says: 'Subtasks.',
    permission: 'tasks:read',
    parameters: subtaskFilters,
    fields: subtaskFields,
    call: (view, _caller, given, paging) => listSubtasks(view, given, paging),
  }),
  create({
    path: '/subtasks/{task_id}',
    says: 'Adds a subtask to a task.',
    permission: 'tasks:write',
    fields: subtaskFields,
    records: ['new_subtask'],
    at: { collection: '/subtasks', key: 'subtask_id' },
    call: (write, caller, input, ids) => createSubtask(write, caller, ids.task_id, input),
  }),
  one({
    path: '/subtasks/{subtask_id}',
    says: 'One subtask.',
    permission: 'tasks:read',
    fields: subtaskFields,
    call: (view, _caller, ids) => getSubtask(view, ids.subtask_id),
  }),
  update({
    path: '/subtasks/{subtask_id}',
    says: 'Changes what is given of a subtask, completes or reopens it.',
    permission: 'tasks:write',
    takes: subtaskChangeFields,
    fields: subtaskFields,
    records: ['completed_subtask', 'changed_subtask'],
    call: (write, caller, input, ids) => changeSubtask(write, caller, ids.subtask_id, input),
  }),
  remove({
    path: '/subtasks/{subtask_id}',
    says: 'Deletes a subtask.',
    permission: 'tasks:write',
    records: ['deleted_subtask'],
    call: (write, caller, ids) => deleteSubtask(write, caller, ids.subtask_id),
  }),
];
