import { rowsOf } from '../rows.ts';
import { subtasks } from './actions.ts';

export const subtaskRoutes = rowsOf(subtasks, {
  list: 'Subtasks.',
  create: 'Adds a subtask to a task.',
  one: 'One subtask.',
  change: 'Changes what is given of a subtask, completes or reopens it.',
  remove: 'Deletes a subtask with its comments; its time entries stay with the task.',
});
