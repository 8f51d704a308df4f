import type { TimeEntry, TimeEntryChanges } from '../../../../packages/sdk/src/time-entries.ts';
import { dayOf, showDay } from '../../app/calendar-dates.ts';
import { client } from '../../app/client.ts';
import { all } from '../../app/use-query.ts';
import { type Deletable, inputOf } from '../../records/delete-with-undo.tsx';
import { day, type Fact, type Kept, text } from '../../records/editable-fields.tsx';
import { MAX_DAY_S, readSeconds, showSeconds, timeFault } from './durations.ts';

/** A day as it is sent. */
export const given = (day: string) => day.replaceAll('-', '');

/** An entry would make its day longer than days are. */
export class DayTooLong extends Error {}

type Worked = Pick<TimeEntry, 'user_id' | 'date'> & { readonly entry_id?: string; readonly seconds: number };

/**
 * Checks that an entry and the others of its day come to 24 hours at most. The service takes any time, since programs
 * may book several days as one entry; what a person types is a typing error then.
 *
 * @throws DayTooLong
 */
export async function checkDay({ user_id, date, entry_id, seconds }: Worked): Promise<void> {
  const onDay = { user_id, date_from: given(date), date_to: given(date) };
  const others = (await all(client.timeEntries.each(onDay))).filter((other) => other.entry_id !== entry_id);
  const total = others.reduce((sum, other) => sum + Number(other.seconds), seconds);
  if (total <= MAX_DAY_S) return;
  throw new DayTooLong(`That makes ${showSeconds(total)} on ${showDay(date)}. A day has 24 hours.`);
}

/** Time entries, which are changed only to what fits their day. */
const noun: typeof client.timeEntries = {
  ...client.timeEntries,
  async update(id, changes, options) {
    const before = await client.timeEntries.get(id);
    const after = { ...before, ...changes };
    const date = isoDay(after.date ?? before.date);
    const seconds = Number(after.seconds);
    // A day that programs have made too long can still be corrected entry by entry.
    if (date !== before.date || seconds > Number(before.seconds)) {
      await checkDay({ ...before, date, seconds });
    }
    return client.timeEntries.update(id, changes, options);
  },
};

/** A day in the form in which the service answers it, from either form in which it is sent. */
const isoDay = (date: string) => (date.includes('-') ? dayOf(date) : date.replace(/^(\d{4})(\d\d)(\d\d)$/, '$1-$2-$3'));

export const entries: Kept<TimeEntry, TimeEntryChanges> & Deletable<TimeEntry> = {
  noun,
  idOf: ({ entry_id }) => entry_id,
  nameOf: ({ task_name, seconds }) => `${showSeconds(Number(seconds))} on ${task_name}`,
  consequence: async () => undefined,
  again: (entry) => client.timeEntries.create(entry.task_id, inputOf(entry)),
};

const time: Fact<TimeEntry, TimeEntryChanges> = {
  label: 'Time',
  read: ({ seconds }) => showSeconds(Number(seconds)),
  fault: timeFault,
  write: (written) => ({ seconds: readSeconds(written) ?? 0 }),
};

/** What can be changed of a time entry. */
export const entryFacts = {
  time,
  date: day<TimeEntry, TimeEntryChanges>('date', 'Day'),
  description: text<TimeEntry, TimeEntryChanges>('description', 'Description', { empty: 'What was done' }),
};

/** Whether it is a timer that runs. */
export const isRunning = ({ date_started, date_stopped, seconds }: TimeEntry) =>
  !date_started.startsWith('0000') && date_stopped.startsWith('0000') && seconds === '0';
