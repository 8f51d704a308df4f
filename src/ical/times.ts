import type ICAL from 'ical.js';
import { type Dated, datedOf } from './days.ts';
import { localAt } from './zone.ts';

/** A time of a file as clocks show it: as it is written, or, where it is UTC, in the zone that is wanted. */
export function clockTime(time: ICAL.Time, zone: string): string {
  const written = time.toString();
  if (written.endsWith('Z')) return localAt(zone, time.toUnixTime() * 1_000);
  return time.isDate ? `${written} 00:00:00` : written.slice(0, 19).replace('T', ' ');
}

/** Whether it is of the years that can be kept. */
export function isWithinYears(dated: Dated): boolean {
  return [dated.start_date, dated.due_date].every((time) => /^(?!0000)\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(time));
}

/** What an event says that begins and ends so. `end` undefined: nothing is said of its end. */
export function datedFrom(
  { start, end, isDays }: { start: ICAL.Time; end: ICAL.Time | undefined; isDays: boolean },
  zone: string,
): Dated {
  const first = clockTime(start, zone);
  const last = end === undefined ? undefined : clockTime(alike(end, start), zone);
  if (!isDays && !(start.isDate && end?.isDate !== false)) {
    return datedOf({ isAllDay: false, start: first, end: last });
  }
  return datedOf({ isAllDay: true, start: first.slice(0, 10), end: (last ?? first).slice(0, 10) });
}

/** An end in the zone of its beginning: a flight lasts as long as it lasts. */
function alike(end: ICAL.Time, start: ICAL.Time): ICAL.Time {
  const [from, to] = [end.zone?.tzid ?? 'floating', start.zone?.tzid ?? 'floating'];
  const isFixed = from !== 'floating' && to !== 'floating' && !end.isDate && !start.isDate;
  return isFixed && from !== to ? end.convertToZone(start.zone) : end;
}
