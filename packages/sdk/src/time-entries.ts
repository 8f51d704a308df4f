// Written by test/docs.ts from the route rows. Change that, then: npm run docs

import type {
  DateInputOrNone,
  DateText,
  Day,
  FlagInput,
  Id,
  IdOrNone,
  NumberInput,
  Optional,
  Window,
} from './api-types.ts';
import { type CreatesUnder, createsUnder, type Editable, editable } from './resource.ts';
import type { Send } from './transport.ts';

/** A time entry as returned by the API. C38. */
export type TimeEntry = {
  /** Identifier of the time entry. */
  readonly entry_id: string;
  /** The day it was worked; left out, the day that it is for the account. Accepts yyyymmdd or the output format. */
  readonly date: string;
  /** When the work began. Accepts yyyymmdd or the output format; empty for none. */
  readonly date_started: DateText;
  /** When it ended; started, not stopped and of 0 seconds is a timer that runs. Accepts yyyymmdd or the output format; empty for none. */
  readonly date_stopped: DateText;
  /** The project of its task. */
  readonly project_id: string;
  /** The task that was worked on. */
  readonly task_id: string;
  /** The subtask of it. "0" for none. */
  readonly subtask_id: string;
  /** The name of that project. */
  readonly project_name: string;
  /** The name of that task. */
  readonly task_name: string;
  /** The name of that subtask. */
  readonly subtask_name: string;
  /** Whole hours of it. */
  readonly hours: number;
  /** Whole minutes beside these hours. */
  readonly minutes: number;
  /** How long it took, in seconds. A fraction is rounded. */
  readonly seconds: string;
  /** What was done. */
  readonly description: string;
  /** It was billed. */
  readonly billed: 0 | 1;
  /** Who worked. Only admins may name another user than themselves. "0" for none. */
  readonly user_id: string;
  /** The name of that user. */
  readonly user_name: string;
};

/** Input to create a time entry. C38. */
export type TimeEntryInput = {
  /** How long it took, in seconds. A fraction is rounded. */
  readonly seconds: NumberInput;
} & Optional<{
  /** The day it was worked; left out, the day that it is for the account. Accepts yyyymmdd or the output format. */
  readonly date: string | null;
  /** When the work began. Accepts yyyymmdd or the output format; empty for none. */
  readonly date_started: DateInputOrNone;
  /** When it ended; started, not stopped and of 0 seconds is a timer that runs. Accepts yyyymmdd or the output format; empty for none. */
  readonly date_stopped: DateInputOrNone;
  /** The subtask of it. "0" for none. */
  readonly subtask_id: IdOrNone;
  /** What was done. */
  readonly description: string;
  /** It was billed. */
  readonly billed: FlagInput;
  /** Who worked. Only admins may name another user than themselves. "0" for none. */
  readonly user_id: IdOrNone;
}>;

/** Fields of a time entry that can be changed. C38. */
export type TimeEntryChanges = Optional<
  TimeEntryInput & {
    /** The task it moves to. */
    readonly task_id: Id;
  }
>;

/** Filters of the list of time entries, combined with AND. C38. */
export type TimeEntryFilters = Window &
  Optional<{
    /** Of this user. */
    readonly user_id: Id;
    /** Of projects for this client; 0 for those of none. */
    readonly client_id: Id;
    /** Of this project. */
    readonly project_id: Id;
    /** Of this task. */
    readonly task_id: Id;
    /** Of this subtask; 0 for those of none. */
    readonly subtask_id: Id;
    /** 1 leaves out what was billed. */
    readonly hide_billed: '0' | '1';
    /** 1: timers that run; 0: all but these. */
    readonly running: '0' | '1';
    /** Entered on this day (UTC) or later. */
    readonly created_from: Day;
    /** Entered on this day (UTC) or earlier. */
    readonly created_to: Day;
    /** Worked on this day or later. */
    readonly date_from: Day;
    /** Worked on this day or earlier. */
    readonly date_to: Day;
  }>;

/** Methods for time entries; the first argument of `create` is the id of the parent. C38. */
export type TimeEntries = Editable<TimeEntry, TimeEntryChanges, TimeEntryFilters> &
  CreatesUnder<TimeEntry, TimeEntryInput>;

/** Methods for time entries at `/time_entries`. */
export function timeEntries(send: Send): TimeEntries {
  return {
    ...editable<TimeEntry, TimeEntryChanges, TimeEntryFilters>(send, 'time_entries', 'entry_id'),
    ...createsUnder<TimeEntry, TimeEntryInput>(send, 'time_entries'),
  };
}
