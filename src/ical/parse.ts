import { WorkBudget } from './expand-recurrence.ts';
import { type IcalEvent, parseEvent } from './ical-value.ts';
import { CalendarError, type ContentLine, type IcalComponent, readComponents } from './line-reader.ts';
import { type ParsedEvent, type ParseOptions, SeriesConverter } from './series.ts';
import { type SkippedItems, SkipReport } from './skipped.ts';
import { SourceZones } from './source-zone.ts';
import { TimeConverter } from './times.ts';
import { parseProperty, unescapeText } from './values.ts';
import { isZone } from './zone.ts';

export type ParsedCalendar = {
  readonly events: readonly ParsedEvent[];
  readonly dropped: readonly SkippedItems[];
  readonly zone: string;
};

/** Maximum number of events, including each occurrence of recurring events. A file with more events is rejected. */
export const MAX_EVENTS = 50_000;

/** Work budget, in steps, for all recurring events of a file. Using it up takes a few seconds. */
const MAX_STEPS_PER_FILE = 8_000_000;

/**
 * Parses a file into events and a report of the items that were left out. Throws a CalendarError if the file is not a
 * calendar.
 *
 * @param atLine called with the line of each recurring event before the event is expanded; a timeout error names the
 *   last of these lines
 */
export function parseCalendar(text: string, options: ParseOptions, atLine: (line: number) => void): ParsedCalendar {
  const drops = new SkipReport();
  const { components, lines } = readComponents(text, drops);
  const steps = new WorkBudget(MAX_STEPS_PER_FILE);
  const fileZone = readFileZone(lines, drops);
  const zone = options.zone ?? fileZone;
  const zones = new SourceZones(components, drops, steps);
  const times = new TimeConverter(zones, zone);
  const events: ParsedEvent[] = [];
  const reading = new SeriesConverter({ drops, times, options, steps, events });
  for (const [uid, found] of parseEvents(components, drops)) {
    const line = found[0]?.line ?? 1;
    if (found.some(({ rules }) => rules.length > 0)) atLine(line);
    reading.convertSeries(uid, found);
    if (events.length > MAX_EVENTS) {
      throw new CalendarError(line, `is beyond ${MAX_EVENTS} events, repetitions included; split the file`);
    }
    if (steps.isSpent) throw new CalendarError(line, 'takes too long to work out: too much repeats too often');
  }
  if (options.zone === undefined) {
    for (const [name, line] of times.usedZones)
      drops.add('TZID', zone === undefined ? 'no_zone' : 'zone_of_file', line, name);
  }
  return { events, dropped: drops.rows, zone: zone ?? 'UTC' };
}

/** Returns the zone that X-WR-TIMEZONE names. Also reports the lines of the calendar that are not properties. */
function readFileZone(lines: readonly ContentLine[], drops: SkipReport): string | undefined {
  const properties = lines.map((line) => {
    const property = parseProperty(line);
    if (property === undefined) drops.add('line', 'malformed_line', line.number, line.text);
    return property;
  });
  const names = properties.filter((one) => one?.name === 'X-WR-TIMEZONE').map((one) => one?.value.trim() ?? '');
  return names.find(isZone);
}

/** Parses the events of a file and groups them by UID. Other components are reported as left out. */
function parseEvents(components: readonly IcalComponent[], drops: SkipReport): ReadonlyMap<string, IcalEvent[]> {
  const byUid = new Map<string, IcalEvent[]>();
  for (const component of components) {
    const { name, line } = component;
    if (name === 'VTIMEZONE') continue;
    if (name !== 'VEVENT') {
      drops.add(name, 'not_an_event', line, summaryIn(component));
      continue;
    }
    const found = parseEvent(component, drops);
    const same = byUid.get(found.uid) ?? [];
    same.push(found);
    byUid.set(found.uid, same);
  }
  return byUid;
}

function summaryIn({ lines }: IcalComponent): string {
  const line = lines.find(({ text }) => /^SUMMARY[;:]/i.test(text));
  const property = line && parseProperty(line);
  return property === undefined ? '(no name)' : unescapeText(property).trim();
}
