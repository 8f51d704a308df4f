import { type Day, daysInMonth, plusDays, plusMonths, weekdayOf, weekStartOf } from '../time-math.ts';

const MONTH_PREFIXES = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const WEEKDAY_PREFIXES = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

const MONTH_PATTERN =
  '(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\\.?';
const WEEKDAY_PATTERN =
  '(sun(?:day)?|mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:r(?:s(?:day)?)?)?|fri(?:day)?|sat(?:urday)?)';
export const DAY_OF_MONTH_PATTERN = '(\\d{1,2})(?:st|nd|rd|th)?';
const YEAR_PATTERN = '(?:,? ((?:19|20|21)\\d\\d))?';
const WORD_END_PATTERN = '(?![\\p{L}\\p{N}])';

export const createStickyPattern = (text: string) => new RegExp(text + WORD_END_PATTERN, 'iuy');

/** A parsed day, which may match several dates, such as `friday` or `20 Apr`. */
export type ParsedDay = {
  /** Returns the first matching date on or after a day. */
  findFirstOnOrAfter(day: Day): Day | undefined;
  /** The month, 1 to 12, if the text contains a month. */
  readonly month?: number;
  /** Whether the text contains a year. */
  readonly hasYear?: true;
};

type PatternMatch = RegExpExecArray;
/** One notation of a day. `parseMatch` converts a match of `pattern`; it returns undefined if no such date exists. */
type DayRule = {
  readonly pattern: RegExp;
  parseMatch(match: PatternMatch, context: { today: Day; isMonthFirst: boolean }): ParsedDay | undefined;
};

export const dayRules: readonly DayRule[] = [
  {
    pattern: createStickyPattern('(\\d{4})-(\\d\\d)-(\\d\\d)'),
    parseMatch: ([, y, m, d]) => createExactDay(formatDayIfValid(Number(y), Number(m), Number(d))),
  },
  {
    pattern: createStickyPattern(`${DAY_OF_MONTH_PATTERN} (?:of )?${MONTH_PATTERN}${YEAR_PATTERN}`),
    parseMatch: ([, d, m, y]) => createCalendarDay(Number(d), monthFromName(m), y),
  },
  {
    pattern: createStickyPattern(`${MONTH_PATTERN} ${DAY_OF_MONTH_PATTERN}${YEAR_PATTERN}`),
    parseMatch: ([, m, d, y]) => createCalendarDay(Number(d), monthFromName(m), y),
  },
  // `1.2.` and `1.2.2027` are dates. The second dot is required, because `1.2` may be a version number.
  {
    pattern: createStickyPattern('(\\d{1,2})\\.(\\d{1,2})\\.(\\d{4})?'),
    parseMatch: ([, d, m, y]) => createCalendarDay(Number(d), Number(m), y),
  },
  {
    pattern: createStickyPattern('(?!24/7(?:\\D|$))(\\d{1,2})/(\\d{1,2})(?:/(\\d{4}|\\d\\d))?'),
    parseMatch([, firstNumber, secondNumber, year], { isMonthFirst }) {
      const [a, b] = [Number(firstNumber), Number(secondNumber)];
      const hasMonthFirst = b > 12 || (isMonthFirst && a <= 12);
      return hasMonthFirst ? createCalendarDay(b, a, year) : createCalendarDay(a, b, year);
    },
  },
  { pattern: createStickyPattern('today'), parseMatch: (_, { today }) => createExactDay(today) },
  { pattern: createStickyPattern('tomorrow'), parseMatch: (_, { today }) => createExactDay(plusDays(today, 1)) },
  {
    pattern: createStickyPattern('in (\\d{1,3}) (day|week|month)s?'),
    parseMatch([, count, unit], { today }) {
      if (unit?.toLowerCase() === 'month') return createExactDay(plusMonths(today, Number(count)));
      return createExactDay(plusDays(today, Number(count) * (unit?.toLowerCase() === 'week' ? 7 : 1)));
    },
  },
  {
    pattern: createStickyPattern(`(?:(this|next) )?${WEEKDAY_PATTERN}`),
    parseMatch([, modifier, weekdayName = ''], { today }) {
      const weekday = WEEKDAY_PREFIXES.indexOf(weekdayName.slice(0, 3).toLowerCase());
      const nextWeekdayFrom = (day: Day) => plusDays(day, (weekday - weekdayOf(day) + 7) % 7);
      // "next friday" is in the week that begins on the next Monday; "friday" is the first Friday from today on.
      if (modifier?.toLowerCase() === 'next')
        return createExactDay(nextWeekdayFrom(plusDays(weekStartOf(today, 1), 7)));
      return { findFirstOnOrAfter: nextWeekdayFrom };
    },
  },
];

const createExactDay = (day: Day | undefined): ParsedDay | undefined =>
  day === undefined ? undefined : { findFirstOnOrAfter: () => day };

/** Creates a parsed day from a date; undefined if no such date exists. Without a year, it matches in every year. */
export function createCalendarDay(dayOfMonth: number, month: number, year: string | undefined): ParsedDay | undefined {
  if (year !== undefined) {
    const day = formatDayIfValid(year.length === 2 ? 2000 + Number(year) : Number(year), month, dayOfMonth);
    return day === undefined ? undefined : { findFirstOnOrAfter: () => day, month, hasYear: true };
  }
  // 2024 is a leap year, which contains every possible date.
  if (formatDayIfValid(2024, month, dayOfMonth) === undefined) return undefined;
  return {
    month,
    findFirstOnOrAfter(day) {
      const years = Array.from({ length: 9 }, (_, index) => Number(day.slice(0, 4)) + index);
      return years
        .map((candidateYear) => formatDayIfValid(candidateYear, month, dayOfMonth))
        .find((candidateDay) => candidateDay !== undefined && candidateDay >= day);
    },
  };
}

function formatDayIfValid(year: number, month: number, dayOfMonth: number): Day | undefined {
  if (month < 1 || month > 12 || dayOfMonth < 1 || dayOfMonth > daysInMonth(year, month)) return undefined;
  const padNumber = (number: number, length: number) => String(number).padStart(length, '0');
  return `${padNumber(year, 4)}-${padNumber(month, 2)}-${padNumber(dayOfMonth, 2)}`;
}

const monthFromName = (monthName = '') => MONTH_PREFIXES.indexOf(monthName.slice(0, 3).toLowerCase()) + 1;
