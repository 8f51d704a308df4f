import type { RecurrenceRule } from './rule.ts';
import { modulo, RuleDays } from './rule-days.ts';
import { DAY_MS, SECOND_MS } from './values.ts';

/** The range in which a rule is expanded, in milliseconds of local (wall-clock) time. */
export type ExpansionRange = {
  /** DTSTART: the first time of the series. */
  readonly seriesStartMs: number;
  /** UNTIL: the last allowed time; undefined if the rule has none. */
  readonly untilMs: number | undefined;
  /** Start of the range. Earlier times are not yielded. */
  readonly fromMs: number;
  /** End of the range. Later times are not yielded. */
  readonly toMs: number;
  /** Consumes steps of the work budget. If it returns false, the expansion stops. */
  readonly trySpendSteps: (steps: number) => boolean;
};

/**
 * Yields the recurrence instances of an RRULE or EXRULE within the range, in order, as local times. The expansion goes
 * through the days of the range, so it ends even if the rule has no instances. A rule with COUNT is expanded from
 * DTSTART, because all of its instances must be counted. Any other rule is expanded from the start of the range.
 * Returns whether the rule may have instances after the range.
 */
export function* expandRule(rule: RecurrenceRule, range: ExpansionRange): Generator<number, boolean> {
  const { seriesStartMs, untilMs = Number.POSITIVE_INFINITY, fromMs } = range;
  const { count = Number.POSITIVE_INFINITY } = rule;
  const lastAllowedMs = Math.min(range.toMs, untilMs);
  const expansionStartMs = rule.count === undefined ? Math.max(seriesStartMs, fromMs) : seriesStartMs;
  let instanceCount = 0;
  for (const wallMs of generateMatchingTimes(rule, { ...range, fromMs: expansionStartMs, toMs: lastAllowedMs })) {
    if (wallMs < seriesStartMs) continue;
    if (wallMs > lastAllowedMs) break;
    instanceCount += 1;
    if (wallMs >= fromMs) yield wallMs;
    if (instanceCount >= count) return false;
  }
  return untilMs > range.toMs;
}

/** Maximum length in days of the periods that are longer than a day. */
const MAX_PERIOD_DAYS = new Map<RecurrenceRule['frequency'], number>([
  ['WEEKLY', 7],
  ['MONTHLY', 31],
  ['YEARLY', 366],
]);

/**
 * Yields the local times that match the rule. With BYSETPOS, yields only the times that BYSETPOS selects in each period
 * (day, week, month or year).
 */
function* generateMatchingTimes(
  rule: RecurrenceRule,
  { seriesStartMs, fromMs, toMs, trySpendSteps }: ExpansionRange,
): Generator<number> {
  const ruleDays = new RuleDays(rule, Math.floor(seriesStartMs / DAY_MS));
  const ruleTimesOfDay = new RuleTimesOfDay(rule, seriesStartMs);
  const firstDayNumber = Math.floor(fromMs / DAY_MS);
  if (rule.setPositions === undefined) {
    yield* generateTimesOfMatchingDays(ruleDays, ruleTimesOfDay, firstDayNumber, toMs, trySpendSteps);
    return;
  }
  let periodTimes: number[] = [];
  let currentPeriodNumber: number | undefined;
  // The last period is expanded to its end, even beyond the range, because BYSETPOS can count from the end of a period.
  const lastPeriodEndMs = toMs + (MAX_PERIOD_DAYS.get(rule.frequency) ?? 1) * DAY_MS;
  for (const wallMs of generateTimesOfMatchingDays(
    ruleDays,
    ruleTimesOfDay,
    ruleDays.firstDayOfPeriod(firstDayNumber),
    lastPeriodEndMs,
    trySpendSteps,
  )) {
    const periodNumber =
      ruleTimesOfDay.periodNumberOf(wallMs) ?? ruleDays.firstDayOfPeriod(Math.floor(wallMs / DAY_MS));
    if (periodNumber !== currentPeriodNumber) {
      yield* selectTimesAtPositions(periodTimes, rule.setPositions);
      periodTimes = [];
    }
    currentPeriodNumber = periodNumber;
    periodTimes.push(wallMs);
  }
  // If the budget ran out, the last period is incomplete and its positions are unknown.
  if (trySpendSteps(0)) yield* selectTimesAtPositions(periodTimes, rule.setPositions);
}

