import type { Rule } from './rule.ts';
import { modulo, RuleDays } from './rule-days.ts';
import { DAY_MS, SECOND_MS } from './values.ts';

/** The part of time in which a rule is followed, in milliseconds as a clock at its place shows them. */
export type Stretch = {
  /** The first time of what repeats. */
  readonly startMs: number;
  /** The last moment that the rule allows; undefined for no such. */
  readonly untilMs: number | undefined;
  /** Times before this need not be worked out. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Takes steps of the work, of which all are about as long; `false` ends it. */
  readonly take: (steps: number) => boolean;
};

/**
 * The times of a rule, in order. It goes from day to day and keeps the days that fit, so that nothing that a rule says
 * keeps it from the end of the stretch. Without a COUNT it begins with the stretch, however long ago the first time was.
 * Returns whether the rule goes on behind the stretch.
 */
export function* timesOfRule(rule: Rule, stretch: Stretch): Generator<number, boolean> {
  const { startMs, untilMs = Number.POSITIVE_INFINITY, fromMs } = stretch;
  const { count = Number.POSITIVE_INFINITY } = rule;
  const lastMs = Math.min(stretch.toMs, untilMs);
  const firstMs = rule.count === undefined ? Math.max(startMs, fromMs) : startMs;
  let counted = 0;
  for (const atMs of chosenTimes(rule, { ...stretch, fromMs: firstMs, toMs: lastMs })) {
    if (atMs < startMs) continue;
    if (atMs > lastMs) break;
    counted += 1;
    if (atMs >= fromMs) yield atMs;
    if (counted >= count) return false;
  }
  return untilMs > stretch.toMs;
}

/** Of the periods that are longer than a day, days at most. */
const LENGTHS = new Map<Rule['frequency'], number>([
  ['WEEKLY', 7],
  ['MONTHLY', 31],
  ['YEARLY', 366],
]);

/** All times of the days that fit, or, of each period of the rule, those that BYSETPOS names. */
function* chosenTimes(rule: Rule, { startMs, fromMs, toMs, take }: Stretch): Generator<number> {
  const days = new RuleDays(rule, Math.floor(startMs / DAY_MS));
  const clock = new RuleClock(rule, startMs);
  const firstDay = Math.floor(fromMs / DAY_MS);
  if (rule.positions === undefined) {
    yield* timesOfDays(days, clock, firstDay, toMs, take);
    return;
  }
  let period: number[] = [];
  let name: number | undefined;
  // The period that ends behind the stretch is counted through, too.
  const lastMs = toMs + (LENGTHS.get(rule.frequency) ?? 1) * DAY_MS;
  for (const atMs of timesOfDays(days, clock, days.periodOf(firstDay), lastMs, take)) {
    const its = clock.periodOf(atMs) ?? days.periodOf(Math.floor(atMs / DAY_MS));
    if (its !== name) {
      yield* atPositions(period, rule.positions);
      period = [];
    }
    name = its;
    period.push(atMs);
  }
  // Of a period that was given up nobody knows which its last times are.
  if (take(0)) yield* atPositions(period, rule.positions);
}

function atPositions(period: readonly number[], positions: ReadonlySet<number>): readonly number[] {
  return period.filter((_, at) => positions.has(at + 1) || positions.has(at - period.length));
}

function* timesOfDays(days: RuleDays, clock: RuleClock, firstDay: number, toMs: number, take: Stretch['take']) {
  for (let day = firstDay; day * DAY_MS <= toMs; ) {
    if (!take(1)) return;
    const next = days.next(day);
    if (next === day) {
      for (const atMs of clock.timesOn(day)) {
        if (!take(1)) return;
        if (atMs !== undefined) yield atMs;
      }
    }
    day = Math.max(next, day + 1);
  }
}

const DAY_S = 86_400;

/** The units of those that repeat more often than daily, in seconds. */
const UNITS = new Map<Rule['frequency'], number>([
  ['SECONDLY', 1],
  ['MINUTELY', 60],
  ['HOURLY', 3_600],
]);

