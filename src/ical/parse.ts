import { foundIn, type IcalValue } from './ical-value.ts';
import { CalendarError, type Component, type Line, outlineOf } from './line-reader.ts';
import { propertyIn, textOf } from './property.ts';
import { type ReadEvent, Reading, type ReadOptions } from './series.ts';
import { type Skipped, SkippedLines } from './skipped.ts';
import { SourceZones } from './source-zone.ts';
import { Times } from './times.ts';
import { Steps } from './work-budget.ts';
import { isZone } from './zone.ts';

export type ReadCalendar = {
  readonly events: readonly ReadEvent[];
  readonly dropped: readonly Skipped[];
  readonly zone: string;
};

/** More than a calendar of people has: beyond, the file is refused as a whole. */
export const MAX_EVENTS = 50_000;

/** Of all that repeats in a file: some seconds of work. */
const MAX_STEPS = 8_000_000;

/**
 * Reads a file: what comes out of it, and what does not. Throws a CalendarFault for what is no calendar.
 *
 * @param atLine hears where something begins that may take long
 */
export function readCalendar(text: string, options: ReadOptions, atLine: (line: number) => void): ReadCalendar {
  const drops = new SkippedLines();
  const { components, lines } = outlineOf(text, drops);
  const steps = new Steps(MAX_STEPS);
  const named = zoneNamed(lines, drops);
  const zone = options.zone ?? named;
  const zones = new SourceZones(components, drops, steps);
  const times = new Times(zones, zone);
  const events: ReadEvent[] = [];
  const reading = new Reading({ drops, times, options, steps, events });
  for (const [uid, found] of eventsIn(components, drops)) {
    const line = found[0]?.line ?? 1;
    if (found.some(({ rules }) => rules.length > 0)) atLine(line);
    reading.series(uid, found);
    if (events.length > MAX_EVENTS) {
      throw new CalendarError(line, `is beyond ${MAX_EVENTS} events, repetitions included; split the file`);
    }
    if (steps.areSpent) throw new CalendarError(line, 'takes too long to work out: too much repeats too often');
  }
  if (options.zone === undefined) {
    for (const [name, line] of times.zoned)
      drops.add('TZID', zone === undefined ? 'no_zone' : 'zone_of_file', line, name);
  }
  return { events, dropped: drops.rows, zone: zone ?? 'UTC' };
}

/** The zone that a file says it is in; lines beside it that are none are said to be. */
function zoneNamed(lines: readonly Line[], drops: SkippedLines): string | undefined {
  const properties = lines.map((line) => {
    const property = propertyIn(line);
    if (property === undefined) drops.add('line', 'no_property', line.number, line.text);
    return property;
  });
  const names = properties.filter((one) => one?.name === 'X-WR-TIMEZONE').map((one) => one?.value.trim() ?? '');
  return names.find(isZone);
}

/** The events of a file by their identifier; what is none is dropped. */
function eventsIn(components: readonly Component[], drops: SkippedLines): ReadonlyMap<string, IcalValue[]> {
  const byUid = new Map<string, IcalValue[]>();
  for (const component of components) {
    const { name, line } = component;
    if (name === 'VTIMEZONE') continue;
    if (name !== 'VEVENT') {
      drops.add(name, 'not_an_event', line, summaryIn(component));
      continue;
    }
    const found = foundIn(component, drops);
    const same = byUid.get(found.uid) ?? [];
    same.push(found);
    byUid.set(found.uid, same);
  }
  return byUid;
}

function summaryIn({ lines }: Component): string {
  const line = lines.find(({ text }) => /^SUMMARY[;:]/i.test(text));
  const property = line && propertyIn(line);
  return property === undefined ? '(no name)' : textOf(property).trim();
}
