import { type Creates, creates, type Editable, editable } from './resource.ts';
import type { Send } from './transport.ts';
import type { DateInput, DateText, Day, Id, Optional, Window } from './wire.ts';

/** A calendar event as it is read. C24. */
export type CalendarEvent = {
  readonly event_id: string;
  readonly event_name: string;
  readonly start_date: DateText;
  readonly due_date: DateText;
  /** `"0"` without a project. */
  readonly project_id: string;
  readonly date_created: DateText;
  readonly date_modified: DateText;
  /** The creator. */
  readonly user_id: string;
};

/** What a calendar event is created from. C26. */
export type EventInput = {
  /** 1 to 255 characters after trimming. */
  readonly event_name: string;
  readonly start_date: DateInput;
  /** Not before `start_date`. */
  readonly due_date: DateInput;
} & Optional<{
  /** `0`, `""` or `null`: no project. */
  project_id: Id | null;
  /** The creator; another than the caller is for admins. C14. */
  user_id: Id;
}>;

/** What can be changed of a calendar event. C27. */
export type EventChanges = Optional<EventInput>;

/** Filters of the list of calendar events, all of which must hold. C25. */
export type EventFilters = Window &
  Optional<{
    project_id: Id;
    /** start_date on or after. */
    from: Day;
    /** due_date on or before. */
    to: Day;
    start_from: Day;
    start_to: Day;
    due_from: Day;
    due_to: Day;
    /** The other spelling of `start_from`; given both, they must agree. So for the next three. */
    start_date_from: Day;
    start_date_to: Day;
    due_date_from: Day;
    due_date_to: Day;
  }>;

/** Calendar events, ordered by start_date, then id. C24–C28. */
export type Events = Editable<CalendarEvent, EventChanges, EventFilters> & Creates<CalendarEvent, EventInput>;

/** Calendar events at `/events`. */
export function events(send: Send): Events {
  return {
    ...editable<CalendarEvent, EventChanges, EventFilters>(send, 'events'),
    ...creates<CalendarEvent, EventInput>(send, 'events'),
  };
}
