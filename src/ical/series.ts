import { hash } from 'node:crypto';
import ICAL from 'ical.js';
import type { Dated } from './days.ts';
import { type Drops, type Reason, shortened } from './dropped.ts';
import { type Found, mustExist } from './found.ts';
import { type Horizon, numbering, repetitionsOf, standsFor } from './repeated.ts';
import { datedFrom, isWithinYears } from './times.ts';

/** What a file is read with. */
export type ReadOptions = Horizon & {
  /** The zone that UTC times are told in; undefined: the one the file names, or UTC. */
  readonly zone: string | undefined;
  /** What identifiers of this account end in: what carries one is here already. */
  readonly domain: string;
};

/** An event of a file, ready to be kept. */
export type ReadEvent = Dated & {
  /** Of its identifier and, where it repeats, of the day: the same in every version of the file. */
  readonly entryHash: string;
  /** Of what the file says of it. */
  readonly contentHash: string;
  readonly event_name: string;
};

const LONGEST_NAME = 255;

/** What is needed for no event by itself, and what says nothing that could be lost. */
const BOOKKEEPING = [
  ...['uid', 'dtstart', 'dtend', 'duration', 'summary', 'rrule', 'rdate', 'exdate', 'recurrence-id'],
  ...['status', 'sequence', 'dtstamp', 'created', 'last-modified', 'x-microsoft-cdo-alldayevent'],
];

export type ReadingPorts = {
  readonly drops: Drops;
  readonly zone: string;
  readonly root: ICAL.Component;
  readonly options: ReadOptions;
  readonly events: ReadEvent[];
};

/** The reading of all that a file says of one identifier. */
export class Reading {
  readonly #ports: ReadingPorts;

  constructor(ports: ReadingPorts) {
    this.#ports = ports;
  }

  series(uid: string, found: readonly Found[]): void {
    const { root } = this.#ports;
    const own = /^(?:event|task|subtask)-\d+@(.+)$/.exec(uid)?.[1] === this.#ports.options.domain;
    for (const one of found) {
      // What it says in a zone is understood within the calendar that has the zone.
      root.addSubcomponent(one.component);
      if (own) this.#drop('own', one);
    }
    try {
      if (!own) this.#read(found);
    } finally {
      for (const { component } of found) root.removeSubcomponent(component);
    }
  }

  #read(found: readonly Found[]): void {
    const isException = ({ component }: Found) => component.hasProperty('recurrence-id');
    const master = this.#newest(found.filter((one) => !isException(one)));
    const overrides = this.#overrides(found.filter(isException), master);
    if (master !== undefined && ['rrule', 'rdate'].some((name) => master.component.hasProperty(name))) {
      this.#attempt(master, () => this.#repeated(master, overrides));
      return;
    }
    if (master !== undefined) this.#attempt(master, () => this.#single(master, ''));
    const numbered = numbering();
    for (const one of overrides) {
      this.#attempt(one, () => this.#single(one, numbered(new ICAL.Event(one.component).recurrenceId)));
    }
  }

  /** Of the exceptions those that can be read, of each time the newest, in the order of the times they stand for. */
  #overrides(found: readonly Found[], master: Found | undefined): readonly Found[] {
    const byTime = new Map<string, Found[]>();
    for (const one of found) {
      this.#try(one, () => {
        const time = standsFor(one, master);
        const same = byTime.get(time) ?? [];
        same.push(one);
        byTime.set(time, same);
      });
    }
    const times = [...byTime].sort(([one], [other]) => (one < other ? -1 : 1));
    return times.flatMap(([, same]) => this.#newest(same) ?? []);
  }

  /** Of several versions the one with the highest SEQUENCE, or else the last. */
  #newest(versions: readonly Found[]): Found | undefined {
    const [newest, ...others] = [...versions].sort(
      (one, other) => other.sequence - one.sequence || other.line - one.line,
    );
    for (const one of others) this.#drop('replaced', one);
    return newest;
  }

  #attempt(found: Found, work: () => void): void {
    if (this.#try(found, work)) this.#details(found);
  }

  /** Does what can fail for what the file says; a fault drops it, and all that had come of it. */
  #try(found: Found, work: () => void): boolean {
    const { events } = this.#ports;
    const before = events.length;
    if (!found.component.hasProperty('dtstart')) {
      this.#drop('no_start', found);
      return false;
    }
    try {
      mustExist(found);
      work();
      return true;
    } catch (error) {
      // Half a series would look like a whole one.
      events.length = before;
      this.#drop('unreadable', found, `${found.name} (${error instanceof Error ? error.message : error})`);
      return false;
    }
  }

  #single(found: Found, day: string): void {
    const { component } = found;
    if (isCancelled(component)) {
      this.#drop('cancelled', found);
      return;
    }
    const event = new ICAL.Event(component, { exceptions: [] });
    this.#keep(found, day, event.startDate, event.endDate);
  }

  #repeated(master: Found, overrides: readonly Found[]): void {
    const { options, zone } = this.#ports;
    const repetitions = repetitionsOf(master, overrides, zone, options, (reason) => this.#drop(reason, master));
    for (const { day, start, end, of } of repetitions) {
      if (isCancelled(of.component)) this.#drop('cancelled', of);
      else this.#keep(of, day, start, end);
    }
    for (const one of overrides) this.#details(one);
  }

  #keep(found: Found, day: string, start: ICAL.Time, end: ICAL.Time): void {
    const { component } = found;
    const hasEnd = component.hasProperty('dtend') || component.hasProperty('duration') || start.isDate;
    const isDays = /^true$/i.test(String(component.getFirstPropertyValue('x-microsoft-cdo-alldayevent') ?? ''));
    const dated = datedFrom({ start, end: hasEnd ? end : undefined, isDays }, this.#ports.zone);
    if (!isWithinYears(dated)) {
      this.#drop('out_of_range', found);
      return;
    }
    const event_name = this.#name(found);
    this.#ports.events.push({
      ...dated,
      event_name,
      entryHash: hash('sha256', `${found.uid}\n${day}`, 'base64url'),
      contentHash: hash('sha256', JSON.stringify([event_name, dated.start_date, dated.due_date]), 'base64url'),
    });
  }

  #name(found: Found): string {
    const { name } = found;
    if (name === '') {
      this.#drop('untitled', found);
      return 'Untitled';
    }
    const kept = shortened(name, LONGEST_NAME).trim();
    if (kept !== name) this.#drop('shortened', found);
    return kept;
  }

  /** Everything of an event that is kept nowhere. */
  #details(found: Found): void {
    const { component, line, name } = found;
    for (const property of component.getAllProperties()) {
      if (BOOKKEEPING.includes(property.name)) continue;
      this.#ports.drops.add(property.name.toUpperCase(), 'no_field', line, name);
    }
    for (const inner of component.getAllSubcomponents()) {
      this.#ports.drops.add(inner.name.toUpperCase(), 'no_field', line, name);
    }
  }

  #drop(reason: Reason, found: Found, example = found.name): void {
    this.#ports.drops.add('VEVENT', reason, found.line, example);
  }
}

function isCancelled(component: ICAL.Component): boolean {
  return /^cancelled$/i.test(String(component.getFirstPropertyValue('status') ?? ''));
}