function selectTimesAtPositions(periodTimes: readonly number[], positions: ReadonlySet<number>): readonly number[] {
  return periodTimes.filter((_, index) => positions.has(index + 1) || positions.has(index - periodTimes.length));
}

/** Yields all times of the matching days. */
function* generateTimesOfMatchingDays(
  ruleDays: RuleDays,
  ruleTimesOfDay: RuleTimesOfDay,
  firstDayNumber: number,
  toMs: number,
  trySpendSteps: ExpansionRange['trySpendSteps'],
) {
  for (let dayNumber = firstDayNumber; dayNumber * DAY_MS <= toMs; ) {
    if (!trySpendSteps(1)) return;
    const candidateDayNumber = ruleDays.nextCandidateDay(dayNumber);
    if (candidateDayNumber === dayNumber) {
      for (const wallMs of ruleTimesOfDay.generateTimesOn(dayNumber)) {
        if (!trySpendSteps(1)) return;
        if (wallMs !== undefined) yield wallMs;
      }
    }
    dayNumber = Math.max(candidateDayNumber, dayNumber + 1);
  }
}

const DAY_S = 86_400;

/** Length in seconds of one unit of each frequency that is shorter than a day. */
const UNIT_LENGTH_S = new Map<RecurrenceRule['frequency'], number>([
  ['SECONDLY', 1],
  ['MINUTELY', 60],
  ['HOURLY', 3_600],
]);

/** The numbers from 0 to 59: all minutes of an hour, or all seconds of a minute. */
const ZERO_TO_59: readonly number[] = Array.from({ length: 60 }, (_, number) => number);
const ALL_HOURS = ZERO_TO_59.slice(0, 24);

/**
 * Computes the times of day at which a rule has recurrence instances. A day is divided into units: hours, minutes or
 * seconds, as the frequency of the rule says. If the frequency is daily or longer, the only unit is the whole day. The
 * rule selects some units of a day, and has the same times within each selected unit.
 */
class RuleTimesOfDay {
  readonly #rule: RecurrenceRule;
  readonly #unitLengthS: number;
  /** Number of the unit that contains DTSTART. Units are counted from the epoch. */
  readonly #startUnitNumber: number;
  /** INTERVAL of the rule, in units; 1 if the unit is a day, because `RuleDays` then applies INTERVAL. */
  readonly #unitInterval: number;
  /**
   * The hours, minutes and seconds at which a unit of the rule may start. A part that is smaller than the unit is `[0]`:
   * an hour starts at minute 0 and second 0.
   */
  readonly #allowedTimeParts: readonly (readonly number[])[];
  /** Times within each unit, in milliseconds from its start. */
  readonly #offsetsWithinUnitMs: readonly number[];

