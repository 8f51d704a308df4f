import { type Dated, dayOf, spanOf } from './days.ts';
import { escaped, folded, plain } from './text.ts';
import type { Zone } from './zone.ts';

/** A calendar as a whole: what stands around its entries. */
export type Calendar = {
  readonly name: string;
  /** What is to be known of it; empty for nothing. */
  readonly says: string;
  /** The zone its times are in; undefined where they have none, and read the same everywhere. */
  readonly zone: Zone | undefined;
};

/** One thing in a calendar. Times are milliseconds since the epoch. */
export type Entry = Dated & {
  readonly uid: string;
  readonly name: string;
  /** What else there is to know, a line each. */
  readonly about: readonly string[];
  /** What it belongs to; empty for nothing. */
  readonly category: string;
  /** Where it is shown. */
  readonly url: string;
  /** Whether somebody is busy meanwhile. */
  readonly isBusy: boolean;
  readonly createdAt: number;
  readonly modifiedAt: number | null;
};

/** How often a program should ask again; those who ask more often are answered with 304. */
const REFRESH = 'PT1H';

/** What stands before the entries. Clients know names and zones by properties of their own (`X-WR-…`) or by RFC 7986. */
export function beginning({ name, says, zone }: Calendar): string {
  const lines = [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//Carillon//Carillon//EN',
    'CALSCALE:GREGORIAN',
    `NAME:${escaped(name)}`,
    `X-WR-CALNAME:${escaped(name)}`,
    ...(says === '' ? [] : [`DESCRIPTION:${escaped(says)}`, `X-WR-CALDESC:${escaped(says)}`]),
    `REFRESH-INTERVAL;VALUE=DURATION:${REFRESH}`,
    `X-PUBLISHED-TTL:${REFRESH}`,
    ...(zone === undefined ? [] : [`X-WR-TIMEZONE:${zone.name}`]),
  ];
  return lines.map(folded).join('') + (zone?.text ?? '');
}

export const ENDING = folded('END:VCALENDAR');

/** One entry. Nothing in it depends on when it is asked for, so that the same records are the same bytes. */
export function entryText(entry: Entry, zone: Zone | undefined): string {
  const changedAt = entry.modifiedAt ?? entry.createdAt;
  return [
    'BEGIN:VEVENT',
    `UID:${escaped(entry.uid)}`,
    `DTSTAMP:${moment(changedAt)}`,
    `CREATED:${moment(entry.createdAt)}`,
    `LAST-MODIFIED:${moment(changedAt)}`,
    // It may only ever rise when something changes, and nobody counts the changes: the seconds until the last one do.
    `SEQUENCE:${Math.max(Math.floor((changedAt - entry.createdAt) / 1_000), 0)}`,
    ...timeLines(entry, zone),
    `SUMMARY:${escaped(entry.name)}`,
    ...(entry.about.length === 0 ? [] : [`DESCRIPTION:${escaped(entry.about.join('\n'))}`]),
    ...(entry.category === '' ? [] : [`CATEGORIES:${escaped(entry.category)}`]),
    `URL:${plain(entry.url)}`,
    `TRANSP:${entry.isBusy ? 'OPAQUE' : 'TRANSPARENT'}`,
    'END:VEVENT',
  ]
    .map(folded)
    .join('');
}

function timeLines(dated: Dated, zone: Zone | undefined): string[] {
  const span = spanOf(withinYears(dated));
  if (span.isAllDay) {
    return [`DTSTART;VALUE=DATE:${packed(span.start)}`, `DTEND;VALUE=DATE:${packed(span.end)}`];
  }
  const { start, end } = span;
  const begins = `DTSTART${inZone(start, zone)}`;
  if (end === undefined) return [begins];
  // An end has to lie after the beginning (3.8.2.2); a duration may be nothing.
  if (end === start) return [begins, 'DURATION:PT0S'];
  // A beginning that no clock shows is read as an hour later: an end could lie before it.
  const isSkipped = zone?.gaps.some(({ from, until }) => start >= from && start < until);
  return [begins, isSkipped ? `DURATION:PT${secondsBetween(start, end)}S` : `DTEND${inZone(end, zone)}`];
}

/** Programs fail, for all that a calendar has, at days near the first year or the last. */
const FIRST_DAY = '1900-01-01';
const LAST_DAY = '2199-12-31';

function withinYears({ start_date, due_date }: Dated): Dated {
  return { start_date: withinYear(start_date), due_date: withinYear(due_date) };
}

function withinYear(time: string): string {
  const day = dayOf(time);
  if (day < FIRST_DAY) return FIRST_DAY + time.slice(10);
  return day > LAST_DAY ? LAST_DAY + time.slice(10) : time;
}

function secondsBetween(start: string, end: string): number {
  const [from, to] = [start, end].map((time) => Date.parse(`${time.replace(' ', 'T')}Z`));
  return ((to ?? 0) - (from ?? 0)) / 1_000;
}

/** A calendar time in a zone, without one, or in UTC, with what stands before it. */
function inZone(time: string, zone: Zone | undefined): string {
  if (zone === undefined) return `:${packed(time)}`;
  return zone.name === 'UTC' ? `:${packed(time)}Z` : `;TZID=${zone.name}:${packed(time)}`;
}

/** `2027-01-31 10:00:00` as `20270131T100000`. */
function packed(time: string): string {
  return time.replace(/[-:]/g, '').replace(' ', 'T');
}

function moment(atMs: number): string {
  return `${packed(new Date(atMs).toISOString().slice(0, 19))}Z`;
}
