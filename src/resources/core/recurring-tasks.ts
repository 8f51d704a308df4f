import { resourceTypes } from '../../delivery/outbox/event-kinds.ts';
import type { NewOccurrence } from '../../delivery/outbox/record-occurrences.ts';
import { daysInMonth, isDueBeforeStart, parseCalendarTime } from '../../http/fields/dates.ts';
import { type Field, writableField } from '../../http/fields/field.ts';
import type { AccountWrite } from '../../store/account-scope.ts';
import { copyAssignees } from './assignments.ts';
import { notCompletedColumns } from './completion.ts';
import type { ColumnValues } from './references.ts';
import { findProjects, loadIdBatches, resourceTables } from './resource-tables.ts';

type RecurringResourceType = 'task' | 'subtask';

/** Number of subtasks copied per batch. It is low because each subtask may have a thousand assigned users to copy. */
const SUBTASK_BATCH_SIZE = 100;

/** Returns the recurrence period of a record after a change; undefined if the record does not recur. */
export function getRecurrencePeriod(oldRecord: ColumnValues, newValues: ColumnValues): RecurrencePeriod | undefined {
  const letter = newValues.recurring ?? oldRecord.recurring;
  return isRecurrencePeriod(letter) ? letter : undefined;
}

/**
 * Creates the next task of a recurring task that was just completed, with copies of all its subtasks (C41). The
 * recurrence moves from the originals to the copies, so that the originals do not recur again.
 *
 * @returns an occurrence (domain event) for each created record, in order
 */
export async function createNextRecurringTask(
  write: AccountWrite,
  period: RecurrencePeriod,
  taskId: number,
): Promise<NewOccurrence[]> {
  const newOccurrences = await createNextRecord(write, 'task', period, taskId);
  const [taskOccurrence] = newOccurrences;
  if (taskOccurrence === undefined) return [];
  const subtaskQuery = write.selectFrom('subtasks').selectAll('subtasks').where('subtasks.task_id', '=', taskId);
  const orderedQuery = subtaskQuery.orderBy('subtasks.subtask_id');
  for await (const ids of loadIdBatches(write, 'subtask', 'task_id', [taskId], SUBTASK_BATCH_SIZE)) {
    const rows = await orderedQuery.where('subtasks.subtask_id', 'in', ids).execute();
    const copies = rows.map((row) => ({ ...row, task_id: taskOccurrence.recordId }));
    newOccurrences.push(...(await insertOpenCopies(write, 'subtask', period, copies)));
    const recurringIds = rows.flatMap((row) => (row.recurring === '' ? [] : [row.subtask_id]));
    if (recurringIds.length > 0)
      await write.updateTable('subtasks').set({ recurring: '' }).where('subtask_id', 'in', recurringIds).execute();
  }
  return newOccurrences;
}

/** Creates the next subtask of a recurring subtask that was just completed, in the same task (C41). */
export function createNextRecurringSubtask(
  write: AccountWrite,
  period: RecurrencePeriod,
  subtaskId: number,
): Promise<NewOccurrence[]> {
  return createNextRecord(write, 'subtask', period, subtaskId);
}

/** Creates the record that follows a recurring record, and ends the recurrence of the original. */
async function createNextRecord(
  write: AccountWrite,
  resourceType: RecurringResourceType,
  period: RecurrencePeriod,
  id: number,
): Promise<NewOccurrence[]> {
  const [table, { key }] = [resourceTables[resourceType], resourceTypes[resourceType]];
  const rows = await write.selectFromDynamic(table).selectAll(table).where(`${table}.${key}`, '=', id).execute();
  const newOccurrences = await insertOpenCopies(write, resourceType, period, rows);
  await write.updateDynamic(table).set({ recurring: '' }).where(key, '=', id).execute();
  return newOccurrences;
}

