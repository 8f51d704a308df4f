import {
  type ApiTimestamp,
  type Day,
  type DayRange,
  dayNumberOf,
  dayOf,
  type EventDates,
  isOpenEnded,
  lastDayOf,
  timeSpanOf,
} from './time-math.ts';

// The console is in English. Date formats and the first day of the week follow the settings of the browser.

/** Locale for date formats: the first English locale of the browser. */
export const dateLocale = navigator.languages.find((language) => language.startsWith('en')) ?? 'en-GB';

/** Whether the locale writes the month first, so that `4/5` means April 5. */
export const isMonthFirst = ['en', 'en-US', 'en-PH'].includes(dateLocale);

type WeekInfo = { readonly firstDay: number };

function firstWeekdayOf(languageTag: string): number {
  const locale = new Intl.Locale(languageTag) as Intl.Locale & {
    getWeekInfo?(): WeekInfo;
    readonly weekInfo?: WeekInfo;
  };
  return ((locale.getWeekInfo?.() ?? locale.weekInfo)?.firstDay ?? 1) % 7;
}

/** First day of the week in the browser's locale; 0 is Sunday. */
export const firstWeekday = firstWeekdayOf(navigator.language);

const dateFormatCache = new Map<string, Intl.DateTimeFormat>();

function getDateFormat(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const cacheKey = JSON.stringify(options);
  const dateFormat =
    dateFormatCache.get(cacheKey) ?? new Intl.DateTimeFormat(dateLocale, { ...options, timeZone: 'UTC' });
  dateFormatCache.set(cacheKey, dateFormat);
  return dateFormat;
}

/**
 * Returns a day as a `Date` at midnight UTC. Formatting also uses UTC, so daylight saving time cannot shift the day.
 */
const toUtcDate = (day: Day) => new Date(dayNumberOf(day) * 86_400_000);

const SHORT_DAY_FORMAT = { day: 'numeric', month: 'short' } as const;
const LONG_DAY_FORMAT = { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' } as const;

const formatMonth = (day: Day) => getDateFormat({ month: 'long', year: 'numeric' }).format(toUtcDate(day));
export const formatLongDay = (day: Day) => getDateFormat(LONG_DAY_FORMAT).format(toUtcDate(day));
export const formatShortDay = (day: Day) => getDateFormat(SHORT_DAY_FORMAT).format(toUtcDate(day));
export const formatWeekday = (day: Day) => getDateFormat({ weekday: 'short' }).format(toUtcDate(day));

/** Formats a range of days. The year is left out if both days are in `omittedYear`. */
export function formatDays({ from, to }: DayRange, omittedYear: string): string {
  const isOtherYear = from.slice(0, 4) !== omittedYear || to.slice(0, 4) !== omittedYear;
  const options: Intl.DateTimeFormatOptions = isOtherYear ? { ...SHORT_DAY_FORMAT, year: 'numeric' } : SHORT_DAY_FORMAT;
  if (from !== to) return getDateFormat(options).formatRange(toUtcDate(from), toUtcDate(to));
  return getDateFormat({ ...options, weekday: 'short' }).format(toUtcDate(from));
}

/** Returns the title of a view: its month, week or day. */
export function formatViewTitle(view: 'month' | 'week' | 'day' | 'list', day: Day, days: DayRange): string {
  if (view === 'day') return formatLongDay(day);
  if (view !== 'week') return formatMonth(day);
  return getDateFormat({ day: 'numeric', month: 'long', year: 'numeric' }).formatRange(
    toUtcDate(days.from),
    toUtcDate(days.to),
  );
}

/** Formats a time of day, `HH:MM` or longer. */
export function formatTime(timeOfDay: string): string {
  const [hour = 0, minute = 0] = timeOfDay.split(':').map(Number);
  return getDateFormat({ hour: 'numeric', minute: '2-digit' }).format(Date.UTC(1970, 0, 1, hour, minute));
}

/** Formats start and end time of an event; empty for an all-day event. */
export function formatEventTimes(event: EventDates): string {
  const { start, end, isAllDay } = timeSpanOf(event);
  if (isAllDay) return '';
  const startTime = formatTime(start.slice(11));
  return isOpenEnded(event) ? startTime : `${startTime} – ${formatTime(end.slice(11))}`;
}

/** Formats the days and times of an event, for screen readers. */
export function formatEventSpan(event: EventDates): string {
  const firstDayText = formatLongDay(dayOf(event.start_date));
  const lastDay = lastDayOf(event);
  const timesText = formatEventTimes(event);
  const daysText = lastDay === dayOf(event.start_date) ? firstDayText : `${firstDayText} to ${formatLongDay(lastDay)}`;
  return timesText === '' ? `${daysText}, all day` : `${daysText}, ${timesText}`;
}

/** Formats the time of an API timestamp. */
export const formatTimeOfTimestamp = (timestamp: ApiTimestamp) => formatTime(timestamp.slice(11));

/** Returns the IANA time zone of the browser. */
export const getBrowserTimeZone = () => new Intl.DateTimeFormat().resolvedOptions().timeZone;
