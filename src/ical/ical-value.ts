import type { Component } from './line-reader.ts';
import { type Property, propertyIn, textOf } from './property.ts';
import { type Rule, ruleIn } from './rule.ts';
import type { Reason, SkippedLines } from './skipped.ts';
import { type Duration, durationIn, type Period, periodsOf, timeOf, timesOf, type Written } from './values.ts';

/** An event of the file: what is kept of it, and where it stands. */
export type IcalValue = {
  readonly line: number;
  readonly uid: string;
  /** What it is called in every report; its beginning and end are trimmed. */
  readonly name: string;
  /** Which version of it this is: the highest one counts. */
  readonly sequence: number;
  readonly isCancelled: boolean;
  /** Whether its times are days, whatever they are written as. */
  readonly isDays: boolean;
  readonly start: Written | undefined;
  readonly end: Written | Duration | undefined;
  readonly rules: readonly Rule[];
  /** Times beside those of the rules. */
  readonly more: readonly Period[];
  readonly exceptRules: readonly Rule[];
  readonly except: readonly Written[];
  /** Which time of its series it stands for, and whether for all that come after, too. */
  readonly replaces: { readonly at: Written; readonly isOnward: boolean } | undefined;
  /** What it has that is kept nowhere: names of properties and components, and their lines. */
  readonly details: readonly string[];
};

/** What says nothing that could be lost. */
const BOOKKEEPING = ['DTSTAMP', 'CREATED', 'LAST-MODIFIED'];

/** Said once; a second one is left out. */
const ONCE = ['DTSTART', 'DTEND', 'DURATION', 'UID', 'SUMMARY', 'SEQUENCE', 'STATUS', 'RECURRENCE-ID'];
const LISTS = ['RRULE', 'EXRULE', 'RDATE', 'EXDATE'];

/** No event of people has more rules. */
const MAX_RULES = 20;

/** Reads an event line by line. A line that cannot be read is left out by itself, and said to be. */
export function foundIn(component: Component, drops: SkippedLines): IcalValue {
  const reading = new EventReading(component, drops);
  return reading.found();
}

class EventReading {
  readonly #component: Component;
  readonly #drops: SkippedLines;
  readonly #once = new Map<string, Property>();
  readonly #lists = new Map<string, Property[]>();
  readonly #details: string[] = [];
  #isDays = false;

  constructor(component: Component, drops: SkippedLines) {
    this.#component = component;
    this.#drops = drops;
    for (const line of component.lines) {
      const property = propertyIn(line);
      if (property === undefined) drops.add('line', 'no_property', line.number, line.text);
      else this.#sort(property);
    }
  }

  found(): IcalValue {
    const { line, lines, components } = this.#component;
    const uid = this.#text('UID').trim();
    const start = this.#time('DTSTART');
    return {
      line,
      // Without an identifier it is known by what it says.
      uid: uid === '' ? `without ${lines.map(({ text }) => text).join('\n')}` : uid,
      name: this.#text('SUMMARY').toWellFormed().replaceAll('\0', '').trim(),
      sequence: Number(this.#text('SEQUENCE')) || 0,
      isCancelled: /^cancelled$/i.test(this.#text('STATUS').trim()),
      isDays: this.#isDays,
      start,
      end: this.#time('DTEND') ?? this.#duration(),
      rules: this.#rules('RRULE'),
      more: this.#many('RDATE', periodsOf),
      exceptRules: this.#rules('EXRULE'),
      except: this.#many('EXDATE', timesOf),
      replaces: this.#replaces(start),
      details: [...this.#details, ...components.map(({ name }) => name)],
    };
  }

  #sort(property: Property): void {
    const { name, value } = property;
    if (ONCE.includes(name)) {
      if (this.#once.has(name)) this.#drop('said_before', property);
      else this.#once.set(name, property);
    } else if (LISTS.includes(name)) {
      const same = this.#lists.get(name) ?? [];
      same.push(property);
      this.#lists.set(name, same);
    } else if (name === 'X-MICROSOFT-CDO-ALLDAYEVENT') {
      this.#isDays = /^true$/i.test(value.trim());
    } else if (!BOOKKEEPING.includes(name)) this.#details.push(name);
  }

  #text(name: string): string {
    const property = this.#once.get(name);
    return property === undefined ? '' : textOf(property);
  }

  #time(name: string): Written | undefined {
    const property = this.#once.get(name);
    const time = property && timeOf(property);
    if (property !== undefined && time === undefined) this.#drop('bad_time', property);
    return time;
  }

  #duration(): Duration | undefined {
    const property = this.#once.get('DURATION');
    const duration = property && durationIn(property.value);
    if (property !== undefined && duration === undefined) this.#drop('bad_duration', property);
    return duration;
  }

  /** Without a readable time it stands for the time at which it is itself. */
  #replaces(start: Written | undefined): IcalValue['replaces'] {
    const property = this.#once.get('RECURRENCE-ID');
    const at = this.#time('RECURRENCE-ID') ?? start;
    if (property === undefined || at === undefined) return undefined;
    return { at, isOnward: property.parameters.get('RANGE')?.toUpperCase() === 'THISANDFUTURE' };
  }

  #rules(name: string): readonly Rule[] {
    const read: Rule[] = [];
    for (const property of this.#lists.get(name) ?? []) {
      const rule = read.length < MAX_RULES ? ruleIn(property.value) : undefined;
      if (rule === undefined) this.#drop('bad_rule', property);
      else read.push(rule);
    }
    return read;
  }

  /** Of lists of times those that can be read; a line with another one is said to have it. */
  #many<T>(name: string, read: (property: Property) => readonly (T | undefined)[]): readonly T[] {
    return (this.#lists.get(name) ?? []).flatMap((property) => {
      const all = read(property);
      const good = all.filter((one) => one !== undefined);
      if (good.length < all.length) this.#drop('bad_time', property);
      return good;
    });
  }

  #drop(reason: Reason, { name, line, value }: Property): void {
    this.#drops.add(name, reason, line, value === '' ? 'empty' : value);
  }
}
