import { WorkBudget } from './expand-recurrence.ts';
import { type IcalEvent, parseEvent } from './ical-value.ts';
import { CalendarError, type ContentLine, type IcalComponent, readComponents } from './line-reader.ts';
import { type ParsedEvent, type ParseOptions, SeriesConverter } from './series.ts';
import { type SkippedItems, SkipReport } from './skipped.ts';
import { SourceZoneFinder } from './source-zone.ts';
import { TimeConverter } from './times.ts';
import { parseProperty, unescapeText } from './values.ts';
import { isZoneName } from './zone.ts';

export type ParsedCalendar = {
  readonly events: readonly ParsedEvent[];
  readonly skippedItems: readonly SkippedItems[];
  /** Zone to which times were converted (IANA name); `UTC` if neither the options nor the file name a zone. */
  readonly zone: string;
};

/** Maximum number of events, including each instance of recurring events. A file with more events is rejected. */
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
  onRecurringEvent: (lineNumber: number) => void,
): ParsedCalendar {
  const skipReport = new SkipReport();
  const { components, calendarLines } = readComponents(text, skipReport);
  const workBudget = new WorkBudget(MAX_STEPS_PER_FILE);
  const fileZoneName = readFileZoneName(calendarLines, skipReport);
  const targetZoneName = options.zone ?? fileZoneName;
  const sourceZoneFinder = new SourceZoneFinder(components, skipReport, workBudget);
  const timeConverter = new TimeConverter(sourceZoneFinder, targetZoneName);
  const events: ParsedEvent[] = [];
  const seriesConverter = new SeriesConverter({ skipReport, timeConverter, options, workBudget, parsedEvents: events });
  for (const [uid, sameUidEvents] of parseEventsByUid(components, skipReport)) {
    const lineNumber = sameUidEvents[0]?.lineNumber ?? 1;
    if (sameUidEvents.some(({ rules }) => rules.length > 0)) onRecurringEvent(lineNumber);
    seriesConverter.convertSeries(uid, sameUidEvents);
    if (events.length > MAX_EVENTS) {
      throw new CalendarError(lineNumber, `is beyond ${MAX_EVENTS} events, repetitions included; split the file`);
    }
    if (workBudget.isSpent)
      throw new CalendarError(lineNumber, 'takes too long to work out: too much repeats too often');
  }
  if (options.zone === undefined) {
    for (const [name, lineNumber] of timeConverter.firstLineNumberByTzid)
      skipReport.add('TZID', targetZoneName === undefined ? 'no_zone' : 'zone_of_file', lineNumber, name);
  }
  return { events, skippedItems: skipReport.rows, zone: targetZoneName ?? 'UTC' };
}

/** Returns the zone that X-WR-TIMEZONE names. Also reports the lines of the calendar that are not properties. */
function readFileZoneName(lines: readonly ContentLine[], skipReport: SkipReport): string | undefined {
  const properties = lines.map((line) => {
    const property = parseProperty(line);
    if (property === undefined) skipReport.add('line', 'malformed_line', line.lineNumber, line.text);
    return property;
  });
  const zoneNames = properties.filter((one) => one?.name === 'X-WR-TIMEZONE').map((one) => one?.value.trim() ?? '');
  return zoneNames.find(isZoneName);
}

/** Parses the events of a file and groups them by UID. Other components are reported as left out. */
function parseEventsByUid(
  components: readonly IcalComponent[],
  skipReport: SkipReport,
): ReadonlyMap<string, IcalEvent[]> {
  const eventsByUid = new Map<string, IcalEvent[]>();
  for (const component of components) {
    const { name, lineNumber } = component;
    if (name === 'VTIMEZONE') continue;
    if (name !== 'VEVENT') {
      skipReport.add(name, 'not_an_event', lineNumber, findSummary(component));
      continue;
    }
    const event = parseEvent(component, skipReport);
    const sameUidEvents = eventsByUid.get(event.uid) ?? [];
    sameUidEvents.push(event);
    eventsByUid.set(event.uid, sameUidEvents);
  }
  return eventsByUid;
}

function findSummary({ lines }: IcalComponent): string {
  const line = lines.find(({ text }) => /^SUMMARY[;:]/i.test(text));
  const property = line && parseProperty(line);
  return property === undefined ? '(no name)' : unescapeText(property).trim();
}
