import { type Route, update } from '../../http/route.ts';
import { rowsOf } from '../rows.ts';
import { timeEntries } from './actions.ts';
import { timeEntryChangeFields, timeEntryFields } from './schema.ts';

const change = 'Changes what is given of a time entry.';

export const timeEntryRoutes: readonly Route[] = [
  ...rowsOf(timeEntries, {
    list: 'Time entries.',
    create: 'Adds a time entry to a task.',
    one: 'One time entry.',
    change,
    remove: 'Deletes a time entry.',
  }),
  {
    ...update({
      path: '/time_entry/{entry_id}',
      says: `${change} The other spelling of \`PUT /v2/time_entries/{entry_id}\`.`,
      permission: 'tasks:write',
      fields: timeEntryFields,
      takes: timeEntryChangeFields,
      records: timeEntries.kinds.change,
      call: (write, caller, input, ids) => timeEntries.change(write, caller, ids.entry_id, input),
    }),
    respells: '/time_entries/{entry_id}',
  },
];
