import {
  type Day,
  dayFromNumber,
  dayNumber,
  daysInMonth,
  plusDays,
  plusMonths,
  weekdayOf,
  weekStartOf,
} from './time-math.ts';

// Parser of the quick-add line. It extracts days, times and project; the rest of the line is the name of the event.

type NamedProject = { readonly project_id: string; readonly project_name: string };

/** Context in which a line is parsed. */
type ParseContext<P extends NamedProject> = {
  readonly today: Day;
  readonly projects: readonly P[];
  /** Whether `4/5` is April 5; otherwise it is May 4. `4/20` and `20/4` are unambiguous. */
  readonly isMonthFirst?: boolean;
};

/**
 * Result of the parser. A member is undefined if the line does not mention it. Times are `HH:MM`. Days and times
 * always have an end.
 */
export type ParsedLine<P extends NamedProject> = {
  readonly name: string;
  readonly days?: { readonly start: Day; readonly due: Day };
  readonly times?: { readonly start: string; readonly due: string };
  readonly project?: P;
};

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

const MONTH_PATTERN =
  '(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\\.?';
const WEEKDAY_PATTERN =
  '(sun(?:day)?|mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:r(?:s(?:day)?)?)?|fri(?:day)?|sat(?:urday)?)';
const DAY_OF_MONTH_PATTERN = '(\\d{1,2})(?:st|nd|rd|th)?';
const YEAR_PATTERN = '(?:,? ((?:19|20|21)\\d\\d))?';
const WORD_END_PATTERN = '(?![\\p{L}\\p{N}])';

const stickyPattern = (text: string) => new RegExp(text + WORD_END_PATTERN, 'iuy');

/** A parsed day, which may match several dates, such as `friday` or `20 Apr`. */
type ParsedDay = {
  /** Returns the first matching date on or after a day. */
  onOrAfter(day: Day): Day | undefined;
  /** The month, 1 to 12, if the text contains a month. */
  readonly month?: number;
  /** Set if the text contains a year. */
  readonly hasYear?: true;
};

type Match = RegExpExecArray;
type DayRule = {
  readonly pattern: RegExp;
  read(match: Match, reading: { today: Day; isMonthFirst: boolean }): ParsedDay | undefined;
};

const exactDay = (day: Day | undefined): ParsedDay | undefined =>
  day === undefined ? undefined : { onOrAfter: () => day };

function existingDay(year: number, month: number, date: number): Day | undefined {
  if (month < 1 || month > 12 || date < 1 || date > daysInMonth(year, month)) return undefined;
  const digits = (number: number, length: number) => String(number).padStart(length, '0');
  return `${digits(year, 4)}-${digits(month, 2)}-${digits(date, 2)}`;
}

/** Returns a date; without a year it matches in every year. `undefined` if the date does not exist. */
function calendarDay(date: number, month: number, year: string | undefined): ParsedDay | undefined {
  if (year !== undefined) {
    const day = existingDay(year.length === 2 ? 2000 + Number(year) : Number(year), month, date);
    return day === undefined ? undefined : { onOrAfter: () => day, month, hasYear: true };
  }
  // Check that the date exists in a leap year, which contains every possible date.
  if (existingDay(2024, month, date) === undefined) return undefined;
  return {
    month,
    onOrAfter(day) {
      const years = Array.from({ length: 9 }, (_, index) => Number(day.slice(0, 4)) + index);
      return years.map((one) => existingDay(one, month, date)).find((one) => one !== undefined && one >= day);
    },
  };
}

const monthFromName = (name = '') => MONTHS.indexOf(name.slice(0, 3).toLowerCase()) + 1;

