import { create, list, one, type Route, remove } from '../../http/route.ts';
import type { Chance } from '../../secrets.ts';
import { getCalendar, listCalendars, makeCalendar, revokeCalendar } from './actions.ts';
import { calendarFields, calendarFilters, calendarInputFields, madeCalendarFields } from './schema.ts';

export type CalendarPorts = { readonly chance: Chance; readonly baseUrl: () => string };

/** X9. Whoever may read events may have them read: all of it is `events:read`. */
export function calendarRoutes(ports: CalendarPorts): readonly Route[] {
  return [
    list({
      path: '/calendars',
      says: 'What calendar programs subscribe to: your own, or for admins those of every user.',
      permission: 'events:read',
      parameters: calendarFilters,
      fields: calendarFields,
      call: listCalendars,
    }),
    create({
      path: '/calendars',
      says: 'Makes an address for a calendar program to subscribe to; the answer shows it this once.',
      permission: 'events:read',
      fields: madeCalendarFields,
      takes: calendarInputFields,
      records: [],
      at: { collection: '/calendars', key: 'id' },
      call: (write, caller, input) => makeCalendar(write, caller, input, ports),
    }),
    one({
      path: '/calendars/{calendar_id}',
      says: 'One calendar, without its address.',
      permission: 'events:read',
      fields: calendarFields,
      call: (view, caller, ids) => getCalendar(view, caller, ids.calendar_id),
    }),
    remove({
      path: '/calendars/{calendar_id}',
      says: 'Revokes a calendar: from now on its address leads nowhere.',
      permission: 'events:read',
      records: [],
      call: (write, caller, ids) => revokeCalendar(write, caller, ids.calendar_id),
    }),
  ];
}
