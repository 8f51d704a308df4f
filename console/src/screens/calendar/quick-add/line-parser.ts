import type { Day } from '../time-math.ts';
import {
  createCalendarDay,
  createStickyPattern,
  DAY_OF_MONTH_PATTERN,
  dayRules,
  type ParsedDay,
} from './day-notations.ts';

const RANGE_SEPARATOR_PATTERN = /\s*(?:-|–|—|\bto\b|\buntil\b|\btill\b)\s*/iuy;
const UNTIL_PATTERN = /(?:until|till)\s+/iuy;
const BARE_DAY_PATTERN = createStickyPattern(DAY_OF_MONTH_PATTERN);
const TIME_OF_DAY_PATTERN = createStickyPattern('(\\d{1,2})(?::(\\d\\d))?\\s?(am|pm)?|(noon)');

export type ParseResult<T> = { readonly value: T; readonly endIndex: number };

export type ParsedDayRange = {
  readonly from: ParsedDay | undefined;
  readonly to: ParsedDay | undefined;
  readonly times?: TimesInMinutes | undefined;
};

/**
 * Parses a day or a range of days: `20 Apr`, `20 – 24 Apr`, `Apr 20–24`, `20 Apr 14:00 – 22 Apr 10:00`,
 * `until 24 Apr`.
 */
export function parseDayRange(line: LineParser, startIndex: number): ParseResult<ParsedDayRange> | undefined {
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

/** Start and end time in minutes since midnight; `due` is undefined for a single time. */
export type TimesInMinutes = { readonly start: number; readonly due: number | undefined };

/** Parses a time or a range of times: `14:00`, `2pm`, `14:00-15:30`, `2-4pm`. */
export function parseTimes(line: LineParser, startIndex: number): ParseResult<TimesInMinutes> | undefined {
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

const toMinutesOfDay = ({ hour, minute, amPm }: { hour: number; minute: number; amPm: string }) =>
  (amPm === '' ? hour : (hour % 12) + (amPm === 'pm' ? 12 : 0)) * 60 + minute;

export class LineParser {
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
