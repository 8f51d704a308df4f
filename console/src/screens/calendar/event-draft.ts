import type { CalendarEvent, EventInput } from '../../../../packages/sdk/src/resources.ts';
import { updateEvent } from './calendar-actions.ts';
import { toDayOffsets } from './repeat.ts';
import { type FormDates, formToEventDates, isDay, moveDates, toFormDates } from './time-math.ts';

/** Values of the event form; `event` is set when an existing event is edited. */
export type EventDraft = FormDates & {
  readonly name: string;
  readonly projectId: string;
  readonly event?: CalendarEvent;
};

export const toEventDraft = (event: CalendarEvent): EventDraft => {
  return { ...toFormDates(event), name: event.event_name, projectId: event.project_id, event };
};

const SECONDS_PER_DAY = 86_400;

/** Returns the first invalid field of a draft; undefined if all fields are valid. */
export function findInvalidField({
  name,
  startDay,
  dueDay,
  startTime,
  dueTime,
}: EventDraft): 'name' | 'start' | 'due' | undefined {
  if (name.trim() === '') return 'name';
  if (!isDay(startDay)) return 'start';
  if (!isDay(dueDay) || dueDay < startDay) return 'due';
  const isEndBeforeStart = dueDay === startDay && dueTime !== '' && dueTime !== '00:00' && dueTime < startTime;
  return isEndBeforeStart ? 'due' : undefined;
}

export function eventInputFromDraft(draft: EventDraft): EventInput {
  return { event_name: draft.name.trim(), ...formToEventDates(draft), project_id: draft.projectId };
}

/** Returns the API inputs of a repeated event: one event per day. */
export function buildSeriesInputs(draft: EventDraft, eventDays: readonly string[]): readonly EventInput[] {
  const baseInput = eventInputFromDraft(draft);
  return toDayOffsets(eventDays).map((dayOffset) => ({
    ...baseInput,
    ...moveDates(formToEventDates(draft), dayOffset * SECONDS_PER_DAY),
  }));
}

/** Sends only the changed fields, so that concurrent edits of other fields are kept. */
export async function saveChanges(event: CalendarEvent, draft: EventDraft): Promise<void> {
  const originalDraft = toEventDraft(event);
  const eventInput = eventInputFromDraft(draft);
  const hasChanged = (...fieldNames: readonly (keyof EventDraft)[]) =>
    fieldNames.some((name) => originalDraft[name] !== draft[name]);
  const hasToggledAllDay = (originalDraft.startTime === '') !== (draft.startTime === '');
  const changes = {
    ...(hasChanged('name') && { event_name: eventInput.event_name }),
    ...((hasChanged('startDay', 'startTime') || hasToggledAllDay) && { start_date: eventInput.start_date }),
    ...((hasChanged('dueDay', 'dueTime') || hasToggledAllDay) && { due_date: eventInput.due_date }),
    ...(hasChanged('projectId') && { project_id: draft.projectId }),
  };
  if (Object.keys(changes).length > 0) await updateEvent(event, changes);
}
