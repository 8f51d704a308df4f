/** What stands in an output where there is no date (C9). */
export const NO_DATE = '0000-00-00 00:00:00';

const DAY = /^(\d{4})(\d{2})(\d{2})$/;
const CALENDAR_TIME = /^(\d{4})-(\d{2})-(\d{2}) ([01]\d|2[0-3]):[0-5]\d:[0-5]\d$/;

/** Reads `yyyymmdd` as `YYYY-MM-DD`, or undefined if it is no real calendar day. */
export function parseDay(text: string): string | undefined {
  const [, year = '', month = '', day = ''] = DAY.exec(text) ?? [];
  return isDay(year, month, day) ? `${year}-${month}-${day}` : undefined;
}

/** Reads a day, `yyyymmdd` or `YYYY-MM-DD` as it is answered, as midnight of it. Undefined if it is neither. */
export function parseCalendarDay(text: string): string | undefined {
  const day = parseDay(/^\d{4}-\d{2}-\d{2}$/.test(text) ? text.replaceAll('-', '') : text);
  return day === undefined ? undefined : `${day} 00:00:00`;
}

/**
 * Reads a start or due date: `yyyymmdd`, stored as midnight, or the output form `YYYY-MM-DD HH:MM:SS`, kept as it is.
 * Calendar times have no zone and are never converted. Undefined if it is neither.
 */
export function parseCalendarTime(text: string): string | undefined {
  const day = parseDay(text);
  if (day !== undefined) return `${day} 00:00:00`;
  const [, year = '', month = '', dayOfMonth = ''] = CALENDAR_TIME.exec(text) ?? [];
  return isDay(year, month, dayOfMonth) ? text : undefined;
}

function isDay(year: string, month: string, day: string): boolean {
  const date = Number(day);
  return Number(year) >= 1 && date >= 1 && date <= daysIn(Number(year), Number(month));
}

/** How many days a month has; 0 where there is no such month. */
export function daysIn(year: number, month: number): number {
  if (month < 1 || month > 12) return 0;
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

const DAY_MS = 86_400_000;

/** Days that were shown, by their number since the epoch: most records of a list are of few. */
const shownDays = new Map<number, string>();
const MAX_DAYS = 1_000;

function showDay(day: number): string {
  let text = shownDays.get(day);
  if (text === undefined) {
    text = new Date(day * DAY_MS).toISOString().slice(0, 10);
    if (shownDays.size >= MAX_DAYS) shownDays.clear();
    shownDays.set(day, text);
  }
  return text;
}

const twoDigits = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, '0'));

/** A moment (milliseconds since the epoch) as `YYYY-MM-DD HH:MM:SS` in UTC; null reads as no date. */
export function showMoment(atMs: number | null): string {
  if (atMs === null) return NO_DATE;
  const day = Math.floor(atMs / DAY_MS);
  const second = Math.floor((atMs - day * DAY_MS) / 1_000);
  const minute = Math.floor(second / 60);
  return `${showDay(day)} ${twoDigits[Math.floor(minute / 60)]}:${twoDigits[minute % 60]}:${twoDigits[second % 60]}`;
}

/** The first millisecond of a day (`YYYY-MM-DD`) in UTC. */
export function dayBeginsAt(day: string): number {
  return Date.parse(`${day}T00:00:00Z`);
}

/** The last millisecond of a day (`YYYY-MM-DD`) in UTC. */
export function dayEndsAt(day: string): number {
  return dayBeginsAt(day) + DAY_MS - 1;
}

/**
 * Whether a due date lies before its start (C26): on an earlier day, or on the same day at an earlier time that was
 * given. 00:00:00 reads as "all day" and is no time that was given.
 */
export function isDueBeforeStart(start: string | null, due: string | null): boolean {
  if (start === null || due === null) return false;
  if (due.endsWith(' 00:00:00')) return due.slice(0, 10) < start.slice(0, 10);
  return due < start;
}
