// Arithmetic on calendar timestamps. The timestamps are texts without a time zone. They are computed as UTC, because
// UTC has no daylight saving time.

/** A day, `YYYY-MM-DD`. */
export type Day = string;

/** An API timestamp, `YYYY-MM-DD HH:MM:SS`; the time 00:00:00 means that no time is set. */
export type ApiTimestamp = string;

/** A range of days, both ends inclusive. */
export type DayRange = { readonly from: Day; readonly to: Day };

/** Start and due date of an event, as stored by the API. */
export type EventDates = { readonly start_date: ApiTimestamp; readonly due_date: ApiTimestamp };

/** The time span in which an event is displayed; `end` is exclusive. */
export type TimeSpan = { readonly start: ApiTimestamp; readonly end: ApiTimestamp; readonly isAllDay: boolean };

/** Returns the first and last day of a time span. */
export const dayRangeOf = ({ start, end }: TimeSpan): DayRange => ({
  from: dayOf(start),
  to: dayOf(plusSeconds(end, -1)),
});

/** Day number of 0001-01-01. */
const FIRST_DAY_NUMBER = -719_162;
/** Day number of 9999-12-31. */
const LAST_DAY_NUMBER = 2_932_896;

const SECONDS_PER_DAY = 86_400;
const SECONDS_PER_HOUR = 3_600;
const MIDNIGHT = '00:00:00';
/** Stored as the end time instead of midnight, because 00:00:00 means that no time is set. */
const LAST_SECOND_OF_DAY = '23:59:59';

export const dayOf = (timestamp: ApiTimestamp): Day => timestamp.slice(0, 10);
const timeOf = (timestamp: ApiTimestamp): string => timestamp.slice(11);
export const toTimestamp = (day: Day, timeOfDay = MIDNIGHT): ApiTimestamp => `${day} ${timeOfDay}`;
const hasTime = (timestamp: ApiTimestamp) => timeOf(timestamp) !== MIDNIGHT;

/** Memoizes a function: to render a month, a few hundred days are converted thousands of times. */
function memoize<K, V>(compute: (key: K) => V): (key: K) => V {
  const cache = new Map<K, V>();
  return (key) => {
    const cachedValue = cache.get(key);
    if (cachedValue !== undefined) return cachedValue;
    const value = compute(key);
    if (cache.size > 5_000) cache.clear();
    cache.set(key, value);
    return value;
  };
}

/** Returns the number of days since 1970-01-01. */
export const dayNumberOf = memoize((day: Day): number => {
  const [year = 0, month = 1, dayOfMonth = 1] = day.split('-').map(Number);
  return new Date(0).setUTCFullYear(year, month - 1, dayOfMonth) / SECONDS_PER_DAY / 1_000;
});

/** Inverse of `dayNumberOf`: returns the day with a day number, clamped to the years 1 to 9999. */
export const dayFromNumber = memoize((dayNumber: number): Day => {
  const clampedNumber = Math.min(Math.max(dayNumber, FIRST_DAY_NUMBER), LAST_DAY_NUMBER);
  return new Date(clampedNumber * SECONDS_PER_DAY * 1_000).toISOString().slice(0, 10);
});

export const plusDays = (day: Day, count: number): Day => dayFromNumber(dayNumberOf(day) + count);
export const daysBetween = (from: Day, to: Day): number => dayNumberOf(to) - dayNumberOf(from);

/** Returns the weekday of a day; 0 is Sunday. */
export const weekdayOf = (day: Day): number => (((dayNumberOf(day) + 4) % 7) + 7) % 7;

const padToTwoDigits = (number: number) => String(number).padStart(2, '0');

/** Returns the number of days in a month; `month` is 1 to 12. */
export function daysInMonth(year: number, month: number): number {
  return new Date(new Date(0).setUTCFullYear(year, month, 0)).getUTCDate();
}

