import { type Expression, type SqlBool, sql } from 'kysely';
import { waitForNextSlice } from '../../http/routes/page-slices.ts';
import { addDays } from '../../ical/days.ts';
import { type CalendarEntry, writeEntry } from '../../ical/write.ts';
import type { CalendarZone } from '../../ical/zone.ts';
import type { Permission } from '../../permissions.ts';
import type { AccountView } from '../../store/account-scope.ts';
import { selectOverlapping } from '../events/overlapping.ts';
import { fullNameOf } from '../users/lookup.ts';
import { type CalendarScope, loadAssignedNames } from './calendars.ts';

/** Selects the entries of a calendar, and defines how they are written. */
export type CalendarQuery = {
  readonly scope: CalendarScope;
  readonly userId: number;
  readonly projectId: number;
  readonly permissions: ReadonlySet<Permission>;
  /** First day of the calendar, `YYYY-MM-DD`. */
  readonly from: string;
  /** Last day of the calendar, `YYYY-MM-DD`. */
  readonly to: string;
  /** Suffix of the UIDs of entries, which makes them globally unique. */
  readonly domain: string;
  readonly baseUrl: string;
  /** Zone of the written times; undefined for floating times. */
  readonly zone: CalendarZone | undefined;
};

/** Maximum number of entries of each type in a calendar: events, tasks and subtasks. */
export const MAX_ENTRIES = 10_000;

/**
 * Number of rows per query. It is small because each concurrent reader of a calendar holds this number of rows in
 * memory.
 */
const ROWS_PER_QUERY = 100;

/**
 * Number of days per query. It bounds the time of one query for a user who has few of the many entries of an account.
 */
const DAYS_PER_QUERY = 31;

/** Entries older than this number of days come after all future entries. */
const RECENT_DAYS = 31;

/**
 * Yields the iCalendar text of all entries. Near days come first, so that MAX_ENTRIES cuts off the most distant days.
 */
export async function* entriesOf(view: AccountView, wanted: CalendarQuery, today: string): AsyncGenerator<Buffer> {
  const { permissions } = wanted;
  const ranges = dayRanges(wanted, today);
  if (permissions.has('events:read')) yield* readLists(eventReaders(view, wanted, ranges));
  if (!permissions.has('tasks:read')) return;
  yield* readLists(ranges.map((range) => (batch) => readTasks(view, wanted, range, batch)));
  yield* readLists(ranges.map((range) => (batch) => readSubtasks(view, wanted, range, batch)));
}

/** A range of days, both included. */
type DayRange = { readonly first: string; readonly last: string };
/** Sort key of the last row that was read; undefined before the first row and after the last one. */
type EntrySortKey = { readonly day: string; readonly id: number } | undefined;
/** Limits a read to at most `limit` rows after a sort key. */
type BatchRequest = { readonly after: EntrySortKey; readonly limit: number };
/**
 * A batch of entries as bytes, so that its rows and strings can be garbage-collected immediately. With strings, V8's
 * heap grew to 190 MiB while 32 programs read a calendar of 3,000 events; with bytes, to 70 MiB.
 */
type EntryBatch = { readonly text: Buffer; readonly count: number; readonly last: EntrySortKey };
type ReadBatch = (batch: BatchRequest) => Promise<EntryBatch>;

/** Reads the lists one after the other, each to its end, up to MAX_ENTRIES entries in total. */
async function* readLists(lists: readonly ReadBatch[]): AsyncGenerator<Buffer> {
  let left = MAX_ENTRIES;
  for (const read of lists) {
    let after: EntrySortKey;
    do {
      const { text, count, last } = await read({ after, limit: Math.min(ROWS_PER_QUERY, left) });
      if (count > 0) yield text;
      left -= count;
      if (left === 0) return;
      after = last;
      await waitForNextSlice();
    } while (after !== undefined);
  }
}

/**
 * Splits the days of a calendar into ranges: first from RECENT_DAYS ago to the end, then the earlier days, newest
 * first.
 */
function dayRanges({ from, to }: CalendarQuery, today: string): readonly DayRange[] {
  const recent = addDays(today, -RECENT_DAYS);
  return [...splitIntoRanges(recent, to), ...splitIntoRanges(from, addDays(recent, -1)).reverse()];
}

function splitIntoRanges(from: string, to: string): DayRange[] {
  const all: DayRange[] = [];
  for (let first = from; first <= to; first = addDays(first, DAYS_PER_QUERY)) {
    const last = addDays(first, DAYS_PER_QUERY - 1);
    all.push({ first, last: last < to ? last : to });
  }
  return all;
}

