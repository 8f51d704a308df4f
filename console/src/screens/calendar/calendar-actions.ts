import type { CalendarEvent, EventChanges, EventInput } from '../../../../packages/sdk/src/resources.ts';
import { client } from '../../app/client.ts';
import { inverseChanges, updateIfUnchanged } from '../../app/optimistic-update.ts';
import { errorMessage } from '../../app/use-query.ts';
import { showToast } from '../../components/toast.tsx';
import { RangeCache } from './range-cache.ts';

/** Cache of the events that the calendar has loaded. */
export const eventCache = new RangeCache();

const quotedName = ({ event_name }: CalendarEvent) => `“${event_name}”`;

const showError = (error: unknown) => showToast(errorMessage(error), { isBad: true });

const toEventInput = ({ event_name, start_date, due_date, project_id }: CalendarEvent): EventInput => {
  return { event_name, start_date, due_date, project_id };
};

/** Creates an event and shows it, with a toast that offers Undo. */
export async function createEvent(input: EventInput): Promise<CalendarEvent> {
  const event = await client.events.create(input);
  eventCache.put(event);
  showToast(`${quotedName(event)} created.`, { undo: () => void undoCreate([event]) });
  return event;
}

/** Reports the progress of creating a series of events, and aborts it. */
export type SeriesProgress = { readonly onDone: (count: number) => void; readonly signal: AbortSignal };

/**
 * Creates events one by one, until all are created or the signal aborts. Events that were created before an abort or
 * error remain; Undo deletes them.
 */
export async function createEvents(inputs: readonly EventInput[], { onDone, signal }: SeriesProgress): Promise<void> {
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
    eventCache.put(events.at(-1) as CalendarEvent);
    onDone(events.length);
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
export async function changeEvent(before: CalendarEvent, changes: EventChanges, doneText = 'saved'): Promise<void> {
  const optimistic = { ...before, ...changes } as CalendarEvent;
  let after = optimistic;
  await eventCache.updateOptimistically(before, optimistic, async () => {
    after = await updateIfUnchanged(client.events, before.event_id, changes, before);
    return after;
  });
  const undo = () => void changeEvent(after, inverseChanges(changes, before), 'is as it was').catch(showError);
  showToast(`${quotedName(after)} ${doneText}.`, { undo });
}

/** Moves an event by drag or keyboard; errors are shown as a toast. */
export async function moveEvent(before: CalendarEvent, changes: EventChanges): Promise<void> {
  try {
    await changeEvent(before, changes, 'moved');
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
    showToast(`${quotedName(event)} deleted.`, { undo: () => void undoDelete(event) });
  } catch (error) {
    showError(error);
  }
}

async function undoDelete(event: CalendarEvent): Promise<void> {
  try {
    eventCache.put(await client.events.create(toEventInput(event)));
    showToast(`${quotedName(event)} is back.`);
  } catch (error) {
    showError(error);
  }
}

export async function duplicateEvent(event: CalendarEvent): Promise<void> {
  try {
    const copy = await client.events.create(toEventInput(event));
    eventCache.put(copy);
    showToast(`${quotedName(copy)} duplicated.`, { undo: () => void undoCreate([copy]) });
  } catch (error) {
    showError(error);
  }
}
