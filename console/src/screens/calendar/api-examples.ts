import type { ApiCall } from '../../components/api-call.tsx';
import { type Day, type Days, filterDay, plusDays } from './time-math.ts';

const json = (value: object) =>
  `{ ${Object.entries(value)
    .map(([name, one]) => `${name}: '${one}'`)
    .join(', ')} }`;

const list = (path: string, sdk: string, description: string, filters: Record<string, string>): ApiCall => {
  return {
    description: description,
    method: 'GET',
    path: `${path}?${new URLSearchParams(filters)}`,
    sdk: `${sdk}.list(${json(filters)})`,
  };
};

/** Returns the API calls of the calendar: its queries, and example requests that create, move and delete events. */
export function callsFor(
  { from, to }: Days,
  { cursor, eventId, hasTasks }: { cursor: Day; eventId: string; hasTasks: boolean },
): readonly ApiCall[] {
  const newEvent = { event_name: 'Release v27', start_date: filterDay(cursor), due_date: filterDay(cursor) };
  const newDates = { start_date: filterDay(plusDays(cursor, 1)), due_date: filterDay(plusDays(cursor, 1)) };
  return [
    list('/events', 'events', 'Events that begin in these days', {
      start_from: filterDay(from),
      start_to: filterDay(to),
    }),
    list('/events', 'events', 'Events that began earlier and are not over', {
      start_to: filterDay(plusDays(from, -1)),
      due_from: filterDay(from),
    }),
    ...(hasTasks
      ? [list('/tasks', 'tasks', 'Tasks due in these days', { due_from: filterDay(from), due_to: filterDay(to) })]
      : []),
    {
      description: 'Create an event',
      method: 'POST',
      path: '/events',
      body: newEvent,
      sdk: `events.create(${json(newEvent)})`,
    },
    {
      description: 'Move an event',
      method: 'PUT',
      path: `/events/${eventId}`,
      body: newDates,
      sdk: `events.update(${eventId}, ${json(newDates)})`,
    },
    { description: 'Delete an event', method: 'DELETE', path: `/events/${eventId}`, sdk: `events.delete(${eventId})` },
  ];
}
