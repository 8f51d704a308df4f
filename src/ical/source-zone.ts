import { expandRule, WorkBudget } from './expand-recurrence.ts';
import type { IcalComponent } from './line-reader.ts';
import { parseRule } from './rule.ts';
import type { SkipReport } from './skipped.ts';
import { DAY_MS, type IcalProperty, parsePeriods, parseProperty, parsePropertyTime, SECOND_MS } from './values.ts';
import { ianaZoneByWindowsName } from './windows-zones.ts';
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
  const offsetBeforeMs = zone.offsetMsAt(wallMs - DAY_MS);
  const offsetAfterMs = zone.offsetMsAt(wallMs + DAY_MS);
  const utcCandidates = [wallMs - offsetBeforeMs, wallMs - offsetAfterMs];
  return utcCandidates.find((utcMs) => toLocal(zone, utcMs) === wallMs) ?? wallMs - offsetBeforeMs;
}

export const UTC_ZONE: SourceZone = { offsetMsAt: () => 0 };

/** Creates a zone from the time zone database of the runtime, by its IANA name. */
export function createIntlZone(name: string): SourceZone {
  const offsetMsByDay = new Map<number, number>();
  const computeOffsetMs = (utcMs: number) => offsetSecondsAt(name, utcMs) * SECOND_MS;
  // Intl is slow, so offsets are cached per day. No zone changes its offset twice within a day.
  const offsetMsAtDayStart = (dayNumber: number) => {
    const offsetMs = offsetMsByDay.get(dayNumber) ?? computeOffsetMs(dayNumber * DAY_MS);
    offsetMsByDay.set(dayNumber, offsetMs);
    return offsetMs;
  };
  return {
    offsetMsAt(utcMs) {
      const dayNumber = Math.floor(utcMs / DAY_MS);
      const offsetMs = offsetMsAtDayStart(dayNumber);
      return offsetMs === offsetMsAtDayStart(dayNumber + 1) ? offsetMs : computeOffsetMs(utcMs);
    },
  };
}

/** A change of the offset from UTC: the time of the change in UTC, and both offsets. All are in milliseconds. */
type SourceOffsetChange = { readonly atMs: number; readonly from: number; readonly to: number };

/** Start of the range in which the rules of a VTIMEZONE are expanded. Before the range, the offset is constant. */
const EXPANSION_START_MS = Date.UTC(1970, 0);
/** End of the range in which the rules of a VTIMEZONE are expanded. After the range, the offset is constant. */
const EXPANSION_END_MS = Date.UTC(2100, 0);

/** Creates a zone from a VTIMEZONE of the file; returns undefined if the VTIMEZONE has no offset. */
function createZoneFromVtimezone(
  { components }: IcalComponent,
  trySpendSteps: (steps: number) => boolean,
): SourceZone | undefined {
  const changes = components
    .flatMap((one) => expandOffsetChanges(one, trySpendSteps))
    .sort((one, other) => one.atMs - other.atMs);
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
function expandOffsetChanges(
  { lines }: IcalComponent,
  trySpendSteps: (steps: number) => boolean,
): SourceOffsetChange[] {
  const properties = lines.map(parseProperty).filter((one) => one !== undefined);
  const findProperties = (name: string) => properties.filter((one) => one.name === name);
  const [start] = findProperties('DTSTART').map(parsePropertyTime);
  const [offsetAfterMs] = findProperties('TZOFFSETTO').map(parseOffsetMs);
  const [offsetBeforeMs = offsetAfterMs] = findProperties('TZOFFSETFROM').map(parseOffsetMs);
  if (offsetAfterMs === undefined || offsetBeforeMs === undefined) return [];
  // Without DTSTART the offset has always applied.
  const startMs = start?.wallMs ?? EXPANSION_START_MS;
  const wallTimes = new Set([startMs]);
  for (const rule of findProperties('RRULE').map(({ value }) => parseRule(value))) {
    if (rule === undefined) continue;
    const until = rule.until;
    const untilMs = until?.tzid === 'UTC' ? until.wallMs + offsetBeforeMs : until?.wallMs;
    for (const wallMs of expandRule(rule, {
      seriesStartMs: startMs,
      untilMs,
      fromMs: EXPANSION_START_MS,
      toMs: EXPANSION_END_MS,
      trySpendSteps,
    }))
      wallTimes.add(wallMs);
  }
  for (const period of findProperties('RDATE').flatMap(parsePeriods))
    if (period !== undefined) wallTimes.add(period.start.wallMs);
  return [...wallTimes].map((wallMs) => ({ atMs: wallMs - offsetBeforeMs, from: offsetBeforeMs, to: offsetAfterMs }));
}

function parseOffsetMs({ value }: IcalProperty): number | undefined {
  const [fullMatch, sign, hours, minutes, seconds = '0'] = /^([+-])(\d\d):?(\d\d):?(\d\d)?$/.exec(value.trim()) ?? [];
  if (fullMatch === undefined) return undefined;
  const totalSeconds = Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds);
  return (sign === '-' ? -totalSeconds : totalSeconds) * SECOND_MS;
}

/** Work budget, in steps, for computing the offset changes of one zone. A yearly rule takes a few thousand steps. */
const MAX_STEPS_PER_ZONE = 100_000;

