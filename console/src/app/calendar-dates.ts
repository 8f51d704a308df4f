/**
 * Calendar days as they are shown and given. Start and due are times without a zone: they are taken apart as text, and
 * nothing here turns one into a moment. A day is `YYYY-MM-DD`, `''` for none.
 */

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const NONE = '0000-00-00';
const DAY_MS = 86_400_000;

/** The day of a date that the service wrote; `''` where there is none. */
export function dayOf(text: string): string {
  const day = text.slice(0, 10);
  return day === NONE ? '' : day;
}

/** The time of a date that the service wrote, `14:30`; `''` for the whole day, which midnight stands for. */
export function timeOf(text: string): string {
  const time = text.slice(11, 16);
  return time === '00:00' ? '' : time;
}

/** A day in words, with its time where it has one: `20 Apr 2027`, `20 Apr 2027, 14:30`; `''` for none. */
export function showDay(text: string): string {
  const [year = '', month = '', day = ''] = dayOf(text).split('-');
  if (year === '') return '';
  const time = timeOf(text);
  return `${Number(day)} ${MONTHS[Number(month) - 1]} ${year}${time === '' ? '' : `, ${time}`}`;
}

/** From when to when, in words; each may be missing. */
export function showSpan(start: string, due: string): string {
  const [first, last] = [showDay(start), showDay(due)];
  if (first === last || last === '') return first;
  return first === '' ? `until ${last}` : `${first} – ${last}`;
}

/** What is sent for a day that was chosen; the time of day that stood there before stays. */
export function withDay(before: string, day: string): string {
  if (day === '') return '';
  return timeOf(before) === '' ? day.replaceAll('-', '') : `${day} ${before.slice(11)}`;
}

/** The day that it is where somebody sits. */
export function today(now = new Date()): string {
  const two = (part: number) => String(part).padStart(2, '0');
  return `${String(now.getFullYear()).padStart(4, '0')}-${two(now.getMonth() + 1)}-${two(now.getDate())}`;
}

/** A day so many days after another. */
export function plusDays(day: string, count: number): string {
  return new Date(Date.parse(day) + count * DAY_MS).toISOString().slice(0, 10);
}

/** How many days lie between two; a change of clocks makes none of them longer. */
export function daysBetween(from: string, to: string): number {
  return Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS);
}

/** How many days ahead is soon. */
export const SOON_DAYS = 7;

/** Beyond so many days the date alone says enough. */
const FAR_DAYS = 60;

/** How far something due is, in words, and whether that is a reason to look. `due` is a day. */
export function dueIn(due: string, now: string): { readonly text: string; readonly tone: 'plain' | 'warn' | 'bad' } {
  const days = daysBetween(now, due);
  if (days < 0) return { text: days === -1 ? '1 day late' : `${-days} days late`, tone: 'bad' };
  if (days > FAR_DAYS) return { text: '', tone: 'plain' };
  const text = days === 0 ? 'today' : days === 1 ? 'tomorrow' : `in ${days} days`;
  return { text, tone: days <= SOON_DAYS ? 'warn' : 'plain' };
}
