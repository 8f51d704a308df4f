import { rowsOf } from '../rows.ts';
import { teams } from './actions.ts';

export const teamRoutes = rowsOf(teams, {
  list: 'Teams.',
  create: 'Adds a team; for admins.',
  one: 'One team.',
  change: 'Changes what is given of a team; for admins.',
  remove: 'Deletes a team; for admins. What it was assigned to stays, without it.',
});
