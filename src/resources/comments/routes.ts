import { rowsOf } from '../rows.ts';
import { comments } from './actions.ts';

export const commentRoutes = rowsOf(comments, {
  list: 'Comments, each with its replies.',
  create: 'Adds a comment to a project, or to a task or subtask of it; or a reply to one.',
  one: 'One comment.',
  remove: 'Deletes a comment with its replies.',
});
