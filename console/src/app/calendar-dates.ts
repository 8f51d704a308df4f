/**
 * Functions that format and parse calendar days. Start and due dates have no time zone, so they stay text and are
 * computed in UTC. A day is `YYYY-MM-DD`, or `''` when no date is set.
 */

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const ZERO_DATE = '0000-00-00';
const DAY_MS = 86_400_000;

/** Returns the day of an API timestamp; `''` for the zero date, which means that no date is set. */
export function dayOf(text: string): string {
  const day = text.slice(0, 10);
  return day === ZERO_DATE ? '' : day;
}

/** Returns the time of an API timestamp, `14:30`; `''` for midnight, which means that no time is set. */
export function timeOf(text: string): string {
  const time = text.slice(11, 16);
  return time === '00:00' ? '' : time;
}

/** Formats an API timestamp as `20 Apr 2027` or `20 Apr 2027, 14:30`; `''` when no date is set. */
export function formatDay(text: string): string {
  const [year = '', month = '', day = ''] = dayOf(text).split('-');
  if (year === '') return '';
  const time = timeOf(text);
  return `${Number(day)} ${MONTHS[Number(month) - 1]} ${year}${time === '' ? '' : `, ${time}`}`;
}

/** Formats a start and a due date as a range; either date may be missing. */
export function formatDayRange(start: string, due: string): string {
  const [first, last] = [formatDay(start), formatDay(due)];
  if (first === last || last === '') return first;
  return first === '' ? `until ${last}` : `${first} – ${last}`;
}

/** Returns the API value for a newly chosen day. The time of day of the previous value is kept. */
export function replaceDay(before: string, day: string): string {
  if (day === '') return '';
  return timeOf(before) === '' ? day.replaceAll('-', '') : `${day} ${before.slice(11)}`;
}

/** Returns the current day in the time zone of the browser. */
export function today(now = new Date()): string {
  const twoDigits = (part: number) => String(part).padStart(2, '0');
  return `${String(now.getFullYear()).padStart(4, '0')}-${twoDigits(now.getMonth() + 1)}-${twoDigits(now.getDate())}`;
}

export function plusDays(day: string, count: number): string {
  return new Date(Date.parse(day) + count * DAY_MS).toISOString().slice(0, 10);
}

/** Number of days from one day to another. Both are parsed as UTC, so daylight saving time does not matter. */
export function daysBetween(from: string, to: string): number {
  return Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS);
}

/** A due date that is at most this number of days ahead gets a warning color. */
export const DUE_SOON_DAYS = 7;

/** A due date that is more days ahead than this gets no relative text, such as `in 70 days`. */
const MAX_RELATIVE_DAYS = 60;

/** Returns the relative text (`in 3 days`) and the color of a due date. Both arguments are days. */
export function describeDueDate(
  due: string,
  now: string,
): { readonly text: string; readonly tone: 'plain' | 'warn' | 'bad' } {
  const days = daysBetween(now, due);
  if (days < 0) return { text: days === -1 ? '1 day late' : `${-days} days late`, tone: 'bad' };
  if (days > MAX_RELATIVE_DAYS) return { text: '', tone: 'plain' };
  const text = days === 0 ? 'today' : days === 1 ? 'tomorrow' : `in ${days} days`;
  return { text, tone: days <= DUE_SOON_DAYS ? 'warn' : 'plain' };
}