/** Maximum number of zone names looked up per file. */
const MAX_ZONES_PER_FILE = 500;

/**
 * Finds the zones for the TZIDs of a file. A TZID is the name of an IANA zone, of a VTIMEZONE of the file, or of a zone
 * that programs use instead of an IANA name, such as a Windows zone.
 */
export class SourceZoneFinder {
  readonly #vtimezones: ReadonlyMap<string, IcalComponent>;
  readonly #skipReport: SkipReport;
  readonly #workBudget: WorkBudget;
  readonly #zonesByTzid = new Map<string, SourceZone | undefined>();

  constructor(components: readonly IcalComponent[], skipReport: SkipReport, workBudget: WorkBudget) {
    const tzidEntries = components
      .filter(({ name }) => name === 'VTIMEZONE')
      .flatMap((one) => tzidsOf(one).map((tzid) => [tzid, one] as const));
    this.#vtimezones = new Map(tzidEntries.reverse());
    this.#skipReport = skipReport;
    this.#workBudget = workBudget;
  }

  /** Finds the zone of a TZID. For an unknown TZID, reports its line and returns undefined. */
  find(tzid: string, lineNumber: number): SourceZone | undefined {
    if (this.#zonesByTzid.has(tzid)) return this.#zonesByTzid.get(tzid);
    const zone = this.#zonesByTzid.size < MAX_ZONES_PER_FILE ? this.#lookUpZone(tzid) : undefined;
    if (this.#zonesByTzid.size < MAX_ZONES_PER_FILE) this.#zonesByTzid.set(tzid, zone);
    if (zone === undefined) this.#skipReport.add('TZID', 'unknown_zone', lineNumber, tzid);
    return zone;
  }

  #lookUpZone(tzid: string): SourceZone | undefined {
    const name = tzid.trim();
    if (isZoneName(name)) return isUtcName(name) ? UTC_ZONE : createIntlZone(name);
    const vtimezone = this.#vtimezones.get(tzid);
    const zone =
      vtimezone &&
      createZoneFromVtimezone(vtimezone, new WorkBudget(MAX_STEPS_PER_ZONE, this.#workBudget).trySpendSteps);
    if (zone !== undefined) return zone;
    const ianaName = findIanaZoneName(name);
    return ianaName === undefined ? undefined : createIntlZone(ianaName);
  }
}

function tzidsOf({ lines }: IcalComponent): string[] {
  const [property] = lines.map(parseProperty).filter((one) => one?.name === 'TZID');
  return property === undefined ? [] : [property.value.trim()];
}

const isUtcName = (name: string): boolean => /^(?:Etc\/)?(?:UTC|GMT|Zulu|UCT)$/i.test(name);

/** Finds the IANA zone for a name that programs use instead of an IANA name; undefined if the name is unknown. */
function findIanaZoneName(name: string): string | undefined {
  return ianaZoneByWindowsName.get(name.toLowerCase()) ?? findZoneNameInPath(name) ?? findZoneNameByDisplayName(name);
}

/**
 * Finds the IANA name at the end of a path, such as `/mozilla.org/20050126_1/Europe/Berlin`, which some programs write.
 */
function findZoneNameInPath(name: string): string | undefined {
  if (!name.startsWith('/')) return undefined;
  const segments = name.split('/').slice(-3);
  return [segments, segments.slice(-2)]
    .map((tailSegments) => tailSegments.join('/'))
    .find((one) => one.includes('/') && isZoneName(one));
}

/** First parts of IANA names. A name is looked up by combining each of them with a city. */
const REGIONS = ['Africa', 'America', 'Asia', 'Atlantic', 'Australia', 'Europe', 'Indian', 'Pacific'];

/**
 * Finds the zone of a Windows display name, such as `(UTC+01:00) Amsterdam, Berlin, Bern` or
 * `(UTC-05:00) Eastern Time (US & Canada)`.
 */
function findZoneNameByDisplayName(name: string): string | undefined {
  const [, offsetText, label = ''] =
    /^(?:\((?:UTC|GMT) ?([+-]\d\d[:.]\d\d)?\) ?)?([^()]{2,100})(?: \(US (?:&|and) Canada\))?$/i.exec(name) ?? [];
  const standardZoneName = ianaZoneByWindowsName.get(
    label
      .trim()
      .toLowerCase()
      .replace(/ time$/, ' standard time'),
  );
  if (standardZoneName !== undefined) return standardZoneName;
  const cities = label.split(',').map((city) => city.trim().replaceAll(' ', '_'));
  return cities
    .flatMap((city) => REGIONS.map((region) => `${region}/${city}`))
    .find((zoneName) => isZoneName(zoneName) && (offsetText === undefined || hasStandardOffset(zoneName, offsetText)));
}

/** Whether a zone has this offset in standard time. This distinguishes cities of the same name. */
function hasStandardOffset(zoneName: string, offsetText: string): boolean {
  const [hours = 0, minutes = 0] = offsetText.slice(1).split(/[:.]/).map(Number);
  const seconds = (hours * 60 + minutes) * 60 * (offsetText.startsWith('-') ? -1 : 1);
  const year = 2025;
  return (
    seconds === Math.min(offsetSecondsAt(zoneName, Date.UTC(year, 0)), offsetSecondsAt(zoneName, Date.UTC(year, 6)))
  );
}
