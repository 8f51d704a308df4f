import { type Dated, spanOf } from './days.ts';
import { escaped, folded, plain } from './text.ts';
import { zoneText } from './zone.ts';

/** A calendar as a whole: what stands around its entries. */
export type Calendar = {
  readonly name: string;
  /** What is to be known of it; empty for nothing. */
  readonly says: string;
  /** The zone its times are in; undefined where they have none, and read the same everywhere. */
  readonly zone: string | undefined;
  /** From when on, up to when, its zone has to be right; milliseconds since the epoch, whole seconds. */
  readonly fromMs: number;
  readonly untilMs: number;
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
export function beginning({ name, says, zone, fromMs, untilMs }: Calendar): string {
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
    ...(zone === undefined ? [] : [`X-WR-TIMEZONE:${zone}`]),
  ];
  const ruled = zone === undefined || zone === 'UTC' ? '' : zoneText(zone, fromMs, untilMs);
  return lines.map(folded).join('') + ruled;
}

export const ENDING = folded('END:VCALENDAR');

/** One entry. Nothing in it depends on when it is asked for, so that the same records are the same bytes. */
export function entryText(entry: Entry, zone: string | undefined): string {
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

function timeLines(dated: Dated, zone: string | undefined): string[] {
  const span = spanOf(dated);
  if (span.isAllDay) {
    return [`DTSTART;VALUE=DATE:${packed(span.start)}`, `DTEND;VALUE=DATE:${packed(span.end)}`];
  }
  const start = `DTSTART${inZone(span.start, zone)}`;
  if (span.end === undefined) return [start];
  // An end has to lie after the beginning (3.8.2.2); a duration may be nothing.
  return [start, span.end === span.start ? 'DURATION:PT0S' : `DTEND${inZone(span.end, zone)}`];
}

/** A calendar time in a zone, without one, or in UTC, with what stands before it. */
function inZone(time: string, zone: string | undefined): string {
  if (zone === undefined) return `:${packed(time)}`;
  return zone === 'UTC' ? `:${packed(time)}Z` : `;TZID=${zone}:${packed(time)}`;
}

/** `2027-01-31 10:00:00` as `20270131T100000`. */
function packed(time: string): string {
  return time.replace(/[-:]/g, '').replace(' ', 'T');
}

function moment(atMs: number): string {
  return `${packed(new Date(atMs).toISOString().slice(0, 19))}Z`;
}
