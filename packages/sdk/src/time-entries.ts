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
  /** The day of the work. Default: the day of date_started, or today in the account's time zone. Accepts yyyymmdd or the output format. */
  readonly date: string;
  /** When the work began. Accepts yyyymmdd or the output format; empty for none. */
  readonly date_started: DateText;
  /** When the work ended. A running timer is started, not stopped, and has 0 seconds. Accepts yyyymmdd or the output format; empty for none. */
  readonly date_stopped: DateText;
  /** The project of its task. */
  readonly project_id: string;
  /** The task that was worked on. */
  readonly task_id: string;
  /** The subtask that was worked on. "0" for none. */
  readonly subtask_id: string;
  /** The name of that project. */
  readonly project_name: string;
  /** The name of that task. */
  readonly task_name: string;
  /** The name of that subtask. */
  readonly subtask_name: string;
  /** Whole hours. */
  readonly hours: number;
  /** Minutes in addition to the hours. */
  readonly minutes: number;
  /** Duration in seconds. A fraction is rounded. */
  readonly seconds: string;
  /** Description of the work. */
  readonly description: string;
  /** Whether it was billed. */
  readonly billed: 0 | 1;
  /** The user who worked. Only admins may give another user. "0" for none. */
  readonly user_id: string;
  /** The name of that user. */
  readonly user_name: string;
};

/** Input to create a time entry. C38. */
export type TimeEntryInput = {
  /** Duration in seconds. A fraction is rounded. */
  readonly seconds: NumberInput;
} & Optional<{
  /** The day of the work. Default: the day of date_started, or today in the account's time zone. Accepts yyyymmdd or the output format. */
  readonly date: string | null;
  /** When the work began. Accepts yyyymmdd or the output format; empty for none. */
  readonly date_started: DateInputOrNone;
  /** When the work ended. A running timer is started, not stopped, and has 0 seconds. Accepts yyyymmdd or the output format; empty for none. */
  readonly date_stopped: DateInputOrNone;
  /** The subtask that was worked on. "0" for none. */
  readonly subtask_id: IdOrNone;
  /** Description of the work. */
  readonly description: string;
  /** Whether it was billed. */
  readonly billed: FlagInput;
  /** The user who worked. Only admins may give another user. "0" for none. */
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
    /** Only entries of projects for this client; 0 for projects without one. */
    readonly client_id: Id;
    /** Only entries of this project. */
    readonly project_id: Id;
    /** Only entries of this task. */
    readonly task_id: Id;
    /** Only entries of this subtask; 0 for entries without one. */
    readonly subtask_id: Id;
    /** 1 leaves out billed entries. */
    readonly hide_billed: '0' | '1';
    /** 1: running timers; 0: all others. */
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
