import { create, list, one, type Route, remove, update } from '../../http/route.ts';
import { changeTask, createTask, deleteTask, getTask, listTasks } from './actions.ts';
import { taskChangeFields, taskFields, taskFilters, taskOrder } from './schema.ts';

export const taskRoutes: readonly Route[] = [
  list({
    path: '/tasks',
    says: 'Tasks.',
    permission: 'tasks:read',
    parameters: { ...taskFilters, ...taskOrder },
    fields: taskFields,
    call: (view, _caller, given, paging) => listTasks(view, given, paging),
  }),
  create({
    path: '/tasks/{project_id}',
    says: 'Adds a task to a project.',
    permission: 'tasks:write',
    fields: taskFields,
    records: ['new_task'],
    at: { collection: '/tasks', key: 'task_id' },
    call: (write, caller, input, ids) => createTask(write, caller, ids.project_id, input),
  }),
  one({
    path: '/tasks/{task_id}',
    says: 'One task.',
    permission: 'tasks:read',
    fields: taskFields,
    call: (view, _caller, ids) => getTask(view, ids.task_id),
  }),
  update({
    path: '/tasks/{task_id}',
    says: 'Changes what is given of a task, completes or reopens it.',
    permission: 'tasks:write',
    takes: taskChangeFields,
    fields: taskFields,
    records: ['completed_subtask', 'completed_task', 'changed_task'],
    call: (write, caller, input, ids) => changeTask(write, caller, ids.task_id, input),
  }),
  remove({
    path: '/tasks/{task_id}',
    says: 'Deletes a task with its subtasks.',
    permission: 'tasks:write',
    records: ['deleted_subtask', 'deleted_task'],
    call: (write, caller, ids) => deleteTask(write, caller, ids.task_id),
  }),
];
