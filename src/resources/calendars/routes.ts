import { creation } from '../../http/body.ts';
import { answerSchema, present } from '../../http/fields.ts';
import { recordSchema } from '../../http/paging.ts';
import { list, one, type Route, remove } from '../../http/route.ts';
import type { Chance } from '../../secrets.ts';
import { getCalendar, listCalendars, makeCalendar, revokeCalendar } from './actions.ts';
import { calendarFields, calendarFilters, calendarInputFields, madeCalendarFields } from './schema.ts';

export type CalendarPorts = { readonly chance: Chance; readonly baseUrl: () => string };

/** X9. Whoever may read events may have them read: all of it is `events:read`. */
export function calendarRoutes(ports: CalendarPorts): readonly Route[] {
  const input = creation(calendarInputFields);
  return [
    list({
      path: '/calendars',
      says: 'What calendar programs subscribe to: your own, or for admins those of every user.',
      permission: 'events:read',
      parameters: calendarFilters,
      fields: calendarFields,
      call: listCalendars,
    }),
    {
      method: 'POST',
      path: '/calendars',
      says: 'Makes an address for a calendar program to subscribe to; the answer shows it this once.',
      permission: 'events:read',
      parameters: {},
      body: input.schema,
      status: 201,
      answer: recordSchema(answerSchema(madeCalendarFields)),
      records: [],
      conditional: false,
      problems: [],
      mode: 'write',
      holding: 'beside',
      async run(write, caller, { body }) {
        const made = await makeCalendar(write, caller, input.read(body), ports);
        return { body: { data: present(madeCalendarFields, made) }, created: `/calendars/${made.id}` };
      },
    },
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