const dayRules: readonly DayRule[] = [
  {
    pattern: stickyPattern('(\\d{4})-(\\d\\d)-(\\d\\d)'),
    read: ([, y, m, d]) => exactDay(existingDay(Number(y), Number(m), Number(d))),
  },
  {
    pattern: stickyPattern(`${DAY_OF_MONTH_PATTERN} (?:of )?${MONTH_PATTERN}${YEAR_PATTERN}`),
    read: ([, d, m, y]) => calendarDay(Number(d), monthFromName(m), y),
  },
  {
    pattern: stickyPattern(`${MONTH_PATTERN} ${DAY_OF_MONTH_PATTERN}${YEAR_PATTERN}`),
    read: ([, m, d, y]) => calendarDay(Number(d), monthFromName(m), y),
  },
  // `1.2.` and `1.2.2027` are dates. The second dot is required, because `1.2` may be a version number.
  {
    pattern: stickyPattern('(\\d{1,2})\\.(\\d{1,2})\\.(\\d{4})?'),
    read: ([, d, m, y]) => calendarDay(Number(d), Number(m), y),
  },
  {
    pattern: stickyPattern('(?!24/7(?:\\D|$))(\\d{1,2})/(\\d{1,2})(?:/(\\d{4}|\\d\\d))?'),
    read([, first, second, year], { isMonthFirst }) {
      const [a, b] = [Number(first), Number(second)];
      const monthIsFirst = b > 12 || (isMonthFirst && a <= 12);
      return monthIsFirst ? calendarDay(b, a, year) : calendarDay(a, b, year);
    },
  },
  { pattern: stickyPattern('today'), read: (_, { today }) => exactDay(today) },
  { pattern: stickyPattern('tomorrow'), read: (_, { today }) => exactDay(plusDays(today, 1)) },
  {
    pattern: stickyPattern('in (\\d{1,3}) (day|week|month)s?'),
    read([, count, unit], { today }) {
      if (unit?.toLowerCase() === 'month') return exactDay(plusMonths(today, Number(count)));
      return exactDay(plusDays(today, Number(count) * (unit?.toLowerCase() === 'week' ? 7 : 1)));
    },
  },
  {
    pattern: stickyPattern(`(?:(this|next) )?${WEEKDAY_PATTERN}`),
    read([, which, name = ''], { today }) {
      const weekday = WEEKDAYS.indexOf(name.slice(0, 3).toLowerCase());
      const first = (day: Day) => plusDays(day, (weekday - weekdayOf(day) + 7) % 7);
      // "next friday" is in the week that begins on the next Monday; "friday" is the first Friday from today on.
      if (which?.toLowerCase() === 'next') return exactDay(first(plusDays(weekStartOf(today, 1), 7)));
      return { onOrAfter: first };
    },
  },
];

const RANGE_SEPARATOR = /\s*(?:-|–|—|\bto\b|\buntil\b|\btill\b)\s*/iuy;
const PREPOSITION = /(?:on|at|from)\s+/iuy;
const UNTIL = /(?:until|till)\s+/iuy;
const BARE_DAY = stickyPattern(DAY_OF_MONTH_PATTERN);
const CLOCK = stickyPattern('(\\d{1,2})(?::(\\d\\d))?\\s?(am|pm)?|(noon)');

type ParseResult<T> = { readonly value: T; readonly end: number };

class LineParser {
  readonly text: string;
  readonly #reading: { today: Day; isMonthFirst: boolean };

  constructor(text: string, reading: { today: Day; isMonthFirst: boolean }) {
    this.text = text;
    this.#reading = reading;
  }

  skip(pattern: RegExp, from: number): number {
    pattern.lastIndex = from;
    return pattern.test(this.text) ? pattern.lastIndex : from;
  }

  parseDay(from: number): ParseResult<ParsedDay> | undefined {
    for (const { pattern, read } of dayRules) {
      pattern.lastIndex = from;
      const match = pattern.exec(this.text);
      const value = match === null ? undefined : read(match, this.#reading);
      if (value === undefined) continue;
      return { value, end: pattern.lastIndex };
    }
    return undefined;
  }

  /** Parses a day with an optional weekday: `Fri 24 Apr`. */
  parseNamedDay(from: number): ParseResult<ParsedDay> | undefined {
    const found = this.parseDay(from);
    if (found === undefined || !/\p{L}$/u.test(this.text.slice(from, found.end))) return found;
    const next = this.skip(/,?\s+/uy, found.end);
    const after = next === found.end || !/[\d\p{L}]/u.test(this.text[next] ?? '') ? undefined : this.parseDay(next);
    return after?.value.month === undefined ? found : after;
  }

  /**
   * Parses a day of the month without its month, in a range that contains the month only once: `20 – 24 Apr`,
   * `Apr 20 – 24`.
   */
  parseDayOfMonth(from: number): ParseResult<number> | undefined {
    BARE_DAY.lastIndex = from;
    const match = BARE_DAY.exec(this.text);
    return match === null || this.text[BARE_DAY.lastIndex] === ':'
      ? undefined
      : { value: Number(match[1]), end: BARE_DAY.lastIndex };
  }

  /**
   * Parses a time of day. `isBare` marks an hour without minutes and am/pm, which is a time only in a range such as
   * `2-4pm`.
   */
  parseClock(from: number): ParseResult<{ hour: number; minute: number; amPm: string; isBare: boolean }> | undefined {
    CLOCK.lastIndex = from;
    const match = CLOCK.exec(this.text);
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
      end: CLOCK.lastIndex,
    };
  }
}

const toMinutes = ({ hour, minute, amPm }: { hour: number; minute: number; amPm: string }) =>
  (amPm === '' ? hour : (hour % 12) + (amPm === 'pm' ? 12 : 0)) * 60 + minute;

