/** An id as it may be given. Ids read are strings of digits. C5. */
export type Id = string | number;

/** A calendar day for a filter: `yyyymmdd`, `20261120`. Inclusive of the whole day. C9, C25. */
export type Day = string;

/** A start or due date as it may be given: `yyyymmdd`, or `YYYY-MM-DD HH:MM:SS` as it is read. No zone. C9. */
export type DateInput = string;

/**
 * A date as it is read: `YYYY-MM-DD HH:MM:SS`; `0000-00-00 00:00:00` for never or none. Start and due dates are
 * calendar times without a zone; all others are UTC. C9.
 */
export type DateText = string;

/** A number as it may be given; it is read as a string. */
export type NumberInput = string | number;

/** A flag as it is read. */
export type Flag = '0' | '1';

/** A flag as it may be given. */
export type FlagInput = 0 | 1 | Flag | boolean;

/** `active` as it is read: no, yes, on hold. */
export type Active = Flag | '2';

/** `active` as it may be given: no, yes, on hold. */
export type ActiveInput = FlagInput | 2 | '2';

/** How a record recurs, as it is read: daily, weekly, monthly, quarterly, every six months, yearly; `""` for not. C41. */
export type Period = '' | 'D' | 'W' | 'M' | 'Q' | 'S' | 'Y';

/** How a record recurs, as it may be given. C41. */
export type PeriodInput = Period | '0' | 0 | false | null;

/** A start or due date that may be none: `""`, `null` or the zero date. */
export type DateInputOrNone = DateInput | null;

/** An id that may be none: `0`, `""` or `null`. */
export type IdOrNone = Id | null;

/** A user to be assigned, by id, or as it was read. */
export type AssignedInput = Id | { readonly user_id: Id };

/** A user assigned to a record. */
export type Assigned = { readonly user_id: string; readonly user_name: string };

/** A team to be assigned, by id, or as it was read. */
export type AssignedTeamInput = Id | { readonly team_id: Id };

/** A team assigned to a record. */
export type AssignedTeam = { readonly team_id: string; readonly team_name: string };

/** Each property may be left out or `undefined`, which is the same: it is not sent. */
export type Optional<T> = { readonly [Name in keyof T]?: T[Name] | undefined };

/** Which part of a list. C7. */
export type Window = Optional<{
  /** Records in one answer, 1 to 1000; default 1000, more is taken as 1000. */
  limit: number;
  /** Records to skip, 0 or more. */
  offset: number;
  /** Where the page begins: `next` of the page before. What came or went before that shifts nothing. */
  after: string;
}>;

/** Where a page lies in its list. C7. */
export type Paging = { readonly offset: number; readonly limit: number; readonly total_records: number };

/** One page of a list; `next`: what the one behind it begins `after`, absent on the last one. C7. */
export type Page<T> = { readonly paging: Paging; readonly data: readonly T[]; readonly next?: string };

/** The seven kinds of things a hook can be told of. */
export const kinds = [
  'completed_subtask',
  'completed_task',
  'new_client',
  'new_event',
  'new_project',
  'new_subtask',
  'new_task',
] as const;

/** One of {@link kinds}. */
export type Kind = (typeof kinds)[number];

/** The nouns whose records come, change and go in the feed. X2. */
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

/** What the feed can tell of: the seven, and what no hook is told of. X2. */
export type FeedKind = Kind | `${'changed' | 'deleted' | 'new'}_${(typeof feedResourceTypes)[number]}`;
