import { BoundedMap } from '../../async/bounded-map.ts';
import { invalidInput } from '../../problems.ts';
import { readOnlyField, writableField } from './field.ts';
import { DATE_TIME_SCHEMA } from './scalar-fields.ts';

/** The output of a date field without a date (C9). */
export const NO_DATE = '0000-00-00 00:00:00';

const DAY_PATTERN = /^(\d{4})(\d{2})(\d{2})$/;
const CALENDAR_TIME_PATTERN = /^(\d{4})-(\d{2})-(\d{2}) ([01]\d|2[0-3]):[0-5]\d:[0-5]\d$/;

/** Parses `yyyymmdd` to `YYYY-MM-DD`; undefined if it is not an existing calendar day. */
export function parseCompactDay(text: string): string | undefined {
  const [, year = '', month = '', day = ''] = DAY_PATTERN.exec(text) ?? [];
  return isCalendarDay(year, month, day) ? `${year}-${month}-${day}` : undefined;
}

/** Parses a day, `yyyymmdd` or the output form `YYYY-MM-DD`, to `YYYY-MM-DD 00:00:00`; undefined if it is neither. */
function parseDayAsMidnight(text: string): string | undefined {
  const day = parseCompactDay(/^\d{4}-\d{2}-\d{2}$/.test(text) ? text.replaceAll('-', '') : text);
  return day === undefined ? undefined : `${day} 00:00:00`;
}

/**
 * Parses a start or due date: `yyyymmdd`, stored as midnight, or the output form `YYYY-MM-DD HH:MM:SS`, stored
 * unchanged; undefined if it is neither. Calendar times have no time zone and are never converted.
 */
export function parseCalendarTime(text: string): string | undefined {
  const day = parseCompactDay(text);
  if (day !== undefined) return `${day} 00:00:00`;
  const [, year = '', month = '', dayOfMonth = ''] = CALENDAR_TIME_PATTERN.exec(text) ?? [];
  return isCalendarDay(year, month, dayOfMonth) ? text : undefined;
}

function isCalendarDay(year: string, month: string, day: string): boolean {
  const dayNumber = Number(day);
  return Number(year) >= 1 && dayNumber >= 1 && dayNumber <= daysInMonth(Number(year), Number(month));
}

/** Returns the number of days of a month (1 to 12); 0 for any other month number. */
export function daysInMonth(year: number, month: number): number {
  if (month < 1 || month > 12) return 0;
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

const DAY_MS = 86_400_000;

/** Cache of formatted days, by days since 1970-01-01. It is effective, because the records of a list share few days. */
const formattedDayCache = new BoundedMap<number, string>(1_000);

function formatDay(unixDay: number): string {
  let formattedDay = formattedDayCache.get(unixDay);
  if (formattedDay === undefined) {
    formattedDay = new Date(unixDay * DAY_MS).toISOString().slice(0, 10);
    formattedDayCache.set(unixDay, formattedDay);
  }
  return formattedDay;
}

const twoDigitNumbers = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, '0'));

/** Formats a Unix time in milliseconds as `YYYY-MM-DD HH:MM:SS` in UTC; null as NO_DATE. */
export function formatTimestamp(atMs: number | null): string {
  if (atMs === null) return NO_DATE;
  const unixDay = Math.floor(atMs / DAY_MS);
  const secondOfDay = Math.floor((atMs - unixDay * DAY_MS) / 1_000);
  const minuteOfDay = Math.floor(secondOfDay / 60);
  return `${formatDay(unixDay)} ${twoDigitNumbers[Math.floor(minuteOfDay / 60)]}:${twoDigitNumbers[minuteOfDay % 60]}:${twoDigitNumbers[secondOfDay % 60]}`;
}

/** The first millisecond of a day (`YYYY-MM-DD`) in UTC. */
export function startOfDayMs(day: string): number {
  return Date.parse(`${day}T00:00:00Z`);
}

/** The last millisecond of a day (`YYYY-MM-DD`) in UTC. */
export function endOfDayMs(day: string): number {
  return startOfDayMs(day) + DAY_MS - 1;
}

/**
 * Whether a due date is before its start (C26): on an earlier day, or at an earlier time of the same day. A due time of
 * 00:00:00 means "all day", so only the days are compared.
 */
export function isDueBeforeStart(start: string | null, due: string | null): boolean {
  if (start === null || due === null) return false;
  if (due.endsWith(' 00:00:00')) return due.slice(0, 10) < start.slice(0, 10);
  return due < start;
}