/** Up to 59, the hours of a day among them. */
const NUMBERS: readonly number[] = Array.from({ length: 60 }, (_, number) => number);
const HOURS = NUMBERS.slice(0, 24);

/** The times of day of a rule: units that the rule repeats by, or whole days, and the same times within each of them. */
class RuleClock {
  readonly #rule: Rule;
  readonly #unitS: number;
  readonly #startUnit: number;
  readonly #stride: number;
  /** The units of a day that the rule allows, by hour, minute and second. */
  readonly #allowed: readonly (readonly number[])[];
  /** The times within a unit, milliseconds. */
  readonly #within: readonly number[];

  constructor(rule: Rule, startMs: number) {
    const unitS = UNITS.get(rule.frequency) ?? DAY_S;
    const start = modulo(startMs, DAY_MS) / SECOND_MS;
    const [hours, minutes, seconds] = [rule.hours, rule.minutes, rule.seconds].map(sorted);
    this.#rule = rule;
    this.#unitS = unitS;
    this.#startUnit = Math.floor(startMs / SECOND_MS / unitS);
    this.#stride = unitS === DAY_S ? 1 : rule.interval;
    this.#allowed = [
      unitS === DAY_S ? [0] : (hours ?? HOURS),
      unitS > 60 ? [0] : (minutes ?? NUMBERS),
      unitS > 1 ? [0] : (seconds ?? NUMBERS),
    ];
    const within = secondsOf([
      unitS < DAY_S ? [0] : (hours ?? [Math.floor(start / 3_600)]),
      unitS <= 60 ? [0] : (minutes ?? [Math.floor(start / 60) % 60]),
      unitS === 1 ? [0] : (seconds ?? [start % 60]),
    ]);
    this.#within = [...within].map((second) => second * SECOND_MS);
  }

  /** The times of a day, and `undefined` for each place where one was looked for in vain. */
  *timesOn(day: number): Generator<number | undefined> {
    for (const unit of this.#unitsOn(day)) {
      if (unit === undefined) yield undefined;
      else for (const ms of this.#within) yield day * DAY_MS + unit * this.#unitS * SECOND_MS + ms;
    }
  }

  /** What names the second, minute or hour of a time; undefined where the rule does not repeat by those. */
  periodOf(atMs: number): number | undefined {
    return this.#unitS === DAY_S ? undefined : Math.floor(atMs / SECOND_MS / this.#unitS);
  }

  /** Goes through those of the interval or through those that are allowed, whichever are fewer. */
  *#unitsOn(day: number): Generator<number | undefined> {
    const perDay = DAY_S / this.#unitS;
    const first = modulo(this.#startUnit - day * perDay, this.#stride);
    if (perDay / this.#stride < this.#allowed.reduce((product, { length }) => product * length, 1)) {
      for (let unit = first; unit < perDay; unit += this.#stride) yield this.#allows(unit) ? unit : undefined;
      return;
    }
    for (const second of secondsOf(this.#allowed)) {
      const unit = second / this.#unitS;
      yield modulo(unit - first, this.#stride) === 0 ? unit : undefined;
    }
  }

  #allows(unit: number): boolean {
    const { hours, minutes, seconds } = this.#rule;
    const second = unit * this.#unitS;
    if (hours?.has(Math.floor(second / 3_600)) === false) return false;
    if (this.#unitS <= 60 && minutes?.has(Math.floor(second / 60) % 60) === false) return false;
    return !(this.#unitS === 1 && seconds?.has(second % 60) === false);
  }
}

/** The seconds of a day, out of its hours, minutes and seconds. */
function* secondsOf([hours = [], minutes = [], seconds = []]: readonly (readonly number[])[]): Generator<number> {
  for (const hour of hours) {
    for (const minute of minutes) for (const second of seconds) yield hour * 3_600 + minute * 60 + second;
  }
}

function sorted(numbers: ReadonlySet<number> | undefined): readonly number[] | undefined {
  return numbers && [...numbers].sort((one, other) => one - other);
}
