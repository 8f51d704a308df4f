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

/** A parsed VEVENT of the file. `lineNumber` is the number of its first line, counted from 1. */
export type IcalEvent = {
  readonly lineNumber: number;
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
  readonly recurrenceId: { readonly overriddenTime: IcalTime; readonly isThisAndFuture: boolean } | undefined;
  /** Names of the properties and components that are not imported, because an event has no field for them. */
  readonly unsupportedNames: readonly string[];
};

/** Properties that are ignored and not reported. */
const IGNORED_PROPERTIES = ['DTSTAMP', 'CREATED', 'LAST-MODIFIED'];

/** Properties that may occur once in an event. Repeated ones are left out and reported. */
const SINGLE_PROPERTIES = ['DTSTART', 'DTEND', 'DURATION', 'UID', 'SUMMARY', 'SEQUENCE', 'STATUS', 'RECURRENCE-ID'];
/** Properties that may occur several times in an event. */
const REPEATABLE_PROPERTIES = ['RRULE', 'EXRULE', 'RDATE', 'EXDATE'];

/** Maximum number of rules in an event. Real events have far fewer. */
const MAX_RULES = 20;

/** Parses a VEVENT. A line that cannot be parsed is left out and reported; the rest of the event is used. */
export function parseEvent(component: IcalComponent, skipReport: SkipReport): IcalEvent {
  const parser = new EventParser(component, skipReport);
  return parser.parse();
}

class EventParser {
  readonly #component: IcalComponent;
  readonly #skipReport: SkipReport;
  readonly #singleProperties = new Map<string, IcalProperty>();
  readonly #repeatableProperties = new Map<string, IcalProperty[]>();
  readonly #unsupportedNames: string[] = [];
  #isMarkedAllDay = false;

  constructor(component: IcalComponent, skipReport: SkipReport) {
    this.#component = component;
    this.#skipReport = skipReport;
    for (const line of component.lines) {
      const property = parseProperty(line);
      if (property === undefined) skipReport.add('line', 'malformed_line', line.lineNumber, line.text);
      else this.#addProperty(property);
    }
  }

  parse(): IcalEvent {
    const { lineNumber, lines, components } = this.#component;
    const uid = this.#parseText('UID').trim();
    const start = this.#parseTime('DTSTART');
    return {
      lineNumber,
      // The contents identify an event that has no UID.
      uid: uid === '' ? `without ${lines.map(({ text }) => text).join('\n')}` : uid,
      name: this.#parseText('SUMMARY').toWellFormed().replaceAll('\0', '').trim(),
      sequence: Number(this.#parseText('SEQUENCE')) || 0,
      isCancelled: /^cancelled$/i.test(this.#parseText('STATUS').trim()),
      isMarkedAllDay: this.#isMarkedAllDay,
      start,
      end: this.#parseTime('DTEND') ?? this.#parseDuration(),
      rules: this.#parseRules('RRULE'),
      extraTimes: this.#parseTimeList('RDATE', parsePeriods),
      excludedRules: this.#parseRules('EXRULE'),
      excludedTimes: this.#parseTimeList('EXDATE', parseTimes),
      recurrenceId: this.#parseRecurrenceId(start),
      unsupportedNames: [...this.#unsupportedNames, ...components.map(({ name }) => name)],
    };
  }

  #addProperty(property: IcalProperty): void {
    const { name, value } = property;
    if (SINGLE_PROPERTIES.includes(name)) {
      if (this.#singleProperties.has(name)) this.#reportSkipped('repeated_property', property);
      else this.#singleProperties.set(name, property);
    } else if (REPEATABLE_PROPERTIES.includes(name)) {
      const sameNameProperties = this.#repeatableProperties.get(name) ?? [];
      sameNameProperties.push(property);
      this.#repeatableProperties.set(name, sameNameProperties);
    } else if (name === 'X-MICROSOFT-CDO-ALLDAYEVENT') {
      this.#isMarkedAllDay = /^true$/i.test(value.trim());
    } else if (!IGNORED_PROPERTIES.includes(name)) this.#unsupportedNames.push(name);
  }

  #parseText(name: string): string {
    const property = this.#singleProperties.get(name);
    return property === undefined ? '' : unescapeText(property);
  }

  #parseTime(name: string): IcalTime | undefined {
    const property = this.#singleProperties.get(name);
    const time = property && parsePropertyTime(property);
    if (property !== undefined && time === undefined) this.#reportSkipped('bad_time', property);
    return time;
  }

  #parseDuration(): IcalDuration | undefined {
    const property = this.#singleProperties.get('DURATION');
    const duration = property && parseDuration(property.value);
    if (property !== undefined && duration === undefined) this.#reportSkipped('bad_duration', property);
    return duration;
  }

  /** Parses RECURRENCE-ID. If its time cannot be parsed, the start of the event is used. */
  #parseRecurrenceId(start: IcalTime | undefined): IcalEvent['recurrenceId'] {
    const property = this.#singleProperties.get('RECURRENCE-ID');
    const overriddenTime = this.#parseTime('RECURRENCE-ID') ?? start;
    if (property === undefined || overriddenTime === undefined) return undefined;
    return { overriddenTime, isThisAndFuture: property.parameters.get('RANGE')?.toUpperCase() === 'THISANDFUTURE' };
  }

  #parseRules(name: string): readonly RecurrenceRule[] {
    const parsedRules: RecurrenceRule[] = [];
    for (const property of this.#repeatableProperties.get(name) ?? []) {
      const rule = parsedRules.length < MAX_RULES ? parseRule(property.value) : undefined;
      if (rule === undefined) this.#reportSkipped('bad_rule', property);
      else parsedRules.push(rule);
    }
    return parsedRules;
  }

  /** Parses the times of a list property. A line with an invalid time is reported, and its valid times are used. */
  #parseTimeList<T>(name: string, parseValues: (property: IcalProperty) => readonly (T | undefined)[]): readonly T[] {
    return (this.#repeatableProperties.get(name) ?? []).flatMap((property) => {
      const parsedValues = parseValues(property);
      const validValues = parsedValues.filter((value) => value !== undefined);
      if (validValues.length < parsedValues.length) this.#reportSkipped('bad_time', property);
      return validValues;
    });
  }

  #reportSkipped(reason: SkipReason, { name, lineNumber, value }: IcalProperty): void {
    this.#skipReport.add(name, reason, lineNumber, value === '' ? 'empty' : value);
  }
}
