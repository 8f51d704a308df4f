import { type Expression, type SqlBool, sql } from 'kysely';
import { addDays } from '../../ical/days.ts';
import { type CalendarEntry, writeEntry } from '../../ical/write.ts';
import type { CalendarZone } from '../../ical/zone.ts';
import type { Permission } from '../../permissions.ts';
import type { AccountView } from '../../store/account-scope.ts';
import { selectOverlappingEventIds } from '../events/overlapping.ts';
import { fullNameOf } from '../users/lookup.ts';
import { type CalendarScope, loadAssignedNames } from './calendars.ts';

/** Defines which entries a calendar contains, and how they are written. */
export type CalendarDefinition = {
  readonly scope: CalendarScope;
  readonly userId: number;
  readonly projectId: number;
  readonly permissions: ReadonlySet<Permission>;
  /** First day of the calendar, `YYYY-MM-DD`. */
  readonly firstDay: string;
  /** Last day of the calendar, `YYYY-MM-DD`. */
  readonly lastDay: string;
  /** Suffix of the UIDs of entries, which makes them globally unique. */
  readonly domain: string;
  readonly baseUrl: string;
  /** Time zone of the written times; undefined for floating times, which have no zone. */
  readonly zone: CalendarZone | undefined;
};

/** A range of days. The first and the last day are included. */
export type DayRange = { readonly first: string; readonly last: string };
/**
 * Sort key of the last row that was read: its start or due date with the time of day, and its id. Undefined before the
 * first row and after the last one.
 */
export type EntrySortKey = { readonly time: string; readonly id: number } | undefined;
/** Limits a read to at most `limit` rows after a sort key. */
type BatchRequest = { readonly afterKey: EntrySortKey; readonly limit: number };
/**
 * A batch of entries as bytes, so that its rows and strings can be garbage-collected immediately. With strings, V8's
 * heap grew to 190 MiB while 32 programs read a calendar of 3,000 events; with bytes, to 70 MiB.
 */
type EntryBatch = { readonly icsBytes: Buffer; readonly entryCount: number; readonly lastKey: EntrySortKey };
export type ReadBatch = (batchRequest: BatchRequest) => Promise<EntryBatch>;

/** Builds the condition for rows in a range of days and after a sort key. */
function buildDayRangeCondition(
  timeColumn: string,
  idColumn: string,
  { first, last }: DayRange,
  afterKey: EntrySortKey,
): Expression<SqlBool> {
  const timeRef = sql.ref(timeColumn);
  const dayRangeCondition = sql<SqlBool>`${timeRef} >= ${`${first} 00:00:00`} and ${timeRef} <= ${`${last} 23:59:59`}`;
  return afterKey === undefined
    ? dayRangeCondition
    : sql<SqlBool>`${dayRangeCondition} and ${buildAfterKeyCondition(timeColumn, idColumn, afterKey)}`;
}

function buildAfterKeyCondition(
  timeColumn: string,
  idColumn: string,
  afterKey: NonNullable<EntrySortKey>,
): Expression<SqlBool> {
  const [timeRef, idRef] = [sql.ref(timeColumn), sql.ref(idColumn)];
  return sql<SqlBool>`${timeRef} >= ${afterKey.time} and (${timeRef} > ${afterKey.time} or ${idRef} > ${afterKey.id})`;
}

export function createEventReaders(
  view: AccountView,
  calendarDefinition: CalendarDefinition,
  dayRanges: readonly DayRange[],
): readonly ReadBatch[] {
  const { firstDay } = calendarDefinition;
  const inProgressEventIdsQuery = selectOverlappingEventIds(view, {
    latestStartDay: addDays(firstDay, -1),
    earliestDueDay: firstDay,
  }).as('under_way');
  // Few events are in progress when the calendar begins, so the query joins with their ids. A filter in list order
  // would scan all events.
  const inProgressEventsQuery = selectEvents(view, calendarDefinition).innerJoin(
    inProgressEventIdsQuery,
    'under_way.event_id',
    'events.event_id',
  );
  const readInProgressEvents: ReadBatch = ({ afterKey, limit }) => {
    if (afterKey === undefined) return readEvents(inProgressEventsQuery, limit, calendarDefinition);
    return readEvents(
      inProgressEventsQuery.where(buildAfterKeyCondition('events.start_date', 'events.event_id', afterKey)),
      limit,
      calendarDefinition,
    );
  };
  const rangeReaders = dayRanges.map(
    (dayRange): ReadBatch =>
      ({ afterKey, limit }) => {
        const rangeCondition = buildDayRangeCondition('events.start_date', 'events.event_id', dayRange, afterKey);
        return readEvents(selectEvents(view, calendarDefinition).where(rangeCondition), limit, calendarDefinition);
      },
  );
  return [readInProgressEvents, ...rangeReaders];
}

