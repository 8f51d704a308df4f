import { calendarTime, key, name, referenceOrNone } from '../../http/fields.ts';
import { fromDay, idFilter, spelled, toDay } from '../filters.ts';
import { stamps } from '../stamps.ts';

/** A calendar event (the specification, section 2). */
export const eventFields = {
  event_id: key('Identifier of the event.'),
  event_name: name('Name of the event.'),
  start_date: calendarTime('First day.'),
  due_date: calendarTime('Last day.'),
  project_id: referenceOrNone('The project it belongs to.'),
  ...stamps,
};

/** C25: all inclusive of the whole day, all combined with AND. */
export const eventFilters = {
  project_id: idFilter('Of this project; 0 for those of none.', 'events.project_id'),
  from: fromDay('Starting on this day or later.', 'events.start_date'),
  to: toDay('Due on this day or earlier.', 'events.due_date'),
  ...spelled('start_from', 'start_date_from', fromDay('Starting on this day or later.', 'events.start_date')),
  ...spelled('start_to', 'start_date_to', toDay('Starting on this day or earlier.', 'events.start_date')),
  ...spelled('due_from', 'due_date_from', fromDay('Due on this day or later.', 'events.due_date')),
  ...spelled('due_to', 'due_date_to', toDay('Due on this day or earlier.', 'events.due_date')),
};
