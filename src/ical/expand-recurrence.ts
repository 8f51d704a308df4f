import { modulo, type RecurrenceRule, RuleDays } from './rule.ts';
import { DAY_MS, SECOND_MS } from './values.ts';

/** The range in which a rule is expanded, in milliseconds of local (wall-clock) time. */
export type ExpansionRange = {
  /** DTSTART: the first time of the series. */
  readonly startMs: number;
  /** UNTIL: the last allowed time; undefined if the rule has none. */
  readonly untilMs: number | undefined;
  /** Start of the range. Earlier times are not yielded. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Consumes steps of the work budget. If `take` returns false, the expansion stops. */
  readonly take: (steps: number) => boolean;
};

/**
 * Yields the times of a rule in order. The expansion goes from day to day, so that it reaches the end of the range with
 * any rule. Without COUNT it begins at the start of the range, however long ago DTSTART was. Returns whether the rule
 * continues after the range.
 */
export function* expandRule(rule: RecurrenceRule, range: ExpansionRange): Generator<number, boolean> {
  const { startMs, untilMs = Number.POSITIVE_INFINITY, fromMs } = range;
  const { count = Number.POSITIVE_INFINITY } = rule;
  const lastMs = Math.min(range.toMs, untilMs);
  const firstMs = rule.count === undefined ? Math.max(startMs, fromMs) : startMs;
  let counted = 0;
  for (const atMs of selectTimes(rule, { ...range, fromMs: firstMs, toMs: lastMs })) {
    if (atMs < startMs) continue;
    if (atMs > lastMs) break;
    counted += 1;
    if (atMs >= fromMs) yield atMs;
    if (counted >= count) return false;
  }
  return untilMs > range.toMs;
}

/** Maximum length in days of the periods that are longer than a day. */
const MAX_PERIOD_DAYS = new Map<RecurrenceRule['frequency'], number>([
  ['WEEKLY', 7],
  ['MONTHLY', 31],
  ['YEARLY', 366],
]);

/** Yields all matching times. With BYSETPOS, yields only the times of each period that BYSETPOS selects. */
function* selectTimes(rule: RecurrenceRule, { startMs, fromMs, toMs, take }: ExpansionRange): Generator<number> {
  const days = new RuleDays(rule, Math.floor(startMs / DAY_MS));
  const clock = new RuleClock(rule, startMs);
  const firstDay = Math.floor(fromMs / DAY_MS);
  if (rule.positions === undefined) {
    yield* timesOfDays(days, clock, firstDay, toMs, take);
    return;
  }
  let period: number[] = [];
  let currentPeriod: number | undefined;
  // The last period is expanded to its end, even beyond the range, because BYSETPOS can count from the end of a period.
  const lastMs = toMs + (MAX_PERIOD_DAYS.get(rule.frequency) ?? 1) * DAY_MS;
  for (const atMs of timesOfDays(days, clock, days.periodOf(firstDay), lastMs, take)) {
    const periodOfTime = clock.periodOf(atMs) ?? days.periodOf(Math.floor(atMs / DAY_MS));
    if (periodOfTime !== currentPeriod) {
      yield* selectPositions(period, rule.positions);
      period = [];
    }
    currentPeriod = periodOfTime;
    period.push(atMs);
  }
  // If the budget ran out, the last period is incomplete and its positions are unknown.
  if (take(0)) yield* selectPositions(period, rule.positions);
}

function selectPositions(period: readonly number[], positions: ReadonlySet<number>): readonly number[] {
  return period.filter((_, at) => positions.has(at + 1) || positions.has(at - period.length));
}

