import { rowsOf } from '../rows.ts';
import { tasks } from './actions.ts';

export const taskRoutes = rowsOf(tasks, {
  list: 'Tasks.',
  create: 'Adds a task to a project.',
  one: 'One task.',
  change: 'Changes what is given of a task, completes or reopens it.',
  remove: 'Deletes a task with its subtasks, time entries and comments.',
});