async function readEvents(
  query: ReturnType<typeof selectEvents>,
  limit: number,
  calendarDefinition: CalendarDefinition,
): Promise<EntryBatch> {
  const rows = await query.orderBy('events.start_date').orderBy('events.event_id').limit(limit).execute();
  const entries = rows.map((row) => toEventEntry(row, calendarDefinition));
  const lastRow = rows.length === limit ? rows.at(-1) : undefined;
  return toEntryBatch(entries, lastRow && { time: lastRow.start_date, id: lastRow.event_id }, calendarDefinition);
}

function toEntryBatch(
  entries: readonly CalendarEntry[],
  lastKey: EntrySortKey,
  { zone }: CalendarDefinition,
): EntryBatch {
  const icsBytes = Buffer.from(entries.map((entry) => writeEntry(entry, zone)).join(''));
  return { icsBytes, entryCount: entries.length, lastKey };
}

type CalendarEventRow = Awaited<ReturnType<ReturnType<typeof selectEvents>['execute']>>[number];

function selectEvents(view: AccountView, { scope, userId, projectId }: CalendarDefinition) {
  const eventsQuery = view
    .selectFrom('events')
    .leftJoin('projects', (join) =>
      join.onRef('projects.project_id', '=', 'events.project_id').on('projects.account_id', '=', view.accountId),
    )
    .leftJoin('users', (join) =>
      join.onRef('users.user_id', '=', 'events.user_id').on('users.account_id', '=', view.accountId),
    )
    .selectAll('events')
    .select(['projects.project_name', 'users.first_name', 'users.last_name']);
  if (scope === 'project') return eventsQuery.where('events.project_id', '=', projectId);
  if (scope === 'account') return eventsQuery;
  const assignedProjectIdsQuery = view
    .selectFrom('assignments')
    .select('assignments.record_id')
    .where('assignments.resource_type', '=', 'project')
    .where('assignments.user_id', '=', userId);
  return eventsQuery.where(({ or, eb }) =>
    or([eb('events.user_id', '=', userId), eb('events.project_id', 'in', assignedProjectIdsQuery)]),
  );
}

