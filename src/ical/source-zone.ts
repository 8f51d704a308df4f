import { timesOfRule } from './expand-recurrence.ts';
import type { Component } from './line-reader.ts';
import { type Property, propertyIn } from './property.ts';
import { ruleIn } from './rule.ts';
import type { SkippedLines } from './skipped.ts';
import { DAY_MS, periodsOf, SECOND_MS, timeOf } from './values.ts';
import { Steps } from './work-budget.ts';
import { isZone, offsetAt } from './zone.ts';
import { zoneMeantBy } from './zone-names.ts';

/** A zone that times of a file are in. */
export type SourceZone = {
  /** How far it is ahead of UTC at a moment, milliseconds. */
  offsetAt(utcMs: number): number;
};

/** What clocks in a zone show at a moment. */
export function wallOf(zone: SourceZone, utcMs: number): number {
  return utcMs + zone.offsetAt(utcMs);
}

/**
 * The moment at which clocks in a zone show a time. One that they show twice is the first of both; one that they leave
 * out is as much later as they are put forward.
 */
export function momentOf(zone: SourceZone, wallMs: number): number {
  const before = zone.offsetAt(wallMs - DAY_MS);
  const after = zone.offsetAt(wallMs + DAY_MS);
  const moments = [wallMs - before, wallMs - after];
  return moments.find((utcMs) => wallOf(zone, utcMs) === wallMs) ?? wallMs - before;
}

export const UTC_ZONE: SourceZone = { offsetAt: () => 0 };

/** A zone that the machine knows by its IANA name. */
export function machineZone(name: string): SourceZone {
  const offsets = new Map<number, number>();
  const exactly = (utcMs: number) => offsetAt(name, utcMs) * SECOND_MS;
  // It is asked for once a day, since to ask the machine takes long; no zone changes its clocks twice in one.
  const atBeginning = (day: number) => {
    const offset = offsets.get(day) ?? exactly(day * DAY_MS);
    offsets.set(day, offset);
    return offset;
  };
  return {
    offsetAt(utcMs) {
      const day = Math.floor(utcMs / DAY_MS);
      const offset = atBeginning(day);
      return offset === atBeginning(day + 1) ? offset : exactly(utcMs);
    },
  };
}

/** From a moment on a zone is so far ahead of UTC. */
type Change = { readonly atMs: number; readonly from: number; readonly to: number };

/** Within these years the rules of a zone that a file describes are followed; before and after nothing changes. */
const FROM_MS = Date.UTC(1970, 0);
const TO_MS = Date.UTC(2100, 0);

/** A zone as a file describes it in a VTIMEZONE; undefined where it does not say an offset. */
export function describedZone({ components }: Component, take: (steps: number) => boolean): SourceZone | undefined {
  const changes = components.flatMap((one) => changesOf(one, take)).sort((one, other) => one.atMs - other.atMs);
  const [first] = changes;
  if (first === undefined) return undefined;
  return {
    offsetAt(utcMs) {
      let [low, high] = [0, changes.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if ((changes[middle]?.atMs ?? 0) <= utcMs) low = middle + 1;
        else high = middle;
      }
      return changes[low - 1]?.to ?? first.from;
    },
  };
}

/** When what a STANDARD or DAYLIGHT describes begins. */
function changesOf({ lines }: Component, take: (steps: number) => boolean): Change[] {
  const properties = lines.map(propertyIn).filter((one) => one !== undefined);
  const named = (name: string) => properties.filter((one) => one.name === name);
  const [start] = named('DTSTART').map(timeOf);
  const [to] = named('TZOFFSETTO').map(offsetIn);
  const [from = to] = named('TZOFFSETFROM').map(offsetIn);
  if (to === undefined || from === undefined) return [];
  // One that says no beginning has always been so.
  const startMs = start?.wallMs ?? FROM_MS;
  const walls = new Set([startMs]);
  for (const rule of named('RRULE').map(({ value }) => ruleIn(value))) {
    if (rule === undefined) continue;
    const until = rule.until;
    const untilMs = until?.zone === 'UTC' ? until.wallMs + from : until?.wallMs;
    for (const wallMs of timesOfRule(rule, { startMs, untilMs, fromMs: FROM_MS, toMs: TO_MS, take })) walls.add(wallMs);
  }
  for (const period of named('RDATE').flatMap(periodsOf)) if (period !== undefined) walls.add(period.start.wallMs);
  return [...walls].map((wallMs) => ({ atMs: wallMs - from, from, to }));
}

function offsetIn({ value }: Property): number | undefined {
  const [all, sign, hours, minutes, seconds = '0'] = /^([+-])(\d\d):?(\d\d):?(\d\d)?$/.exec(value.trim()) ?? [];
  if (all === undefined) return undefined;
  const total = Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds);
  return (sign === '-' ? -total : total) * SECOND_MS;
}

/** Of the changes of one zone: a rule of each year takes some thousands. */
const MAX_STEPS = 100_000;

/** So many different names are looked up; no calendar of people has more. */
const MAX_ZONES = 500;

/** The zones that a file names. */
export class SourceZones {
  readonly #described: ReadonlyMap<string, Component>;
  readonly #drops: SkippedLines;
  readonly #steps: Steps;
  readonly #found = new Map<string, SourceZone | undefined>();

  constructor(components: readonly Component[], drops: SkippedLines, steps: Steps) {
    const named = components
      .filter(({ name }) => name === 'VTIMEZONE')
      .flatMap((one) => tzidsOf(one).map((tzid) => [tzid, one] as const));
    this.#described = new Map(named.reverse());
    this.#drops = drops;
    this.#steps = steps;
  }

  /** The zone of a TZID; undefined for one that is not known, which is said once, with the line where it stands. */
  find(tzid: string, line: number): SourceZone | undefined {
    if (this.#found.has(tzid)) return this.#found.get(tzid);
    const zone = this.#found.size < MAX_ZONES ? this.#look(tzid) : undefined;
    if (this.#found.size < MAX_ZONES) this.#found.set(tzid, zone);
    if (zone === undefined) this.#drops.add('TZID', 'unknown_zone', line, tzid);
    return zone;
  }

  #look(tzid: string): SourceZone | undefined {
    const name = tzid.trim();
    if (isZone(name)) return isUtc(name) ? UTC_ZONE : machineZone(name);
    const described = this.#described.get(tzid);
    const zone = described && describedZone(described, new Steps(MAX_STEPS, this.#steps).take);
    if (zone !== undefined) return zone;
    const known = zoneMeantBy(name);
    return known === undefined ? undefined : machineZone(known);
  }
}

function tzidsOf({ lines }: Component): string[] {
  const [property] = lines.map(propertyIn).filter((one) => one?.name === 'TZID');
  return property === undefined ? [] : [property.value.trim()];
}

const isUtc = (name: string): boolean => /^(?:Etc\/)?(?:UTC|GMT|Zulu|UCT)$/i.test(name);
