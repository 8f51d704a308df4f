import { rowsOf } from '../rows.ts';
import { events } from './actions.ts';

export const eventRoutes = rowsOf(events, {
  list: 'Calendar events, by start date.',
  create: 'Creates a calendar event.',
  one: 'One calendar event.',
  change: 'Changes what is given of a calendar event.',
  remove: 'Deletes a calendar event.',
});
