import type { DateText, Id, IdOrNone, Optional, Window } from './api-types.ts';
import { type Lists, lists } from './pages.ts';
import { deletes, type Gets, gets } from './resource.ts';
import { issuedOf } from './response-body.ts';
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
export type MadeCalendar = Calendar & {
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
  create(input: CalendarInput, options?: OnceOptions): Promise<MadeCalendar>;
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
      issuedOf<MadeCalendar>(await send({ ...options, method: 'POST', path: ['calendars'], body: input }), 'url'),
    revoke: deletes(send, 'calendars').delete,
  };
}
