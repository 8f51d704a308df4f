/** An id as input. Ids in responses are strings of digits (C5). */
export type Id = string | number;

/** A calendar day for a filter, as `yyyymmdd`, such as `20261120`. The filter includes the whole day (C9, C25). */
export type CalendarDay = string;

/** A start or due date as input: `yyyymmdd` or `YYYY-MM-DD HH:MM:SS`, without a time zone (C9). */
export type DateInput = string;

/**
 * A date in a response: `YYYY-MM-DD HH:MM:SS`, or `0000-00-00 00:00:00` for never or none. Start and due dates are
 * calendar times without a time zone; all other dates are UTC (C9).
 */
export type DateText = string;

/** A number as input; responses contain it as a string. */
export type NumberInput = string | number;

/** A boolean in a response: `0` for no, `1` for yes. */
export type Flag = '0' | '1';

/** A boolean as input. */
export type FlagInput = 0 | 1 | Flag | boolean;

/** The field `active` in a response: `0` for no, `1` for yes, `2` for on hold. */
export type ActiveStatus = Flag | '2';

/** The field `active` as input: `0` for no, `1` for yes, `2` for on hold. */
export type ActiveStatusInput = FlagInput | 2 | '2';

/** How often a record recurs: daily, weekly, monthly, quarterly, semiannually or yearly; `""` for not at all (C41). */
export type RecurrencePeriod = '' | 'D' | 'W' | 'M' | 'Q' | 'S' | 'Y';

/** How often a record recurs, as input (C41). */
export type RecurrencePeriodInput = RecurrencePeriod | '0' | 0 | false | null;

/** A start or due date as input that may be absent: `""`, `null` or the zero date for none. */
export type DateInputOrNone = DateInput | null;

/** An id as input that may be absent: `0`, `""` or `null` for none. */
export type IdOrNone = Id | null;

/** A user to assign, by id or as returned in {@link AssignedUser}. */
export type AssignedUserInput = Id | { readonly user_id: Id };

/** A user assigned to a record. */
export type AssignedUser = { readonly user_id: string; readonly user_name: string };

/** A team to assign, by id or as returned in {@link AssignedTeam}. */
export type AssignedTeamInput = Id | { readonly team_id: Id };

/** A team assigned to a record. */
export type AssignedTeam = { readonly team_id: string; readonly team_name: string };

/** Each property may be omitted or `undefined`; in both cases it is not sent. */
export type Optional<T> = { readonly [Name in keyof T]?: T[Name] | undefined };

/** Paging parameters of a list (C7). */
export type PageWindow = Optional<{
  /** Number of records per page, 1 to 1000; default 1000, larger values are treated as 1000. */
  limit: number;
  /** Number of records to skip, 0 or more. */
  offset: number;
  /** Cursor: `next` of the previous page. With a cursor, records that are added or removed do not shift the page. */
  after: string;
}>;

/** Position of a page in its list (C7). */
export type PagePosition = { readonly offset: number; readonly limit: number; readonly total_records: number };

/** One page of a list. Pass `next` as `after` to get the next page; the last page has no `next` (C7). */
export type Page<T> = { readonly paging: PagePosition; readonly data: readonly T[]; readonly next?: string };

/** The seven event kinds that the `event` of a hook can name. `events` can name all kinds. */
export const hookKinds = [
  'completed_subtask',
  'completed_task',
  'new_client',
  'new_event',
  'new_project',
  'new_subtask',
  'new_task',
] as const;

/** An event kind that the `event` of a hook can name, one of {@link hookKinds}. */
export type HookKind = (typeof hookKinds)[number];

/**
 * Whose occurrences a hook reports (X11). `own`: those that its user caused. `project`: those of all users in a project
 * and the records in it. `account`: all, only for admins.
 */
export type HookScope = 'own' | 'project' | 'account';

/** Types of the records whose changes are in the feed (X2). */
export const feedResourceTypes = [
  'client',
  'comment',
  'contact',
  'event',
  'project',
  'subtask',
  'task',
  'team',
  'time_entry',
  'user',
] as const;

/** Type of a record whose changes are in the feed. */
export type FeedResourceType = (typeof feedResourceTypes)[number];

/** The verbs of the event kinds that every type of record has. */
const recordVerbs = ['changed', 'deleted', 'new'] as const;

/** Further event kinds (X11). */
const otherKinds = [
  'assigned_project',
  'assigned_subtask',
  'assigned_task',
  'reopened_subtask',
  'reopened_task',
] as const;

/**
 * The event kinds (kinds of occurrence) in the feed (X2). The `events` of a hook can name all of them, `event` only
 * {@link hookKinds}.
 */
export type FeedKind = HookKind | (typeof otherKinds)[number] | `${(typeof recordVerbs)[number]}_${FeedResourceType}`;

/** All event kinds of the feed. */
export const feedKinds: readonly FeedKind[] = [
  ...new Set<FeedKind>([
    ...hookKinds,
    ...otherKinds,
    ...recordVerbs.flatMap((verb) => feedResourceTypes.map((type) => `${verb}_${type}` as const)),
  ]),
];
