import { resourceTypes } from '../../delivery/outbox/event-kinds.ts';
import type { NewOccurrence } from '../../delivery/outbox/record-occurrences.ts';
import { daysIn, isDueBeforeStart, parseCalendarTime } from '../../http/fields/dates.ts';
import { type Field, writable } from '../../http/fields/field.ts';
import type { AccountWrite } from '../../store/account-scope.ts';
import { copyAssigned } from './assignments.ts';
import { open } from './completion.ts';
import type { Columns } from './references.ts';
import { tables } from './resource-tables.ts';

type RecurringResourceType = 'task' | 'subtask';

/** Number of subtasks copied per batch. It is low because each subtask may have a thousand assigned users to copy. */
const BATCH_SIZE = 100;

/** Returns the recurrence period of a record after a change; undefined if the record does not recur. */
export function periodOf(before: Columns, stored: Columns): Period | undefined {
  const letter = stored.recurring ?? before.recurring;
  return isPeriod(letter) ? letter : undefined;
}

/**
 * Creates the next task of a recurring task that was just completed, with copies of all its subtasks (C41). The
 * recurrence moves from the originals to the copies, so that the originals do not recur again.
 *
 * @returns an occurrence for each created record, in order
 */
export async function repeatTask(write: AccountWrite, period: Period, taskId: number): Promise<NewOccurrence[]> {
  const created = await repeat(write, 'task', period, taskId);
  const [task] = created;
  if (task === undefined) return [];
  const subtasks = write.selectFrom('subtasks').selectAll('subtasks').where('subtasks.task_id', '=', taskId);
  const inOrder = subtasks.orderBy('subtasks.subtask_id').limit(BATCH_SIZE);
  for (let last = 0; ; ) {
    const rows = await inOrder.where('subtasks.subtask_id', '>', last).execute();
    const copies = rows.map((row) => ({ ...row, task_id: task.recordId }));
    created.push(...(await copyOpen(write, 'subtask', period, copies)));
    const recurring = rows.flatMap((row) => (row.recurring === '' ? [] : [row.subtask_id]));
    if (recurring.length > 0)
      await write.updateTable('subtasks').set({ recurring: '' }).where('subtask_id', 'in', recurring).execute();
    if (rows.length < BATCH_SIZE) break;
    last = rows.at(-1)?.subtask_id ?? last;
  }
  return created;
}

/** Creates the next subtask of a recurring subtask that was just completed, in the same task (C41). */
export function repeatSubtask(write: AccountWrite, period: Period, subtaskId: number): Promise<NewOccurrence[]> {
  return repeat(write, 'subtask', period, subtaskId);
}

async function repeat(
  write: AccountWrite,
  resourceType: RecurringResourceType,
  period: Period,
  id: number,
): Promise<NewOccurrence[]> {
  const [table, { key }] = [tables[resourceType], resourceTypes[resourceType]];
  const found = write.selectFrom(table).selectAll(table);
  const rows: readonly Columns[] = await found.where(`${table}.${key}` as never, '=', id as never).execute();
  const created = await copyOpen(write, resourceType, period, rows);
  const ending = write.updateTable(table).set({ recurring: '' } as never);
  await ending.where(key as never, '=', id as never).execute();
  return created;
}

/** Inserts an open copy of each record, with the same creator and assignments. Its dates are one period later. */
async function copyOpen(
  write: AccountWrite,
  resourceType: RecurringResourceType,
  period: Period,
  rows: readonly Columns[],
): Promise<NewOccurrence[]> {
  if (rows.length === 0) return [];
  const { key } = resourceTypes[resourceType];
  const stamps = { date_created: write.now, date_modified: null };
  const copies = rows.map(({ [key]: _id, account_id: _account, ...fields }) => ({
    ...{ ...fields, ...plusPeriod(period, fields as Dates), ...open, ...stamps },
  }));
  const inserting = write.insertInto(tables[resourceType], copies as never).returning(key as never);
  const created: readonly Columns[] = await inserting.execute();
  // Both databases assign ids in insertion order, but may return the rows in any order.
  const ids = created.map((row) => Number(row[key])).sort((one, other) => one - other);
  await copyAssigned(write, resourceType, new Map(rows.map((row, index) => [Number(row[key]), ids[index] ?? 0])));
  return rows.map((row, index) => ({
    kind: `new_${resourceType}`,
    recordId: ids[index] ?? 0,
    userId: Number(row.user_id),
  }));
}

/** Recurrence periods by their letter (C41). Start and due date of the next record are `months` and `days` later. */
const periods = {
  D: { description: 'daily', days: 1, months: 0 },
  W: { description: 'weekly', days: 7, months: 0 },
  M: { description: 'monthly', days: 0, months: 1 },
  Q: { description: 'quarterly', days: 0, months: 3 },
  S: { description: 'every six months', days: 0, months: 6 },
  Y: { description: 'yearly', days: 0, months: 12 },
} as const;

export type Period = keyof typeof periods;

const letters = Object.keys(periods) as Period[];

const isPeriod = (text: unknown): text is Period => letters.some((letter) => letter === text);

const legend = letters.map((letter) => `${letter} ${periods[letter].description}`).join(', ');

/** Declares the field `recurring`: the letter of a period, or an empty text if the record does not recur. */
export const recurring = (description: string): Field<string, 'writable'> =>
  writable<string>(
    {
      description: `${description} ${legend}; empty: it does not recur.`,
      // Existing clients send an empty text, 0, false or null for a record that does not recur.
      inputSchema: { title: 'RecurrenceInput', enum: ['', '0', ...letters, 0, false, null] },
      requirement: `must be one of ${letters.join(', ')}, or empty`,
      parse: (value) => (isPeriod(value) ? value : ''),
      serialize: (stored) => stored,
      outputSchema: { title: 'Recurrence', type: 'string', enum: ['', ...letters] },
    },
    '',
  );

/** Start and due date of a record. Each is a calendar time, or null if the record has none. */
export type Dates = { readonly start_date: string | null; readonly due_date: string | null };

/**
 * Moves start and due date by one period and keeps the time of day (C41). A day past the end of a month becomes the
 * last day of that month. If the due date would then be before the start, it becomes the start (C26). If a date would
 * be after the year 9999, both dates stay unchanged.
 */
export function plusPeriod(period: Period, { start_date, due_date }: Dates): Dates {
  const [start, due] = [start_date, due_date].map((date) => (date === null ? null : movedDate(period, date)));
  if (start === undefined || due === undefined) return { start_date, due_date };
  return { start_date: start, due_date: isDueBeforeStart(start, due) ? start : due };
}

/** Moves a date by one period; returns undefined if the result would be after the year 9999. */
function movedDate(period: Period, date: string): string | undefined {
  const [year = 0, month = 0, day = 0] = date.slice(0, 10).split('-').map(Number);
  const { days, months } = periods[period];
  const monthIndex = month - 1 + months;
  const [movedYear, movedMonth] = [year + Math.floor(monthIndex / 12), (monthIndex % 12) + 1];
  const movedDay = Math.min(day, daysIn(movedYear, movedMonth)) + days;
  const moved = new Date(new Date(0).setUTCFullYear(movedYear, movedMonth - 1, movedDay));
  return parseCalendarTime(`${moved.toISOString().slice(0, 10)}${date.slice(10)}`);
}
