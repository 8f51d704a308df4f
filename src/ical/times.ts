import { type Dated, datedOf } from './days.ts';
import type { IcalValue } from './ical-value.ts';
import { machineZone, momentOf, type SourceZone, type SourceZones, UTC_ZONE, wallOf } from './source-zone.ts';
import { DAY_MS, type Duration, type Written } from './values.ts';

/** A time as the service keeps it, `YYYY-MM-DD HH:MM:SS`; another form for years that it does not know. */
function shown(wallMs: number): string {
  const date = new Date(wallMs);
  return Number.isNaN(date.getTime()) ? '' : date.toISOString().slice(0, -5).replace('T', ' ');
}

export const dayShown = (wallMs: number): string => shown(wallMs).slice(0, -9);

export const midnightOf = (wallMs: number): number => Math.floor(wallMs / DAY_MS) * DAY_MS;

/** Whether it is of the years that can be kept. */
export function isWithinYears(dated: Dated): boolean {
  return [dated.start_date, dated.due_date].every((time) => /^(?!0000)\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(time));
}

/** Converts the times of a file to one zone, or leaves them as they are written where there is none. */
export class Times {
  readonly #zones: Pick<SourceZones, 'find'>;
  readonly #targetName: string | undefined;
  readonly #target: SourceZone | undefined;
  readonly #zoned = new Map<string, number>();

  /** @param target the IANA name of the zone to convert to; undefined leaves times as they are written */
  constructor(zones: Pick<SourceZones, 'find'>, target: string | undefined) {
    this.#zones = zones;
    this.#targetName = target;
    this.#target = target === undefined ? undefined : machineZone(target);
  }

  /** The zones that times were in, each with the line where it stands first. */
  get zoned(): ReadonlyMap<string, number> {
    return this.#zoned;
  }

  /** The zone of a time; undefined for days, for times without one, and for one that is not known. */
  zoneOf({ zone, isDate, line }: Written): SourceZone | undefined {
    if (zone === undefined || isDate) return undefined;
    const found = zone === 'UTC' ? UTC_ZONE : this.#zones.find(zone, line);
    if (found !== undefined && !this.#zoned.has(zone)) this.#zoned.set(zone, line);
    return found;
  }

  /** What a clock of the target shows. */
  converted(time: Written): number {
    const zone = this.zoneOf(time);
    // In the same zone a time stays as it is written, also one that no clock shows, since clocks are put forward over it.
    if (zone === undefined || this.#target === undefined || time.zone === this.#targetName) return time.wallMs;
    return wallOf(this.#target, momentOf(zone, time.wallMs));
  }

  /** A time as clocks of the series show it: those that a series leaves out or replaces are found by it. */
  within(series: Written, time: Written): number {
    if (series.isDate) return midnightOf(time.wallMs);
    if (time.isDate) return time.wallMs + (series.wallMs - midnightOf(series.wallMs));
    const [from, to] = [this.zoneOf(time), this.zoneOf(series)];
    if (from === undefined || to === undefined || time.zone === series.zone) return time.wallMs;
    return wallOf(to, momentOf(from, time.wallMs));
  }

  /** When something ends that begins at `start`; undefined where nothing is said of that. */
  endOf(found: IcalValue, start: Written, end: Written | Duration | undefined): Written | undefined {
    if (end === undefined) return start.isDate ? { ...start, wallMs: start.wallMs + DAY_MS } : undefined;
    if ('days' in end) return this.#later(start, end);
    const first = found.start ?? start;
    if (first.isDate || end.isDate) {
      const isDate = first.isDate && end.isDate;
      return { ...start, isDate, wallMs: start.wallMs + end.wallMs - first.wallMs };
    }
    const [from, to] = [this.zoneOf(first), this.zoneOf(end)];
    if (from === undefined || to === undefined) {
      return { ...start, wallMs: start.wallMs + end.wallMs - first.wallMs };
    }
    const ms = momentOf(to, end.wallMs) - momentOf(from, first.wallMs);
    return this.#later(start, { days: 0, ms });
  }

  /** Days are those of the calendar, the rest passes as it does on a clock that nobody sets (RFC 5545, 3.3.6). */
  #later(start: Written, { days, ms }: Duration): Written {
    const wallMs = start.wallMs + days * DAY_MS;
    if (start.isDate) return { ...start, wallMs: wallMs + Math.ceil(ms / DAY_MS) * DAY_MS };
    const zone = this.zoneOf(start);
    return { ...start, wallMs: zone === undefined ? wallMs + ms : wallOf(zone, momentOf(zone, wallMs) + ms) };
  }

  /** What an event says that begins and ends so. Days are never converted. */
  dated(found: IcalValue, start: Written, end: Written | undefined): Dated {
    const { isDays } = found;
    if (!isDays && !(start.isDate && end?.isDate !== false)) {
      const [first, last] = [start, end].map((time) => time && shown(this.converted(time)));
      return datedOf({ isAllDay: false, start: first ?? '', end: last });
    }
    // The midnights of a place are its days; those of UTC are somebody's, who is likely to live where the account is.
    const dayOf = (time: Written) => dayShown(time.zone === 'UTC' ? this.converted(time) : time.wallMs);
    return datedOf({ isAllDay: true, start: dayOf(start), end: dayOf(end ?? start) });
  }
}
