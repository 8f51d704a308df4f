/** Calendar times as the service keeps them, `YYYY-MM-DD HH:MM:SS`, without a zone; 00:00:00 says that a day is meant. */

const DAY_MS = 86_400_000;
const MIDNIGHT = '00:00:00';
/** How an end at midnight is kept: 00:00:00 would say that no time was given. */
const LAST_SECOND = '23:59:59';

export const dayOf = (time: string): string => time.slice(0, 10);
export const isTimed = (time: string): boolean => time.slice(11) !== MIDNIGHT;
export const atMidnight = (day: string): string => `${day} ${MIDNIGHT}`;

/** A day so many days later; never outside of the years 1 to 9999. */
export function plusDays(day: string, count: number): string {
  const [year = 1, month = 1, date = 1] = day.split('-').map(Number);
  const moved = new Date(0).setUTCFullYear(year, month - 1, date) + count * DAY_MS;
  if (moved < FIRST_DAY) return '0001-01-01';
  if (moved > LAST_DAY) return '9999-12-31';
  return new Date(moved).toISOString().slice(0, 10);
}

const FIRST_DAY = new Date(0).setUTCFullYear(1, 0, 1);
const LAST_DAY = new Date(0).setUTCFullYear(9999, 11, 31);

/** When something is, as iCalendar says it: days, or times of which the end is the first moment after it. */
export type Span =
  | { readonly isAllDay: true; readonly start: string; readonly end: string }
  /** `end` undefined: none was given. */
  | { readonly isAllDay: false; readonly start: string; readonly end: string | undefined };

export type Dated = { readonly start_date: string; readonly due_date: string };

/**
 * What an event says of its time, as iCalendar says it. Without a time for its end it is days, as the console draws it;
 * with a time for its beginning alone, and on one day, it has no end.
 */
export function spanOf({ start_date, due_date }: Dated): Span {
  if (!isTimed(due_date)) {
    const isOpen = isTimed(start_date) && dayOf(start_date) === dayOf(due_date);
    if (isOpen) return { isAllDay: false, start: start_date, end: undefined };
    return { isAllDay: true, start: dayOf(start_date), end: plusDays(dayOf(due_date), 1) };
  }
  const end = due_date.endsWith(LAST_SECOND) ? atMidnight(plusDays(dayOf(due_date), 1)) : due_date;
  return { isAllDay: false, start: start_date, end: end < start_date ? start_date : end };
}

/** The opposite: what an event says that is so. An end that lies before its beginning is none. */
export function datedOf(span: Span): Dated {
  if (span.isAllDay) {
    const last = plusDays(span.end, -1);
    return { start_date: atMidnight(span.start), due_date: atMidnight(last < span.start ? span.start : last) };
  }
  const { start, end } = span;
  if (end === undefined || end < start) return { start_date: start, due_date: atMidnight(dayOf(start)) };
  if (isTimed(end)) return { start_date: start, due_date: end };
  if (end === start) return { start_date: start, due_date: start };
  return { start_date: start, due_date: `${plusDays(dayOf(end), -1)} ${LAST_SECOND}` };
}
