import {
  type Day,
  dayFromNumber,
  dayNumberOf,
  daysInMonth,
  plusDays,
  plusMonths,
  weekdayOf,
  weekStartOf,
} from './time-math.ts';

// Parser of the line that a user enters to add an event. It extracts days, times and project; the rest is the name.

type NamedProject = { readonly project_id: string; readonly project_name: string };

/** Context in which a line is parsed. */
type ParseContext<P extends NamedProject> = {
  readonly today: Day;
  readonly projects: readonly P[];
  /** Whether `4/5` is April 5; otherwise it is May 4. `4/20` and `20/4` are unambiguous. */
  readonly isMonthFirst?: boolean;
};

/**
 * Result of the parser. `days`, `times` and `project` are undefined if the line does not contain them. Times are
 * `HH:MM`. Days and times always have an end: a single day ends on the same day, a single time one hour later.
 */
export type ParsedLine<P extends NamedProject> = {
  readonly name: string;
  readonly days?: { readonly start: Day; readonly due: Day };
  readonly times?: { readonly start: string; readonly due: string };
  readonly project?: P;
};

const MONTH_PREFIXES = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const WEEKDAY_PREFIXES = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

const MONTH_PATTERN =
  '(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\\.?';
const WEEKDAY_PATTERN =
  '(sun(?:day)?|mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:r(?:s(?:day)?)?)?|fri(?:day)?|sat(?:urday)?)';
const DAY_OF_MONTH_PATTERN = '(\\d{1,2})(?:st|nd|rd|th)?';
const YEAR_PATTERN = '(?:,? ((?:19|20|21)\\d\\d))?';
const WORD_END_PATTERN = '(?![\\p{L}\\p{N}])';

const createStickyPattern = (text: string) => new RegExp(text + WORD_END_PATTERN, 'iuy');