/** Builds the condition for rows in a range of days and after a sort key. */
function rangeCondition(day: string, id: string, { first, last }: DayRange, after: EntrySortKey): Expression<SqlBool> {
  const days = sql.ref(day);
  const all = sql<SqlBool>`${days} >= ${`${first} 00:00:00`} and ${days} <= ${`${last} 23:59:59`}`;
  return after === undefined ? all : sql<SqlBool>`${all} and ${afterKeyCondition(day, id, after)}`;
}

function afterKeyCondition(day: string, id: string, after: NonNullable<EntrySortKey>): Expression<SqlBool> {
  const [days, ids] = [sql.ref(day), sql.ref(id)];
  return sql<SqlBool>`${days} >= ${after.day} and (${days} > ${after.day} or ${ids} > ${after.id})`;
}

function eventReaders(view: AccountView, wanted: CalendarQuery, ranges: readonly DayRange[]): readonly ReadBatch[] {
  const { from } = wanted;
  const begun = selectOverlapping(view, { startTo: addDays(from, -1), dueFrom: from }).as('under_way');
  // Few events are already in progress on the first day, so the query joins them. A filter in list order would scan all
  // events.
  const begunRows = selectEvents(view, wanted).innerJoin(begun, 'under_way.event_id', 'events.event_id');
  const begunRead: ReadBatch = ({ after, limit }) => {
    if (after === undefined) return readEvents(begunRows, limit, wanted);
    return readEvents(begunRows.where(afterKeyCondition('events.start_date', 'events.event_id', after)), limit, wanted);
  };
  const reads = ranges.map(
    (range): ReadBatch =>
      ({ after, limit }) => {
        const isWithin = rangeCondition('events.start_date', 'events.event_id', range, after);
        return readEvents(selectEvents(view, wanted).where(isWithin), limit, wanted);
      },
  );
  return [begunRead, ...reads];
}

async function readEvents(
  query: ReturnType<typeof selectEvents>,
  limit: number,
  wanted: CalendarQuery,
): Promise<EntryBatch> {
  const rows = await query.orderBy('events.start_date').orderBy('events.event_id').limit(limit).execute();
  const entries = rows.map((row) => toEventEntry(row, wanted));
  const last = rows.length === limit ? rows.at(-1) : undefined;
  return toBatch(entries, last && { day: last.start_date, id: last.event_id }, wanted);
}

function toBatch(entries: readonly CalendarEntry[], last: EntrySortKey, { zone }: CalendarQuery): EntryBatch {
  const text = Buffer.from(entries.map((entry) => writeEntry(entry, zone)).join(''));
  return { text, count: entries.length, last };
}

type EventRow = Awaited<ReturnType<ReturnType<typeof selectEvents>['execute']>>[number];

function selectEvents(view: AccountView, { scope, userId, projectId }: CalendarQuery) {
  const rows = view
    .selectFrom('events')
    .leftJoin('projects', (join) =>
      join.onRef('projects.project_id', '=', 'events.project_id').on('projects.account_id', '=', view.accountId),
    )
    .leftJoin('users', (join) =>
      join.onRef('users.user_id', '=', 'events.user_id').on('users.account_id', '=', view.accountId),
    )
    .selectAll('events')
    .select(['projects.project_name', 'users.first_name', 'users.last_name']);
  if (scope === 'project') return rows.where('events.project_id', '=', projectId);
  if (scope === 'account') return rows;
  const assignedProjects = view
    .selectFrom('assignments')
    .select('assignments.record_id')
    .where('assignments.resource_type', '=', 'project')
    .where('assignments.user_id', '=', userId);
  return rows.where(({ or, eb }) =>
    or([eb('events.user_id', '=', userId), eb('events.project_id', 'in', assignedProjects)]),
  );
}

function toEventEntry(row: EventRow, { permissions, domain, baseUrl }: CalendarQuery): CalendarEntry {
  const project = permissions.has('projects:read') ? (row.project_name ?? '') : '';
  const creator = permissions.has('users:read') ? creatorNameOf(row) : '';
  return {
    uid: `event-${row.event_id}@${domain}`,
    name: row.event_name,
    start_date: row.start_date,
    due_date: row.due_date,
    description: labelledLines(['Project', project], ['Created by', creator]),
    category: project,
    url: `${baseUrl}/#/calendar?date=${row.start_date.slice(0, 10)}`,
    isBusy: true,
    createdAt: row.date_created,
    modifiedAt: row.date_modified,
  };
}

function creatorNameOf({ first_name, last_name }: { first_name: string | null; last_name: string | null }): string {
  return fullNameOf({ first_name: first_name ?? '', last_name: last_name ?? '' });
}

/** Formats a line `label: text` for each text that is not empty. */
function labelledLines(...facts: readonly (readonly [label: string, text: string])[]): string[] {
  return facts.filter(([, text]) => text !== '').map(([label, text]) => `${label}: ${text}`);
}

