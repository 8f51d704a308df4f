// Written by test/docs.ts from the route rows. Change that, then: npm run docs

import type { DateInput, DateText, Day, Id, IdOrNone, Optional, Window } from './api-types.ts';
import { type Imports, imports } from './calendars.ts';
import { type Creates, creates, type Editable, editable } from './resource.ts';
import type { Send } from './transport.ts';

/** An event as returned by the API. C24–C28. */
export type CalendarEvent = {
  /** Identifier of the event. */
  readonly event_id: string;
  /** Name of the event. */
  readonly event_name: string;
  /** First day. Accepts yyyymmdd or the output format. */
  readonly start_date: DateText;
  /** Last day. Accepts yyyymmdd or the output format. */
  readonly due_date: DateText;
  /** The project it belongs to. "0" for none. */
  readonly project_id: string;
  /** When it was created, UTC. */
  readonly date_created: DateText;
  /** When it was last modified, UTC. */
  readonly date_modified: DateText;
  /** The user who created it. Only admins may give another user. "0" for none. */
  readonly user_id: string;
};

/** Input to create an event. C24–C28. */
export type EventInput = {
  /** Name of the event. */
  readonly event_name: string;
  /** First day. Accepts yyyymmdd or the output format. */
  readonly start_date: DateInput;
  /** Last day. Accepts yyyymmdd or the output format. */
  readonly due_date: DateInput;
} & Optional<{
  /** The project it belongs to. "0" for none. */
  readonly project_id: IdOrNone;
  /** The user who created it. Only admins may give another user. "0" for none. */
  readonly user_id: IdOrNone;
}>;

/** Fields of an event that can be changed. C24–C28. */
export type EventChanges = Optional<EventInput>;

/** Filters of the list of events, combined with AND. C24–C28. */
export type EventFilters = Window &
  Optional<{
    /** Only events of this project; 0 for events without one. */
    readonly project_id: Id;
    /** Starting on this day or later. */
    readonly from: Day;
    /** Due on this day or earlier. */
    readonly to: Day;
    /** Starting on this day or later. */
    readonly start_from: Day;
    /** Starting on this day or later. */
    readonly start_date_from: Day;
    /** Starting on this day or earlier. */
    readonly start_to: Day;
    /** Starting on this day or earlier. */
    readonly start_date_to: Day;
    /** Due on this day or later. */
    readonly due_from: Day;
    /** Due on this day or later. */
    readonly due_date_from: Day;
    /** Due on this day or earlier. */
    readonly due_to: Day;
    /** Due on this day or earlier. */
    readonly due_date_to: Day;
  }>;

/** Methods for events. C24–C28. */
export type Events = Editable<CalendarEvent, EventChanges, EventFilters> & Creates<CalendarEvent, EventInput> & Imports;

/** Methods for events at `/events`. */
export function events(send: Send): Events {
  return {
    ...editable<CalendarEvent, EventChanges, EventFilters>(send, 'events', 'event_id'),
    ...creates<CalendarEvent, EventInput>(send, 'events'),
    ...imports(send, 'events'),
  };
}
