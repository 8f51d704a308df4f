import type { CalendarEvent, EventChanges, EventInput } from '../../../../packages/sdk/src/resources.ts';
import { client } from '../../app/client.ts';
import { inverseChanges, updateIfUnchanged } from '../../app/optimistic-update.ts';
import { describeError } from '../../app/use-query.ts';
import { showToast } from '../../components/toast.tsx';
import { RangeCache } from './range-cache.ts';

/** Cache of the events that the calendar has loaded. */
export const eventCache = new RangeCache();

const quoteName = ({ event_name }: CalendarEvent) => `“${event_name}”`;

const showError = (error: unknown) => showToast(describeError(error), { isError: true });

const inputFromEvent = ({ event_name, start_date, due_date, project_id }: CalendarEvent): EventInput => {
  return { event_name, start_date, due_date, project_id };
};

/** Creates an event and shows it, with a toast that offers Undo. */
export async function createEvent(input: EventInput): Promise<CalendarEvent> {
  const event = await client.events.create(input);
  eventCache.putEvent(event);
  showToast(`${quoteName(event)} created.`, { undo: () => void undoCreate([event]) });
  return event;
}

/** Options of `createEvents`: `onProgress` receives the number of created events; `signal` stops the series. */
export type SeriesProgress = { readonly onProgress: (count: number) => void; readonly signal: AbortSignal };

/**
 * Creates events one by one, until all are created or the signal aborts. Events that were created before an abort or
 * error remain; Undo deletes them.
 */
export async function createEvents(
  inputs: readonly EventInput[],
  { onProgress, signal }: SeriesProgress,
): Promise<void> {
  const events: CalendarEvent[] = [];
  const showResult = (suffix: string) =>
    showToast(`${events.length} ${events.length === 1 ? 'event' : 'events'} created${suffix}.`, {
      undo: () => void undoCreate(events),
    });
  for (const input of inputs) {
    if (signal.aborted) return showResult(', and stopped');
    try {
      events.push(await client.events.create(input));
    } catch (error) {
      if (events.length > 0) showResult(' before it failed');
      throw error;
    }
    eventCache.putEvent(events.at(-1) as CalendarEvent);
    onProgress(events.length);
  }
  showResult('');
}

async function undoCreate(events: readonly CalendarEvent[]): Promise<void> {
  for (const event of events) {
    try {
      await eventCache.updateOptimistically(event, undefined, () =>
        client.events.delete(event.event_id).then(() => undefined),
      );
    } catch (error) {
      return showError(error);
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
  const undo = () =>
    void updateEvent(updatedEvent, inverseChanges(changes, originalEvent), 'is as it was').catch(showError);
  showToast(`${quoteName(updatedEvent)} ${successText}.`, { undo });
}

/** Moves an event by drag or keyboard; errors are shown as a toast. */
export async function moveEvent(originalEvent: CalendarEvent, changes: EventChanges): Promise<void> {
  try {
    await updateEvent(originalEvent, changes, 'moved');
  } catch (error) {
    showError(error);
  }
}

/** Deletes an event; Undo creates it again, with a new id. */
export async function deleteEvent(event: CalendarEvent): Promise<void> {
  try {
    await eventCache.updateOptimistically(event, undefined, () =>
      client.events.delete(event.event_id).then(() => undefined),
    );
    showToast(`${quoteName(event)} deleted.`, { undo: () => void undoDelete(event) });
  } catch (error) {
    showError(error);
  }
}

async function undoDelete(event: CalendarEvent): Promise<void> {
  try {
    eventCache.putEvent(await client.events.create(inputFromEvent(event)));
    showToast(`${quoteName(event)} is back.`);
  } catch (error) {
    showError(error);
  }
}

export async function duplicateEvent(event: CalendarEvent): Promise<void> {
  try {
    const eventCopy = await client.events.create(inputFromEvent(event));
    eventCache.putEvent(eventCopy);
    showToast(`${quoteName(eventCopy)} duplicated.`, { undo: () => void undoCreate([eventCopy]) });
  } catch (error) {
    showError(error);
  }
}
