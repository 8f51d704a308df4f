import type { Property } from './property.ts';

export const SECOND_MS = 1_000;
export const DAY_MS = 86_400_000;

/** A date or time as a file writes it. */
export type Written = {
  /** What a clock shows, milliseconds since the epoch as if that clock showed UTC. A date is its midnight. */
  readonly wallMs: number;
  readonly isDate: boolean;
  /** The zone of that clock: `UTC`, or a TZID of the file; undefined where none is named. */
  readonly zone: string | undefined;
  /** Where it stands. */
  readonly line: number;
};

/** What is known of a time from the line it stands in. */
type Place = { readonly line: number; readonly zone?: string | undefined; readonly isDate?: boolean };

/** A duration; days are of the calendar, the rest is exact (RFC 5545, 3.3.6). */
export type Duration = { readonly days: number; readonly ms: number };

/** A time beside those of a rule, with an end of its own if one is given. */
export type Period = { readonly start: Written; readonly end: Written | Duration | undefined };

/** Some programs write a day as one of UTC, which no day is. */
const TIME = /^(\d{4})-?(\d\d)-?(\d\d)(?:[T ](\d\d):?(\d\d)(?::?(\d\d))?(?:\.\d{1,9})?)?(Z)?$/i;

/** Midnight of a day, milliseconds; undefined for a day that no calendar has. */
function midnightOf(year: number, month: number, day: number): number | undefined {
  const atMs = new Date(0).setUTCFullYear(year, month - 1, day);
  const date = new Date(atMs);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? atMs : undefined;
}

/** Reads one date or time; undefined for what is none, such as the 30th of February. */
export function timeIn(text: string, { line, zone, isDate = false }: Place): Written | undefined {
  const [all, year, month, day, hour, minute = '', second = '0', utc] = TIME.exec(text.trim()) ?? [];
  if (all === undefined) return undefined;
  const midnight = midnightOf(Number(year), Number(month), Number(day));
  if (midnight === undefined) return undefined;
  if (hour === undefined || isDate) return { wallMs: midnight, isDate: true, zone: undefined, line };
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return undefined;
  // A leap second is the second before it.
  const seconds = Number(hour) * 3_600 + Number(minute) * 60 + Math.min(Number(second), 59);
  return { wallMs: midnight + seconds * SECOND_MS, isDate: false, zone: utc === undefined ? zone : 'UTC', line };
}

/** Some programs put the letter that stands before hours before weeks and days, too. */
const DURATION = /^([+-])?P((?:T?\d{1,11}[WDHMS])+)$/i;

const UNIT_MS: Readonly<Record<string, number>> = { H: 3_600 * SECOND_MS, M: 60 * SECOND_MS, S: SECOND_MS };
const UNIT_DAYS: Readonly<Record<string, number>> = { W: 7, D: 1 };

/** As long as all years that there are. */
const MAX_DAYS = 3_652_059;

/** Reads a duration; undefined for what is none, and for one that no event can have. */
export function durationIn(text: string): Duration | undefined {
  const [, sign, parts] = DURATION.exec(text.trim().toUpperCase()) ?? [];
  if (parts === undefined) return undefined;
  let [days, ms] = [0, 0];
  for (const [, number, unit = ''] of parts.matchAll(/(\d{1,11})([WDHMS])/g)) {
    days += Number(number) * (UNIT_DAYS[unit] ?? 0);
    ms += Number(number) * (UNIT_MS[unit] ?? 0);
  }
  if (days + ms / DAY_MS > MAX_DAYS) return undefined;
  return sign === '-' ? { days: -days, ms: -ms } : { days, ms };
}

/** The one time of a property. */
export function timeOf(property: Property): Written | undefined {
  const { value } = property;
  const place = placeOf(property);
  // Some programs do not quote a zone that has a colon in its name.
  const colon = value.lastIndexOf(':');
  const whole = timeIn(value, place);
  if (whole !== undefined || colon === -1 || place.zone === undefined) return whole;
  const zone = `${place.zone}:${value.slice(0, colon)}`.replace(/"$/, '');
  return timeIn(value.slice(colon + 1), { ...place, zone });
}

function placeOf({ line, parameters }: Property): Place {
  return { line, zone: parameters.get('TZID'), isDate: parameters.get('VALUE')?.toUpperCase() === 'DATE' };
}

/** The times of a list, with `undefined` for each that is none. */
export function timesOf(property: Property): readonly (Written | undefined)[] {
  const place = placeOf(property);
  return property.value.split(',').map((text) => timeIn(text, place));
}

/** The same for a list that may hold periods, `start/end` or `start/duration`. */
export function periodsOf(property: Property): readonly (Period | undefined)[] {
  const place = placeOf(property);
  return property.value.split(',').map((text) => {
    const [first = '', last, ...rest] = text.split('/');
    const start = timeIn(first, place);
    if (start === undefined || rest.length > 0) return undefined;
    if (last === undefined) return { start, end: undefined };
    const end = durationIn(last) ?? timeIn(last, place);
    return end === undefined ? undefined : { start, end };
  });
}
