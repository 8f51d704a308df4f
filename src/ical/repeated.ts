import ICAL from 'ical.js';
import type { Reason } from './dropped.ts';
import { clockTime } from './times.ts';

/** An event of the file, with where it stands. */
export type Found = { readonly line: number; readonly uid: string; readonly component: ICAL.Component };

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

/** Of one series. */
const MOST_TIMES = 1_000;
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
  const event = new ICAL.Event(master.component, { exceptions: overrides.map(({ component }) => component) });
  const byComponent = new Map([master, ...overrides].map((found) => [found.component, found]));
  const seen = new Set<Found>();
  const numbers = new Map<string, number>();
  const times = event.iterator();
  let count = 0;
  for (let step = 0; ; step += 1) {
    const time: ICAL.Time | null = times.next();
    if (time === null || time === undefined) break;
    if (count >= MOST_TIMES || step >= MOST_STEPS) {
      drop('repeated_too_often');
      break;
    }
    const written = time.toString().slice(0, 10);
    const number = (numbers.get(written) ?? 0) + 1;
    numbers.set(written, number);
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
    yield { day: `${written} ${number}`, start: startDate, end: endDate, of };
  }
  yield* leftOver(
    overrides.filter((one) => !seen.has(one)),
    zone,
    { from, to },
  );
}

/** Exceptions of a time that the rule does not come to: they say when they are themselves. */
function* leftOver(overrides: readonly Found[], zone: string, { from, to }: Horizon): Generator<Repetition> {
  for (const of of overrides) {
    const event = new ICAL.Event(of.component, { exceptions: [] });
    const day = clockTime(event.startDate, zone).slice(0, 10);
    if (day < from || day > to) continue;
    yield { day: `${event.recurrenceId.toString().slice(0, 10)} 1`, start: event.startDate, end: event.endDate, of };
  }
}
