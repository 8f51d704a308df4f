import type { DateText, FlagInput, Id, IdOrNone, Optional, PageWindow } from './api-types.ts';
import {
  buildDeleteMethod,
  buildGetMethod,
  buildListMethods,
  type GetMethod,
  type ListMethods,
} from './resource-methods.ts';
import { recordOf, recordWithSecretOf } from './response-body.ts';
import type { ChangeOptions, PostOptions, Send } from './transport.ts';

/**
 * Records that a calendar contains: those that concern its user, those of one project, or those of the account (X9).
 */
export type CalendarScope = 'own' | 'project' | 'account';

/** A calendar subscription as returned by the service. The service does not store its secret URL (X9). */
export type Calendar = {
  /** Identifier of the calendar. */
  readonly id: string;
  /** Owner of the calendar. The calendar contains only records that this user may read. */
  readonly user_id: string;
  /** Label by which the user recognizes the calendar. */
  readonly label: string;
  /** Records that the calendar contains. */
  readonly scope: CalendarScope;
  /** Project of the calendar if the scope is `project`; otherwise `"0"`. */
  readonly project_id: string;
  /** Time zone of the times in the calendar; empty for the time zone of the account. */
  readonly time_zone: string;
  /** When the calendar was created, UTC. */
  readonly date_created: DateText;
  /** When the calendar was last fetched, UTC, with a resolution of one hour. */
  readonly last_fetched: DateText;
  /** When the calendar expires, UTC. It expires together with the key that created it. */
  readonly expires: DateText;
};

/** A created calendar with its secret URL, which is returned only once (X9). */
export type CreatedCalendar = Calendar & {
  /** Secret URL to subscribe to. Only the response to the creation contains it. */
  readonly url: string;
};

/** Input for creating a calendar (X9). */
export type CalendarInput = Optional<{
  /** Label by which the user recognizes the calendar. */
  label: string;
  /** Records that the calendar contains; default `own`. */
  scope: CalendarScope;
  /** Project of the calendar, required if the scope is `project`. */
  project_id: IdOrNone;
  /** IANA name of the time zone of the times in the calendar; default: the time zone of the account. */
  time_zone: string;
}>;

/** Filters of the list of calendars (X9). */
export type CalendarFilters = PageWindow &
  Optional<{
    /** Only calendars of this user; only admins can see calendars of other users. */
    user_id: Id;
  }>;

/** Methods for calendars; lists are ordered by id (X9). */
export interface Calendars extends ListMethods<Calendar, CalendarFilters>, GetMethod<Calendar> {
  /**
   * Creates a calendar subscription. Errors: `invalid_input`, `not_found` for its project, `not_permitted`;
   * `secret_gone` if the response was lost and the call was repeated: revoke the calendar and create another one.
   *
   * @example
   * ```ts
   * const { url } = await carillon.calendars.create({ label: 'Phone', scope: 'own' });
   * ```
   */
  create(input: CalendarInput, options?: PostOptions): Promise<CreatedCalendar>;
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

/** Creates the methods for calendars at `/calendars`. */
export function createCalendarMethods(send: Send): Calendars {
  return {
    ...buildListMethods<Calendar, CalendarFilters>(send, 'calendars', 'id'),
    ...buildGetMethod<Calendar>(send, 'calendars'),
    create: async (input, options) =>
      recordWithSecretOf<CreatedCalendar>(
        await send({ ...options, method: 'POST', path: ['calendars'], body: input }),
        'url',
      ),
    revoke: buildDeleteMethod(send, 'calendars').delete,
  };
}

/** Input for importing a calendar file (X9). */
export type CalendarImportInput = {
  /** Content of the file as text: iCalendar (RFC 5545). */
  readonly ics: string;
} & Optional<{
  /** Project of the created records. */
  project_id: IdOrNone;
  /** IANA name of the time zone to which times with a zone are converted; default: the time zone of the account. */
  time_zone: string;
  /** IANA name of the time zone to use if the account has none; default: the time zone of the file. */
  default_time_zone: string;
  /** Whether to import without notifying hooks. The feed then contains `changed_event` for created events. */
  silent: FlagInput;
  /** Whether to recreate the records that were deleted after an earlier import. */
  again: FlagInput;
}>;

/** The reason why a part of a file was not imported, or was changed (X9). */
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

/** The parts of a file that were dropped for the same reason (X9). */
export type DroppedParts = {
  /** Name of the component or property, such as `VTODO` or `LOCATION`. */
  readonly what: string;
  /** Code of the reason. */
  readonly reason: DropReason;
  /** The reason in a sentence. */
  readonly message: string;
  /** Number of dropped parts. */
  readonly count: string;
  /** The first dropped parts: line numbers with names or values. */
  readonly examples: readonly string[];
};

/** Result of an import (X9). */
export type CalendarImportReport = {
  /** Number of events that were created. */
  readonly created: string;
  /** Number of events that were imported before and differ now. */
  readonly changed: string;
  /** Number of events that were imported before and are the same in the file. */
  readonly unchanged: string;
  /** Number of events that were deleted after an earlier import. They stay deleted. */
  readonly deleted: string;
  /** Time zone to which times with a zone were converted; UTC by default. */
  readonly time_zone: string;
  /** First day of the imported repetitions of recurring events, `YYYY-MM-DD`. */
  readonly repeated_from: string;
  /** Last day of the imported repetitions of recurring events, `YYYY-MM-DD`. */
  readonly repeated_to: string;
  /** Parts of the file that were not imported. */
  readonly dropped: readonly DroppedParts[];
};

/** Import method of a resource (X9). */
export interface ImportMethod {
  /**
   * Imports an .ics file. Importing the same file again creates no duplicates. The default timeout is five minutes.
   * Errors: `invalid_input` with the line, `not_found` for the project, `body_too_large`, `overloaded`.
   *
   * @example
   * ```ts
   * const { created, dropped } = await carillon.events.import({ ics });
   * ```
   */
  import(input: CalendarImportInput, options?: PostOptions): Promise<CalendarImportReport>;
}

/** Default timeout of an import, since importing a large file takes long. */
const IMPORT_TIMEOUT_MS = 300_000;

/** Creates the import method at `/{resource}/import`. */
export function buildImportMethod(send: Send, resourceType: string): ImportMethod {
  return {
    import: async (input, options) =>
      recordOf(
        await send({
          timeoutMs: IMPORT_TIMEOUT_MS,
          ...options,
          method: 'POST',
          path: [resourceType, 'import'],
          body: input,
        }),
      ),
  };
}
