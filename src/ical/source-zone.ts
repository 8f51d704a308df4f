import { expandRule, WorkBudget } from './expand-recurrence.ts';
import type { IcalComponent } from './line-reader.ts';
import { parseRule } from './rule.ts';
import type { SkipReport } from './skipped.ts';
import { DAY_MS, type IcalProperty, parsePeriods, parseProperty, parsePropertyTime, SECOND_MS } from './values.ts';
import { windowsZones } from './windows-zones.ts';
import { isZoneName, offsetSecondsAt } from './zone.ts';

/** A time zone that a file uses. */
export type SourceZone = {
  /** Returns the offset from UTC at a time, in milliseconds. It is positive for zones ahead of UTC. */
  offsetMsAt(utcMs: number): number;
};

/** Converts a UTC time to the local time of a zone. */
export function toLocal(zone: SourceZone, utcMs: number): number {
  return utcMs + zone.offsetMsAt(utcMs);
}

/**
 * Converts a local time of a zone to UTC. If the time is ambiguous (clocks go back), the first of the two times is
 * taken. If clocks skip the time (clocks go forward), it is moved later by the length of the gap.
 */
export function toUtc(zone: SourceZone, wallMs: number): number {
  const offsetBefore = zone.offsetMsAt(wallMs - DAY_MS);
  const offsetAfter = zone.offsetMsAt(wallMs + DAY_MS);
  const utcCandidates = [wallMs - offsetBefore, wallMs - offsetAfter];
  return utcCandidates.find((utcMs) => toLocal(zone, utcMs) === wallMs) ?? wallMs - offsetBefore;
}

export const UTC_ZONE: SourceZone = { offsetMsAt: () => 0 };

/** Creates a zone from the time zone database of the runtime, by its IANA name. */
export function createIntlZone(name: string): SourceZone {
  const offsetsByDay = new Map<number, number>();
  const computeOffset = (utcMs: number) => offsetSecondsAt(name, utcMs) * SECOND_MS;
  // Intl is slow, so offsets are cached per day. No zone changes its offset twice within a day.
  const offsetAtDayStart = (day: number) => {
    const offset = offsetsByDay.get(day) ?? computeOffset(day * DAY_MS);
    offsetsByDay.set(day, offset);
    return offset;
  };
  return {
    offsetMsAt(utcMs) {
      const day = Math.floor(utcMs / DAY_MS);
      const offset = offsetAtDayStart(day);
      return offset === offsetAtDayStart(day + 1) ? offset : computeOffset(utcMs);
    },
  };
}

/** A change of the offset from UTC, in milliseconds. */
type SourceOffsetChange = { readonly atMs: number; readonly from: number; readonly to: number };

/** Start of the range in which the rules of a VTIMEZONE are expanded. Before the range, the offset is constant. */
const EXPANSION_START_MS = Date.UTC(1970, 0);
/** End of the range in which the rules of a VTIMEZONE are expanded. After the range, the offset is constant. */
const EXPANSION_END_MS = Date.UTC(2100, 0);

/** Creates a zone from a VTIMEZONE of the file; returns undefined if the VTIMEZONE has no offset. */
export function createZoneFromVtimezone(
  { components }: IcalComponent,
  take: (steps: number) => boolean,
): SourceZone | undefined {
  const changes = components.flatMap((one) => offsetChangesOf(one, take)).sort((one, other) => one.atMs - other.atMs);
  const [firstChange] = changes;
  if (firstChange === undefined) return undefined;
  return {
    offsetMsAt(utcMs) {
      let [low, high] = [0, changes.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if ((changes[middle]?.atMs ?? 0) <= utcMs) low = middle + 1;
        else high = middle;
      }
      return changes[low - 1]?.to ?? firstChange.from;
    },
  };
}

/** Returns the offset changes that a STANDARD or DAYLIGHT component describes. */
function offsetChangesOf({ lines }: IcalComponent, take: (steps: number) => boolean): SourceOffsetChange[] {
  const properties = lines.map(parseProperty).filter((one) => one !== undefined);
  const propertiesNamed = (name: string) => properties.filter((one) => one.name === name);
  const [start] = propertiesNamed('DTSTART').map(parsePropertyTime);
  const [to] = propertiesNamed('TZOFFSETTO').map(parseOffset);
  const [from = to] = propertiesNamed('TZOFFSETFROM').map(parseOffset);
  if (to === undefined || from === undefined) return [];
  // Without DTSTART the offset has always applied.
  const startMs = start?.wallMs ?? EXPANSION_START_MS;
  const wallTimes = new Set([startMs]);
  for (const rule of propertiesNamed('RRULE').map(({ value }) => parseRule(value))) {
    if (rule === undefined) continue;
    const until = rule.until;
    const untilMs = until?.zone === 'UTC' ? until.wallMs + from : until?.wallMs;
    for (const wallMs of expandRule(rule, {
      startMs,
      untilMs,
      fromMs: EXPANSION_START_MS,
      toMs: EXPANSION_END_MS,
      take,
    }))
      wallTimes.add(wallMs);
  }
  for (const period of propertiesNamed('RDATE').flatMap(parsePeriods))
    if (period !== undefined) wallTimes.add(period.start.wallMs);
  return [...wallTimes].map((wallMs) => ({ atMs: wallMs - from, from, to }));
}