/** Adds months to a day. In a shorter month, the result is at most the last day of the month. */
export function plusMonths(day: Day, count: number): Day {
  const [year = 0, month = 1, dayOfMonth = 1] = day.split('-').map(Number);
  const totalMonths = year * 12 + month - 1 + count;
  const [targetYear, targetMonth] = [Math.floor(totalMonths / 12), (totalMonths % 12) + 1];
  if (targetYear < 1 || targetYear > 9999) return day;
  return `${String(targetYear).padStart(4, '0')}-${padToTwoDigits(targetMonth)}-${padToTwoDigits(Math.min(dayOfMonth, daysInMonth(targetYear, targetMonth)))}`;
}

/** Returns the first day of the week that contains a day; for `firstWeekday`, 0 is Sunday. */
export const weekStartOf = (day: Day, firstWeekday: number): Day =>
  plusDays(day, -((weekdayOf(day) - firstWeekday + 7) % 7));

/** Returns the range of days that a view shows for a given day. */
export function visibleDaysFor(view: 'month' | 'week' | 'day' | 'list', day: Day, firstWeekday: number): DayRange {
  if (view === 'day') return { from: day, to: day };
  if (view === 'week') {
    const from = weekStartOf(day, firstWeekday);
    return { from, to: plusDays(from, 6) };
  }
  const firstDayOfMonth = `${day.slice(0, 7)}-01`;
  const lastDayOfMonth = plusDays(plusMonths(firstDayOfMonth, 1), -1);
  if (view === 'list') return { from: firstDayOfMonth, to: lastDayOfMonth };
  return {
    from: weekStartOf(firstDayOfMonth, firstWeekday),
    to: plusDays(weekStartOf(lastDayOfMonth, firstWeekday), 6),
  };
}

/** Moves a day by a number of periods of the view: days, weeks or months. A negative number moves it back. */
export function plusViewPeriods(view: 'month' | 'week' | 'day' | 'list', day: Day, periodCount: number): Day {
  if (view === 'day') return plusDays(day, periodCount);
  return view === 'week' ? plusDays(day, 7 * periodCount) : plusMonths(day, periodCount);
}

export function listDays({ from, to }: DayRange): readonly Day[] {
  return Array.from({ length: daysBetween(from, to) + 1 }, (_, index) => plusDays(from, index));
}

/** Adds seconds to a timestamp, without daylight saving time. */
export function plusSeconds(timestamp: ApiTimestamp, addedSeconds: number): ApiTimestamp {
  const [hours = 0, minutes = 0, seconds = 0] = timeOf(timestamp).split(':').map(Number);
  const totalSeconds = hours * SECONDS_PER_HOUR + minutes * 60 + seconds + addedSeconds;
  const dayCount = Math.floor(totalSeconds / SECONDS_PER_DAY);
  const secondsOfDay = totalSeconds - dayCount * SECONDS_PER_DAY;
  const timeOfDay = `${padToTwoDigits(Math.floor(secondsOfDay / SECONDS_PER_HOUR))}:${padToTwoDigits(Math.floor(secondsOfDay / 60) % 60)}:${padToTwoDigits(secondsOfDay % 60)}`;
  return toTimestamp(plusDays(dayOf(timestamp), dayCount), timeOfDay);
}

/** Whether an event has a start time but no end time: it is due on the same day, without a time. */
export const isOpenEnded = ({ start_date, due_date }: EventDates) =>
  hasTime(start_date) && !hasTime(due_date) && dayOf(start_date) === dayOf(due_date);

/**
 * Returns the time span in which an event is displayed. An event with a start time but no end time is displayed as one
 * hour long. Any other event whose due date has no time is an all-day event.
 */
export function timeSpanOf(event: EventDates): TimeSpan {
  const { start_date, due_date } = event;
  if (isOpenEnded(event)) return { start: start_date, end: plusSeconds(start_date, SECONDS_PER_HOUR), isAllDay: false };
  if (!hasTime(due_date)) {
    return { start: toTimestamp(dayOf(start_date)), end: toTimestamp(plusDays(dayOf(due_date), 1)), isAllDay: true };
  }
  const end = timeOf(due_date) === LAST_SECOND_OF_DAY ? plusSeconds(due_date, 1) : due_date;
  return {
    start: start_date,
    end: end > start_date ? end : plusSeconds(start_date, SECONDS_PER_HOUR / 4),
    isAllDay: false,
  };
}

