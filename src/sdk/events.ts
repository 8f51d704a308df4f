import { type Imports, imports } from './imports.ts';
import { type Creates, creates, type Editable, editable } from './resource.ts';
import type { Send } from './transport.ts';
import type { DateInput, DateText, Day, Id, IdOrNone, Optional, Window } from './wire.ts';

/** A calendar event as it is read. C24. */
export type CalendarEvent = {
  /** Identifier of the event. */
  readonly event_id: string;
  /** Name of the event. */
  readonly event_name: string;
  /** First day. */
  readonly start_date: DateText;
  /** Last day. */
  readonly due_date: DateText;
  /** `"0"` without a project. */
  readonly project_id: string;
  /** When it was created, UTC. */
  readonly date_created: DateText;
  /** When it was last modified, UTC. */
  readonly date_modified: DateText;
  /** The creator. */
  readonly user_id: string;
};

/** What a calendar event is created from. C26. */
export type EventInput = {
  /** 1 to 255 characters after trimming. */
  readonly event_name: string;
  /** First day. */
  readonly start_date: DateInput;
  /** Not before `start_date`. */
  readonly due_date: DateInput;
} & Optional<{
  /** `0`, `""` or `null`: no project. */
  project_id: IdOrNone;
  /** The creator; `0`, `""` or `null`: the caller. Another than the caller is for admins. C14. */
  user_id: IdOrNone;
}>;

/** What can be changed of a calendar event. C27. */
export type EventChanges = Optional<EventInput>;

/** Filters of the list of calendar events, all of which must hold. C25. */
export type EventFilters = Window &
  Optional<{
    /** Of this project; 0 for those of none. */
    project_id: Id;
    /** start_date on or after. */
    from: Day;
    /** due_date on or before. */
    to: Day;
    /** Starting on this day or later. */
    start_from: Day;
    /** Starting on this day or earlier. */
    start_to: Day;
    /** Due on this day or later. */
    due_from: Day;
    /** Due on this day or earlier. */
    due_to: Day;
    /** The other spelling of `start_from`; given both, they must agree. So for the next three. */
    start_date_from: Day;
    /** Starting on this day or earlier. */
    start_date_to: Day;
    /** Due on this day or later. */
    due_date_from: Day;
    /** Due on this day or earlier. */
    due_date_to: Day;
  }>;

/** Calendar events, ordered by start_date, then id. C24–C28. */
export type Events = Editable<CalendarEvent, EventChanges, EventFilters> & Creates<CalendarEvent, EventInput> & Imports;

/** Calendar events at `/events`. */
export function events(send: Send): Events {
  return {
    ...editable<CalendarEvent, EventChanges, EventFilters>(send, 'events', 'event_id'),
    ...creates<CalendarEvent, EventInput>(send, 'events'),
    ...imports(send, 'events'),
  };
}
