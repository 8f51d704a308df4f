import ICAL from 'ical.js';
import { type Dropped, Drops } from './dropped.ts';
import { CalendarFault, type Part, partsOf } from './lines.ts';
import type { Found } from './repeated.ts';
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
  for (const [uid, found] of foundIn(parts, drops)) {
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

function componentOf(text: string): ICAL.Component | undefined {
  try {
    const parsed: unknown = ICAL.parse(text);
    return new ICAL.Component(parsed as unknown[]);
  } catch {
    return undefined;
  }
}

/** A day that does not say it is one, as many programs write it. */
const BARE_DAY = /^(DTSTART|DTEND|RECURRENCE-ID)(:\d{8})$/gim;

/** The events of a file by their identifier; what is none is dropped. */
function foundIn(parts: readonly Part[], drops: Drops): ReadonlyMap<string, Found[]> {
  const byUid = new Map<string, Found[]>();
  for (const { name, line, text } of parts) {
    if (name === 'VTIMEZONE') continue;
    if (name !== 'VEVENT') {
      drops.add(name, 'not_an_event', line, summaryIn(text));
      continue;
    }
    const component = componentOf(text.replace(BARE_DAY, '$1;VALUE=DATE$2'));
    if (component === undefined) {
      drops.add('VEVENT', 'unreadable', line, summaryIn(text));
      continue;
    }
    const uid = String(component.getFirstPropertyValue('uid') ?? '').trim();
    // Without an identifier it is known by what it says.
    const key = uid === '' ? `without ${text}` : uid;
    const found = byUid.get(key) ?? [];
    found.push({ line, uid: key, component });
    byUid.set(key, found);
  }
  return byUid;
}

function summaryIn(text: string): string {
  return /^SUMMARY[^:\r\n]*:(.*)$/im.exec(text)?.[1]?.trim() ?? '(no name)';
}
