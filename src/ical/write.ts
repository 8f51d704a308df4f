import { dayOf, type StoredDates, toEventSpan } from './days.ts';
import { escapeText, foldLine, stripControlCharacters } from './text.ts';
import type { CalendarZone } from './zone.ts';

/** Properties of a calendar file. */
type CalendarProperties = {
  readonly name: string;
  /** Description of the calendar; empty for none. */
  readonly description: string;
  /** Zone of the written times; undefined for floating times. */
  readonly zone: CalendarZone | undefined;
};

/** An entry of a calendar. Timestamps are milliseconds since the epoch. */
export type CalendarEntry = StoredDates & {
  readonly uid: string;
  readonly name: string;
  /** Lines of the description. */
  readonly description: readonly string[];
  /** Category; empty for none. */
  readonly category: string;
  /** URL of the record's page in the console. */
  readonly url: string;
  /** Whether the entry blocks time in free/busy views. */
  readonly isBusy: boolean;
  readonly createdAt: number;
  readonly modifiedAt: number | null;
};

/** Suggested polling interval. A client that polls more often gets 304 if nothing has changed. */
const REFRESH_INTERVAL = 'PT1H';

/**
 * Writes the text before the entries. Some clients read name and description from `X-WR-…` properties, others from
 * those of RFC 7986.
 */
export function writeCalendarStart({ name, description, zone }: CalendarProperties): string {
  const lines = [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//Carillon//Carillon//EN',
    'CALSCALE:GREGORIAN',
    `NAME:${escapeText(name)}`,
    `X-WR-CALNAME:${escapeText(name)}`,
    ...(description === ''
      ? []
      : [`DESCRIPTION:${escapeText(description)}`, `X-WR-CALDESC:${escapeText(description)}`]),
    `REFRESH-INTERVAL;VALUE=DURATION:${REFRESH_INTERVAL}`,
    `X-PUBLISHED-TTL:${REFRESH_INTERVAL}`,
    ...(zone === undefined ? [] : [`X-WR-TIMEZONE:${zone.name}`]),
  ];
  return lines.map(foldLine).join('') + (zone?.vtimezone ?? '');
}

export const CALENDAR_END = foldLine('END:VCALENDAR');

/**
 * Writes the text of one entry. The text depends only on the record, so that an unchanged record has the same bytes.
 */
export function writeEntry(entry: CalendarEntry, zone: CalendarZone | undefined): string {
  const changedAt = entry.modifiedAt ?? entry.createdAt;
  const changedTimestamp = formatUtcTimestamp(changedAt);
  return [
    'BEGIN:VEVENT',
    `UID:${escapeText(entry.uid)}`,
    `DTSTAMP:${changedTimestamp}`,
    `CREATED:${changedAt === entry.createdAt ? changedTimestamp : formatUtcTimestamp(entry.createdAt)}`,
    `LAST-MODIFIED:${changedTimestamp}`,
    // SEQUENCE must increase with each change. Changes are not counted, so the number of seconds from creation to the
    // last change is written.
    `SEQUENCE:${Math.max(Math.floor((changedAt - entry.createdAt) / 1_000), 0)}`,
    ...formatTimeLines(entry, zone),
    `SUMMARY:${escapeText(entry.name)}`,
    ...(entry.description.length === 0 ? [] : [`DESCRIPTION:${escapeText(entry.description.join('\n'))}`]),
    ...(entry.category === '' ? [] : [`CATEGORIES:${escapeText(entry.category)}`]),
    `URL:${stripControlCharacters(entry.url)}`,
    `TRANSP:${entry.isBusy ? 'OPAQUE' : 'TRANSPARENT'}`,
    'END:VEVENT',
  ]
    .map(foldLine)
    .join('');
}

function formatTimeLines(storedDates: StoredDates, zone: CalendarZone | undefined): string[] {
  const span = toEventSpan(clampDates(storedDates));
  if (span.isAllDay) {
    return [`DTSTART;VALUE=DATE:${formatCompact(span.start)}`, `DTEND;VALUE=DATE:${formatCompact(span.end)}`];
  }
  const { start, end } = span;
  const startLine = `DTSTART${formatTimeValue(start, zone)}`;
  if (end === undefined) return [startLine];
  // DTEND must be after DTSTART (RFC 5545, 3.8.2.2); a duration may be zero.
  if (end === start) return [startLine, 'DURATION:PT0S'];
  const gap = zone?.gaps.find(({ from, until }) => start >= from && start < until);
  // If clocks skip the start, clients move it forward by the gap. If DTEND is no longer after it, a duration is written.
  const isEndPassed = gap !== undefined && secondsBetween(start, end) <= secondsBetween(gap.from, gap.until);
  return [startLine, isEndPassed ? `DURATION:PT${secondsBetween(start, end)}S` : `DTEND${formatTimeValue(end, zone)}`];
}

/** Earlier dates are written as this day, because some programs reject a calendar with dates near the year 1. */
const MIN_WRITTEN_DAY = '1900-01-01';
/** Later dates are written as this day, because some programs reject a calendar with dates near the year 9999. */
const MAX_WRITTEN_DAY = '2199-12-31';

function clampDates({ start_date, due_date }: StoredDates): StoredDates {
  return { start_date: clampDate(start_date), due_date: clampDate(due_date) };
}

function clampDate(time: string): string {
  const day = dayOf(time);
  if (day < MIN_WRITTEN_DAY) return MIN_WRITTEN_DAY + time.slice(10);
  return day > MAX_WRITTEN_DAY ? MAX_WRITTEN_DAY + time.slice(10) : time;
}

function secondsBetween(start: string, end: string): number {
  const [startMs, endMs] = [start, end].map((time) => Date.parse(`${time.replace(' ', 'T')}Z`));
  return ((endMs ?? 0) - (startMs ?? 0)) / 1_000;
}

/** Formats the parameters and the value of a time: in UTC, in a zone, or floating. */
function formatTimeValue(time: string, zone: CalendarZone | undefined): string {
  if (zone === undefined) return `:${formatCompact(time)}`;
  return zone.name === 'UTC' ? `:${formatCompact(time)}Z` : `;TZID=${zone.name}:${formatCompact(time)}`;
}

/** Formats `2027-01-31 10:00:00` as `20270131T100000`, and `2027-01-31` as `20270131`. */
function formatCompact(time: string): string {
  const day = time.slice(0, 4) + time.slice(5, 7) + time.slice(8, 10);
  return time.length === 10 ? day : `${day}T${time.slice(11, 13)}${time.slice(14, 16)}${time.slice(17, 19)}`;
}

function formatUtcTimestamp(timestampMs: number): string {
  return `${formatCompact(new Date(timestampMs).toISOString())}Z`;
}