/** A parsed day, which may match several dates, such as `friday` or `20 Apr`. */
type ParsedDay = {
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

const createExactDay = (day: Day | undefined): ParsedDay | undefined =>
  day === undefined ? undefined : { findFirstOnOrAfter: () => day };

function formatDayIfValid(year: number, month: number, dayOfMonth: number): Day | undefined {
  if (month < 1 || month > 12 || dayOfMonth < 1 || dayOfMonth > daysInMonth(year, month)) return undefined;
  const padNumber = (number: number, length: number) => String(number).padStart(length, '0');
  return `${padNumber(year, 4)}-${padNumber(month, 2)}-${padNumber(dayOfMonth, 2)}`;
}

/** Creates a parsed day from a date; undefined if no such date exists. Without a year, it matches in every year. */
function createCalendarDay(dayOfMonth: number, month: number, year: string | undefined): ParsedDay | undefined {
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

const monthFromName = (monthName = '') => MONTH_PREFIXES.indexOf(monthName.slice(0, 3).toLowerCase()) + 1;

const dayRules: readonly DayRule[] = [
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

const RANGE_SEPARATOR_PATTERN = /\s*(?:-|–|—|\bto\b|\buntil\b|\btill\b)\s*/iuy;
const PREPOSITION_PATTERN = /(?:on|at|from)\s+/iuy;
const UNTIL_PATTERN = /(?:until|till)\s+/iuy;
const BARE_DAY_PATTERN = createStickyPattern(DAY_OF_MONTH_PATTERN);
const TIME_OF_DAY_PATTERN = createStickyPattern('(\\d{1,2})(?::(\\d\\d))?\\s?(am|pm)?|(noon)');

type ParseResult<T> = { readonly value: T; readonly endIndex: number };

class LineParser {
  readonly text: string;
  readonly #context: { today: Day; isMonthFirst: boolean };

  constructor(text: string, context: { today: Day; isMonthFirst: boolean }) {
    this.text = text;
    this.#context = context;
  }

  /** Returns the index after the pattern if it matches at `startIndex`, otherwise `startIndex`. */
  skipPattern(pattern: RegExp, startIndex: number): number {
    pattern.lastIndex = startIndex;
    return pattern.test(this.text) ? pattern.lastIndex : startIndex;
  }

  /** Parses a day in one notation: `2027-04-20`, `20 Apr`, `friday`, `tomorrow`. */
  parseDay(startIndex: number): ParseResult<ParsedDay> | undefined {
    for (const { pattern, parseMatch } of dayRules) {
      pattern.lastIndex = startIndex;
      const match = pattern.exec(this.text);
      const value = match === null ? undefined : parseMatch(match, this.#context);
      if (value === undefined) continue;
      return { value, endIndex: pattern.lastIndex };
    }
    return undefined;
  }

  /** Parses a day with an optional weekday: `Fri 24 Apr`. */
  parseDayWithOptionalWeekday(startIndex: number): ParseResult<ParsedDay> | undefined {
    const parsedDay = this.parseDay(startIndex);
    if (parsedDay === undefined || !/\p{L}$/u.test(this.text.slice(startIndex, parsedDay.endIndex))) return parsedDay;
    const nextIndex = this.skipPattern(/,?\s+/uy, parsedDay.endIndex);
    const followingDay =
      nextIndex === parsedDay.endIndex || !/[\d\p{L}]/u.test(this.text[nextIndex] ?? '')
        ? undefined
        : this.parseDay(nextIndex);
    return followingDay?.value.month === undefined ? parsedDay : followingDay;
  }

  /**
   * Parses a day of the month without its month, in a range that contains the month only once: `20 – 24 Apr`,
   * `Apr 20 – 24`.
   */
  parseDayOfMonth(startIndex: number): ParseResult<number> | undefined {
    BARE_DAY_PATTERN.lastIndex = startIndex;
    const match = BARE_DAY_PATTERN.exec(this.text);
    return match === null || this.text[BARE_DAY_PATTERN.lastIndex] === ':'
      ? undefined
      : { value: Number(match[1]), endIndex: BARE_DAY_PATTERN.lastIndex };
  }

  /**
   * Parses a time of day. `isBare` marks an hour without minutes and am/pm, which is a time only in a range such as
   * `2-4pm`.
   */
  parseTimeOfDay(
    startIndex: number,
  ): ParseResult<{ hour: number; minute: number; amPm: string; isBare: boolean }> | undefined {
    TIME_OF_DAY_PATTERN.lastIndex = startIndex;
    const match = TIME_OF_DAY_PATTERN.exec(this.text);
    if (match === null) return undefined;
    const [, hour = '12', minute, amPm = '', noon] = match;
    const maxHour = amPm === '' ? 24 : 12;
    if (Number(hour) > maxHour || (amPm !== '' && Number(hour) === 0) || Number(minute ?? 0) > 59) return undefined;
    if (Number(hour) === 24 && Number(minute ?? 0) > 0) return undefined;
    const isBare = minute === undefined && amPm === '' && noon === undefined;
    return {
      value: {
        hour: Number(hour),
        minute: Number(minute ?? 0),
        amPm: noon === undefined ? amPm.toLowerCase() : 'pm',
        isBare,
      },
      endIndex: TIME_OF_DAY_PATTERN.lastIndex,
    };
  }
}

const toMinutesOfDay = ({ hour, minute, amPm }: { hour: number; minute: number; amPm: string }) =>
  (amPm === '' ? hour : (hour % 12) + (amPm === 'pm' ? 12 : 0)) * 60 + minute;

/** Start and end time in minutes since midnight; `due` is undefined for a single time. */
type TimesInMinutes = { readonly start: number; readonly due: number | undefined };

/** Parses a time or a range of times: `14:00`, `2pm`, `14:00-15:30`, `2-4pm`. */
function parseTimes(line: LineParser, startIndex: number): ParseResult<TimesInMinutes> | undefined {
  const firstTime = line.parseTimeOfDay(startIndex);
  if (firstTime === undefined) return undefined;
  const indexAfterSeparator = line.skipPattern(RANGE_SEPARATOR_PATTERN, firstTime.endIndex);
  const secondTime = indexAfterSeparator === firstTime.endIndex ? undefined : line.parseTimeOfDay(indexAfterSeparator);
  if (secondTime === undefined || secondTime.value.isBare) {
    return firstTime.value.isBare
      ? undefined
      : { value: { start: toMinutesOfDay(firstTime.value), due: undefined }, endIndex: firstTime.endIndex };
  }
  const dueMinutes = toMinutesOfDay(secondTime.value);
  if (!firstTime.value.isBare)
    return { value: { start: toMinutesOfDay(firstTime.value), due: dueMinutes }, endIndex: secondTime.endIndex };
  // The am/pm of the end applies to the start as well, unless the range would be reversed: `11-1pm` begins at 11am.
  const startWithSameAmPm = toMinutesOfDay({ ...firstTime.value, amPm: secondTime.value.amPm });
  if (firstTime.value.hour > 12 || secondTime.value.amPm === '') return undefined;
  const start = startWithSameAmPm < dueMinutes ? startWithSameAmPm : toMinutesOfDay({ ...firstTime.value, amPm: 'am' });
  return { value: { start, due: dueMinutes }, endIndex: secondTime.endIndex };
}

type ParsedDayRange = {
  readonly from: ParsedDay | undefined;
  readonly to: ParsedDay | undefined;
  readonly times?: TimesInMinutes | undefined;
};

/**
 * Parses a day or a range of days: `20 Apr`, `20 – 24 Apr`, `Apr 20–24`, `20 Apr 14:00 – 22 Apr 10:00`,
 * `until 24 Apr`.
 */
function parseDayRange(line: LineParser, startIndex: number): ParseResult<ParsedDayRange> | undefined {
  const indexAfterUntil = line.skipPattern(UNTIL_PATTERN, startIndex);
  const untilDay = indexAfterUntil === startIndex ? undefined : line.parseDayWithOptionalWeekday(indexAfterUntil);
  if (untilDay !== undefined) return { value: { from: undefined, to: untilDay.value }, endIndex: untilDay.endIndex };
  const dayOfMonth = line.parseDayOfMonth(startIndex);
  const indexAfterSeparator =
    dayOfMonth === undefined ? startIndex : line.skipPattern(RANGE_SEPARATOR_PATTERN, dayOfMonth.endIndex);
  const lastDay =
    dayOfMonth === undefined || indexAfterSeparator === dayOfMonth.endIndex
      ? undefined
      : line.parseDay(indexAfterSeparator);
  if (dayOfMonth !== undefined && lastDay?.value.month !== undefined) {
    const firstDay = createCalendarDay(dayOfMonth.value, lastDay.value.month, undefined);
    if (firstDay !== undefined) return { value: { from: firstDay, to: lastDay.value }, endIndex: lastDay.endIndex };
  }
  const firstDay = line.parseDayWithOptionalWeekday(startIndex);
  if (firstDay === undefined) return undefined;
  return (
    parseRangeEnd(line, firstDay) ?? { value: { from: firstDay.value, to: undefined }, endIndex: firstDay.endIndex }
  );
}

/** Parses the rest of a range of days after its first day: optional times and the last day. */
function parseRangeEnd(line: LineParser, firstDay: ParseResult<ParsedDay>): ParseResult<ParsedDayRange> | undefined {
  const startTimeIndex = line.skipPattern(/\s+(?:at\s+)?/iuy, firstDay.endIndex);
  const startTime = startTimeIndex === firstDay.endIndex ? undefined : line.parseTimeOfDay(startTimeIndex);
  const hasStartTime = startTime !== undefined && !startTime.value.isBare;
  const separatorIndex = hasStartTime ? startTime.endIndex : firstDay.endIndex;
  const indexAfterSeparator = line.skipPattern(RANGE_SEPARATOR_PATTERN, separatorIndex);
  if (indexAfterSeparator === separatorIndex) return undefined;
  const lastDay = line.parseDayWithOptionalWeekday(indexAfterSeparator);
  if (lastDay !== undefined) {
    if (!hasStartTime) return { value: { from: firstDay.value, to: lastDay.value }, endIndex: lastDay.endIndex };
    const dueTimeIndex = line.skipPattern(/\s+(?:at\s+)?/iuy, lastDay.endIndex);
    const dueTime = dueTimeIndex === lastDay.endIndex ? undefined : line.parseTimeOfDay(dueTimeIndex);
    if (dueTime === undefined || dueTime.value.isBare) return undefined;
    const times = { start: toMinutesOfDay(startTime.value), due: toMinutesOfDay(dueTime.value) };
    return { value: { from: firstDay.value, to: lastDay.value, times }, endIndex: dueTime.endIndex };
  }
  const dayOfMonth =
    hasStartTime || firstDay.value.month === undefined ? undefined : line.parseDayOfMonth(indexAfterSeparator);
  const rangeEndDay =
    dayOfMonth === undefined ? undefined : createCalendarDay(dayOfMonth.value, firstDay.value.month ?? 0, undefined);
  return dayOfMonth === undefined || rangeEndDay === undefined
    ? undefined
    : { value: { from: firstDay.value, to: rangeEndDay }, endIndex: dayOfMonth.endIndex };
}

/**
 * Finds the project whose name follows a `#`: the project with the longest matching name, otherwise the only project
 * whose name begins with the next word.
 */
function findProject<P extends NamedProject>(
  text: string,
  startIndex: number,
  projects: readonly P[],
): ParseResult<P> | undefined {
  const remainingText = text.slice(startIndex).toLowerCase();
  const isWholeWord = (length: number) => !/^[\p{L}\p{N}]/u.test(remainingText.slice(length));
  const longestMatch = projects
    .map((project) => ({ project, name: project.project_name.trim().toLowerCase() }))
    .filter(({ name }) => name !== '' && remainingText.startsWith(name) && isWholeWord(name.length))
    .sort((a, b) => b.name.length - a.name.length)[0];
  if (longestMatch !== undefined)
    return { value: longestMatch.project, endIndex: startIndex + longestMatch.name.length };
  const firstWord = /^\S{2,}/u.exec(remainingText)?.[0];
  if (firstWord === undefined) return undefined;
  const candidates = projects.filter(({ project_name }) => project_name.trim().toLowerCase().startsWith(firstWord));
  return candidates.length === 1 && candidates[0] !== undefined
    ? { value: candidates[0], endIndex: startIndex + firstWord.length }
    : undefined;
}

const formatTimeOfDay = (minutes: number) =>
  `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;

/** Parses a line such as `Release v27 20 Apr – 24 Apr #Node 27` to the name, days, times and project of an event. */
export function parseQuickAddLine<P extends NamedProject>(text: string, context: ParseContext<P>): ParsedLine<P> {
  const { today, projects, isMonthFirst = false } = context;
  const line = new LineParser(text, { today, isMonthFirst });
  const consumedRanges: [from: number, to: number][] = [];
  let project: P | undefined;
  let dayRange: ParsedDayRange | undefined;
  let times: TimesInMinutes | undefined;
  for (let position = 0; position < text.length; position += 1) {
    if (position > 0 && !/[\s,(]/.test(text[position - 1] ?? '')) continue;
    const parsedProject =
      project === undefined && text[position] === '#' ? findProject(text, position + 1, projects) : undefined;
    const startIndex = line.skipPattern(PREPOSITION_PATTERN, position);
    const parsedDays =
      parsedProject === undefined && dayRange === undefined ? parseDayRange(line, startIndex) : undefined;
    const parsedTimes =
      parsedProject === undefined && parsedDays === undefined && times === undefined
        ? parseTimes(line, startIndex)
        : undefined;
    const parsedPart = parsedProject ?? parsedDays ?? parsedTimes;
    if (parsedPart === undefined) continue;
    project ??= parsedProject?.value;
    dayRange ??= parsedDays?.value;
    times ??= parsedDays?.value.times ?? parsedTimes?.value;
    consumedRanges.push([position, parsedPart.endIndex]);
    position = parsedPart.endIndex - 1;
  }
  return {
    name: extractName(text, consumedRanges),
    ...resolveDaysAndTimes(dayRange, times, today),
    ...(project !== undefined && { project }),
  };
}

function extractName(text: string, consumedRanges: readonly (readonly [number, number])[]): string {
  let name = '';
  let position = 0;
  for (const [from, to] of consumedRanges) {
    name += `${text.slice(position, from)} `;
    position = to;
  }
  return (name + text.slice(position))
    .replace(/\s+/gu, ' ')
    .replace(/ ,/g, ',')
    .replace(/^[\s,–—-]+/u, '')
    .replace(/([^\s,–—-])[\s,–—-]+$/u, '$1');
}

/** Resolves days to the next range that has not ended yet. An event with a start time but no end lasts one hour. */
function resolveDaysAndTimes(
  dayRange: ParsedDayRange | undefined,
  times: TimesInMinutes | undefined,
  today: Day,
): Pick<ParsedLine<NamedProject>, 'days' | 'times'> {
  const days = dayRange === undefined ? undefined : resolveDays(dayRange, today);
  if (times === undefined) return days === undefined ? {} : { days };
  const { start } = times;
  const dueMinutes = times.due ?? Math.min(start + 60, 24 * 60);
  const effectiveDays = days ?? { start: today, due: today };
  // `22:00–01:00` ends on the next day. An end at 24:00 becomes 00:00 of the next day.
  const isEndNextDay = effectiveDays.start === effectiveDays.due && dueMinutes <= start && dueMinutes !== 0;
  const lastDay =
    isEndNextDay || (dueMinutes === 24 * 60 && effectiveDays.start === effectiveDays.due)
      ? plusDays(effectiveDays.due, 1)
      : effectiveDays.due;
  const resolvedTimes = {
    times: { start: formatTimeOfDay(start % (24 * 60)), due: formatTimeOfDay(dueMinutes % (24 * 60)) },
  };
  return days === undefined && lastDay === effectiveDays.due
    ? resolvedTimes
    : { ...resolvedTimes, days: { start: effectiveDays.start, due: lastDay } };
}

function resolveDays({ from, to }: ParsedDayRange, today: Day): { start: Day; due: Day } | undefined {
  if (to === undefined) {
    const day = from?.findFirstOnOrAfter(today);
    return day === undefined ? undefined : { start: day, due: day };
  }
  if (from === undefined) return { start: today, due: to.findFirstOnOrAfter(today) ?? today };
  // In `20 Apr – 24 Apr 2027`, the year applies to both days.
  if (to.hasYear && from.month !== undefined && !from.hasYear) {
    const lastDay = to.findFirstOnOrAfter(today) ?? today;
    return { start: from.findFirstOnOrAfter(plusDays(lastDay, -365)) ?? lastDay, due: lastDay };
  }
  // `18–24 Apr`, entered on April 20, has already begun: find the year by the last day, not by the first.
  const pastStart = from.findFirstOnOrAfter(dayFromNumber(dayNumberOf(today) - 366));
  const due = pastStart === undefined ? undefined : to.findFirstOnOrAfter(pastStart);
  if (pastStart !== undefined && due !== undefined && due >= today && from.month !== undefined)
    return { start: pastStart, due };
  const start = from.findFirstOnOrAfter(today);
  const endDay = start === undefined ? undefined : to.findFirstOnOrAfter(start);
  if (start === undefined || endDay === undefined) return undefined;
  return endDay < start ? { start: endDay, due: start } : { start, due: endDay };
}
