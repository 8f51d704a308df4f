import { type Stretch, timesOfRule } from './expand-recurrence.ts';
import type { IcalValue } from './ical-value.ts';
import type { Rule } from './rule.ts';
import type { Reason } from './skipped.ts';
import { dayShown, midnightOf, type Times } from './times.ts';
import { DAY_MS, type Duration, type Written } from './values.ts';
import { Steps } from './work-budget.ts';

/** The days within which what repeats is brought in, `YYYY-MM-DD`, both included. */
export type Horizon = { readonly from: string; readonly to: string };

/** One time of something that repeats. `day`: which one it is, the same in every version of the file. */
export type Repetition = {
  readonly day: string;
  readonly start: Written;
  readonly end: Written | undefined;
  /** Where it is said: in the series, or in an exception of it. */
  readonly of: IcalValue;
};

/** Of one series: daily through all of the horizon. */
const MAX_TIMES = 1_100;
/** Of one series: every day of thirteen centuries, or every second of five days. */
const MAX_STEPS = 500_000;
/** Clocks of two places are never further from each other. */
const MAX_APART_MS = 2 * DAY_MS;

export type RepeatedPorts = {
  readonly times: Times;
  readonly horizon: Horizon;
  readonly steps: Steps;
  /** Hears of what is left out. */
  readonly drop: (reason: Reason) => void;
};

/** An event that says when it begins. */
export type Begun = IcalValue & { readonly start: Written };

/** Every time of a series within the horizon, with its exceptions; `drop` hears of those that are not. */
export function* repetitionsOf(
  master: Begun,
  overrides: readonly Begun[],
  { times, horizon, steps, drop }: RepeatedPorts,
): Generator<Repetition> {
  const [fromMs, toMs] = [Date.parse(horizon.from), Date.parse(horizon.to) + DAY_MS];
  const isWithin = (atMs: number) => atMs >= fromMs && atMs < toMs;
  const series = new Series(master, overrides, times, horizon, steps);
  const numbered = numbering();
  const seen = new Set<IcalValue>();
  const left = new Set<Reason>();
  if (times.converted(master.start) < fromMs) left.add('repeated_before');
  let count = 0;
  for (const wallMs of series.starts()) {
    const day = numbered(wallMs);
    const atMs = times.converted({ ...master.start, wallMs });
    if (atMs >= toMs) left.add('repeated_after');
    if (!isWithin(atMs)) continue;
    const { of, start, end } = series.at(wallMs);
    seen.add(of);
    count += 1;
    if (count > MAX_TIMES) break;
    yield { day: day(), start, end, of };
  }
  if (count > MAX_TIMES || series.isSpent) left.add('repeated_too_often');
  else if (series.goesOn) left.add('repeated_after');
  for (const reason of left) drop(reason);
  // Exceptions of times that the series does not have.
  for (const of of overrides.filter((one) => !seen.has(one))) {
    const day = numbered((of.replaces?.at ?? of.start).wallMs);
    const end = times.endOf(of, of.start, of.end);
    if (isWithin(times.converted(of.start))) yield { day: day(), start: of.start, end, of };
  }
}

/** Whether a rule comes to any time, within eight years: there is a 29th of February in those. */
export function hasTimes(rule: Rule, begun: Begun, times: Times, whole: Steps): boolean {
  const { take } = new Steps(MAX_STEPS, whole);
  const startMs = begun.start.wallMs;
  const stretch = {
    startMs,
    untilMs: untilOf(rule, begun, times),
    fromMs: startMs,
    toMs: startMs + 8 * 366 * DAY_MS,
    take,
  };
  return timesOfRule(rule, stretch).next().done !== true;
}

/** The last moment of a rule as clocks at the place of its event show it; a day is all of it. */
function untilOf({ until }: Rule, { start }: Begun, times: Times): number | undefined {
  if (until === undefined) return undefined;
  if (until.isDate || start.isDate) return midnightOf(until.wallMs) + DAY_MS - 1;
  return until.zone === undefined ? until.wallMs : times.within(start, until);
}

/** The times of a series as clocks at its place show them, milliseconds. */
class Series {
  readonly #master: Begun;
  readonly #times: Times;
  readonly #steps: Steps;
  readonly #stretch: Stretch;
  readonly #exact = new Map<number, Begun>();
  /** Exceptions that all later times follow, the last one first. */
  readonly #onward: (readonly [number, Begun])[] = [];
  readonly #except = new Set<number>();
  readonly #exceptDays = new Set<number>();
  /** Ends of single times. */
  readonly #ends = new Map<number, Written | Duration>();
  #goesOn = false;