/** Inserts an open copy of each record, with the same creator and assignments. Its dates are one period later. */
async function insertOpenCopies(
  write: AccountWrite,
  resourceType: RecurringResourceType,
  period: RecurrencePeriod,
  rows: readonly ColumnValues[],
): Promise<NewOccurrence[]> {
  if (rows.length === 0) return [];
  const { key } = resourceTypes[resourceType];
  const timestampColumns = { date_created: write.now, date_modified: null };
  const copies = rows.map(({ [key]: _id, account_id: _account, ...fields }) => ({
    ...{
      ...fields,
      ...moveDatesByPeriod(period, fields as RecordDates),
      ...notCompletedColumns,
      ...timestampColumns,
    },
  }));
  const createdRows = await write.insertIntoDynamic(resourceTables[resourceType], copies).returning(key).execute();
  // Both databases assign ids in insertion order, but may return the rows in any order.
  const copyIds = createdRows.map((row) => Number(row[key])).sort((one, other) => one - other);
  await copyAssignees(write, resourceType, new Map(rows.map((row, index) => [Number(row[key]), copyIds[index] ?? 0])));
  const findProject = await findProjects(write, resourceType, copyIds);
  return rows.map((row, index) => {
    const recordId = copyIds[index] ?? 0;
    return { kind: `new_${resourceType}`, recordId, userId: Number(row.user_id), projectId: findProject(recordId) };
  });
}

/** Recurrence periods by their letter (C41). Start and due date of the next record are `months` and `days` later. */
const recurrencePeriods = {
  D: { description: 'daily', days: 1, months: 0 },
  W: { description: 'weekly', days: 7, months: 0 },
  M: { description: 'monthly', days: 0, months: 1 },
  Q: { description: 'quarterly', days: 0, months: 3 },
  S: { description: 'every six months', days: 0, months: 6 },
  Y: { description: 'yearly', days: 0, months: 12 },
} as const;

export type RecurrencePeriod = keyof typeof recurrencePeriods;

const periodLetters = Object.keys(recurrencePeriods) as RecurrencePeriod[];

const isRecurrencePeriod = (text: unknown): text is RecurrencePeriod => periodLetters.some((letter) => letter === text);

const periodLegend = periodLetters.map((letter) => `${letter} ${recurrencePeriods[letter].description}`).join(', ');

/** Values that existing clients send for a record that does not recur. */
const NOT_RECURRING: readonly unknown[] = ['', '0', 0, false, null];

/** Declares the field `recurring`: the letter of a period, or an empty text if the record does not recur. */
export const recurrenceField = (description: string): Field<string, 'writable'> =>
  writableField<string>(
    {
      description: `${description} ${periodLegend}; empty: it does not recur.`,
      inputSchema: { title: 'RecurrenceInput', enum: ['', '0', ...periodLetters, 0, false, null] },
      errorMessage: `must be one of ${periodLetters.join(', ')}, or empty`,
      parse: (value) => (isRecurrencePeriod(value) ? value : NOT_RECURRING.includes(value) ? '' : undefined),
      serialize: (stored) => stored,
      outputSchema: { title: 'Recurrence', type: 'string', enum: ['', ...periodLetters] },
    },
    '',
  );

/** Start and due date of a record. Each is a calendar time, or null if the record has none. */
export type RecordDates = { readonly start_date: string | null; readonly due_date: string | null };

/**
 * Moves start and due date by one period and keeps the time of day (C41). A day past the end of a month becomes the
 * last day of that month. If the due date would then be before the start, it becomes the start (C26). If a date would
 * be after the year 9999, both dates stay unchanged.
 */
export function moveDatesByPeriod(period: RecurrencePeriod, { start_date, due_date }: RecordDates): RecordDates {
  const [movedStart, movedDue] = [start_date, due_date].map((date) =>
    date === null ? null : moveDateByPeriod(period, date),
  );
  if (movedStart === undefined || movedDue === undefined) return { start_date, due_date };
  return { start_date: movedStart, due_date: isDueBeforeStart(movedStart, movedDue) ? movedStart : movedDue };
}

/** Moves a date by one period; returns undefined if the result would be after the year 9999. */
function moveDateByPeriod(period: RecurrencePeriod, date: string): string | undefined {
  const [year = 0, month = 0, day = 0] = date.slice(0, 10).split('-').map(Number);
  const { days, months } = recurrencePeriods[period];
  const monthIndex = month - 1 + months;
  const [movedYear, movedMonth] = [year + Math.floor(monthIndex / 12), (monthIndex % 12) + 1];
  const movedDay = Math.min(day, daysInMonth(movedYear, movedMonth)) + days;
  const movedDate = new Date(new Date(0).setUTCFullYear(movedYear, movedMonth - 1, movedDay));
  return parseCalendarTime(`${movedDate.toISOString().slice(0, 10)}${date.slice(10)}`);
}
