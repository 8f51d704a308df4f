import ICAL from 'ical.js';
import type { Part } from './lines.ts';

/** An event of the file, with where it stands, and what is said of it in every report. */
export type Found = {
  readonly line: number;
  readonly uid: string;
  readonly component: ICAL.Component;
  readonly name: string;
  /** Which version of it this is: the highest one counts. */
  readonly sequence: number;
};

/** A day that does not say it is one, or days, as many programs write them. */
const BARE_DAY = /^(DTSTART|DTEND|RECURRENCE-ID|EXDATE|RDATE)(:\d{8}(?:,\d{8})*)$/gim;

/** Reads one part of a file; undefined for what cannot be read. */
export function foundIn({ text, line }: Part): Found | undefined {
  const component = componentOf(text.replace(BARE_DAY, '$1;VALUE=DATE$2'));
  if (component === undefined) return undefined;
  try {
    const said = (name: string) => String(component.getFirstPropertyValue(name) ?? '');
    const uid = said('uid').trim();
    return {
      line,
      // Without an identifier it is known by what it says.
      uid: uid === '' ? `without ${text}` : uid,
      component,
      name: said('summary').toWellFormed().replaceAll('\0', '').trim(),
      sequence: Number(said('sequence')) || 0,
    };
  } catch {
    // A value of another type than it says.
    return undefined;
  }
}

export function componentOf(text: string): ICAL.Component | undefined {
  try {
    const parsed: unknown = ICAL.parse(text);
    return new ICAL.Component(parsed as unknown[]);
  } catch {
    return undefined;
  }
}

/** Throws for the 30th of February, which would be read as a day in March. */
export function mustExist({ component }: Found): void {
  for (const name of ['dtstart', 'dtend', 'recurrence-id']) {
    const property = component.getFirstProperty(name);
    const written: unknown = property?.toJSON()[3];
    const time: unknown = property?.getFirstValue();
    if (typeof written !== 'string' || !(time instanceof ICAL.Time)) continue;
    if (time.toString().slice(0, 10) !== written.slice(0, 10)) throw new Error(`there is no ${written}`);
  }
}
