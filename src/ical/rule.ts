import { type IcalTime, parseTime } from './values.ts';

const FREQUENCIES = ['SECONDLY', 'MINUTELY', 'HOURLY', 'DAILY', 'WEEKLY', 'MONTHLY', 'YEARLY'] as const;
type Frequency = (typeof FREQUENCIES)[number];

const WEEKDAY_CODES = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA'];

/**
 * A weekday in BYDAY. `nth` counts this weekday within its month or year, from the end if negative; 0 means every such
 * weekday.
 */
type RuleWeekday = { readonly weekday: number; readonly nth: number };

/** The numbers of a BY… part of a rule, such as BYHOUR; undefined if the rule does not have the part. */
type OptionalNumberSet = ReadonlySet<number> | undefined;

/** A recurrence rule: the value of RRULE (RFC 5545, 3.3.10). */
export type RecurrenceRule = {
  readonly frequency: Frequency;
  readonly interval: number;
  readonly count: number | undefined;
  readonly until: IcalTime | undefined;
  /** The first day of a week, 0 for Sunday. */
  readonly weekStart: number;
  readonly seconds: OptionalNumberSet;
  readonly minutes: OptionalNumberSet;
  readonly hours: OptionalNumberSet;
  readonly weekdays: readonly RuleWeekday[] | undefined;
  readonly monthDays: OptionalNumberSet;
  readonly yearDays: OptionalNumberSet;
  readonly weekNumbers: OptionalNumberSet;
  readonly months: OptionalNumberSet;
  readonly setPositions: OptionalNumberSet;
};

/** Maximum of INTERVAL and COUNT. Larger values are reduced to it. */
const MAX_COUNT_OR_INTERVAL = 1_000_000_000;

/** Parses a rule; undefined if it is invalid. */
export function parseRule(text: string): RecurrenceRule | undefined {
  const parts = new Map<string, string>();
  for (const part of text.trim().toUpperCase().split(';')) {
    if (part.trim() === '') continue;
    const [partName = '', value, ...extraParts] = part.split('=');
    if (value === undefined || extraParts.length > 0) return undefined;
    parts.set(partName.trim(), value.trim());
  }
  const parser = new RuleParser(parts);
  const rule = parser.parse();
  return parser.isValid ? rule : undefined;
}

class RuleParser {
  readonly #parts: ReadonlyMap<string, string>;
  isValid = true;

  constructor(parts: ReadonlyMap<string, string>) {
    this.#parts = parts;
  }

  parse(): RecurrenceRule {
    this.#invalidateUnless((this.#parts.get('RSCALE') ?? 'GREGORIAN') === 'GREGORIAN');
    return {
      frequency: this.#parseFrequency(),
      interval: this.#parseCount('INTERVAL') ?? 1,
      count: this.#parseCount('COUNT'),
      until: this.#parseUntil(),
      weekStart: this.#parseWeekStart(),
      // Second 60, a leap second, becomes second 59.
      seconds: this.#parseNumbers('BYSECOND', 0, 60, 59),
      minutes: this.#parseNumbers('BYMINUTE', 0, 59),
      hours: this.#parseNumbers('BYHOUR', 0, 23),
      weekdays: this.#parseWeekdays(),
      monthDays: this.#parseNumbers('BYMONTHDAY', -31, 31),
      yearDays: this.#parseNumbers('BYYEARDAY', -366, 366),
      weekNumbers: this.#parseNumbers('BYWEEKNO', -53, 53),
      months: this.#parseNumbers('BYMONTH', 1, 12),
      setPositions: this.#parseNumbers('BYSETPOS', -366, 366),
    };
  }