type TimesInMinutes = { readonly start: number; readonly due: number | undefined };

/** Parses a time or a range of times: `14:00`, `2pm`, `14:00-15:30`, `2-4pm`. */
function parseTimes(line: LineParser, from: number): ParseResult<TimesInMinutes> | undefined {
  const first = line.parseClock(from);
  if (first === undefined) return undefined;
  const gap = line.skip(RANGE_SEPARATOR, first.end);
  const second = gap === first.end ? undefined : line.parseClock(gap);
  if (second === undefined || second.value.isBare) {
    return first.value.isBare
      ? undefined
      : { value: { start: toMinutes(first.value), due: undefined }, end: first.end };
  }
  const due = toMinutes(second.value);
  if (!first.value.isBare) return { value: { start: toMinutes(first.value), due }, end: second.end };
  // The am/pm of the end applies to the start as well, unless the range would be reversed: `11-1pm` begins at 11am.
  const startInSameHalf = toMinutes({ ...first.value, amPm: second.value.amPm });
  if (first.value.hour > 12 || second.value.amPm === '') return undefined;
  const start = startInSameHalf < due ? startInSameHalf : toMinutes({ ...first.value, amPm: 'am' });
  return { value: { start, due }, end: second.end };
}

type DayRange = {
  readonly from: ParsedDay | undefined;
  readonly to: ParsedDay | undefined;
  readonly times?: TimesInMinutes | undefined;
};

/**
 * Parses a day or a range of days: `20 Apr`, `20 – 24 Apr`, `Apr 20–24`, `20 Apr 14:00 – 22 Apr 10:00`,
 * `until 24 Apr`.
 */
function parseDayRange(line: LineParser, from: number): ParseResult<DayRange> | undefined {
  const afterUntil = line.skip(UNTIL, from);
  const until = afterUntil === from ? undefined : line.parseNamedDay(afterUntil);
  if (until !== undefined) return { value: { from: undefined, to: until.value }, end: until.end };
  const number = line.parseDayOfMonth(from);
  const gap = number === undefined ? from : line.skip(RANGE_SEPARATOR, number.end);
  const last = number === undefined || gap === number.end ? undefined : line.parseDay(gap);
  if (number !== undefined && last?.value.month !== undefined) {
    const first = calendarDay(number.value, last.value.month, undefined);
    if (first !== undefined) return { value: { from: first, to: last.value }, end: last.end };
  }
  const first = line.parseNamedDay(from);
  if (first === undefined) return undefined;
  return parseRangeEnd(line, first) ?? { value: { from: first.value, to: undefined }, end: first.end };
}

/** Parses the end of a range of days, after its first day. */
function parseRangeEnd(line: LineParser, first: ParseResult<ParsedDay>): ParseResult<DayRange> | undefined {
  const spaced = line.skip(/\s+(?:at\s+)?/iuy, first.end);
  const clock = spaced === first.end ? undefined : line.parseClock(spaced);
  const isTimed = clock !== undefined && !clock.value.isBare;
  const end = isTimed ? clock.end : first.end;
  const gap = line.skip(RANGE_SEPARATOR, end);
  if (gap === end) return undefined;
  const last = line.parseNamedDay(gap);
  if (last !== undefined) {
    if (!isTimed) return { value: { from: first.value, to: last.value }, end: last.end };
    const space = line.skip(/\s+(?:at\s+)?/iuy, last.end);
    const due = space === last.end ? undefined : line.parseClock(space);
    if (due === undefined || due.value.isBare) return undefined;
    const times = { start: toMinutes(clock.value), due: toMinutes(due.value) };
    return { value: { from: first.value, to: last.value, times }, end: due.end };
  }
  const number = isTimed || first.value.month === undefined ? undefined : line.parseDayOfMonth(gap);
  const to = number === undefined ? undefined : calendarDay(number.value, first.value.month ?? 0, undefined);
  return number === undefined || to === undefined ? undefined : { value: { from: first.value, to }, end: number.end };
}

/**
 * Finds the project that is named after `#`: the project with the longest matching name, otherwise the only project
 * whose name begins with the word.
 */
function findProject<P extends NamedProject>(
  text: string,
  from: number,
  projects: readonly P[],
): ParseResult<P> | undefined {
  const rest = text.slice(from).toLowerCase();
  const isWhole = (length: number) => !/^[\p{L}\p{N}]/u.test(rest.slice(length));
  const whole = projects
    .map((project) => ({ project, name: project.project_name.trim().toLowerCase() }))
    .filter(({ name }) => name !== '' && rest.startsWith(name) && isWhole(name.length))
    .sort((a, b) => b.name.length - a.name.length)[0];
  if (whole !== undefined) return { value: whole.project, end: from + whole.name.length };
  const word = /^\S{2,}/u.exec(rest)?.[0];
  if (word === undefined) return undefined;
  const candidates = projects.filter(({ project_name }) => project_name.trim().toLowerCase().startsWith(word));
  return candidates.length === 1 && candidates[0] !== undefined
    ? { value: candidates[0], end: from + word.length }
    : undefined;
}

