import type { ApiCallExample } from '../../components/api-call.tsx';
import { compactDay, type Day, type DayRange, plusDays } from './time-math.ts';

const toObjectLiteral = (value: object) =>
  `{ ${Object.entries(value)
    .map(([name, fieldValue]) => `${name}: '${fieldValue}'`)
    .join(', ')} }`;

const buildListCall = (
  path: string,
  sdkResource: string,
  description: string,
  filters: Record<string, string>,
): ApiCallExample => {
  return {
    description,
    method: 'GET',
    path: `${path}?${new URLSearchParams(filters)}`,
    sdk: `${sdkResource}.list(${toObjectLiteral(filters)})`,
  };
};

/** Returns the API calls of the calendar: its queries, and example requests that create, move and delete events. */
export function apiCallsFor(
  { from, to }: DayRange,
  { cursor, eventId, hasTasks }: { cursor: Day; eventId: string; hasTasks: boolean },
): readonly ApiCallExample[] {
  const newEvent = { event_name: 'Release v27', start_date: compactDay(cursor), due_date: compactDay(cursor) };
  const newDates = { start_date: compactDay(plusDays(cursor, 1)), due_date: compactDay(plusDays(cursor, 1)) };
  return [
    buildListCall('/events', 'events', 'Events that begin in these days', {
      start_from: compactDay(from),
      start_to: compactDay(to),
    }),
    buildListCall('/events', 'events', 'Events that began earlier and are not over', {
      start_to: compactDay(plusDays(from, -1)),
      due_from: compactDay(from),
    }),
    ...(hasTasks
      ? [
          buildListCall('/tasks', 'tasks', 'Tasks due in these days', {
            due_from: compactDay(from),
            due_to: compactDay(to),
          }),
        ]
      : []),
    {
      description: 'Create an event',
      method: 'POST',
      path: '/events',
      body: newEvent,
      sdk: `events.create(${toObjectLiteral(newEvent)})`,
    },
    {
      description: 'Move an event',
      method: 'PUT',
      path: `/events/${eventId}`,
      body: newDates,
      sdk: `events.update(${eventId}, ${toObjectLiteral(newDates)})`,
    },
    { description: 'Delete an event', method: 'DELETE', path: `/events/${eventId}`, sdk: `events.delete(${eventId})` },
  ];
}