  constructor(rule: RecurrenceRule, seriesStartMs: number) {
    const unitLengthS = UNIT_LENGTH_S.get(rule.frequency) ?? DAY_S;
    const startSecondOfDay = modulo(seriesStartMs, DAY_MS) / SECOND_MS;
    const [hours, minutes, seconds] = [rule.hours, rule.minutes, rule.seconds].map(toSortedArray);
    this.#rule = rule;
    this.#unitLengthS = unitLengthS;
    this.#startUnitNumber = Math.floor(seriesStartMs / SECOND_MS / unitLengthS);
    this.#unitInterval = unitLengthS === DAY_S ? 1 : rule.interval;
    this.#allowedTimeParts = [
      unitLengthS === DAY_S ? [0] : (hours ?? ALL_HOURS),
      unitLengthS > 60 ? [0] : (minutes ?? ZERO_TO_59),
      unitLengthS > 1 ? [0] : (seconds ?? ZERO_TO_59),
    ];
    const secondsWithinUnit = generateSecondsOfDay([
      unitLengthS < DAY_S ? [0] : (hours ?? [Math.floor(startSecondOfDay / 3_600)]),
      unitLengthS <= 60 ? [0] : (minutes ?? [Math.floor(startSecondOfDay / 60) % 60]),
      unitLengthS === 1 ? [0] : (seconds ?? [startSecondOfDay % 60]),
    ]);
    this.#offsetsWithinUnitMs = [...secondsWithinUnit].map((second) => second * SECOND_MS);
  }

  /**
   * Yields the times of a day. Yields `undefined` for each rejected unit, so that the caller can charge the check to
   * its budget.
   */
  *generateTimesOn(dayNumber: number): Generator<number | undefined> {
    for (const unitOfDay of this.#generateUnitsOn(dayNumber)) {
      if (unitOfDay === undefined) yield undefined;
      else
        for (const offsetMs of this.#offsetsWithinUnitMs)
          yield dayNumber * DAY_MS + unitOfDay * this.#unitLengthS * SECOND_MS + offsetMs;
    }
  }

  /**
   * Returns a number that identifies the second, minute or hour of a time; undefined if the frequency is daily or
   * longer.
   */
  periodNumberOf(wallMs: number): number | undefined {
    return this.#unitLengthS === DAY_S ? undefined : Math.floor(wallMs / SECOND_MS / this.#unitLengthS);
  }

  /**
   * Yields the selected units of a day, and `undefined` for each rejected unit. Iterates over the units of the interval
   * or over the allowed units, whichever are fewer.
   */
  *#generateUnitsOn(dayNumber: number): Generator<number | undefined> {
    const unitsPerDay = DAY_S / this.#unitLengthS;
    const firstUnitOfDay = modulo(this.#startUnitNumber - dayNumber * unitsPerDay, this.#unitInterval);
    if (
      unitsPerDay / this.#unitInterval <
      this.#allowedTimeParts.reduce((product, { length }) => product * length, 1)
    ) {
      for (let unitOfDay = firstUnitOfDay; unitOfDay < unitsPerDay; unitOfDay += this.#unitInterval)
        yield this.#allowsUnit(unitOfDay) ? unitOfDay : undefined;
      return;
    }
    for (const secondOfDay of generateSecondsOfDay(this.#allowedTimeParts)) {
      const unitOfDay = secondOfDay / this.#unitLengthS;
      yield modulo(unitOfDay - firstUnitOfDay, this.#unitInterval) === 0 ? unitOfDay : undefined;
    }
  }

  #allowsUnit(unitOfDay: number): boolean {
    const { hours, minutes, seconds } = this.#rule;
    const secondOfDay = unitOfDay * this.#unitLengthS;
    if (hours?.has(Math.floor(secondOfDay / 3_600)) === false) return false;
    if (this.#unitLengthS <= 60 && minutes?.has(Math.floor(secondOfDay / 60) % 60) === false) return false;
    return !(this.#unitLengthS === 1 && seconds?.has(secondOfDay % 60) === false);
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

/**
 * A limit of the work that rules of a file may cause, in steps: one for each checked day, unit or time. If the budget is
 * part of a larger one, each step counts against both.
 */
export class WorkBudget {
  readonly #parentBudget: WorkBudget | undefined;
  #remainingSteps: number;

  constructor(maxSteps: number, parentBudget?: WorkBudget) {
    this.#remainingSteps = maxSteps;
    this.#parentBudget = parentBudget;
  }

  get isSpent(): boolean {
    return this.#remainingSteps < 0;
  }

  /** Consumes steps. Returns false if this budget or its parent is used up. */
  readonly trySpendSteps = (steps: number): boolean => {
    this.#remainingSteps -= steps;
    const isWithinParent = this.#parentBudget?.trySpendSteps(steps) ?? true;
    return isWithinParent && this.#remainingSteps >= 0;
  };
}
