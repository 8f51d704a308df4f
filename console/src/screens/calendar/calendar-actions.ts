import type { CalendarEvent, EventChanges, EventInput } from '../../../../packages/sdk/src/resources.ts';
import { client } from '../../app/client.ts';
import { buildUndoChanges, updateIfUnchanged } from '../../app/optimistic-update.ts';
import { describeError } from '../../app/use-query.ts';
import { showToast } from '../../components/toast.tsx';
import { RangeCache } from './range-cache.ts';

/** Cache of the events that the calendar has loaded. */
export const eventCache = new RangeCache();

const quoteEventName = ({ event_name }: CalendarEvent) => `“${event_name}”`;

const showErrorToast = (error: unknown) => showToast(describeError(error), { isError: true });

const eventInputFromEvent = ({ event_name, start_date, due_date, project_id }: CalendarEvent): EventInput => {
  return { event_name, start_date, due_date, project_id };
};

/** Creates an event and shows it, with a toast that offers Undo. */
export async function createEvent(eventInput: EventInput): Promise<CalendarEvent> {
  const event = await client.events.create(eventInput);
  eventCache.putEvent(event);
  showToast(`${quoteEventName(event)} created.`, { undo: () => void undoCreateEvents([event]) });
  return event;
}

/** Options of `createEvents`: `onProgress` receives the number of created events; `signal` stops the series. */
type CreateEventsOptions = { readonly onProgress: (createdCount: number) => void; readonly signal: AbortSignal };

/**
 * Creates events one by one, until all are created or the signal aborts. Events that were created before an abort or
 * error remain; Undo deletes them.
 */
export async function createEvents(
  eventInputs: readonly EventInput[],
  { onProgress, signal }: CreateEventsOptions,
): Promise<void> {
  const createdEvents: CalendarEvent[] = [];
  const showResultToast = (resultSuffix: string) =>
    showToast(`${createdEvents.length} ${createdEvents.length === 1 ? 'event' : 'events'} created${resultSuffix}.`, {
      undo: () => void undoCreateEvents(createdEvents),
    });
  for (const eventInput of eventInputs) {
    if (signal.aborted) return showResultToast(', and stopped');
    try {
      createdEvents.push(await client.events.create(eventInput));
    } catch (error) {
      if (createdEvents.length > 0) showResultToast(' before it failed');
      throw error;
    }
    eventCache.putEvent(createdEvents.at(-1) as CalendarEvent);
    onProgress(createdEvents.length);
  }
  showResultToast('');
}

async function undoCreateEvents(events: readonly CalendarEvent[]): Promise<void> {
  for (const event of events) {
    try {
      await eventCache.updateOptimistically(event, undefined, () =>
        client.events.delete(event.event_id).then(() => undefined),
      );
    } catch (error) {
      return showErrorToast(error);
    }
  }
}

/**
 * Changes an event as an optimistic update, with Undo. If the request fails, the displayed event is rolled back
 * before the promise rejects.
 */
export async function updateEvent(
  originalEvent: CalendarEvent,
  changes: EventChanges,
  successText = 'saved',
): Promise<void> {
  const optimisticEvent = { ...originalEvent, ...changes } as CalendarEvent;
  let updatedEvent = optimisticEvent;
  await eventCache.updateOptimistically(originalEvent, optimisticEvent, async () => {
    updatedEvent = await updateIfUnchanged(client.events, originalEvent.event_id, changes, originalEvent);
    return updatedEvent;
  });
  const undoUpdate = () =>
    void updateEvent(updatedEvent, buildUndoChanges(changes, originalEvent), 'is as it was').catch(showErrorToast);
  showToast(`${quoteEventName(updatedEvent)} ${successText}.`, { undo: undoUpdate });
}

/** Moves an event by drag or keyboard; errors are shown as a toast. */
export async function moveEvent(originalEvent: CalendarEvent, changes: EventChanges): Promise<void> {
  try {
    await updateEvent(originalEvent, changes, 'moved');
  } catch (error) {
    showErrorToast(error);
  }
}

/** Deletes an event; Undo creates it again, with a new id. */
export async function deleteEvent(event: CalendarEvent): Promise<void> {
  try {
    await eventCache.updateOptimistically(event, undefined, () =>
      client.events.delete(event.event_id).then(() => undefined),
    );
    showToast(`${quoteEventName(event)} deleted.`, { undo: () => void undoDeleteEvent(event) });
  } catch (error) {
    showErrorToast(error);
  }
}

async function undoDeleteEvent(event: CalendarEvent): Promise<void> {
  try {
    eventCache.putEvent(await client.events.create(eventInputFromEvent(event)));
    showToast(`${quoteEventName(event)} is back.`);
  } catch (error) {
    showErrorToast(error);
  }
}

export async function duplicateEvent(event: CalendarEvent): Promise<void> {
  try {
    const eventCopy = await client.events.create(eventInputFromEvent(event));
    eventCache.putEvent(eventCopy);
    showToast(`${quoteEventName(eventCopy)} duplicated.`, { undo: () => void undoCreateEvents([eventCopy]) });
  } catch (error) {
    showErrorToast(error);
  }
}