function parseOffset({ value }: IcalProperty): number | undefined {
  const [fullMatch, sign, hours, minutes, seconds = '0'] = /^([+-])(\d\d):?(\d\d):?(\d\d)?$/.exec(value.trim()) ?? [];
  if (fullMatch === undefined) return undefined;
  const totalSeconds = Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds);
  return (sign === '-' ? -totalSeconds : totalSeconds) * SECOND_MS;
}

/** Work budget, in steps, for the changes of one zone. A yearly rule takes a few thousand steps. */
const MAX_STEPS_PER_ZONE = 100_000;

/** Maximum number of zone names looked up per file. */
const MAX_ZONES_PER_FILE = 500;

/**
 * Finds the zones for the TZIDs of a file. A TZID is an IANA name, names a VTIMEZONE of the file, or is a known
 * non-IANA name.
 */
export class SourceZones {
  readonly #vtimezones: ReadonlyMap<string, IcalComponent>;
  readonly #drops: SkipReport;
  readonly #workBudget: WorkBudget;
  readonly #zonesByTzid = new Map<string, SourceZone | undefined>();

  constructor(components: readonly IcalComponent[], drops: SkipReport, workBudget: WorkBudget) {
    const tzidEntries = components
      .filter(({ name }) => name === 'VTIMEZONE')
      .flatMap((one) => tzidsOf(one).map((tzid) => [tzid, one] as const));
    this.#vtimezones = new Map(tzidEntries.reverse());
    this.#drops = drops;
    this.#workBudget = workBudget;
  }

  /** Finds the zone of a TZID. For an unknown TZID, reports its line and returns undefined. */
  find(tzid: string, line: number): SourceZone | undefined {
    if (this.#zonesByTzid.has(tzid)) return this.#zonesByTzid.get(tzid);
    const zone = this.#zonesByTzid.size < MAX_ZONES_PER_FILE ? this.#lookUpZone(tzid) : undefined;
    if (this.#zonesByTzid.size < MAX_ZONES_PER_FILE) this.#zonesByTzid.set(tzid, zone);
    if (zone === undefined) this.#drops.add('TZID', 'unknown_zone', line, tzid);
    return zone;
  }

  #lookUpZone(tzid: string): SourceZone | undefined {
    const name = tzid.trim();
    if (isZoneName(name)) return isUtc(name) ? UTC_ZONE : createIntlZone(name);
    const vtimezone = this.#vtimezones.get(tzid);
    const zone =
      vtimezone && createZoneFromVtimezone(vtimezone, new WorkBudget(MAX_STEPS_PER_ZONE, this.#workBudget).take);
    if (zone !== undefined) return zone;
    const ianaName = findIanaZone(name);
    return ianaName === undefined ? undefined : createIntlZone(ianaName);
  }
}

function tzidsOf({ lines }: IcalComponent): string[] {
  const [property] = lines.map(parseProperty).filter((one) => one?.name === 'TZID');
  return property === undefined ? [] : [property.value.trim()];
}

const isUtc = (name: string): boolean => /^(?:Etc\/)?(?:UTC|GMT|Zulu|UCT)$/i.test(name);

/** Finds the IANA zone for a name that programs use instead of an IANA name; undefined if the name is unknown. */
function findIanaZone(name: string): string | undefined {
  return windowsZones.get(name.toLowerCase()) ?? findZoneInPath(name) ?? findZoneOfDisplayName(name);
}

/**
 * Finds the IANA name at the end of a path, such as `/mozilla.org/20050126_1/Europe/Berlin`, which some programs write.
 */
function findZoneInPath(name: string): string | undefined {
  if (!name.startsWith('/')) return undefined;
  const segments = name.split('/').slice(-3);
  return [segments, segments.slice(-2)]
    .map((tailSegments) => tailSegments.join('/'))
    .find((one) => one.includes('/') && isZoneName(one));
}

const REGIONS = ['Africa', 'America', 'Asia', 'Atlantic', 'Australia', 'Europe', 'Indian', 'Pacific'];

/**
 * Finds the zone of a Windows display name, such as `(UTC+01:00) Amsterdam, Berlin, Bern` or
 * `(UTC-05:00) Eastern Time (US & Canada)`.
 */
function findZoneOfDisplayName(name: string): string | undefined {
  const [, offset, label = ''] =
    /^(?:\((?:UTC|GMT) ?([+-]\d\d[:.]\d\d)?\) ?)?([^()]{2,100})(?: \(US (?:&|and) Canada\))?$/i.exec(name) ?? [];
  const standardZone = windowsZones.get(
    label
      .trim()
      .toLowerCase()
      .replace(/ time$/, ' standard time'),
  );
  if (standardZone !== undefined) return standardZone;
  const cities = label.split(',').map((city) => city.trim().replaceAll(' ', '_'));
  return cities
    .flatMap((city) => REGIONS.map((region) => `${region}/${city}`))
    .find((zone) => isZoneName(zone) && (offset === undefined || hasStandardOffset(zone, offset)));
}

/** Whether a zone has this offset in standard time. This distinguishes cities of the same name. */
function hasStandardOffset(zone: string, offset: string): boolean {
  const [hours = 0, minutes = 0] = offset.slice(1).split(/[:.]/).map(Number);
  const seconds = (hours * 60 + minutes) * 60 * (offset.startsWith('-') ? -1 : 1);
  const year = 2025;
  return seconds === Math.min(offsetSecondsAt(zone, Date.UTC(year, 0)), offsetSecondsAt(zone, Date.UTC(year, 6)));
}
