import type { Component } from './line-reader.ts';
import { type Rule, ruleIn } from './rule.ts';
import type { Reason, SkippedLines } from './skipped.ts';
import {
  type Duration,
  durationIn,
  type Period,
  type Property,
  periodsOf,
  propertyIn,
  textOf,
  timeOf,
  timesOf,
  type Written,
} from './values.ts';

/** A parsed VEVENT of the file. `line` is the number of its first line, counted from 1. */
export type IcalValue = {
  readonly line: number;
  readonly uid: string;
  /** The summary, trimmed. */
  readonly name: string;
  /** SEQUENCE: of several versions of an event, the one with the highest number is valid. */
  readonly sequence: number;
  readonly isCancelled: boolean;
  /** Whether X-MICROSOFT-CDO-ALLDAYEVENT marks the event as all-day, regardless of how its times are written. */
  readonly isDays: boolean;
  readonly start: Written | undefined;
  readonly end: Written | Duration | undefined;
  readonly rules: readonly Rule[];
  /** RDATE: times of the series in addition to those of the rules. */
  readonly more: readonly Period[];
  readonly exceptRules: readonly Rule[];
  readonly except: readonly Written[];
  /** RECURRENCE-ID: the time of the series that this event overrides, and whether it also overrides all later times. */
  readonly replaces: { readonly at: Written; readonly isThisAndFuture: boolean } | undefined;
  /** Names of the properties and components that are not imported, because an event has no field for them. */
  readonly details: readonly string[];
};

/** Properties that are ignored and not reported. */
const BOOKKEEPING = ['DTSTAMP', 'CREATED', 'LAST-MODIFIED'];

/** Properties that may occur once in an event. Repeated ones are left out and reported. */
const ONCE = ['DTSTART', 'DTEND', 'DURATION', 'UID', 'SUMMARY', 'SEQUENCE', 'STATUS', 'RECURRENCE-ID'];
const LISTS = ['RRULE', 'EXRULE', 'RDATE', 'EXDATE'];

/** Maximum number of rules in an event. Real events have far fewer. */
const MAX_RULES = 20;

/** Parses a VEVENT. A line that cannot be parsed is left out and reported; the rest of the event is used. */
export function parseEvent(component: Component, drops: SkippedLines): IcalValue {
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
      if (property === undefined) drops.add('line', 'malformed_line', line.number, line.text);
      else this.#sort(property);
    }
  }

  found(): IcalValue {
    const { line, lines, components } = this.#component;
    const uid = this.#text('UID').trim();
    const start = this.#time('DTSTART');
    return {
      line,
      // The contents identify an event that has no UID.
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
      if (this.#once.has(name)) this.#drop('repeated_property', property);
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

  /** Parses RECURRENCE-ID. If its time cannot be parsed, the start of the event is used. */
  #replaces(start: Written | undefined): IcalValue['replaces'] {
    const property = this.#once.get('RECURRENCE-ID');
    const at = this.#time('RECURRENCE-ID') ?? start;
    if (property === undefined || at === undefined) return undefined;
    return { at, isThisAndFuture: property.parameters.get('RANGE')?.toUpperCase() === 'THISANDFUTURE' };
  }

  #rules(name: string): readonly Rule[] {
    const parsed: Rule[] = [];
    for (const property of this.#lists.get(name) ?? []) {
      const rule = parsed.length < MAX_RULES ? ruleIn(property.value) : undefined;
      if (rule === undefined) this.#drop('bad_rule', property);
      else parsed.push(rule);
    }
    return parsed;
  }

  /** Parses the times of a list property. A line with an invalid time is reported, and its valid times are used. */
  #many<T>(name: string, parse: (property: Property) => readonly (T | undefined)[]): readonly T[] {
    return (this.#lists.get(name) ?? []).flatMap((property) => {
      const all = parse(property);
      const good = all.filter((one) => one !== undefined);
      if (good.length < all.length) this.#drop('bad_time', property);
      return good;
    });
  }

  #drop(reason: Reason, { name, line, value }: Property): void {
    this.#drops.add(name, reason, line, value === '' ? 'empty' : value);
  }
}