  constructor(master: Begun, overrides: readonly Begun[], times: Times, { from, to }: Horizon, whole: Steps) {
    this.#master = master;
    this.#times = times;
    this.#steps = new Steps(MAX_STEPS, whole);
    this.#stretch = {
      startMs: master.start.wallMs,
      untilMs: undefined,
      fromMs: Date.parse(from) - MAX_APART_MS,
      toMs: Date.parse(to) + DAY_MS + MAX_APART_MS,
      take: this.#steps.take,
    };
    for (const one of overrides) {
      if (one.replaces === undefined) continue;
      const wallMs = this.#within(one.replaces.at);
      if (one.replaces.isOnward) this.#onward.push([wallMs, one]);
      else this.#exact.set(wallMs, one);
    }
    this.#onward.sort(([one], [other]) => other - one);
    for (const time of master.except) {
      if (time.isDate) this.#exceptDays.add(time.wallMs);
      else this.#except.add(this.#within(time));
    }
  }

  /** Whether it was given up before its end. */
  get isSpent(): boolean {
    return this.#steps.areSpent;
  }

  /** Whether there are times behind the horizon. */
  get goesOn(): boolean {
    return this.#goesOn;
  }

  /** In order and each once: those of the rules and those beside them, without those that are left out. */
  *starts(): Generator<number> {
    const { rules, exceptRules, start } = this.#master;
    const walls = this.#master.more.map((period) => {
      const wallMs = this.#within(period.start);
      if (period.end !== undefined) this.#ends.set(wallMs, period.end);
      return wallMs;
    });
    if (rules.length === 0) walls.push(start.wallMs);
    const except = merged(exceptRules.map((rule) => this.#followed(rule)));
    let left = except.next();
    for (const wallMs of merged([...rules.map((rule) => this.#followed(rule)), walls.sort((a, b) => a - b).values()])) {
      while (left.done !== true && left.value < wallMs) left = except.next();
      const isLeftOut = (left.done !== true && left.value === wallMs) || this.#except.has(wallMs);
      if (!isLeftOut && !this.#exceptDays.has(midnightOf(wallMs))) yield wallMs;
    }
  }

  /** What is said of the time that begins then. */
  at(wallMs: number): { of: IcalValue; start: Written; end: Written | undefined } {
    const exact = this.#exact.get(wallMs);
    if (exact !== undefined) return this.#said(exact, exact.start, exact.end);
    const [atMs = 0, onward] = this.#onward.find(([fromMs]) => fromMs <= wallMs) ?? [];
    if (onward !== undefined) {
      return this.#said(onward, { ...onward.start, wallMs: onward.start.wallMs + wallMs - atMs }, onward.end);
    }
    const start = { ...this.#master.start, wallMs };
    const own = this.#ends.get(wallMs);
    if (own === undefined || 'days' in own) return this.#said(this.#master, start, own ?? this.#master.end);
    // The end of a period is itself, not as far from its beginning as that of the first time.
    return this.#said({ ...this.#master, start }, start, own, this.#master);
  }

  #said(found: IcalValue, start: Written, end: IcalValue['end'], of = found) {
    return { of, start, end: this.#times.endOf(found, start, end) };
  }

  #within(time: Written): number {
    return this.#times.within(this.#master.start, time);
  }

  *#followed(rule: Rule): Generator<number> {
    const goesOn = yield* timesOfRule(rule, { ...this.#stretch, untilMs: untilOf(rule, this.#master, this.#times) });
    this.#goesOn ||= goesOn;
  }
}

/** Numbers in order, out of several that are, each once. */
function* merged(sources: readonly Iterator<number>[]): Generator<number> {
  const heads = sources.map((source) => source.next());
  for (let last: number | undefined; ; ) {
    let lowest = Number.POSITIVE_INFINITY;
    for (const head of heads) if (head.done !== true) lowest = Math.min(lowest, head.value);
    if (lowest === Number.POSITIVE_INFINITY) return;
    for (const [index, head] of heads.entries()) {
      const source = sources[index];
      if (head.done !== true && head.value === lowest && source !== undefined) heads[index] = source.next();
    }
    if (lowest !== last) yield lowest;
    last = lowest;
  }
}

/** Names times by their day, and the second of a day by its number. */
export function numbering(): (wallMs: number) => () => string {
  const numbers = new Map<number, number>();
  return (wallMs) => {
    const midnight = midnightOf(wallMs);
    const number = (numbers.get(midnight) ?? 0) + 1;
    numbers.set(midnight, number);
    return () => `${dayShown(midnight)} ${number}`;
  };
}
