import { WorkBudget } from './expand-recurrence.ts';
import { type IcalEvent, parseEvent } from './ical-value.ts';
import { CalendarError, type ContentLine, type IcalComponent, readComponents } from './line-reader.ts';
import { type ParsedEvent, type ParseOptions, SeriesConverter } from './series.ts';
import { type SkippedItems, SkipReport } from './skipped.ts';
import { SourceZones } from './source-zone.ts';
import { TimeConverter } from './times.ts';
import { parseProperty, unescapeText } from './values.ts';
import { isZoneName } from './zone.ts';

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
 * @param onRecurringEvent called with the line of each recurring event before the event is expanded; a timeout error
 *   names the last of these lines
 */
export function parseCalendar(
  text: string,
  options: ParseOptions,
  onRecurringEvent: (line: number) => void,
): ParsedCalendar {
  const drops = new SkipReport();
  const { components, lines } = readComponents(text, drops);
  const workBudget = new WorkBudget(MAX_STEPS_PER_FILE);
  const fileZone = readFileZone(lines, drops);
  const zone = options.zone ?? fileZone;
  const zones = new SourceZones(components, drops, workBudget);
  const timeConverter = new TimeConverter(zones, zone);
  const events: ParsedEvent[] = [];
  const seriesConverter = new SeriesConverter({ drops, times: timeConverter, options, steps: workBudget, events });
  for (const [uid, uidEvents] of parseEvents(components, drops)) {
    const line = uidEvents[0]?.line ?? 1;
    if (uidEvents.some(({ rules }) => rules.length > 0)) onRecurringEvent(line);
    seriesConverter.convertSeries(uid, uidEvents);
    if (events.length > MAX_EVENTS) {
      throw new CalendarError(line, `is beyond ${MAX_EVENTS} events, repetitions included; split the file`);
    }
    if (workBudget.isSpent) throw new CalendarError(line, 'takes too long to work out: too much repeats too often');
  }
  if (options.zone === undefined) {
    for (const [name, line] of timeConverter.usedZones)
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
  const zoneNames = properties.filter((one) => one?.name === 'X-WR-TIMEZONE').map((one) => one?.value.trim() ?? '');
  return zoneNames.find(isZoneName);
}

/** Parses the events of a file and groups them by UID. Other components are reported as left out. */
function parseEvents(components: readonly IcalComponent[], drops: SkipReport): ReadonlyMap<string, IcalEvent[]> {
  const eventsByUid = new Map<string, IcalEvent[]>();
  for (const component of components) {
    const { name, line } = component;
    if (name === 'VTIMEZONE') continue;
    if (name !== 'VEVENT') {
      drops.add(name, 'not_an_event', line, findSummary(component));
      continue;
    }
    const event = parseEvent(component, drops);
    const uidEvents = eventsByUid.get(event.uid) ?? [];
    uidEvents.push(event);
    eventsByUid.set(event.uid, uidEvents);
  }
  return eventsByUid;
}

function findSummary({ lines }: IcalComponent): string {
  const line = lines.find(({ text }) => /^SUMMARY[;:]/i.test(text));
  const property = line && parseProperty(line);
  return property === undefined ? '(no name)' : unescapeText(property).trim();
}
