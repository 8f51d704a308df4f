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
 * Yields the times of a rule within the range, in order. The expansion goes through the days of the range, so that it
 * also ends for a rule that has no times. A rule with COUNT is expanded from DTSTART, because all of its times must be
 * counted. Any other rule is expanded from the start of the range. Returns whether the rule may have times after the
 * range.
 */
export function* expandRule(rule: RecurrenceRule, range: ExpansionRange): Generator<number, boolean> {
  const { startMs, untilMs = Number.POSITIVE_INFINITY, fromMs } = range;
  const { count = Number.POSITIVE_INFINITY } = rule;
  const lastMs = Math.min(range.toMs, untilMs);
  const firstMs = rule.count === undefined ? Math.max(startMs, fromMs) : startMs;
  let occurrenceCount = 0;
  for (const atMs of selectTimes(rule, { ...range, fromMs: firstMs, toMs: lastMs })) {
    if (atMs < startMs) continue;
    if (atMs > lastMs) break;
    occurrenceCount += 1;
    if (atMs >= fromMs) yield atMs;
    if (occurrenceCount >= count) return false;
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
  const ruleDays = new RuleDays(rule, Math.floor(startMs / DAY_MS));
  const ruleTimesOfDay = new RuleTimesOfDay(rule, startMs);
  const firstDay = Math.floor(fromMs / DAY_MS);
  if (rule.positions === undefined) {
    yield* generateTimes(ruleDays, ruleTimesOfDay, firstDay, toMs, take);
    return;
  }
  let periodTimes: number[] = [];
  let currentPeriodNumber: number | undefined;
  // The last period is expanded to its end, even beyond the range, because BYSETPOS can count from the end of a period.
  const lastMs = toMs + (MAX_PERIOD_DAYS.get(rule.frequency) ?? 1) * DAY_MS;
  for (const atMs of generateTimes(ruleDays, ruleTimesOfDay, ruleDays.firstDayOfPeriod(firstDay), lastMs, take)) {
    const periodNumber = ruleTimesOfDay.periodNumberOf(atMs) ?? ruleDays.firstDayOfPeriod(Math.floor(atMs / DAY_MS));
    if (periodNumber !== currentPeriodNumber) {
      yield* selectPositions(periodTimes, rule.positions);
      periodTimes = [];
    }
    currentPeriodNumber = periodNumber;
    periodTimes.push(atMs);
  }
  // If the budget ran out, the last period is incomplete and its positions are unknown.
  if (take(0)) yield* selectPositions(periodTimes, rule.positions);
}

function selectPositions(periodTimes: readonly number[], positions: ReadonlySet<number>): readonly number[] {
  return periodTimes.filter((_, index) => positions.has(index + 1) || positions.has(index - periodTimes.length));
}

/** Yields all times of the matching days. */
function* generateTimes(
  ruleDays: RuleDays,
  ruleTimesOfDay: RuleTimesOfDay,
  firstDay: number,
  toMs: number,
  take: ExpansionRange['take'],
) {
  for (let day = firstDay; day * DAY_MS <= toMs; ) {
    if (!take(1)) return;
    const candidateDay = ruleDays.nextCandidateDay(day);
    if (candidateDay === day) {
      for (const atMs of ruleTimesOfDay.timesOn(day)) {
        if (!take(1)) return;
        if (atMs !== undefined) yield atMs;
      }
    }
    day = Math.max(candidateDay, day + 1);
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
 * Computes the times of day of a rule. Its unit is the frequency of the rule (an hour, a minute or a second), or the
 * whole day if the frequency is daily or longer. The rule selects some units of a day, and has the same times within
 * each of them.
 */
class RuleTimesOfDay {
  readonly #rule: RecurrenceRule;
  readonly #unitS: number;
  readonly #startUnit: number;
  readonly #unitInterval: number;
  /**
   * The hours, minutes and seconds of the units that the rule allows; `[0]` for each part that is smaller than a unit.
   */
  readonly #allowedParts: readonly (readonly number[])[];
  /** Times within each unit, in milliseconds from its start. */
  readonly #timesWithinUnit: readonly number[];

  constructor(rule: RecurrenceRule, startMs: number) {
    const unitS = UNIT_S.get(rule.frequency) ?? DAY_S;
    const startSecondOfDay = modulo(startMs, DAY_MS) / SECOND_MS;
    const [hours, minutes, seconds] = [rule.hours, rule.minutes, rule.seconds].map(toSortedArray);
    this.#rule = rule;
    this.#unitS = unitS;
    this.#startUnit = Math.floor(startMs / SECOND_MS / unitS);
    this.#unitInterval = unitS === DAY_S ? 1 : rule.interval;
    this.#allowedParts = [
      unitS === DAY_S ? [0] : (hours ?? HOURS),
      unitS > 60 ? [0] : (minutes ?? ZERO_TO_59),
      unitS > 1 ? [0] : (seconds ?? ZERO_TO_59),
    ];
    const secondsWithinUnit = generateSecondsOfDay([
      unitS < DAY_S ? [0] : (hours ?? [Math.floor(startSecondOfDay / 3_600)]),
      unitS <= 60 ? [0] : (minutes ?? [Math.floor(startSecondOfDay / 60) % 60]),
      unitS === 1 ? [0] : (seconds ?? [startSecondOfDay % 60]),
    ]);
    this.#timesWithinUnit = [...secondsWithinUnit].map((second) => second * SECOND_MS);
  }

  /**
   * Yields the times of a day. Yields `undefined` for each rejected unit, so that the caller counts its check as work.
   */
  *timesOn(day: number): Generator<number | undefined> {
    for (const unit of this.#unitsOn(day)) {
      if (unit === undefined) yield undefined;
      else for (const offsetMs of this.#timesWithinUnit) yield day * DAY_MS + unit * this.#unitS * SECOND_MS + offsetMs;
    }
  }

  /**
   * Returns a number that identifies the second, minute or hour of a time; undefined if the frequency is daily or
   * longer.
   */
  periodNumberOf(atMs: number): number | undefined {
    return this.#unitS === DAY_S ? undefined : Math.floor(atMs / SECOND_MS / this.#unitS);
  }

  /**
   * Yields the units of a day. Iterates over the units of the interval or over the allowed units, whichever are fewer.
   */
  *#unitsOn(day: number): Generator<number | undefined> {
    const unitsPerDay = DAY_S / this.#unitS;
    const firstUnit = modulo(this.#startUnit - day * unitsPerDay, this.#unitInterval);
    if (unitsPerDay / this.#unitInterval < this.#allowedParts.reduce((product, { length }) => product * length, 1)) {
      for (let unit = firstUnit; unit < unitsPerDay; unit += this.#unitInterval)
        yield this.#allowsUnit(unit) ? unit : undefined;
      return;
    }
    for (const second of generateSecondsOfDay(this.#allowedParts)) {
      const unit = second / this.#unitS;
      yield modulo(unit - firstUnit, this.#unitInterval) === 0 ? unit : undefined;
    }
  }

  #allowsUnit(unit: number): boolean {
    const { hours, minutes, seconds } = this.#rule;
    const second = unit * this.#unitS;
    if (hours?.has(Math.floor(second / 3_600)) === false) return false;
    if (this.#unitS <= 60 && minutes?.has(Math.floor(second / 60) % 60) === false) return false;
    return !(this.#unitS === 1 && seconds?.has(second % 60) === false);
  }
}

/** Yields the second of the day for each combination of hour, minute and second. */
function* generateSecondsOfDay([
  hours = [],
  minutes = [],
  seconds = [],
]: readonly (readonly number[])[]): Generator<number> {
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
  #remainingSteps: number;

  constructor(maxSteps: number, parent?: WorkBudget) {
    this.#remainingSteps = maxSteps;
    this.#parent = parent;
  }

  get isSpent(): boolean {
    return this.#remainingSteps < 0;
  }

  /** Consumes steps. Returns false if this budget or its parent is used up. */
  readonly take = (steps: number): boolean => {
    this.#remainingSteps -= steps;
    const isWithinParent = this.#parent?.take(steps) ?? true;
    return isWithinParent && this.#remainingSteps >= 0;
  };
}