const formatMinutes = (minutes: number) =>
  `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;

export function parseQuickAdd<P extends NamedProject>(text: string, reading: ParseContext<P>): ParsedLine<P> {
  const { today, projects, isMonthFirst = false } = reading;
  const line = new LineParser(text, { today, isMonthFirst });
  const consumed: [from: number, to: number][] = [];
  let project: P | undefined;
  let dayRange: DayRange | undefined;
  let times: TimesInMinutes | undefined;
  for (let at = 0; at < text.length; at += 1) {
    if (at > 0 && !/[\s,(]/.test(text[at - 1] ?? '')) continue;
    const named = project === undefined && text[at] === '#' ? findProject(text, at + 1, projects) : undefined;
    const begin = line.skip(PREPOSITION, at);
    const days = named === undefined && dayRange === undefined ? parseDayRange(line, begin) : undefined;
    const clock =
      named === undefined && days === undefined && times === undefined ? parseTimes(line, begin) : undefined;
    const found = named ?? days ?? clock;
    if (found === undefined) continue;
    project ??= named?.value;
    dayRange ??= days?.value;
    times ??= days?.value.times ?? clock?.value;
    consumed.push([at, found.end]);
    at = found.end - 1;
  }
  return {
    name: remainingName(text, consumed),
    ...resolveDaysAndTimes(dayRange, times, today),
    ...(project !== undefined && { project }),
  };
}

function remainingName(text: string, taken: readonly (readonly [number, number])[]): string {
  let name = '';
  let at = 0;
  for (const [from, to] of taken) {
    name += `${text.slice(at, from)} `;
    at = to;
  }
  return (name + text.slice(at))
    .replace(/\s+/gu, ' ')
    .replace(/ ,/g, ',')
    .replace(/^[\s,–—-]+/u, '')
    .replace(/([^\s,–—-])[\s,–—-]+$/u, '$1');
}

/** Resolves days to the next range that has not ended yet. An event with a start time but no end lasts one hour. */
function resolveDaysAndTimes(
  dayRange: DayRange | undefined,
  times: TimesInMinutes | undefined,
  today: Day,
): Pick<ParsedLine<NamedProject>, 'days' | 'times'> {
  const days = dayRange === undefined ? undefined : resolveDays(dayRange, today);
  if (times === undefined) return days === undefined ? {} : { days };
  const { start } = times;
  const due = times.due ?? Math.min(start + 60, 24 * 60);
  const day = days ?? { start: today, due: today };
  // `22:00–01:00` ends on the next day. An end at 24:00 becomes 00:00 of the next day.
  const endsNextDay = day.start === day.due && due <= start && due !== 0;
  const last = endsNextDay || (due === 24 * 60 && day.start === day.due) ? plusDays(day.due, 1) : day.due;
  const resolvedTimes = { times: { start: formatMinutes(start % (24 * 60)), due: formatMinutes(due % (24 * 60)) } };
  return days === undefined && last === day.due
    ? resolvedTimes
    : { ...resolvedTimes, days: { start: day.start, due: last } };
}

function resolveDays({ from, to }: DayRange, today: Day): { start: Day; due: Day } | undefined {
  if (to === undefined) {
    const day = from?.onOrAfter(today);
    return day === undefined ? undefined : { start: day, due: day };
  }
  if (from === undefined) return { start: today, due: to.onOrAfter(today) ?? today };
  // In `20 Apr – 24 Apr 2027`, the year applies to both days.
  if (to.hasYear && from.month !== undefined && !from.hasYear) {
    const last = to.onOrAfter(today) ?? today;
    return { start: from.onOrAfter(plusDays(last, -365)) ?? last, due: last };
  }
  // `18–24 Apr`, entered on April 20, has already begun: find the year by the last day, not by the first.
  const pastStart = from.onOrAfter(dayFromNumber(dayNumber(today) - 366));
  const due = pastStart === undefined ? undefined : to.onOrAfter(pastStart);
  if (pastStart !== undefined && due !== undefined && due >= today && from.month !== undefined)
    return { start: pastStart, due };
  const start = from.onOrAfter(today);
  const end = start === undefined ? undefined : to.onOrAfter(start);
  if (start === undefined || end === undefined) return undefined;
  return end < start ? { start: end, due: start } : { start, due: end };
}