  #invalidateUnless(condition: boolean): void {
    this.isValid &&= condition;
  }

  #parseFrequency(): Frequency {
    const frequency = FREQUENCIES.find((one) => one === this.#parts.get('FREQ'));
    this.#invalidateUnless(frequency !== undefined);
    return frequency ?? 'DAILY';
  }

  #parseCount(partName: string): number | undefined {
    const text = this.#parts.get(partName);
    if (text === undefined) return undefined;
    const count = Number(text);
    this.#invalidateUnless(/^\d+$/.test(text) && count >= 1);
    return Math.min(count, MAX_COUNT_OR_INTERVAL);
  }

  #parseUntil(): IcalTime | undefined {
    const text = this.#parts.get('UNTIL');
    if (text === undefined) return undefined;
    const until = parseTime(text, { lineNumber: 0 });
    this.#invalidateUnless(until !== undefined);
    return until;
  }

  #parseWeekStart(): number {
    const weekday = WEEKDAY_CODES.indexOf(this.#parts.get('WKST') ?? 'MO');
    this.#invalidateUnless(weekday !== -1);
    return weekday;
  }

  /**
   * Parses a list of integers from `min` to `max`. A list that may contain negative numbers, which count from the end,
   * must not contain 0. Values above `cap` become `cap`.
   */
  #parseNumbers(partName: string, min: number, max: number, cap = max): OptionalNumberSet {
    const text = this.#parts.get(partName);
    if (text === undefined) return undefined;
    const numbers = new Set<number>();
    for (const numberText of text.split(',')) {
      const parsedNumber = /^\s*[+-]?\d{1,3}\s*$/.test(numberText) ? Number(numberText) : Number.NaN;
      this.#invalidateUnless(parsedNumber >= min && parsedNumber <= max && !(min < 0 && parsedNumber === 0));
      numbers.add(Math.min(parsedNumber, cap));
    }
    return numbers;
  }

  #parseWeekdays(): readonly RuleWeekday[] | undefined {
    const text = this.#parts.get('BYDAY');
    if (text === undefined) return undefined;
    const weekdays = new Map<string, RuleWeekday>();
    for (const weekdayText of text.split(',')) {
      const [, nth = '0', weekdayCode = ''] = /^\s*([+-]?\d{1,2})?([A-Z]{2})\s*$/.exec(weekdayText) ?? [];
      const ruleWeekday = { weekday: WEEKDAY_CODES.indexOf(weekdayCode), nth: Number(nth) };
      this.#invalidateUnless(ruleWeekday.weekday !== -1 && Math.abs(ruleWeekday.nth) <= 53);
      weekdays.set(`${ruleWeekday.nth} ${ruleWeekday.weekday}`, ruleWeekday);
    }
    return [...weekdays.values()];
  }
}

/** Computes a modulo that is never negative, unlike `%`. */
export const modulo = (dividend: number, divisor: number): number => ((dividend % divisor) + divisor) % divisor;

/** A day of the calendar. `dayNumber` counts the days since the epoch. */
type CalendarDay = {
  readonly dayNumber: number;
  readonly year: number;
  readonly month: number;
  readonly dayOfMonth: number;
  /** Day of the week; 0 is Sunday. */
  readonly weekday: number;
};

/**
 * Number of days in an era of 400 years, after which the calendar repeats. Calculations use years that begin in March,
 * so that a leap day is the last day of a year.
 */
const DAYS_PER_400_YEARS = 146_097;
/** Number of days from 1 March of the year 0 to 1 January 1970. */
const DAYS_TO_EPOCH = 719_468;

/** Converts a day number, days since 1970-01-01, to a Gregorian date. Ten times as fast as with `Date`. */
function toCalendarDay(dayNumber: number): CalendarDay {
  const daysFromYear0 = dayNumber + DAYS_TO_EPOCH;
  const era = Math.floor(daysFromYear0 / DAYS_PER_400_YEARS);
  const dayOfEra = daysFromYear0 - era * DAYS_PER_400_YEARS;
  const leapDays = Math.floor(dayOfEra / 1_460) - Math.floor(dayOfEra / 36_524) + Math.floor(dayOfEra / 146_096);
  const yearOfEra = Math.floor((dayOfEra - leapDays) / 365);
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const monthFromMarch = Math.floor((5 * dayOfYear + 2) / 153);
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9;
  return {
    dayNumber,
    year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
    month,
    dayOfMonth: dayOfYear - Math.floor((153 * monthFromMarch + 2) / 5) + 1,
    weekday: modulo(dayNumber + 4, 7),
  };
}

