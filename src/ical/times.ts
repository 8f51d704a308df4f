import { type StoredDates, toStoredDates } from './days.ts';
import type { IcalEvent } from './ical-value.ts';
import { createIntlZone, type SourceZone, type SourceZones, toLocal, toUtc, UTC_ZONE } from './source-zone.ts';
import { DAY_MS, type IcalDuration, type IcalTime } from './values.ts';

/**
 * Formats a time as `YYYY-MM-DD HH:MM:SS`. A year outside 0 to 9999 gets another format, which `isWithinYears` rejects.
 */
function formatWallTime(wallMs: number): string {
  const date = new Date(wallMs);
  return Number.isNaN(date.getTime()) ? '' : date.toISOString().slice(0, -5).replace('T', ' ');
}

export const formatDay = (wallMs: number): string => formatWallTime(wallMs).slice(0, -9);

export const midnightOf = (wallMs: number): number => Math.floor(wallMs / DAY_MS) * DAY_MS;

/** Whether both dates are in the years 1 to 9999, which can be stored. */
export function isWithinYears(dated: StoredDates): boolean {
  return [dated.start_date, dated.due_date].every((time) => /^(?!0000)\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(time));
}

/** Converts the times of a file to one target zone. Without a target zone, the times stay unchanged. */
export class TimeConverter {
  readonly #zones: Pick<SourceZones, 'find'>;
  readonly #targetName: string | undefined;
  readonly #target: SourceZone | undefined;
  readonly #usedZones = new Map<string, number>();

  /** @param target IANA name of the zone to convert to; undefined leaves times unchanged */
  constructor(zones: Pick<SourceZones, 'find'>, target: string | undefined) {
    this.#zones = zones;
    this.#targetName = target;
    this.#target = target === undefined ? undefined : createIntlZone(target);
  }

  /** The zones that the file uses, each with the line of its first use. */
  get usedZones(): ReadonlyMap<string, number> {
    return this.#usedZones;
  }

  /** Returns the zone of a time; undefined for dates, floating times and unknown zones. */
  zoneOf({ zone, isDate, line }: IcalTime): SourceZone | undefined {
    if (zone === undefined || isDate) return undefined;
    const found = zone === 'UTC' ? UTC_ZONE : this.#zones.find(zone, line);
    if (found !== undefined && !this.#usedZones.has(zone)) this.#usedZones.set(zone, line);
    return found;
  }

  /** Converts a time to local time in the target zone, in milliseconds. */
  toTargetTime(time: IcalTime): number {
    const zone = this.zoneOf(time);
    // A time in the target zone itself stays unchanged, even if clocks skip it.
    if (zone === undefined || this.#target === undefined || time.zone === this.#targetName) return time.wallMs;
    return toLocal(this.#target, toUtc(zone, time.wallMs));
  }

  /** Converts a time to the local time of a series, so that EXDATE and RECURRENCE-ID can be matched with its times. */
  toSeriesTime(series: IcalTime, time: IcalTime): number {
    if (series.isDate) return midnightOf(time.wallMs);
    if (time.isDate) return time.wallMs + (series.wallMs - midnightOf(series.wallMs));
    const [from, to] = [this.zoneOf(time), this.zoneOf(series)];
    if (from === undefined || to === undefined || time.zone === series.zone) return time.wallMs;
    return toLocal(to, toUtc(from, time.wallMs));
  }

  /** Returns the end of an occurrence that begins at `start`; undefined if the event has no end. */
  endOf(found: IcalEvent, start: IcalTime, end: IcalTime | IcalDuration | undefined): IcalTime | undefined {
    if (end === undefined) return start.isDate ? { ...start, wallMs: start.wallMs + DAY_MS } : undefined;
    if ('days' in end) return this.#addDuration(start, end);
    const first = found.start ?? start;
    if (first.isDate || end.isDate) {
      const isDate = first.isDate && end.isDate;
      return { ...start, isDate, wallMs: start.wallMs + end.wallMs - first.wallMs };
    }
    const [from, to] = [this.zoneOf(first), this.zoneOf(end)];
    if (from === undefined || to === undefined) {
      return { ...start, wallMs: start.wallMs + end.wallMs - first.wallMs };
    }
    const ms = toUtc(to, end.wallMs) - toUtc(from, first.wallMs);
    return this.#addDuration(start, { days: 0, ms });
  }

  /** Adds a duration to a time. Days are calendar days, and the rest is exact time (RFC 5545, 3.3.6). */
  #addDuration(start: IcalTime, { days, ms }: IcalDuration): IcalTime {
    const wallMs = start.wallMs + days * DAY_MS;
    if (start.isDate) return { ...start, wallMs: wallMs + Math.ceil(ms / DAY_MS) * DAY_MS };
    const zone = this.zoneOf(start);
    return { ...start, wallMs: zone === undefined ? wallMs + ms : toLocal(zone, toUtc(zone, wallMs) + ms) };
  }

  /** Converts start and end of an event to stored dates. Dates without a time are never converted between zones. */
  toEventDates(found: IcalEvent, start: IcalTime, end: IcalTime | undefined): StoredDates {
    const { isMarkedAllDay } = found;
    if (!isMarkedAllDay && !(start.isDate && end?.isDate !== false)) {
      const [first, last] = [start, end].map((time) => time && formatWallTime(this.toTargetTime(time)));
      return toStoredDates({ isAllDay: false, start: first ?? '', end: last });
    }
    // All-day events may be written as midnights. A local midnight is the day that it begins. A UTC midnight is assumed
    // to be a local midnight in the target zone, so it is converted first.
    const dayOf = (time: IcalTime) => formatDay(time.zone === 'UTC' ? this.toTargetTime(time) : time.wallMs);
    return toStoredDates({ isAllDay: true, start: dayOf(start), end: dayOf(end ?? start) });
  }
}
