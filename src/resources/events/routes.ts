import { create, list, one, type Route, remove, update } from '../../http/route.ts';
import { changeEvent, createEvent, deleteEvent, getEvent, listEvents } from './actions.ts';
import { eventFields, eventFilters } from './schema.ts';

export const eventRoutes: readonly Route[] = [
  list({
    path: '/events',
    says: 'Calendar events, by start date.',
    permission: 'events:read',
    parameters: eventFilters,
    fields: eventFields,
    call: (view, _caller, given, paging) => listEvents(view, given, paging),
  }),
  create({
    path: '/events',
    says: 'Creates a calendar event.',
    permission: 'events:write',
    fields: eventFields,
    records: ['new_event'],
    at: { collection: '/events', key: 'event_id' },
    call: createEvent,
  }),
  one({
    path: '/events/{event_id}',
    says: 'One calendar event.',
    permission: 'events:read',
    fields: eventFields,
    call: (view, _caller, ids) => getEvent(view, ids.event_id),
  }),
  update({
    path: '/events/{event_id}',
    says: 'Changes what is given of a calendar event.',
    permission: 'events:write',
    fields: eventFields,
    records: ['changed_event'],
    call: (write, caller, input, ids) => changeEvent(write, caller, ids.event_id, input),
  }),
  remove({
    path: '/events/{event_id}',
    says: 'Deletes a calendar event.',
    permission: 'events:write',
    records: ['deleted_event'],
    call: (write, caller, ids) => deleteEvent(write, caller, ids.event_id),
  }),
];
