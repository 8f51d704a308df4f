import type { Route } from '../../http/route.ts';
import { respelled, rowsOf } from '../rows.ts';
import { timeEntries } from './actions.ts';

const rows = rowsOf(timeEntries, {
  list: 'Time entries.',
  create: 'Adds a time entry to a task.',
  one: 'One time entry.',
  change: 'Changes what is given of a time entry.',
  remove: 'Deletes a time entry.',
});

export const timeEntryRoutes: readonly Route[] = [...rows, ...respelled(rows, 'PUT', '/time_entry')];
