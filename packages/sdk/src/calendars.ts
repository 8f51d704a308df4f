import type { DateText, Id, IdOrNone, Optional, Window } from './api-types.ts';
import { type Lists, lists } from './pages.ts';
import { deletes, type Gets, gets } from './resource.ts';
import { issuedOf } from './response-body.ts';
import type { ChangeOptions, OnceOptions, Send } from './transport.ts';

/** What a calendar shows: what concerns its user, what belongs to a project, or everything. X9. */
export type CalendarScope = 'own' | 'project' | 'account';

/** What a calendar program subscribes to, as it is read; its address is not kept. X9. */
export type Calendar = {
  /** Identifier of the calendar. */
  readonly id: string;
  /** Whose it is: it shows no more than this user may read. */
  readonly user_id: string;
  /** What it is for. */
  readonly label: string;
  /** What it shows. */
  readonly scope: CalendarScope;
  /** The project it shows; `"0"` for none. */
  readonly project_id: string;
  /** The zone that its times are told in; empty for the account's. */
  readonly time_zone: string;
  /** When it was made, UTC. */
  readonly date_created: DateText;
  /** When a program last asked for it, UTC, to the hour. */
  readonly last_fetched: DateText;
  /** When it ends by itself, UTC: with the key that made it. */
  readonly expires: DateText;
};

/** A calendar at the one moment when its address can be seen. X9. */
export type MadeCalendar = Calendar & {
  /** The address to subscribe to: shown once, in this answer alone. */
  readonly url: string;
};

/** What a calendar is made from. X9. */
export type CalendarInput = Optional<{
  /** What it is for. */
  label: string;
  /** What it shows; `own` when left out. */
  scope: CalendarScope;
  /** The project, with scope `project`. */
  project_id: IdOrNone;
  /** The IANA name of the zone that its times are told in; the account's when left out. */
  time_zone: string;
}>;

/** Filters of the list of calendars. X9. */
export type CalendarFilters = Window &
  Optional<{
    /** Whose calendars; admins see those of all, others their own. */
    user_id: Id;
  }>;

/** Calendars, ordered by id. X9. */
export interface Calendars extends Lists<Calendar, CalendarFilters>, Gets<Calendar> {
  /**
   * Makes an address to subscribe to. Errors: `invalid_input`, `not_found` for its project, `not_permitted`;
   * `secret_gone` when the answer was lost and the call was repeated: revoke it and make another.
   */
  create(input: CalendarInput, options?: OnceOptions): Promise<MadeCalendar>;
  /** Ends a calendar at once. Errors: `not_found`, `not_permitted`. */
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
