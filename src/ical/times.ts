import { type StoredDates, toStoredDates } from './days.ts';
import type { IcalEvent } from './ical-value.ts';
import { createIntlZone, type SourceZone, type SourceZoneFinder, toLocal, toUtc, UTC_ZONE } from './source-zone.ts';
import { DAY_MS, type IcalDuration, type IcalTime } from './values.ts';

/**
 * Formats a time as `YYYY-MM-DD HH:MM:SS`. A year outside 0 to 9999 gets another format, which `hasStorableYears`
 * rejects.
 */
function formatWallTime(wallMs: number): string {
  const date = new Date(wallMs);
  return Number.isNaN(date.getTime()) ? '' : date.toISOString().slice(0, -5).replace('T', ' ');
}

export const formatDay = (wallMs: number): string => formatWallTime(wallMs).slice(0, -9);

export const midnightOf = (wallMs: number): number => Math.floor(wallMs / DAY_MS) * DAY_MS;

/** Whether both dates are in the years 1 to 9999, which can be stored. */
export function hasStorableYears(dates: StoredDates): boolean {
  return [dates.start_date, dates.due_date].every((time) => /^(?!0000)\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(time));
}

/** Converts the times of a file to one target zone. Without a target zone, the times stay unchanged. */
export class TimeConverter {
  readonly #sourceZoneFinder: Pick<SourceZoneFinder, 'find'>;
  readonly #targetZoneName: string | undefined;
  readonly #targetZone: SourceZone | undefined;
  readonly #firstLineNumberByTzid = new Map<string, number>();

  /** @param targetZoneName IANA name of the zone to convert to; undefined leaves times unchanged */
  constructor(sourceZoneFinder: Pick<SourceZoneFinder, 'find'>, targetZoneName: string | undefined) {
    this.#sourceZoneFinder = sourceZoneFinder;
    this.#targetZoneName = targetZoneName;
    this.#targetZone = targetZoneName === undefined ? undefined : createIntlZone(targetZoneName);
  }

  /** The names of the zones that the file uses, each with the number of the line that uses the zone first. */
  get firstLineNumberByTzid(): ReadonlyMap<string, number> {
    return this.#firstLineNumberByTzid;
  }

  /** Returns the zone of a time; undefined for dates, floating times and unknown zones. */
  zoneOf({ tzid, isDate, lineNumber }: IcalTime): SourceZone | undefined {
    if (tzid === undefined || isDate) return undefined;
    const sourceZone = tzid === 'UTC' ? UTC_ZONE : this.#sourceZoneFinder.find(tzid, lineNumber);
    if (sourceZone !== undefined && !this.#firstLineNumberByTzid.has(tzid))
      this.#firstLineNumberByTzid.set(tzid, lineNumber);
    return sourceZone;
  }

  /** Converts a time to local time in the target zone, in milliseconds. */
  toTargetWallMs(time: IcalTime): number {
    const zone = this.zoneOf(time);
    // A time in the target zone itself stays unchanged, even if clocks skip it.
    if (zone === undefined || this.#targetZone === undefined || time.tzid === this.#targetZoneName) return time.wallMs;
    return toLocal(this.#targetZone, toUtc(zone, time.wallMs));
  }

  /** Converts a time to the local time of a series, so that EXDATE and RECURRENCE-ID can be matched with its times. */
  toSeriesWallMs(seriesStart: IcalTime, time: IcalTime): number {
    if (seriesStart.isDate) return midnightOf(time.wallMs);
    if (time.isDate) return time.wallMs + (seriesStart.wallMs - midnightOf(seriesStart.wallMs));
    const [fromZone, toZone] = [this.zoneOf(time), this.zoneOf(seriesStart)];
    if (fromZone === undefined || toZone === undefined || time.tzid === seriesStart.tzid) return time.wallMs;
    return toLocal(toZone, toUtc(fromZone, time.wallMs));
  }

  /** Returns the end of an event or of its instance that begins at `start`; undefined if the event has no end. */
  computeEnd(event: IcalEvent, start: IcalTime, end: IcalTime | IcalDuration | undefined): IcalTime | undefined {
    if (end === undefined) return start.isDate ? { ...start, wallMs: start.wallMs + DAY_MS } : undefined;
    if ('days' in end) {
      const { wallMs, ...rest } = this.#addDuration(start, end);
      return { ...rest, wallMs: end.days === 0 ? wallMs - this.#skippedMs(start) : wallMs };
    }
    const eventStart = event.start ?? start;
    if (eventStart.isDate || end.isDate) {
      const isDate = eventStart.isDate && end.isDate;
      return { ...start, isDate, wallMs: start.wallMs + end.wallMs - eventStart.wallMs };
    }
    const [fromZone, toZone] = [this.zoneOf(eventStart), this.zoneOf(end)];
    if (fromZone === undefined || toZone === undefined) {
      return { ...start, wallMs: start.wallMs + end.wallMs - eventStart.wallMs };
    }
    const durationMs = toUtc(toZone, end.wallMs) - toUtc(fromZone, eventStart.wallMs);
    return this.#addDuration(start, { days: 0, ms: durationMs });
  }

  /** Adds a duration to a time. Days are calendar days, and the rest is exact time (RFC 5545, 3.3.6). */
  #addDuration(start: IcalTime, { days, ms }: IcalDuration): IcalTime {
    const wallMs = start.wallMs + days * DAY_MS;
    if (start.isDate) return { ...start, wallMs: wallMs + Math.ceil(ms / DAY_MS) * DAY_MS };
    const zone = this.zoneOf(start);
    return { ...start, wallMs: zone === undefined ? wallMs + ms : toLocal(zone, toUtc(zone, wallMs) + ms) };
  }

  /**
   * Returns how far a start in the target zone would move if clocks skip it; otherwise 0. `toTargetWallMs` does not move
   * it, so an end that is computed from it may not move either.
   */
  #skippedMs(start: IcalTime): number {
    const zone = this.zoneOf(start);
    if (zone === undefined || start.tzid !== this.#targetZoneName) return 0;
    return toLocal(zone, toUtc(zone, start.wallMs)) - start.wallMs;
  }

  /** Converts start and end of an event to stored dates. Dates without a time are never converted between zones. */
  toEventDates(event: IcalEvent, start: IcalTime, end: IcalTime | undefined): StoredDates {
    const { isMarkedAllDay } = event;
    if (!isMarkedAllDay && !(start.isDate && end?.isDate !== false)) {
      const [startText, endText] = [start, end].map((time) => time && formatWallTime(this.toTargetWallMs(time)));
      return toStoredDates({ isAllDay: false, start: startText ?? '', end: endText });
    }
    // Some programs write all-day events as times at midnight. A local midnight stands for the day that begins then. A
    // midnight in UTC is assumed to be a midnight of the target zone, so it is converted to that zone first.
    const toStoredDay = (time: IcalTime) => formatDay(time.tzid === 'UTC' ? this.toTargetWallMs(time) : time.wallMs);
    return toStoredDates({ isAllDay: true, start: toStoredDay(start), end: toStoredDay(end ?? start) });
  }
}
