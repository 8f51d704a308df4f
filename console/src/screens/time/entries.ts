import type { TimeEntry, TimeEntryChanges } from '../../../../packages/sdk/src/resources.ts';
import { dayOrEmpty, formatDayAndTime } from '../../app/calendar-dates.ts';
import { client } from '../../app/client.ts';
import { collectAll } from '../../app/use-query.ts';
import { type DeletableResource, toCreateInput } from '../../records/delete-with-undo.tsx';
import {
  defineDateField,
  defineTextField,
  type EditableResource,
  type FieldDefinition,
} from '../../records/editable-fields.tsx';
import { formatHoursAndMinutes, MAX_SECONDS_PER_DAY, parseDuration, validateDuration } from './durations.ts';

/** Converts a day from `YYYY-MM-DD` to `YYYYMMDD`, the format of API requests. */
export const compactDay = (day: string) => day.replaceAll('-', '');

/** Thrown when the time entries of a user on one day would exceed 24 hours. */
export class DayTooLongError extends Error {}

type EntryToCheck = Pick<TimeEntry, 'user_id' | 'date'> & { readonly entry_id?: string; readonly seconds: number };

/**
 * Throws if the time entries of a user on one day would exceed 24 hours in total. The API has no such limit, because
 * programs may book several days as one entry. In the console, more than 24 hours are probably a typing error.
 *
 * @throws DayTooLongError
 */
export async function requireDayTotalWithinLimit({ user_id, date, entry_id, seconds }: EntryToCheck): Promise<void> {
  const dayFilters = { user_id, date_from: compactDay(date), date_to: compactDay(date) };
  const otherEntries = (await collectAll(client.timeEntries.each(dayFilters))).filter(
    (otherEntry) => otherEntry.entry_id !== entry_id,
  );
  const totalSeconds = otherEntries.reduce((sum, otherEntry) => sum + Number(otherEntry.seconds), seconds);
  if (totalSeconds <= MAX_SECONDS_PER_DAY) return;
  throw new DayTooLongError(
    `That makes ${formatHoursAndMinutes(totalSeconds)} on ${formatDayAndTime(date)}. A day has 24 hours.`,
  );
}

/** The API methods for time entries; `update` also checks the limit of 24 hours per day. */
const timeEntriesWithDayLimit: typeof client.timeEntries = {
  ...client.timeEntries,
  async update(id, changes, options) {
    const currentEntry = await client.timeEntries.get(id);
    const updatedEntry = { ...currentEntry, ...changes };
    const date = toIsoDay(updatedEntry.date ?? currentEntry.date);
    const seconds = Number(updatedEntry.seconds);
    // Check only if the day changes or the time grows: a day that already exceeds 24 hours can still be corrected.
    if (date !== currentEntry.date || seconds > Number(currentEntry.seconds)) {
      await requireDayTotalWithinLimit({ ...currentEntry, date, seconds });
    }
    return client.timeEntries.update(id, changes, options);
  },
};

/** Converts a date in either input format of the API, with or without hyphens, to `YYYY-MM-DD`. */
const toIsoDay = (date: string) =>
  date.includes('-') ? dayOrEmpty(date) : date.replace(/^(\d{4})(\d\d)(\d\d)$/, '$1-$2-$3');

export const timeEntryResource: EditableResource<TimeEntry, TimeEntryChanges> & DeletableResource<TimeEntry> = {
  resource: timeEntriesWithDayLimit,
  idOf: ({ entry_id }) => entry_id,
  nameOf: ({ task_name, seconds }) => `${formatHoursAndMinutes(Number(seconds))} on ${task_name}`,
  findDeleteWarning: async () => undefined,
  recreate: (entry) => client.timeEntries.create(entry.task_id, toCreateInput(entry)),
};

const durationField: FieldDefinition<TimeEntry, TimeEntryChanges> = {
  label: 'Time',
  readValue: ({ seconds }) => formatHoursAndMinutes(Number(seconds)),
  validate: validateDuration,
  toChanges: (durationText) => ({ seconds: parseDuration(durationText) ?? 0 }),
};

/** Editable fields of a time entry. */
export const timeEntryFields = {
  duration: durationField,
  date: defineDateField<TimeEntry, TimeEntryChanges>('date', 'Day'),
  description: defineTextField<TimeEntry, TimeEntryChanges>('description', 'Description', {
    emptyText: 'What was done',
  }),
};

/** Whether a time entry is a running timer. */
export const isRunningTimer = ({ date_started, date_stopped, seconds }: TimeEntry) =>
  !date_started.startsWith('0000') && date_stopped.startsWith('0000') && seconds === '0';
