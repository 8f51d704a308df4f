import type { CalendarEvent, EventChanges, EventInput } from '../../../../packages/sdk/src/events.ts';
import { client } from '../../app/client.ts';
import { change, restore } from '../../app/optimistic-update.ts';
import { explain } from '../../app/use-query.ts';
import { tell } from '../../components/toast.tsx';
import { Windows } from './range-cache.ts';

/** What the calendar shows. */
export const windows = new Windows();

const named = ({ event_name }: CalendarEvent) => `“${event_name}”`;

const tellFault = (error: unknown) => tell(explain(error), { isBad: true });

const inputOf = ({ event_name, start_date, due_date, project_id }: CalendarEvent): EventInput => {
  return { event_name, start_date, due_date, project_id };
};

/** Creates an event, and shows it. Rejects with what went wrong. */
export async function createEvent(input: EventInput): Promise<CalendarEvent> {
  const event = await client.events.create(input);
  windows.put(event);
  tell(`${named(event)} created.`, { undo: () => void takeBack([event]) });
  return event;
}

/** How several events are being made. */
export type Series = { readonly onDone: (count: number) => void; readonly signal: AbortSignal };

/** Creates events one after the other, until all are there or somebody stops it; what is there then stays. */
export async function createEvents(inputs: readonly EventInput[], { onDone, signal }: Series): Promise<void> {
  const events: CalendarEvent[] = [];
  const finish = (how: string) =>
    tell(`${events.length} ${events.length === 1 ? 'event' : 'events'} created${how}.`, {
      undo: () => void takeBack(events),
    });
  for (const input of inputs) {
    if (signal.aborted) return finish(', and stopped');
    try {
      events.push(await client.events.create(input));
    } catch (error) {
      if (events.length > 0) finish(' before it failed');
      throw error;
    }
    windows.put(events.at(-1) as CalendarEvent);
    onDone(events.length);
  }
  finish('');
}

async function takeBack(events: readonly CalendarEvent[]): Promise<void> {
  for (const event of events) {
    try {
      await windows.during(event, undefined, () => client.events.delete(event.event_id).then(() => undefined));
    } catch (error) {
      return tellFault(error);
    }
  }
}

/** Changes an event, seen at once. Rejects with what went wrong, when it is as it was again. */
export async function changeEvent(before: CalendarEvent, changes: EventChanges, says = 'saved'): Promise<void> {
  const shown = { ...before, ...changes } as CalendarEvent;
  let after = shown;
  await windows.during(before, shown, async () => {
    after = await change(client.events, before.event_id, changes, before);
    return after;
  });
  const undo = () => void changeEvent(after, restore(changes, before), 'is as it was').catch(tellFault);
  tell(`${named(after)} ${says}.`, { undo });
}

/** Changes an event by a drag or a key: what went wrong is said at the edge. */
export async function moveEvent(before: CalendarEvent, changes: EventChanges): Promise<void> {
  try {
    await changeEvent(before, changes, 'moved');
  } catch (error) {
    tellFault(error);
  }
}

/** Deletes an event; undone, it is created anew with all that it said. */
export async function deleteEvent(event: CalendarEvent): Promise<void> {
  try {
    await windows.during(event, undefined, () => client.events.delete(event.event_id).then(() => undefined));
    tell(`${named(event)} deleted.`, { undo: () => void createAgain(event) });
  } catch (error) {
    tellFault(error);
  }
}

async function createAgain(event: CalendarEvent): Promise<void> {
  try {
    windows.put(await client.events.create(inputOf(event)));
    tell(`${named(event)} is back.`);
  } catch (error) {
    tellFault(error);
  }
}

/** One more of the same. */
export async function duplicateEvent(event: CalendarEvent): Promise<void> {
  try {
    const copy = await client.events.create(inputOf(event));
    windows.put(copy);
    tell(`${named(copy)} duplicated.`, { undo: () => void takeBack([copy]) });
  } catch (error) {
    tellFault(error);
  }
}
