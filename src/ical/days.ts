// Calendar times are stored as `YYYY-MM-DD HH:MM:SS`, without a zone. The time 00:00:00 stands for a whole day.

const DAY_MS = 86_400_000;
const MIDNIGHT = '00:00:00';
/**
 * An end at midnight is stored as the last second of the previous day, because 00:00:00 means that no time was given.
 */
const LAST_SECOND_OF_DAY = '23:59:59';

export const dayOf = (time: string): string => time.slice(0, 10);
const hasTimeOfDay = (time: string): boolean => time.slice(11) !== MIDNIGHT;
const toMidnightTime = (day: string): string => `${day} ${MIDNIGHT}`;

/** Adds a number of days to a day. The result is clamped to the years 1 to 9999. */
export function addDays(day: string, dayCount: number): string {
  const [year, month, dayOfMonth] = [Number(day.slice(0, 4)), Number(day.slice(5, 7)), Number(day.slice(8, 10))];
  const resultMs = new Date(0).setUTCFullYear(year, month - 1, dayOfMonth) + dayCount * DAY_MS;
  if (resultMs < FIRST_DAY_MS) return '0001-01-01';
  if (resultMs > LAST_DAY_MS) return '9999-12-31';
  return new Date(resultMs).toISOString().slice(0, 10);
}

const FIRST_DAY_MS = new Date(0).setUTCFullYear(1, 0, 1);
const LAST_DAY_MS = new Date(0).setUTCFullYear(9999, 11, 31);

/** Start and end of an event in iCalendar terms: two days, or two times. The end is exclusive. */
type EventSpan =
  | { readonly isAllDay: true; readonly start: string; readonly end: string }
  /** `end` is undefined if the event has no end. */
  | { readonly isAllDay: false; readonly start: string; readonly end: string | undefined };

/** Start and due date of a record as they are stored: `YYYY-MM-DD HH:MM:SS`, without a zone. */
export type StoredDates = { readonly start_date: string; readonly due_date: string };

/**
 * Converts stored dates to iCalendar terms. An event without an end time is all-day, as in the console. The only
 * exception is an event on a single day that has a start time: it is timed and has no end.
 */
export function toEventSpan({ start_date, due_date }: StoredDates): EventSpan {
  if (!hasTimeOfDay(due_date)) {
    const hasOnlyStartTime = hasTimeOfDay(start_date) && dayOf(start_date) === dayOf(due_date);
    if (hasOnlyStartTime) return { isAllDay: false, start: start_date, end: undefined };
    return { isAllDay: true, start: dayOf(start_date), end: addDays(dayOf(due_date), 1) };
  }
  const end = due_date.endsWith(LAST_SECOND_OF_DAY) ? toMidnightTime(addDays(dayOf(due_date), 1)) : due_date;
  return { isAllDay: false, start: start_date, end: end < start_date ? start_date : end };
}

/** Converts iCalendar terms to stored dates; the inverse of `toEventSpan`. An end before the start is ignored. */
export function toStoredDates(span: EventSpan): StoredDates {
  if (span.isAllDay) {
    const lastDay = addDays(span.end, -1);
    return {
      start_date: toMidnightTime(span.start),
      due_date: toMidnightTime(lastDay < span.start ? span.start : lastDay),
    };
  }
  const { start, end } = span;
  if (end === undefined || end < start) return { start_date: start, due_date: toMidnightTime(dayOf(start)) };
  if (hasTimeOfDay(end)) return { start_date: start, due_date: end };
  if (end === start) return { start_date: start, due_date: start };
  return { start_date: start, due_date: `${addDays(dayOf(end), -1)} ${LAST_SECOND_OF_DAY}` };
}
