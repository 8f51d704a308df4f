/**
 * Functions that format and parse calendar days. Start and due dates have no time zone, so they are kept as text, and
 * date arithmetic uses UTC. A day is `YYYY-MM-DD`, or `''` when no date is set.
 */

const MONTH_ABBREVIATIONS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const ZERO_DATE = '0000-00-00';
const DAY_MS = 86_400_000;

/** Returns the day of an API timestamp; `''` for the zero date, which means that no date is set. */
export function dayOrEmpty(timestamp: string): string {
  const day = timestamp.slice(0, 10);
  return day === ZERO_DATE ? '' : day;
}

/** Returns the time of an API timestamp, `14:30`; `''` for midnight, which means that no time is set. */
export function timeOrEmpty(timestamp: string): string {
  const time = timestamp.slice(11, 16);
  return time === '00:00' ? '' : time;
}

/** Formats an API timestamp as `20 Apr 2027` or `20 Apr 2027, 14:30`; `''` when no date is set. */
export function formatDayAndTime(timestamp: string): string {
  const [year = '', month = '', day = ''] = dayOrEmpty(timestamp).split('-');
  if (year === '') return '';
  const time = timeOrEmpty(timestamp);
  return `${Number(day)} ${MONTH_ABBREVIATIONS[Number(month) - 1]} ${year}${time === '' ? '' : `, ${time}`}`;
}

/** Formats a start and a due date as a range, such as `20 Apr 2027 – 24 Apr 2027`. Either date may be missing. */
export function formatDayRange(startDate: string, dueDate: string): string {
  const [startText, dueText] = [formatDayAndTime(startDate), formatDayAndTime(dueDate)];
  if (startText === dueText || dueText === '') return startText;
  return startText === '' ? `until ${dueText}` : `${startText} – ${dueText}`;
}

/**
 * Replaces the day of an API timestamp and keeps its time of day. Returns a date for an API request: `20270420` if no
 * time is set, otherwise `2027-04-20 14:30:00`. An empty day returns `''`, which clears the date.
 */
export function replaceDay(previousTimestamp: string, day: string): string {
  if (day === '') return '';
  return timeOrEmpty(previousTimestamp) === '' ? day.replaceAll('-', '') : `${day} ${previousTimestamp.slice(11)}`;
}

/** Returns the current day in the time zone of the browser. */
export function today(now = new Date()): string {
  const padToTwoDigits = (value: number) => String(value).padStart(2, '0');
  return `${String(now.getFullYear()).padStart(4, '0')}-${padToTwoDigits(now.getMonth() + 1)}-${padToTwoDigits(now.getDate())}`;
}

export function plusDays(day: string, dayCount: number): string {
  return new Date(Date.parse(day) + dayCount * DAY_MS).toISOString().slice(0, 10);
}

/** Returns the number of days between two days. Both are parsed as UTC, so daylight saving time does not matter. */
export function daysBetween(from: string, to: string): number {
  return Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS);
}

/** Maximum number of days until a due date for which the due date is shown in the warning color. */
export const DUE_SOON_DAYS = 7;

/** Maximum number of days until a due date for which a relative text is shown, such as `in 60 days`. */
const MAX_RELATIVE_DAYS = 60;

/** Returns the relative text of a due date, such as `in 3 days`, and its tone (color). Both arguments are days. */
export function describeDueDate(
  dueDay: string,
  currentDay: string,
): { readonly text: string; readonly tone: 'plain' | 'warn' | 'bad' } {
  const daysUntilDue = daysBetween(currentDay, dueDay);
  if (daysUntilDue < 0) return { text: daysUntilDue === -1 ? '1 day late' : `${-daysUntilDue} days late`, tone: 'bad' };
  if (daysUntilDue > MAX_RELATIVE_DAYS) return { text: '', tone: 'plain' };
  const text = daysUntilDue === 0 ? 'today' : daysUntilDue === 1 ? 'tomorrow' : `in ${daysUntilDue} days`;
  return { text, tone: daysUntilDue <= DUE_SOON_DAYS ? 'warn' : 'plain' };
}
