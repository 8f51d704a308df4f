import {
  type Day,
  type Days,
  dayNumber,
  dayOf,
  type EventDates,
  isOpen,
  lastDay,
  type TimeText,
  timeSpanOf,
} from './time-math.ts';

// The console is in English. Date formats and the first day of the week follow the settings of the browser.

/** Locale for date formats: the first English locale of the browser. */
export const language = navigator.languages.find((one) => one.startsWith('en')) ?? 'en-GB';

/** Whether the locale writes the month first, so that `4/5` means April 5. */
export const isMonthFirst = ['en', 'en-US', 'en-PH'].includes(language);

type WeekInfo = { readonly firstDay: number };

function firstDayOf(name: string): number {
  const locale = new Intl.Locale(name) as Intl.Locale & { getWeekInfo?(): WeekInfo; readonly weekInfo?: WeekInfo };
  return ((locale.getWeekInfo?.() ?? locale.weekInfo)?.firstDay ?? 1) % 7;
}

/** First day of the week in the browser's locale; 0 is Sunday. */
export const firstDay = firstDayOf(navigator.language);

const formats = new Map<string, Intl.DateTimeFormat>();

function format(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const name = JSON.stringify(options);
  const known = formats.get(name) ?? new Intl.DateTimeFormat(language, { ...options, timeZone: 'UTC' });
  formats.set(name, known);
  return known;
}

/**
 * Returns a day as a `Date` at midnight UTC. Formatting also uses UTC, so daylight saving time cannot shift the day.
 */
const dateOf = (day: Day) => new Date(dayNumber(day) * 86_400_000);

const DAY = { day: 'numeric', month: 'short' } as const;
const LONG = { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' } as const;

export const monthName = (day: Day) => format({ month: 'long', year: 'numeric' }).format(dateOf(day));
export const longDay = (day: Day) => format(LONG).format(dateOf(day));
export const shortDay = (day: Day) => format(DAY).format(dateOf(day));
export const weekdayName = (day: Day) => format({ weekday: 'short' }).format(dateOf(day));

/** Formats a range of days; the year is included only when it is not `thisYear`. */
export function daysName({ from, to }: Days, thisYear: string): string {
  const isOtherYear = from.slice(0, 4) !== thisYear || to.slice(0, 4) !== thisYear;
  const options: Intl.DateTimeFormatOptions = isOtherYear ? { ...DAY, year: 'numeric' } : DAY;
  if (from !== to) return format(options).formatRange(dateOf(from), dateOf(to));
  return format({ ...options, weekday: 'short' }).format(dateOf(from));
}

/** Returns the title of a view: its month, week or day. */
export function periodName(view: 'month' | 'week' | 'day' | 'list', day: Day, days: Days): string {
  if (view === 'day') return longDay(day);
  if (view !== 'week') return monthName(day);
  return format({ day: 'numeric', month: 'long', year: 'numeric' }).formatRange(dateOf(days.from), dateOf(days.to));
}

/** Formats a time of day, `HH:MM` or longer. */
export function timeName(clock: string): string {
  const [hour = 0, minute = 0] = clock.split(':').map(Number);
  return format({ hour: 'numeric', minute: '2-digit' }).format(Date.UTC(1970, 0, 1, hour, minute));
}

/** Formats start and end time of an event; empty for an all-day event. */
export function timesName(event: EventDates): string {
  const { start, end, isAllDay } = timeSpanOf(event);
  if (isAllDay) return '';
  const first = timeName(start.slice(11));
  return isOpen(event) ? first : `${first} – ${timeName(end.slice(11))}`;
}

/** Formats the days and times of an event, for screen readers. */
export function spanName(event: EventDates): string {
  const first = longDay(dayOf(event.start_date));
  const last = lastDay(event);
  const times = timesName(event);
  const days = last === dayOf(event.start_date) ? first : `${first} to ${longDay(last)}`;
  return times === '' ? `${days}, all day` : `${days}, ${times}`;
}

/** Formats the time of an API timestamp. */
export const startName = (text: TimeText) => timeName(text.slice(11));

/** Returns the IANA time zone of the browser. */
export const ownZone = () => new Intl.DateTimeFormat().resolvedOptions().timeZone;
