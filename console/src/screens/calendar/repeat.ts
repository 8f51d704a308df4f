import { type Day, daysFrom, plusDays, plusMonths } from './time-math.ts';

/** How an event is repeated, with the step from each to the next. */
export const rhythms = {
  daily: { text: 'Every day', step: (day: Day, count: number) => plusDays(day, count) },
  weekly: { text: 'Every week', step: (day: Day, count: number) => plusDays(day, 7 * count) },
  fortnightly: { text: 'Every 2 weeks', step: (day: Day, count: number) => plusDays(day, 14 * count) },
  // From the first one each time, so that the 31st comes back after a shorter month.
  monthly: { text: 'Every month', step: (day: Day, count: number) => plusMonths(day, count) },
} as const;

export type Rhythm = keyof typeof rhythms;

/** The most events that are made of one. */
export const MAX_REPEATS = 200;

/** On which days it begins, the first one among them; one more than is allowed says that there are too many. */
export function repeated(first: Day, rhythm: Rhythm, until: Day): readonly Day[] {
  const days: Day[] = [];
  while (days.length <= MAX_REPEATS) {
    const day = rhythms[rhythm].step(first, days.length);
    if (day > until || (days.length > 0 && day === days.at(-1))) break;
    days.push(day);
  }
  return days;
}

/** How many days each of them is later than the first. */
export const offsets = (days: readonly Day[]): readonly number[] => days.map((day) => daysFrom(days[0] ?? day, day));
