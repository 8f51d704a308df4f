import type { IcalComponent } from './line-reader.ts';
import { parseRule, type RecurrenceRule } from './rule.ts';
import type { SkipReason, SkipReport } from './skipped.ts';
import {
  type IcalDuration,
  type IcalPeriod,
  type IcalProperty,
  type IcalTime,
  parseDuration,
  parsePeriods,
  parseProperty,
  parsePropertyTime,
  parseTimes,
  unescapeText,
} from './values.ts';

/** A parsed VEVENT of the file. `line` is the number of its first line, counted from 1. */
export type IcalEvent = {
  readonly line: number;
  readonly uid: string;
  /** The summary, trimmed. */
  readonly name: string;
  /** SEQUENCE: of several versions of an event, the one with the highest number is valid. */
  readonly sequence: number;
  readonly isCancelled: boolean;
  /** Whether X-MICROSOFT-CDO-ALLDAYEVENT marks the event as all-day, regardless of how its times are written. */
  readonly isMarkedAllDay: boolean;
  readonly start: IcalTime | undefined;
  readonly end: IcalTime | IcalDuration | undefined;
  readonly rules: readonly RecurrenceRule[];
  /** RDATE: times of the series in addition to those of the rules. */
  readonly extraTimes: readonly IcalPeriod[];
  readonly excludedRules: readonly RecurrenceRule[];
  readonly excludedTimes: readonly IcalTime[];
  /** RECURRENCE-ID: the time of the series that this event overrides, and whether it also overrides all later times. */
  readonly replaces: { readonly at: IcalTime; readonly isThisAndFuture: boolean } | undefined;
  /** Names of the properties and components that are not imported, because an event has no field for them. */
  readonly unsupportedNames: readonly string[];
};

/** Properties that are ignored and not reported. */
const IGNORED_PROPERTIES = ['DTSTAMP', 'CREATED', 'LAST-MODIFIED'];

/** Properties that may occur once in an event. Repeated ones are left out and reported. */
const SINGLE_PROPERTIES = ['DTSTART', 'DTEND', 'DURATION', 'UID', 'SUMMARY', 'SEQUENCE', 'STATUS', 'RECURRENCE-ID'];
const LIST_PROPERTIES = ['RRULE', 'EXRULE', 'RDATE', 'EXDATE'];

/** Maximum number of rules in an event. Real events have far fewer. */
const MAX_RULES = 20;

/** Parses a VEVENT. A line that cannot be parsed is left out and reported; the rest of the event is used. */
export function parseEvent(component: IcalComponent, drops: SkipReport): IcalEvent {
  const reading = new EventParser(component, drops);
  return reading.parse();
}

class EventParser {
  readonly #component: IcalComponent;
  readonly #drops: SkipReport;
  readonly #once = new Map<string, IcalProperty>();
  readonly #lists = new Map<string, IcalProperty[]>();
  readonly #details: string[] = [];
  #isDays = false;

  constructor(component: IcalComponent, drops: SkipReport) {
    this.#component = component;
    this.#drops = drops;
    for (const line of component.lines) {
      const property = parseProperty(line);
      if (property === undefined) drops.add('line', 'malformed_line', line.number, line.text);
      else this.#addProperty(property);
    }
  }

  parse(): IcalEvent {
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
      isMarkedAllDay: this.#isDays,
      start,
      end: this.#time('DTEND') ?? this.#duration(),
      rules: this.#rules('RRULE'),
      extraTimes: this.#parseList('RDATE', parsePeriods),
      excludedRules: this.#rules('EXRULE'),
      excludedTimes: this.#parseList('EXDATE', parseTimes),
      replaces: this.#replaces(start),
      unsupportedNames: [...this.#details, ...components.map(({ name }) => name)],
    };
  }

  #addProperty(property: IcalProperty): void {
    const { name, value } = property;
    if (SINGLE_PROPERTIES.includes(name)) {
      if (this.#once.has(name)) this.#drop('repeated_property', property);
      else this.#once.set(name, property);
    } else if (LIST_PROPERTIES.includes(name)) {
      const same = this.#lists.get(name) ?? [];
      same.push(property);
      this.#lists.set(name, same);
    } else if (name === 'X-MICROSOFT-CDO-ALLDAYEVENT') {
      this.#isDays = /^true$/i.test(value.trim());
    } else if (!IGNORED_PROPERTIES.includes(name)) this.#details.push(name);
  }

  #text(name: string): string {
    const property = this.#once.get(name);
    return property === undefined ? '' : unescapeText(property);
  }

  #time(name: string): IcalTime | undefined {
    const property = this.#once.get(name);
    const time = property && parsePropertyTime(property);
    if (property !== undefined && time === undefined) this.#drop('bad_time', property);
    return time;
  }

  #duration(): IcalDuration | undefined {
    const property = this.#once.get('DURATION');
    const duration = property && parseDuration(property.value);
    if (property !== undefined && duration === undefined) this.#drop('bad_duration', property);
    return duration;
  }

  /** Parses RECURRENCE-ID. If its time cannot be parsed, the start of the event is used. */
  #replaces(start: IcalTime | undefined): IcalEvent['replaces'] {
    const property = this.#once.get('RECURRENCE-ID');
    const at = this.#time('RECURRENCE-ID') ?? start;
    if (property === undefined || at === undefined) return undefined;
    return { at, isThisAndFuture: property.parameters.get('RANGE')?.toUpperCase() === 'THISANDFUTURE' };
  }

  #rules(name: string): readonly RecurrenceRule[] {
    const parsed: RecurrenceRule[] = [];
    for (const property of this.#lists.get(name) ?? []) {
      const rule = parsed.length < MAX_RULES ? parseRule(property.value) : undefined;
      if (rule === undefined) this.#drop('bad_rule', property);
      else parsed.push(rule);
    }
    return parsed;
  }

  /** Parses the times of a list property. A line with an invalid time is reported, and its valid times are used. */
  #parseList<T>(name: string, parse: (property: IcalProperty) => readonly (T | undefined)[]): readonly T[] {
    return (this.#lists.get(name) ?? []).flatMap((property) => {
      const all = parse(property);
      const good = all.filter((one) => one !== undefined);
      if (good.length < all.length) this.#drop('bad_time', property);
      return good;
    });
  }

  #drop(reason: SkipReason, { name, line, value }: IcalProperty): void {
    this.#drops.add(name, reason, line, value === '' ? 'empty' : value);
  }
}