/** Yields all times of the matching days. */
function* timesOfDays(days: RuleDays, clock: RuleClock, firstDay: number, toMs: number, take: ExpansionRange['take']) {
  for (let day = firstDay; day * DAY_MS <= toMs; ) {
    if (!take(1)) return;
    const next = days.nextCandidate(day);
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

/** Length in seconds of one unit of each frequency that is shorter than a day. */
const UNIT_S = new Map<RecurrenceRule['frequency'], number>([
  ['SECONDLY', 1],
  ['MINUTELY', 60],
  ['HOURLY', 3_600],
]);

/** The numbers from 0 to 59: all minutes of an hour, or all seconds of a minute. */
const ZERO_TO_59: readonly number[] = Array.from({ length: 60 }, (_, number) => number);
const HOURS = ZERO_TO_59.slice(0, 24);

/**
 * Computes the times of day of a rule. The rule selects units of a day (hours, minutes, seconds, or the whole day) and
 * has the same times within each unit.
 */
class RuleClock {
  readonly #rule: RecurrenceRule;
  readonly #unitS: number;
  readonly #startUnit: number;
  readonly #stride: number;
  /** Allowed hours, minutes and seconds that select units. A part that does not select units is `[0]`. */
  readonly #allowedParts: readonly (readonly number[])[];
  /** Times within each unit, in milliseconds from its start. */
  readonly #timesWithinUnit: readonly number[];

  constructor(rule: RecurrenceRule, startMs: number) {
    const unitS = UNIT_S.get(rule.frequency) ?? DAY_S;
    const start = modulo(startMs, DAY_MS) / SECOND_MS;
    const [hours, minutes, seconds] = [rule.hours, rule.minutes, rule.seconds].map(toSortedArray);
    this.#rule = rule;
    this.#unitS = unitS;
    this.#startUnit = Math.floor(startMs / SECOND_MS / unitS);
    this.#stride = unitS === DAY_S ? 1 : rule.interval;
    this.#allowedParts = [
      unitS === DAY_S ? [0] : (hours ?? HOURS),
      unitS > 60 ? [0] : (minutes ?? ZERO_TO_59),
      unitS > 1 ? [0] : (seconds ?? ZERO_TO_59),
    ];
    const within = secondsOf([
      unitS < DAY_S ? [0] : (hours ?? [Math.floor(start / 3_600)]),
      unitS <= 60 ? [0] : (minutes ?? [Math.floor(start / 60) % 60]),
      unitS === 1 ? [0] : (seconds ?? [start % 60]),
    ]);
    this.#timesWithinUnit = [...within].map((second) => second * SECOND_MS);
  }

  /**
   * Yields the times of a day. Yields `undefined` for each rejected candidate, so that the candidate counts as work.
   */
  *timesOn(day: number): Generator<number | undefined> {
    for (const unit of this.#unitsOn(day)) {
      if (unit === undefined) yield undefined;
      else for (const ms of this.#timesWithinUnit) yield day * DAY_MS + unit * this.#unitS * SECOND_MS + ms;
    }
  }

  /**
   * Returns a number that identifies the second, minute or hour of a time; undefined if the frequency is daily or
   * longer.
   */
  periodOf(atMs: number): number | undefined {
    return this.#unitS === DAY_S ? undefined : Math.floor(atMs / SECOND_MS / this.#unitS);
  }

  /**
   * Yields the units of a day. Iterates over the units of the interval or over the allowed units, whichever are fewer.
   */
  *#unitsOn(day: number): Generator<number | undefined> {
    const perDay = DAY_S / this.#unitS;
    const first = modulo(this.#startUnit - day * perDay, this.#stride);
    if (perDay / this.#stride < this.#allowedParts.reduce((product, { length }) => product * length, 1)) {
      for (let unit = first; unit < perDay; unit += this.#stride) yield this.#allows(unit) ? unit : undefined;
      return;
    }
    for (const second of secondsOf(this.#allowedParts)) {
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

/** Yields the second of the day for each combination of hour, minute and second. */
function* secondsOf([hours = [], minutes = [], seconds = []]: readonly (readonly number[])[]): Generator<number> {
  for (const hour of hours) {
    for (const minute of minutes) for (const second of seconds) yield hour * 3_600 + minute * 60 + second;
  }
}

function toSortedArray(numbers: ReadonlySet<number> | undefined): readonly number[] | undefined {
  return numbers && [...numbers].sort((one, other) => one - other);
}

/** A work budget in steps. It can be part of a larger budget: `take` then consumes steps of both. */
export class WorkBudget {
  readonly #parent: WorkBudget | undefined;
  #left: number;

  constructor(max: number, parent?: WorkBudget) {
    this.#left = max;
    this.#parent = parent;
  }

  get isSpent(): boolean {
    return this.#left < 0;
  }

  /** Consumes steps. Returns false if this budget or its parent is used up. */
  readonly take = (count: number): boolean => {
    this.#left -= count;
    const isWithin = this.#parent?.take(count) ?? true;
    return isWithin && this.#left >= 0;
  };
}
