import ICAL from 'ical.js';
import type { Reason } from './dropped.ts';
import type { Found } from './found.ts';
import { clockTime } from './times.ts';

/** The days within which what repeats is brought in, `YYYY-MM-DD`, both included. */
export type Horizon = { readonly from: string; readonly to: string };

/** One time of something that repeats. `day`: which one it is, the same in every version of the file. */
export type Repetition = {
  readonly day: string;
  readonly start: ICAL.Time;
  readonly end: ICAL.Time;
  /** Where it is said: in the series, or in an exception of it. */
  readonly of: Found;
};

/** Of one series: daily through all of the horizon. */
const MOST_TIMES = 1_100;
/** So far is looked for times within the horizon: daily since 1900. */
const MOST_STEPS = 50_000;

/** Every time of a series within the horizon, with its exceptions; `drop` hears of those that are not. */
export function* repetitionsOf(
  master: Found,
  overrides: readonly Found[],
  zone: string,
  { from, to }: Horizon,
  drop: (reason: Reason) => void,
): Generator<Repetition> {
  alignLeftOut(master);
  beginWithItself(master.component);
  const event = new ICAL.Event(master.component, { exceptions: overrides.map(({ component }) => component) });
  const byComponent = new Map([master, ...overrides].map((found) => [found.component, found]));
  const seen = new Set<Found>();
  const numbered = numbering();
  const times = event.iterator();
  let count = 0;
  let last = '';
  for (let step = 0; ; step += 1) {
    const time: ICAL.Time | null = times.next();
    if (time === null || time === undefined) break;
    if (count >= MOST_TIMES || step >= MOST_STEPS) {
      drop('repeated_too_often');
      break;
    }
    // What two rules come to, or a rule and a date beside it, is there once.
    if (time.toString() === last) continue;
    last = time.toString();
    const numberedDay = numbered(time);
    const { startDate, endDate, item } = event.getOccurrenceDetails(time);
    const of = byComponent.get(item.component) ?? master;
    const day = clockTime(time, zone).slice(0, 10);
    seen.add(of);
    if (day > to) {
      drop('repeated_after');
      break;
    }
    if (day < from) {
      drop('repeated_before');
      continue;
    }
    count += 1;
    yield { day: numberedDay, start: startDate, end: endDate, of };
  }
  const others = overrides.filter((one) => !seen.has(one));
  for (const one of leftOver(others, numbered)) {
    const day = clockTime(one.start, zone).slice(0, 10);
    if (day >= from && day <= to) yield one;
  }
}

/** Exceptions of a time that no rule comes to: they say when they are themselves. */
function* leftOver(overrides: readonly Found[], numbered: (time: ICAL.Time) => string): Generator<Repetition> {
  for (const of of overrides) {
    const event = new ICAL.Event(of.component, { exceptions: [] });
    yield { day: numbered(event.recurrenceId), start: event.startDate, end: event.endDate, of };
  }
}

/** Names times by their day, and the second of a day by its number. */
export function numbering(): (time: ICAL.Time) => string {
  const numbers = new Map<string, number>();
  return (time) => {
    const day = time.toString().slice(0, 10);
    const number = (numbers.get(day) ?? 0) + 1;
    numbers.set(day, number);
    return `${day} ${number}`;
  };
}

/**
 * With dates alone the reader leaves out the first time, the beginning itself (RFC 5545, 3.8.5.2); with several rules,
 * which there should not be, it loses times.
 */
function beginWithItself(component: ICAL.Component): void {
  const rules = component.getAllProperties('rrule');
  if (rules.length > 1) throw new Error('it repeats by several rules');
  if (rules.length === 1) return;
  component.addPropertyWithValue('rrule', ICAL.Recur.fromString('FREQ=DAILY;COUNT=1'));
}

/** What an exception stands for, written as the times of its series are: the reader compares the texts. */
export function standsFor({ component }: Found, series: Found | undefined): string {
  const property = component.getFirstProperty('recurrence-id');
  const start = series === undefined ? undefined : startOf(series);
  if (start !== undefined) property?.setValue(alike(property.getFirstValue(), start));
  return `${property?.getFirstValue()} ${property?.getFirstParameter('range') ?? ''}`;
}

/** The same for the times that a series leaves out; a day leaves out all times of it. */
function alignLeftOut(series: Found): void {
  const start = startOf(series);
  if (start === undefined) return;
  for (const property of series.component.getAllProperties('exdate')) {
    const isDay = (time: unknown) => time instanceof ICAL.Time && time.isDate;
    property.setValues(property.getValues().map((time: unknown) => (isDay(time) ? time : alike(time, start))));
  }
}

function startOf({ component }: Found): ICAL.Time | undefined {
  const start: unknown = component.getFirstPropertyValue('dtstart');
  return start instanceof ICAL.Time ? start : undefined;
}

function alike(time: unknown, start: ICAL.Time): unknown {
  if (!(time instanceof ICAL.Time)) return time;
  if (start.isDate) return ICAL.Time.fromDateString(time.toString().slice(0, 10));
  if (!time.isDate && !isFloating(time)) return isFloating(start) ? time : time.convertToZone(start.zone);
  const { year, month, day } = time;
  const { hour, minute, second } = time.isDate ? start : time;
  return ICAL.Time.fromData({ year, month, day, hour, minute, second }, start.zone);
}

const isFloating = ({ zone }: ICAL.Time): boolean => (zone?.tzid ?? 'floating') === 'floating';
