import { daysIn, isDueBeforeStart, parseCalendarTime } from '../../http/fields/dates.ts';
import { type Field, writable } from '../../http/fields/field.ts';

/** Recurrence periods (C41) by their letter: how far each moves the dates of the next record. */
const periods = {
  D: { says: 'daily', days: 1, months: 0 },
  W: { says: 'weekly', days: 7, months: 0 },
  M: { says: 'monthly', days: 0, months: 1 },
  Q: { says: 'quarterly', days: 0, months: 3 },
  S: { says: 'every six months', days: 0, months: 6 },
  Y: { says: 'yearly', days: 0, months: 12 },
} as const;

export type Period = keyof typeof periods;

const letters = Object.keys(periods) as Period[];

export const isPeriod = (text: unknown): text is Period => letters.some((letter) => letter === text);

const legend = letters.map((letter) => `${letter} ${periods[letter].says}`).join(', ');

/** The field `recurring`: the letter of a period, or empty if the record does not recur. */
export const recurring = (says: string): Field<string, 'written'> =>
  writable<string>(
    {
      says: `${says} ${legend}; empty: it does not recur.`,
      // Existing clients send any of these other values for a record that does not recur.
      accepts: { title: 'RecurrenceInput', enum: ['', '0', ...letters, 0, false, null] },
      must: `must be one of ${letters.join(', ')}, or empty`,
      parse: (value) => (isPeriod(value) ? value : ''),
      show: (stored) => stored,
      answers: { title: 'Recurrence', type: 'string', enum: ['', ...letters] },
    },
    '',
  );

/** Start and due date of a record: calendar times, or null. */
export type Dates = { readonly start_date: string | null; readonly due_date: string | null };

/**
 * Dates of the next record (C41): moved by one period at the same time of day. A day past the end of a month becomes its
 * last day. If that puts the due date before the start (both on the last day of a month), the due date becomes the start
 * (C26). Dates that would leave the calendar stay as they are.
 */
export function movedBy(period: Period, { start_date, due_date }: Dates): Dates {
  const [start, due] = [start_date, due_date].map((date) => (date === null ? null : movedDate(period, date)));
  if (start === undefined || due === undefined) return { start_date, due_date };
  return { start_date: start, due_date: isDueBeforeStart(start, due) ? start : due };
}

/** A date moved by one period; undefined if it would be past the end of the calendar. */
function movedDate(period: Period, date: string): string | undefined {
  const [year = 0, month = 0, day = 0] = date.slice(0, 10).split('-').map(Number);
  const { days, months } = periods[period];
  const monthIndex = month - 1 + months;
  const [movedYear, movedMonth] = [year + Math.floor(monthIndex / 12), (monthIndex % 12) + 1];
  const movedDay = Math.min(day, daysIn(movedYear, movedMonth)) + days;
  const moved = new Date(new Date(0).setUTCFullYear(movedYear, movedMonth - 1, movedDay));
  return parseCalendarTime(`${moved.toISOString().slice(0, 10)}${date.slice(10)}`);
}
