/** An id as input. Ids in responses are strings of digits. C5. */
export type Id = string | number;

/** A calendar day for a filter: `yyyymmdd`, `20261120`. Inclusive of the whole day. C9, C25. */
export type Day = string;

/** A start or due date as input: `yyyymmdd` or `YYYY-MM-DD HH:MM:SS`, without a time zone. C9. */
export type DateInput = string;

/**
 * A date in a response: `YYYY-MM-DD HH:MM:SS`; `0000-00-00 00:00:00` for never or none. Start and due dates are
 * calendar times without a time zone; all others are UTC. C9.
 */
export type DateText = string;

/** A number as input; responses contain it as a string. */
export type NumberInput = string | number;

/** A flag in a response. */
export type Flag = '0' | '1';

/** A flag as input. */
export type FlagInput = 0 | 1 | Flag | boolean;

/** `active` in a response: no, yes, on hold. */
export type Active = Flag | '2';

/** `active` as input: no, yes, on hold. */
export type ActiveInput = FlagInput | 2 | '2';

/** How a record recurs: daily, weekly, monthly, quarterly, semiannually, yearly; `""` for not at all. C41. */
export type Period = '' | 'D' | 'W' | 'M' | 'Q' | 'S' | 'Y';

/** How a record recurs, as input. C41. */
export type PeriodInput = Period | '0' | 0 | false | null;

/** An optional start or due date; `""`, `null` or the zero date for none. */
export type DateInputOrNone = DateInput | null;

/** An optional id; `0`, `""` or `null` for none. */
export type IdOrNone = Id | null;

/** A user to assign, by id or as returned in {@link Assigned}. */
export type AssignedInput = Id | { readonly user_id: Id };

/** A user assigned to a record. */
export type Assigned = { readonly user_id: string; readonly user_name: string };

/** A team to assign, by id or as returned in {@link AssignedTeam}. */
export type AssignedTeamInput = Id | { readonly team_id: Id };

/** A team assigned to a record. */
export type AssignedTeam = { readonly team_id: string; readonly team_name: string };

/** Each property may be omitted or `undefined`; in both cases it is not sent. */
export type Optional<T> = { readonly [Name in keyof T]?: T[Name] | undefined };

/** Paging parameters of a list. C7. */
export type Window = Optional<{
  /** Records per page, 1 to 1000; default 1000, larger values are treated as 1000. */
  limit: number;
  /** Records to skip, 0 or more. */
  offset: number;
  /** Cursor: `next` of the previous page. The position is stable while records are added and removed. */
  after: string;
}>;

/** The position of a page in its list. C7. */
export type Paging = { readonly offset: number; readonly limit: number; readonly total_records: number };

/** One page of a list. `next` is the `after` of the next page, absent on the last one. C7. */
export type Page<T> = { readonly paging: Paging; readonly data: readonly T[]; readonly next?: string };

/** The seven kinds of occurrence that a hook can subscribe to. */
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

/** The resources whose changes are in the feed. X2. */
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

/** The kinds of occurrence in the feed; hooks can only subscribe to {@link kinds}. X2. */
export type FeedKind = Kind | `${'changed' | 'deleted' | 'new'}_${(typeof feedResourceTypes)[number]}`;
