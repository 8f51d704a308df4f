import { type Day, dayFromNumber, dayNumberOf, plusDays } from '../time-math.ts';
import {
  LineParser,
  type ParsedDayRange,
  type ParseResult,
  parseDayRange,
  parseTimes,
  type TimesInMinutes,
} from './line-parser.ts';

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

const PREPOSITION_PATTERN = /(?:on|at|from)\s+/iuy;

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

const formatTimeOfDay = (minutes: number) =>
  `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;
