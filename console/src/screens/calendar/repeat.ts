import { type Day, daysBetween, plusDays, plusMonths } from './time-math.ts';

/** Repetition rules. `step` returns the day that is `count` repetitions after the first day. */
export const repeatRules = {
  daily: { text: 'Every day', step: (day: Day, count: number) => plusDays(day, count) },
  weekly: { text: 'Every week', step: (day: Day, count: number) => plusDays(day, 7 * count) },
  fortnightly: { text: 'Every 2 weeks', step: (day: Day, count: number) => plusDays(day, 14 * count) },
  // Count months from the first day, so that a series on the 31st returns to the 31st after a shorter month.
  monthly: { text: 'Every month', step: (day: Day, count: number) => plusMonths(day, count) },
} as const;

export type RepeatRule = keyof typeof repeatRules;

/** Maximum number of events in a series. */
export const MAX_SERIES_EVENTS = 200;

/** Returns the start days of a series, including the first. If it is too long, returns `MAX_SERIES_EVENTS` + 1 days. */
export function computeRepeatDays(firstDay: Day, rule: RepeatRule, untilDay: Day): readonly Day[] {
  const days: Day[] = [];
  while (days.length <= MAX_SERIES_EVENTS) {
    const day = repeatRules[rule].step(firstDay, days.length);
    if (day > untilDay || (days.length > 0 && day === days.at(-1))) break;
    days.push(day);
  }
  return days;
}

/** Returns the distance of each day from the first day, in days. */
export const toDayOffsets = (days: readonly Day[]): readonly number[] =>
  days.map((day) => daysBetween(days[0] ?? day, day));
