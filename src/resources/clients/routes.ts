import { rowsOf } from '../rows.ts';
import { clients } from './actions.ts';

export const clientRoutes = rowsOf(clients, {
  list: 'Clients.',
  create: 'Adds a client.',
  one: 'One client.',
  change: 'Changes what is given of a client.',
  remove: 'Deletes a client; its contacts and projects stay, with client "0".',
});
