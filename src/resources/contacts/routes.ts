import { rowsOf } from '../rows.ts';
import { contacts } from './actions.ts';

export const contactRoutes = rowsOf(contacts, {
  list: 'Contacts.',
  create: 'Adds a contact.',
  one: 'One contact.',
  change: 'Changes what is given of a contact.',
  remove: 'Deletes a contact.',
});
