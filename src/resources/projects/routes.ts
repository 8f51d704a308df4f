import { rowsOf } from '../rows.ts';
import { projects } from './actions.ts';

export const projectRoutes = rowsOf(projects, {
  list: 'Projects.',
  create: 'Adds a project.',
  one: 'One project.',
  change: 'Changes what is given of a project.',
  remove:
    'Deletes a project with its tasks, their subtasks and time entries, and all comments on them; its events stay, with project "0".',
});
