import type { TimeEntry, TimeEntryChanges } from '../../../../src/sdk/time-entries.ts';
import { client } from '../../client.ts';
import { type Deletable, inputOf } from '../../plan/deleting.tsx';
import { day, type Fact, type Kept, text } from '../../plan/facts.tsx';
import { HOW_TO_WRITE, readSeconds, showSeconds } from './durations.ts';

export const entries: Kept<TimeEntry, TimeEntryChanges> & Deletable<TimeEntry> = {
  noun: client.timeEntries,
  idOf: ({ entry_id }) => entry_id,
  nameOf: ({ task_name, seconds }) => `${showSeconds(Number(seconds))} on ${task_name}`,
  consequence: async () => undefined,
  again: (entry) => client.timeEntries.create(entry.task_id, inputOf(entry)),
};

const time: Fact<TimeEntry, TimeEntryChanges> = {
  label: 'Time',
  read: ({ seconds }) => showSeconds(Number(seconds)),
  fault: (written) => (readSeconds(written) === undefined ? HOW_TO_WRITE : undefined),
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
