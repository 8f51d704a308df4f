import { resourceTypes } from '../../delivery/outbox/event-kinds.ts';
import type { NewOccurrence } from '../../delivery/outbox/record-occurrences.ts';
import type { AccountWrite } from '../../store/account-scope.ts';
import { copyAssigned } from './assignments.ts';
import { open } from './completion.ts';
import { type Dates, isPeriod, movedBy, type Period } from './recurrence-periods.ts';
import type { Columns } from './references.ts';
import { tables } from './resource-tables.ts';

type RecurringResourceType = 'task' | 'subtask';

/** Subtasks copied per batch. Each may have a thousand assigned users, which are copied with it. */
const BATCH_SIZE = 100;

/** Period of a record after a change; undefined if it does not recur. */
export function periodOf(before: Columns, stored: Columns): Period | undefined {
  const letter = stored.recurring ?? before.recurring;
  return isPeriod(letter) ? letter : undefined;
}

/**
 * Creates the next task of a recurring task that was just completed, with copies of all its subtasks (C41). The copies
 * take the recurrence over and the originals lose it, so that the originals do not recur again.
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
    if (rows.length < BATCH_SIZE) break;
    last = rows.at(-1)?.subtask_id ?? last;
  }
  const ending = write.updateTable('subtasks').set({ recurring: '' });
  await ending.where('task_id', '=', taskId).where('recurring', '<>', '').execute();
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

/** Creates an open copy of each record, one period later, with the same creator and assignments. */
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
    ...{ ...fields, ...movedBy(period, fields as Dates), ...open, ...stamps },
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
