import ICAL from 'ical.js';
import { type Dropped, Drops } from './dropped.ts';
import { componentOf, type Found, foundIn } from './found.ts';
import { CalendarFault, type Part, partsOf } from './lines.ts';
import { type ReadEvent, Reading, type ReadOptions } from './series.ts';
import { isZone, zoneText } from './zone.ts';

export type ReadCalendar = {
  readonly events: readonly ReadEvent[];
  readonly dropped: readonly Dropped[];
  readonly zone: string;
};

/** More than a calendar of people has: beyond, the file is refused as a whole. */
export const MOST_EVENTS = 50_000;

/**
 * Reads a file: what comes out of it, and what does not. Throws a CalendarFault for what is no calendar.
 *
 * @param atLine hears where something begins that may not come to an end
 */
export function readCalendar(text: string, options: ReadOptions, atLine: (line: number) => void): ReadCalendar {
  const { parts, properties } = partsOf(text);
  const drops = new Drops();
  const zone = options.zone ?? zoneNamed(properties) ?? 'UTC';
  const root = rootOf(parts);
  const events: ReadEvent[] = [];
  const reading = new Reading({ drops, zone, root, options, events });
  for (const [uid, found] of eventsIn(parts, drops)) {
    const repeating = found.find(({ component }) => component.hasProperty('rrule'));
    if (repeating !== undefined) atLine(repeating.line);
    reading.series(uid, found);
    if (events.length > MOST_EVENTS) {
      throw new CalendarFault(
        found[0]?.line ?? 1,
        `is beyond ${MOST_EVENTS} events, repetitions included; split the file`,
      );
    }
  }
  return { events, dropped: drops.rows, zone };
}

function zoneNamed(properties: readonly string[]): string | undefined {
  const named = properties.map((line) => /^X-WR-TIMEZONE(?:;[^:]*)?:(.*)$/i.exec(line)?.[1]?.trim());
  return named.find((name) => name !== undefined && isZone(name));
}

/** A calendar with all zones of the file: those that it describes, and those that it only names. */
function rootOf(parts: readonly Part[]): ICAL.Component {
  const root = new ICAL.Component('vcalendar');
  const known = new Set<string>();
  for (const { text } of parts.filter(({ name }) => name === 'VTIMEZONE')) {
    const zone = componentOf(text);
    const tzid = zone?.getFirstPropertyValue('tzid');
    if (zone === undefined || typeof tzid !== 'string' || known.has(tzid)) continue;
    known.add(tzid);
    root.addSubcomponent(zone);
  }
  const named = new Set(
    parts.flatMap(({ text }) => [...text.matchAll(/;TZID="?([^:;"\r\n]+)/gi)].map(([, id = '']) => id)),
  );
  for (const tzid of named) {
    if (known.has(tzid) || !isZone(tzid)) continue;
    const zone = componentOf(zoneText(tzid, Date.UTC(1990, 0), Date.UTC(2040, 0)));
    if (zone !== undefined) root.addSubcomponent(zone);
  }
  return root;
}

/** The events of a file by their identifier; what is none is dropped. */
function eventsIn(parts: readonly Part[], drops: Drops): ReadonlyMap<string, Found[]> {
  const byUid = new Map<string, Found[]>();
  for (const part of parts) {
    const { name, line, text } = part;
    if (name === 'VTIMEZONE') continue;
    const found = name === 'VEVENT' ? foundIn(part) : undefined;
    if (found === undefined) {
      drops.add(name, name === 'VEVENT' ? 'unreadable' : 'not_an_event', line, summaryIn(text));
      continue;
    }
    const same = byUid.get(found.uid) ?? [];
    same.push(found);
    byUid.set(found.uid, same);
  }
  return byUid;
}

function summaryIn(text: string): string {
  return /(?:^|\n)SUMMARY[^:\r\n]*:(.*)/i.exec(text)?.[1]?.trim() ?? '(no name)';
}