/** Inverse of `timeSpanOf`: converts a time span to start and due date. */
export function toEventDates({ start, end, isAllDay }: TimeSpan): EventDates {
  if (isAllDay) return { start_date: toTimestamp(dayOf(start)), due_date: toTimestamp(plusDays(dayOf(end), -1)) };
  return { start_date: start, due_date: hasTime(end) ? end : plusSeconds(end, -1) };
}

/** Returns the last day of an event. */
export const lastDayOf = (event: EventDates): Day => dayRangeOf(timeSpanOf(event)).to;

/** Moves an event by a number of seconds. A move by whole days keeps the times exactly as stored. */
export function moveDates(event: EventDates, deltaSeconds: number): EventDates {
  const { start_date, due_date } = event;
  if (deltaSeconds % SECONDS_PER_DAY === 0) {
    return { start_date: plusSeconds(start_date, deltaSeconds), due_date: plusSeconds(due_date, deltaSeconds) };
  }
  const { start, end } = timeSpanOf(event);
  const movedSpan = { start: plusSeconds(start, deltaSeconds), end: plusSeconds(end, deltaSeconds), isAllDay: false };
  if (!isOpenEnded(event) || !hasTime(movedSpan.start)) return toEventDates(movedSpan);
  return { start_date: movedSpan.start, due_date: toTimestamp(dayOf(movedSpan.start)) };
}

/** Moves the start and the end of an event, each by its own number of seconds. */
export function resizeDates(
  event: EventDates,
  { start: startDeltaSeconds, end: endDeltaSeconds }: { start: number; end: number },
): EventDates {
  const { start_date, due_date } = event;
  if (startDeltaSeconds % SECONDS_PER_DAY === 0 && endDeltaSeconds % SECONDS_PER_DAY === 0) {
    return { start_date: plusSeconds(start_date, startDeltaSeconds), due_date: plusSeconds(due_date, endDeltaSeconds) };
  }
  const { start, end, isAllDay } = timeSpanOf(event);
  return toEventDates({
    start: plusSeconds(start, startDeltaSeconds),
    end: plusSeconds(end, endDeltaSeconds),
    isAllDay,
  });
}

/** Days and times in the event form. Times are `HH:MM`, empty for an all-day event. */
export type FormDates = {
  readonly startDay: Day;
  readonly dueDay: Day;
  readonly startTime: string;
  readonly dueTime: string;
};

export function toFormDates(event: EventDates): FormDates {
  const hasAnyTime = hasTime(event.start_date) || hasTime(event.due_date);
  return {
    startDay: dayOf(event.start_date),
    dueDay: dayOf(event.due_date),
    startTime: hasAnyTime ? timeOf(event.start_date).slice(0, 5) : '',
    dueTime: hasTime(event.due_date) ? timeOf(event.due_date).slice(0, 5) : '',
  };
}

/**
 * Converts form values to start and due date. An end at 00:00 is stored as 23:59:59 of the previous day, or of the
 * same day if the event has only one day.
 */
export function formToEventDates({ startDay, dueDay, startTime, dueTime }: FormDates): EventDates {
  const start_date = toTimestamp(startDay, startTime === '' ? MIDNIGHT : `${startTime}:00`);
  if (dueTime === '') return { start_date, due_date: toTimestamp(dueDay) };
  if (dueTime !== '00:00') return { start_date, due_date: toTimestamp(dueDay, `${dueTime}:00`) };
  return { start_date, due_date: toTimestamp(dueDay > startDay ? plusDays(dueDay, -1) : dueDay, LAST_SECOND_OF_DAY) };
}

/** Converts a day to `YYYYMMDD`, the format of list filters. */
export const compactDay = (day: Day): string => day.replaceAll('-', '');

/** Whether a text is a day `YYYY-MM-DD` that exists in the calendar. */
export const isDay = (text: string): boolean =>
  /^\d{4}-\d\d-\d\d$/.test(text) && text >= '0001' && dayFromNumber(dayNumberOf(text)) === text;
