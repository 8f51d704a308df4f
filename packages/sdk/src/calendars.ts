import type { DateText, FlagInput, Id, IdOrNone, Optional, Window } from './api-types.ts';
import { deletes, type Gets, gets, type Lists, lists } from './resource-methods.ts';
import { recordOf, withSecret } from './response-body.ts';
import type { ChangeOptions, OnceOptions, Send } from './transport.ts';

/** The content of a calendar: what concerns its user, one project, or the whole account. X9. */
export type CalendarScope = 'own' | 'project' | 'account';

/** A calendar subscription as returned by the service; its URL is not stored. X9. */
export type Calendar = {
  /** Identifier of the calendar. */
  readonly id: string;
  /** Its owner: it only contains what this user may read. */
  readonly user_id: string;
  /** A label. */
  readonly label: string;
  /** Its content. */
  readonly scope: CalendarScope;
  /** The project, with scope `project`; otherwise `"0"`. */
  readonly project_id: string;
  /** The time zone of its times; empty for the account's. */
  readonly time_zone: string;
  /** When it was created, UTC. */
  readonly date_created: DateText;
  /** When it was last fetched, UTC, to the hour. */
  readonly last_fetched: DateText;
  /** When it expires, UTC: with the key that created it. */
  readonly expires: DateText;
};

/** A created calendar with its URL, which is only returned once. X9. */
export type CreatedCalendar = Calendar & {
  /** The secret URL to subscribe to; only in this response. */
  readonly url: string;
};

/** Input for creating a calendar. X9. */
export type CalendarInput = Optional<{
  /** A label. */
  label: string;
  /** Its content; default `own`. */
  scope: CalendarScope;
  /** The project, with scope `project`. */
  project_id: IdOrNone;
  /** The IANA name of the time zone of its times; default: the account's. */
  time_zone: string;
}>;

/** Filters of the list of calendars. X9. */
export type CalendarFilters = Window &
  Optional<{
    /** Calendars of this user; only admins can see those of others. */
    user_id: Id;
  }>;

/** Calendars, ordered by id. X9. */
export interface Calendars extends Lists<Calendar, CalendarFilters>, Gets<Calendar> {
  /**
   * Creates a calendar subscription. Errors: `invalid_input`, `not_found` for its project, `not_permitted`;
   * `secret_gone` if the response was lost and the call was repeated: revoke the calendar and create another one.
   *
   * @example
   * ```ts
   * const { url } = await carillon.calendars.create({ label: 'Phone', scope: 'own' });
   * ```
   */
  create(input: CalendarInput, options?: OnceOptions): Promise<CreatedCalendar>;
  /**
   * Revokes a calendar immediately. Errors: `not_found`, `not_permitted`.
   *
   * @example
   * ```ts
   * await carillon.calendars.revoke('7');
   * ```
   */
  revoke(id: Id, options?: ChangeOptions): Promise<void>;
}

/** Calendars at `/calendars`. */
export function calendars(send: Send): Calendars {
  return {
    ...lists<Calendar, CalendarFilters>(send, 'calendars', 'id'),
    ...gets<Calendar>(send, 'calendars'),
    create: async (input, options) =>
      withSecret<CreatedCalendar>(await send({ ...options, method: 'POST', path: ['calendars'], body: input }), 'url'),
    revoke: deletes(send, 'calendars').delete,
  };
}

/** A file to import. X9. */
export type ImportInput = {
  /** The file: iCalendar (RFC 5545), as text. */
  readonly ics: string;
} & Optional<{
  /** The project of the created records. */
  project_id: IdOrNone;
  /** The IANA name of the time zone that times with a zone are converted to; default: the account's. */
  time_zone: string;
  /** Used if the account has no time zone; default: the file's own. */
  default_time_zone: string;
  /** Notifies no hook; the feed contains `changed_event` for created events. */
  silent: FlagInput;
  /** Imports records again that were deleted after an earlier import. */
  again: FlagInput;
}>;

/** Why a part of a file was not imported, or was changed. X9. */
export type DropReason =
  | 'not_an_event'
  | 'no_field'
  | 'truncated'
  | 'no_start'
  | 'out_of_range'
  | 'malformed_line'
  | 'misplaced'
  | 'repeated_property'
  | 'bad_time'
  | 'bad_duration'
  | 'bad_rule'
  | 'empty_rule'
  | 'unknown_zone'
  | 'no_zone'
  | 'zone_of_file'
  | 'cancelled'
  | 'replaced'
  | 'own'
  | 'repeated_before'
  | 'repeated_after'
  | 'repeated_too_often'
  | 'untitled'
  | 'shortened';

/** Parts of a file that were dropped for the same reason. X9. */
export type Dropped = {
  /** The component or property: `VTODO`, `LOCATION`, `EXDATE`. */
  readonly what: string;
  /** Why. */
  readonly reason: DropReason;
  /** The reason in a sentence. */
  readonly message: string;
  /** Number of times. */
  readonly count: string;
  /** The first of them: line numbers with names or values. */
  readonly examples: readonly string[];
};

/** The result of an import. X9. */
export type ImportReport = {
  /** Events that were created. */
  readonly created: string;
  /** Events that were imported before and differ now. */
  readonly changed: string;
  /** Events that were imported before and are the same in the file. */
  readonly unchanged: string;
  /** Events that were deleted after an earlier import; they stay deleted. */
  readonly deleted: string;
  /** The time zone that times with a zone were converted to; UTC by default. */
  readonly time_zone: string;
  /** First day of imported repetitions, `YYYY-MM-DD`. */
  readonly repeated_from: string;
  /** Last day of imported repetitions. */
  readonly repeated_to: string;
  /** Parts of the file that were not imported. */
  readonly dropped: readonly Dropped[];
};

/** A resource that supports imports. X9. */
export interface Imports {
  /**
   * Imports an .ics file; importing it again creates no duplicates. The default timeout is five minutes.
   * Errors: `invalid_input` with the line, `not_found` for the project, `body_too_large`, `overloaded`.
   *
   * @example
   * ```ts
   * const { created, dropped } = await carillon.events.import({ ics });
   * ```
   */
  import(input: ImportInput, options?: OnceOptions): Promise<ImportReport>;
}

/** Default timeout: a large file takes long. */
const TIMEOUT_MS = 300_000;

/** Imports at `/{resource}/import`. */
export function imports(send: Send, resourceType: string): Imports {
  return {
    import: async (input, options) =>
      recordOf(
        await send({ timeoutMs: TIMEOUT_MS, ...options, method: 'POST', path: [resourceType, 'import'], body: input }),
      ),
  };
}