async function readTasks(
  view: AccountView,
  wanted: CalendarQuery,
  range: DayRange,
  { after, limit }: BatchRequest,
): Promise<EntryBatch> {
  const { scope, projectId } = wanted;
  let query = view
    .selectFrom('tasks')
    .innerJoin('projects', 'projects.project_id', 'tasks.project_id')
    .selectAll('tasks')
    .select('projects.project_name')
    .where(sql<SqlBool>`tasks.completed = 0 and tasks.due_date is not null`)
    .where('tasks.archived', '=', 0)
    .where(rangeCondition('tasks.due_date', 'tasks.task_id', range, after));
  if (scope === 'project') query = query.where('tasks.project_id', '=', projectId);
  if (scope === 'own') query = query.where(concernsUser('task', 'tasks', 'task_id', wanted.userId));
  const rows = await query.orderBy('tasks.due_date').orderBy('tasks.task_id').limit(limit).execute();
  const assigned = await loadAssignedNames(
    view,
    'task',
    rows.map(({ task_id }) => task_id),
  );
  const entries = rows.map((row) =>
    toDueEntry(
      { ...row, resourceType: 'task', id: row.task_id, name: row.task_name },
      assigned.get(row.task_id),
      wanted,
    ),
  );
  const last = rows.length === limit ? rows.at(-1) : undefined;
  return toBatch(entries, last && { day: last.due_date ?? '', id: last.task_id }, wanted);
}

async function readSubtasks(
  view: AccountView,
  wanted: CalendarQuery,
  range: DayRange,
  { after, limit }: BatchRequest,
): Promise<EntryBatch> {
  const { scope, projectId } = wanted;
  let query = view
    .selectFrom('subtasks')
    .innerJoin('tasks', 'tasks.task_id', 'subtasks.task_id')
    .innerJoin('projects', 'projects.project_id', 'tasks.project_id')
    .selectAll('subtasks')
    .select(['tasks.task_name', 'projects.project_name'])
    .where(sql<SqlBool>`subtasks.completed = 0 and subtasks.due_date is not null`)
    .where('tasks.archived', '=', 0)
    .where(rangeCondition('subtasks.due_date', 'subtasks.subtask_id', range, after));
  if (scope === 'project') query = query.where('tasks.project_id', '=', projectId);
  if (scope === 'own') query = query.where(concernsUser('subtask', 'subtasks', 'subtask_id', wanted.userId));
  const rows = await query.orderBy('subtasks.due_date').orderBy('subtasks.subtask_id').limit(limit).execute();
  const assigned = await loadAssignedNames(
    view,
    'subtask',
    rows.map(({ subtask_id }) => subtask_id),
  );
  const entries = rows.map((row) =>
    toDueEntry(
      { ...row, resourceType: 'subtask', id: row.subtask_id, name: row.subtask_name },
      assigned.get(row.subtask_id),
      wanted,
    ),
  );
  const last = rows.length === limit ? rows.at(-1) : undefined;
  return toBatch(entries, last && { day: last.due_date ?? '', id: last.subtask_id }, wanted);
}

/**
 * Builds the condition for records that are assigned to the user. Records that the user created are included if no
 * existing user is assigned to them.
 */
function concernsUser(resourceType: string, table: string, key: string, userId: number): Expression<SqlBool> {
  const assigned = sql`select 1 from assignments join users on users.user_id = assignments.user_id
    where assignments.account_id = ${sql.ref(`${table}.account_id`)} and users.date_deleted is null
    and assignments.resource_type = ${resourceType} and assignments.record_id = ${sql.ref(`${table}.${key}`)}`;
  return sql<SqlBool>`(exists (${assigned} and assignments.user_id = ${userId})
    or (${sql.ref(`${table}.user_id`)} = ${userId} and not exists (${assigned})))`;
}

type DueRecord = {
  readonly resourceType: 'task' | 'subtask';
  readonly id: number;
  readonly name: string;
  readonly task_id: number;
  readonly task_name: string;
  readonly project_name: string;
  readonly due_date: string | null;
  readonly date_created: number;
  readonly date_modified: number | null;
};

/**
 * Converts a task or subtask to an entry at its due date. The time from start to due date is not shown, because it is
 * no appointment.
 */
function toDueEntry(row: DueRecord, assigned: string | undefined, { domain, baseUrl }: CalendarQuery): CalendarEntry {
  const due = row.due_date ?? '';
  return {
    uid: `${row.resourceType}-${row.id}@${domain}`,
    name: row.name,
    start_date: due,
    due_date: due,
    description: labelledLines(
      ['Project', row.project_name],
      ['Task', row.resourceType === 'subtask' ? row.task_name : ''],
      ['Assigned to', assigned ?? ''],
    ),
    category: row.project_name,
    url: `${baseUrl}/#/tasks/${row.task_id}`,
    isBusy: false,
    createdAt: row.date_created,
    modifiedAt: row.date_modified,
  };
}