type DateFields<K extends string> = { readonly [key in K]?: string | null | undefined };

/**
 * Creates a check that the end of a record is not before its beginning (C26). If a change sets only one of the two
 * dates, the check uses the stored value of the other date (C27). The error names a field of the request.
 *
 * @param isEndBeforeBegin whether `end` is before `begin`; the default compares calendar times as text
 */
export function createDateOrderCheck<B extends string, E extends string>(
  beginField: B,
  endField: E,
  isEndBeforeBegin: (begin: string, end: string) => boolean = (beginDate, endDate) => endDate < beginDate,
) {
  return (input: DateFields<B | E>, oldRecord: DateFields<B | E> = {}): void => {
    const mergedDates: DateFields<B | E> = { ...oldRecord, ...input };
    if (
      !mergedDates[beginField] ||
      !mergedDates[endField] ||
      !isEndBeforeBegin(mergedDates[beginField], mergedDates[endField])
    )
      return;
    throw invalidInput([
      input[endField] === undefined
        ? { field: beginField, message: `must not be after ${endField}` }
        : { field: endField, message: `must not be before ${beginField}` },
    ]);
  };
}

/** Throws 400 if a record is due before it starts (C26). */
export const requireDateOrder = createDateOrderCheck('start_date', 'due_date', isDueBeforeStart);

const INVALID_TIME_MESSAGE = 'must be a real calendar day written yyyymmdd (or YYYY-MM-DD HH:MM:SS)';

/** A required start or due date (C9). */
export const calendarTime = (description: string) =>
  writableField<string>(
    {
      description: `${description} Accepts yyyymmdd or the output format.`,
      inputSchema: { type: 'string', format: 'calendar-time' },
      errorMessage: INVALID_TIME_MESSAGE,
      parse: (value) => (typeof value === 'string' ? parseCalendarTime(value) : undefined),
      serialize: (stored) => stored,
      outputSchema: DATE_TIME_SCHEMA,
    },
    undefined,
  );

/** An optional start or due date; `''`, null and NO_DATE are stored as null. */
export const calendarTimeOrNone = (description: string) =>
  writableField<string | null>(
    {
      description: `${description} Accepts yyyymmdd or the output format; empty for none.`,
      inputSchema: { type: ['string', 'null'], format: 'calendar-time-or-none' },
      errorMessage: `${INVALID_TIME_MESSAGE}, or empty`,
      parse: (value) => (isNoDate(value) ? null : typeof value === 'string' ? parseCalendarTime(value) : undefined),
      serialize: (stored) => stored ?? NO_DATE,
      outputSchema: DATE_TIME_SCHEMA,
    },
    null,
  );

/** An optional calendar day, serialized without a time. */
export const calendarDayOrNone = (description: string) =>
  writableField<string | null>(
    {
      description: `${description} Accepts yyyymmdd or the output format.`,
      inputSchema: { type: ['string', 'null'], format: 'calendar-day-or-none' },
      errorMessage: 'must be a real calendar day written yyyymmdd (or YYYY-MM-DD), or empty',
      parse: (value) => (isNoDate(value) ? null : typeof value === 'string' ? parseDayAsMidnight(value) : undefined),
      serialize: (stored) => (stored ?? NO_DATE).slice(0, 10),
      outputSchema: { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}$' },
    },
    null,
  );

function isNoDate(value: unknown): boolean {
  return value === null || value === '' || value === NO_DATE;
}

/** A timestamp in UTC that the service writes; `0000-00-00 00:00:00` for null. */
export const readOnlyTimestamp = (description: string) =>
  readOnlyField<number | null>(description, formatTimestamp, DATE_TIME_SCHEMA);

/** A required time in UTC: `YYYY-MM-DD HH:MM:SS`, or `yyyymmdd` for midnight. Stored as milliseconds since the epoch. */
export const utcTime = (description: string) =>
  writableField<number>(
    {
      description: `${description} Accepts yyyymmdd or YYYY-MM-DD HH:MM:SS.`,
      inputSchema: { type: 'string', format: 'calendar-time' },
      errorMessage: INVALID_TIME_MESSAGE,
      parse(value) {
        const time = typeof value === 'string' ? parseCalendarTime(value) : undefined;
        return time === undefined ? undefined : Date.parse(`${time.replace(' ', 'T')}Z`);
      },
      serialize: formatTimestamp,
      outputSchema: DATE_TIME_SCHEMA,
    },
    undefined,
  );