function toEventEntry(row: CalendarEventRow, { permissions, domain, baseUrl }: CalendarDefinition): CalendarEntry {
  const projectName = permissions.has('projects:read') ? (row.project_name ?? '') : '';
  const creatorName = permissions.has('users:read') ? creatorNameOf(row) : '';
  return {
    uid: `event-${row.event_id}@${domain}`,
    name: row.event_name,
    start_date: row.start_date,
    due_date: row.due_date,
    description: formatLabelledLines(['Project', projectName], ['Created by', creatorName]),
    category: projectName,
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
function formatLabelledLines(...labelledTexts: readonly (readonly [label: string, text: string])[]): string[] {
  return labelledTexts.filter(([, text]) => text !== '').map(([label, text]) => `${label}: ${text}`);
}

export async function readTasks(
  view: AccountView,
  calendarDefinition: CalendarDefinition,
  dayRange: DayRange,
  { afterKey, limit }: BatchRequest,
): Promise<EntryBatch> {
  const rows = await view
    .selectFrom('tasks')
    .innerJoin('projects', 'projects.project_id', 'tasks.project_id')
    .select(['tasks.task_id as id', 'tasks.task_name as name', 'tasks.task_id', 'projects.project_name'])
    .select(['tasks.due_date', 'tasks.date_created', 'tasks.date_modified'])
    .where(buildDueDateCondition('task', calendarDefinition, dayRange, afterKey))
    .orderBy('tasks.due_date')
    .orderBy('tasks.task_id')
    .limit(limit)
    .execute();
  return toDueDateBatch(view, 'task', rows, limit, calendarDefinition);
}

export async function readSubtasks(
  view: AccountView,
  calendarDefinition: CalendarDefinition,
  dayRange: DayRange,
  { afterKey, limit }: BatchRequest,
): Promise<EntryBatch> {
  const rows = await view
    .selectFrom('subtasks')
    .innerJoin('tasks', 'tasks.task_id', 'subtasks.task_id')
    .innerJoin('projects', 'projects.project_id', 'tasks.project_id')
    .select(['subtasks.subtask_id as id', 'subtasks.subtask_name as name', 'subtasks.task_id', 'tasks.task_name'])
    .select(['projects.project_name', 'subtasks.due_date', 'subtasks.date_created', 'subtasks.date_modified'])
    .where(buildDueDateCondition('subtask', calendarDefinition, dayRange, afterKey))
    .orderBy('subtasks.due_date')
    .orderBy('subtasks.subtask_id')
    .limit(limit)
    .execute();
  return toDueDateBatch(view, 'subtask', rows, limit, calendarDefinition);
}

/** Builds the condition for the open tasks or subtasks of a calendar in a range of days, after a sort key. */
function buildDueDateCondition(
  resourceType: 'task' | 'subtask',
  { scope, projectId, userId }: CalendarDefinition,
  dayRange: DayRange,
  afterKey: EntrySortKey,
): Expression<SqlBool> {
  const table = `${resourceType}s`;
  const [dueDate, id] = [`${table}.due_date`, `${table}.${resourceType}_id`];
  const openCondition = sql<SqlBool>`${sql.ref(`${table}.completed`)} = 0 and ${sql.ref(dueDate)} is not null
    and tasks.archived = 0 and ${buildDayRangeCondition(dueDate, id, dayRange, afterKey)}`;
  if (scope === 'project') return sql<SqlBool>`${openCondition} and tasks.project_id = ${projectId}`;
  if (scope === 'own') return sql<SqlBool>`${openCondition} and ${buildOwnScopeCondition(resourceType, userId)}`;
  return openCondition;
}

async function toDueDateBatch(
  view: AccountView,
  resourceType: 'task' | 'subtask',
  rows: readonly DueDateRow[],
  limit: number,
  calendarDefinition: CalendarDefinition,
): Promise<EntryBatch> {
  const ids = rows.map(({ id }) => id);
  const assignedNames = await loadAssignedNames(view, resourceType, ids);
  const entries = rows.map((row) => toDueDateEntry(resourceType, row, assignedNames.get(row.id), calendarDefinition));
  const lastRow = rows.length === limit ? rows.at(-1) : undefined;
  return toEntryBatch(entries, lastRow && { time: lastRow.due_date ?? '', id: lastRow.id }, calendarDefinition);
}

/**
 * Builds the condition for records that are assigned to the user. Records that the user created are included if no
 * existing user is assigned to them.
 */
function buildOwnScopeCondition(resourceType: 'task' | 'subtask', userId: number): Expression<SqlBool> {
  const table = `${resourceType}s`;
  const assignmentsSql = sql`select 1 from assignments join users on users.user_id = assignments.user_id
    where assignments.account_id = ${sql.ref(`${table}.account_id`)} and users.date_deleted is null
    and assignments.resource_type = ${resourceType} and assignments.record_id = ${sql.ref(`${table}.${resourceType}_id`)}`;
  return sql<SqlBool>`(exists (${assignmentsSql} and assignments.user_id = ${userId})
    or (${sql.ref(`${table}.user_id`)} = ${userId} and not exists (${assignmentsSql})))`;
}

/** A task or subtask. `task_name`: the name of the task of a subtask. */
type DueDateRow = {
  readonly id: number;
  readonly name: string;
  readonly task_id: number;
  readonly task_name?: string;
  readonly project_name: string;
  readonly due_date: string | null;
  readonly date_created: number;
  readonly date_modified: number | null;
};

/**
 * Converts a task or subtask to an entry at its due date. The start date is not shown, because the time between the two
 * dates is no appointment.
 */
function toDueDateEntry(
  resourceType: 'task' | 'subtask',
  row: DueDateRow,
  assignedNames: string | undefined,
  { domain, baseUrl }: CalendarDefinition,
): CalendarEntry {
  const dueDate = row.due_date ?? '';
  return {
    uid: `${resourceType}-${row.id}@${domain}`,
    name: row.name,
    start_date: dueDate,
    due_date: dueDate,
    description: formatLabelledLines(
      ['Project', row.project_name],
      ['Task', row.task_name ?? ''],
      ['Assigned to', assignedNames ?? ''],
    ),
    category: row.project_name,
    url: `${baseUrl}/#/tasks/${row.task_id}`,
    isBusy: false,
    createdAt: row.date_created,
    modifiedAt: row.date_modified,
  };
}