/** Returns the number of the first day of a month. `monthIndex` counts the months since the year 0. */
function firstDayOfMonth(monthIndex: number): number {
  const year = Math.floor((monthIndex - 2) / 12);
  const era = Math.floor(year / 400);
  const yearOfEra = year - era * 400;
  const dayOfYear = Math.floor((153 * modulo(monthIndex - 2, 12) + 2) / 5);
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * DAYS_PER_400_YEARS + dayOfEra - DAYS_TO_EPOCH;
}

// The functions that return a day return its day number (days since the epoch).
const monthIndexOf = ({ year, month }: CalendarDay): number => year * 12 + month - 1;
const daysInMonth = (day: CalendarDay): number =>
  firstDayOfMonth(monthIndexOf(day) + 1) - firstDayOfMonth(monthIndexOf(day));
const firstDayOfYear = (year: number): number => firstDayOfMonth(year * 12);
const daysInYear = (year: number): number => firstDayOfYear(year + 1) - firstDayOfYear(year);

/** Whether a list contains a position. Positions count from 1; negative numbers in the list count from the end. */
function includesPosition(positions: ReadonlySet<number>, position: number, positionCount: number): boolean {
  return positions.has(position) || positions.has(position - positionCount - 1);
}

/**
 * Computes the days on which a rule has recurrence instances. Parts that the rule does not set, such as the weekday,
 * are taken from the first day of the series (DTSTART).
 */
export class RuleDays {
  readonly #rule: RecurrenceRule;
  readonly #firstDay: CalendarDay;
  readonly #months: ReadonlySet<number> | undefined;
  readonly #monthDays: ReadonlySet<number> | undefined;
  readonly #weekdays: readonly RuleWeekday[] | undefined;

  constructor(rule: RecurrenceRule, startDayNumber: number) {
    const firstDay = toCalendarDay(startDayNumber);
    const { frequency, months, monthDays, yearDays, weekNumbers, weekdays } = rule;
    const hasDayParts = weekdays !== undefined || monthDays !== undefined || yearDays !== undefined;
    const isYearly = frequency === 'YEARLY';
    const usesStartDate = !hasDayParts && (frequency === 'MONTHLY' || (isYearly && weekNumbers === undefined));
    const usesStartWeekday = !hasDayParts && (frequency === 'WEEKLY' || (isYearly && weekNumbers !== undefined));
    this.#rule = rule;
    this.#firstDay = firstDay;
    this.#months = usesStartDate && isYearly ? (months ?? new Set([firstDay.month])) : months;
    this.#monthDays = usesStartDate ? new Set([firstDay.dayOfMonth]) : monthDays;
    this.#weekdays = usesStartWeekday ? [{ weekday: firstDay.weekday, nth: 0 }] : weekdays;
  }

