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
  { cursorDay, exampleEventId, includesTasks }: { cursorDay: Day; exampleEventId: string; includesTasks: boolean },
): readonly ApiCallExample[] {
  const newEvent = { event_name: 'Release v27', start_date: compactDay(cursorDay), due_date: compactDay(cursorDay) };
  const newDates = { start_date: compactDay(plusDays(cursorDay, 1)), due_date: compactDay(plusDays(cursorDay, 1)) };
  return [
    buildListCall('/events', 'events', 'Events that begin in these days', {
      start_from: compactDay(from),
      start_to: compactDay(to),
    }),
    buildListCall('/events', 'events', 'Events that began earlier and are not over', {
      start_to: compactDay(plusDays(from, -1)),
      due_from: compactDay(from),
    }),
    ...(includesTasks
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
      path: `/events/${exampleEventId}`,
      body: newDates,
      sdk: `events.update(${exampleEventId}, ${toObjectLiteral(newDates)})`,
    },
    {
      description: 'Delete an event',
      method: 'DELETE',
      path: `/events/${exampleEventId}`,
      sdk: `events.delete(${exampleEventId})`,
    },
  ];
}