  /** Returns the given day if it matches the rule, otherwise a later day that may match. No day in between matches. */
  nextCandidateDay(dayNumber: number): number {
    const day = toCalendarDay(dayNumber);
    const dayInInterval = this.#nextDayInInterval(day);
    if (dayInInterval !== dayNumber) return dayInInterval;
    if (this.#months?.has(day.month) === false) return firstDayOfMonth(monthIndexOf(day) + 1);
    return this.#matchesRule(day) ? dayNumber : dayNumber + 1;
  }

  /** Returns the first day of the period (day, week, month or year) that contains a day. */
  firstDayOfPeriod(dayNumber: number): number {
    const day = toCalendarDay(dayNumber);
    if (this.#rule.frequency === 'YEARLY') return firstDayOfYear(day.year);
    if (this.#rule.frequency === 'MONTHLY') return firstDayOfMonth(monthIndexOf(day));
    return this.#rule.frequency === 'WEEKLY' ? this.#firstDayOfWeek(day) : dayNumber;
  }

  #firstDayOfWeek({ dayNumber, weekday }: CalendarDay): number {
    return dayNumber - modulo(weekday - this.#rule.weekStart, 7);
  }

  #nextDayInInterval(day: CalendarDay): number {
    const { frequency, interval } = this.#rule;
    if (interval === 1) return day.dayNumber;
    const countPeriodsToNext = (elapsedPeriods: number) => modulo(-elapsedPeriods, interval);
    if (frequency === 'YEARLY') {
      const yearsToSkip = countPeriodsToNext(day.year - this.#firstDay.year);
      return yearsToSkip === 0 ? day.dayNumber : firstDayOfMonth((day.year + yearsToSkip) * 12);
    }
    if (frequency === 'MONTHLY') {
      const monthsToSkip = countPeriodsToNext(monthIndexOf(day) - monthIndexOf(this.#firstDay));
      return monthsToSkip === 0 ? day.dayNumber : firstDayOfMonth(monthIndexOf(day) + monthsToSkip);
    }
    if (frequency === 'WEEKLY') {
      const weeksToSkip = countPeriodsToNext((this.#firstDayOfWeek(day) - this.#firstDayOfWeek(this.#firstDay)) / 7);
      return weeksToSkip === 0 ? day.dayNumber : this.#firstDayOfWeek(day) + weeksToSkip * 7;
    }
    return frequency === 'DAILY'
      ? day.dayNumber + countPeriodsToNext(day.dayNumber - this.#firstDay.dayNumber)
      : day.dayNumber;
  }

  #matchesRule(day: CalendarDay): boolean {
    const { yearDays, weekNumbers } = this.#rule;
    if (this.#monthDays !== undefined && !includesPosition(this.#monthDays, day.dayOfMonth, daysInMonth(day)))
      return false;
    if (this.#weekdays !== undefined && !this.#weekdays.some((one) => this.#matchesWeekday(day, one))) return false;
    const { year, dayNumber } = day;
    if (yearDays !== undefined && !includesPosition(yearDays, dayNumber - firstDayOfYear(year) + 1, daysInYear(year)))
      return false;
    return weekNumbers === undefined || this.#isInAnyWeek(day, weekNumbers);
  }

  /**
   * Whether a day matches BYDAY. The nth weekday is counted within the month if the rule is monthly or has BYMONTH,
   * otherwise within the year.
   */
  #matchesWeekday(day: CalendarDay, { weekday, nth }: RuleWeekday): boolean {
    if (day.weekday !== weekday) return false;
    const { frequency, months } = this.#rule;
    if (nth === 0 || (frequency !== 'MONTHLY' && frequency !== 'YEARLY')) return true;
    const countsWithinYear = frequency === 'YEARLY' && months === undefined;
    const dayIndex = countsWithinYear ? day.dayNumber - firstDayOfYear(day.year) : day.dayOfMonth - 1;
    const dayCount = countsWithinYear ? daysInYear(day.year) : daysInMonth(day);
    return nth > 0 ? Math.floor(dayIndex / 7) + 1 === nth : Math.floor((dayCount - 1 - dayIndex) / 7) + 1 === -nth;
  }

  /**
   * Whether a day is in a week with one of these numbers. A week belongs to the year that contains at least four of its
   * days.
   */
  #isInAnyWeek(day: CalendarDay, weekNumbers: ReadonlySet<number>): boolean {
    const fourthDayOfWeek = toCalendarDay(this.#firstDayOfWeek(day) + 3);
    const yearStart = firstDayOfYear(fourthDayOfWeek.year);
    const weekIndex = Math.floor((fourthDayOfWeek.dayNumber - yearStart) / 7);
    const remainingWeeks = Math.floor(
      (daysInYear(fourthDayOfWeek.year) - 1 - (fourthDayOfWeek.dayNumber - yearStart)) / 7,
    );
    return includesPosition(weekNumbers, weekIndex + 1, weekIndex + 1 + remainingWeeks);
  }
}
