import { type Expression, type SqlBool, sql } from 'kysely';
import type { Permission } from '../../access.ts';
import { nextSlice } from '../../http/slices.ts';
import { plusDays } from '../../ical/days.ts';
import type { Entry } from '../../ical/write.ts';
import type { AccountView } from '../../store/account.ts';
import { underWay } from '../events/under-way.ts';
import { userName } from '../people.ts';
import { assignedNames } from './names.ts';
import type { Scope } from './schema.ts';

/** What is looked for: of whom or of what, in which days, and how it is told. */
export type Wanted = {
  readonly scope: Scope;
  readonly userId: number;
  readonly projectId: number;
  readonly reach: ReadonlySet<Permission>;
  /** The first day and the last, `YYYY-MM-DD`. */
  readonly from: string;
  readonly to: string;
  /** What identifiers end in, so that they are nobody else's. */
  readonly domain: string;
  readonly baseUrl: string;
};

/** As many of events, of tasks and of subtasks each: what a calendar program can still be asked to read. */
export const MOST_ENTRIES = 10_000;

const ROWS_A_LOOK = 500;

/** So many days are looked through at once: whoever has little among much must not hold up the others. */
const DAYS_A_LOOK = 31;

/** What is over for longer than this comes after all that is to come. */
const RECENT_DAYS = 31;

/** Everything in a calendar, a piece at a time: what is near first, so that what is too much is cut off far away. */
export async function* entriesOf(view: AccountView, wanted: Wanted, today: string): AsyncGenerator<readonly Entry[]> {
  const { reach } = wanted;
  if (reach.has('events:read')) yield* within(MOST_ENTRIES, events(view, wanted, today));
  if (!reach.has('tasks:read')) return;
  yield* within(
    MOST_ENTRIES,
    stretched(wanted, today, (stretch, after) => tasks(view, wanted, stretch, after)),
  );
  yield* within(
    MOST_ENTRIES,
    stretched(wanted, today, (stretch, after) => subtasks(view, wanted, stretch, after)),
  );
}

async function* within(most: number, pieces: AsyncIterable<readonly Entry[]>): AsyncGenerator<readonly Entry[]> {
  let left = most;
  for await (const piece of pieces) {
    yield piece.slice(0, left);
    left -= piece.length;
    if (left <= 0) return;
    await nextSlice();
  }
}

/** Days that are looked through at once, both included. */
type Stretch = { readonly first: string; readonly last: string };
/** How far a list has been read: its last row. */
type Place = { readonly day: string; readonly id: number } | undefined;
type Piece = { readonly entries: readonly Entry[]; readonly last: Place };

/** All rows of each stretch of days: from a little ago on, then what was before, back in time. */
async function* stretched(
  { from, to }: Wanted,
  today: string,
  read: (stretch: Stretch, after: Place) => Promise<Piece>,
): AsyncGenerator<readonly Entry[]> {
  const recent = plusDays(today, -RECENT_DAYS);
  for (const stretch of [...stretches(recent, to), ...stretches(from, plusDays(recent, -1)).reverse()]) {
    let after: Place;
    do {
      const { entries, last } = await read(stretch, after);
      if (entries.length > 0) yield entries;
      after = last;
      await nextSlice();
    } while (after !== undefined);
  }
}

function stretches(from: string, to: string): Stretch[] {
  const all: Stretch[] = [];
  for (let first = from; first <= to; first = plusDays(first, DAYS_A_LOOK)) {
    const last = plusDays(first, DAYS_A_LOOK - 1);
    all.push({ first, last: last < to ? last : to });
  }
  return all;
}

/** Rows in the order of a day and an id: those of a stretch, behind a place. */
function behind(day: string, id: string, { first, last }: Stretch, after: Place): Expression<SqlBool> {
  const [days, ids] = [sql.ref(day), sql.ref(id)];
  const all = sql<SqlBool>`${days} >= ${`${first} 00:00:00`} and ${days} <= ${`${last} 23:59:59`}`;
  if (after === undefined) return all;
  return sql<SqlBool>`${all} and ${days} >= ${after.day} and (${days} > ${after.day} or ${ids} > ${after.id})`;
}

async function* events(view: AccountView, wanted: Wanted, today: string): AsyncGenerator<readonly Entry[]> {
  const { from } = wanted;
  const begun = underWay(view, { startTo: plusDays(from, -1), dueFrom: from }).as('under_way');
  // Joined, since they are few: in the order of all that is there they would be looked for among all.
  const rows = await eventRows(view, wanted)
    .innerJoin(begun, 'under_way.event_id', 'events.event_id')
    .orderBy('events.start_date')
    .orderBy('events.event_id')
    .limit(MOST_ENTRIES)
    .execute();
  yield rows.map((row) => eventEntry(row, wanted));
  yield* stretched(wanted, today, async (stretch, after) => {
    const found = await eventRows(view, wanted)
      .where(behind('events.start_date', 'events.event_id', stretch, after))
      .orderBy('events.start_date')
      .orderBy('events.event_id')
      .limit(ROWS_A_LOOK)
      .execute();
    return pieceOf(
      found,
      (row) => eventEntry(row, wanted),
      (row) => ({ day: row.start_date, id: row.event_id }),
    );
  });
}

function pieceOf<R>(rows: readonly R[], entry: (row: R) => Entry, place: (row: R) => NonNullable<Place>): Piece {
  const last = rows.at(-1);
  const isMore = rows.length === ROWS_A_LOOK && last !== undefined;
  return { entries: rows.map(entry), last: isMore ? place(last) : undefined };
}

type EventRow = Awaited<ReturnType<ReturnType<typeof eventRows>['execute']>>[number];

function eventRows(view: AccountView, { scope, userId, projectId }: Wanted) {
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
  const theirs = view
    .selectFrom('assignments')
    .select('assignments.record_id')
    .where('assignments.noun', '=', 'project')
    .where('assignments.user_id', '=', userId);
  return rows.where(({ or, eb }) => or([eb('events.user_id', '=', userId), eb('events.project_id', 'in', theirs)]));
}

function eventEntry(row: EventRow, { reach, domain, baseUrl }: Wanted): Entry {
  const project = reach.has('projects:read') ? (row.project_name ?? '') : '';
  const creator = reach.has('users:read') ? nameOf(row) : '';
  return {
    uid: `event-${row.event_id}@${domain}`,
    name: row.event_name,
    start_date: row.start_date,
    due_date: row.due_date,
    about: said(['Project', project], ['Created by', creator]),
    category: project,
    url: `${baseUrl}/#/calendar?date=${row.start_date.slice(0, 10)}`,
    isBusy: true,
    createdAt: row.date_created,
    modifiedAt: row.date_modified,
  };
}

function nameOf({ first_name, last_name }: { first_name: string | null; last_name: string | null }): string {
  return userName({ first_name: first_name ?? '', last_name: last_name ?? '' });
}

/** A line for each thing that there is to say. */
function said(...facts: readonly (readonly [what: string, text: string])[]): string[] {
  return facts.filter(([, text]) => text !== '').map(([what, text]) => `${what}: ${text}`);
}

async function tasks(view: AccountView, wanted: Wanted, stretch: Stretch, after: Place): Promise<Piece> {
  const { scope, projectId } = wanted;
  let query = view
    .selectFrom('tasks')
    .innerJoin('projects', 'projects.project_id', 'tasks.project_id')
    .selectAll('tasks')
    .select('projects.project_name')
    .where(sql<SqlBool>`tasks.completed = 0 and tasks.due_date is not null`)
    .where('tasks.archived', '=', 0)
    .where(behind('tasks.due_date', 'tasks.task_id', stretch, after));
  if (scope === 'project') query = query.where('tasks.project_id', '=', projectId);
  if (scope === 'own') query = query.where(concerns('task', 'tasks', 'task_id', wanted.userId));
  const rows = await query.orderBy('tasks.due_date').orderBy('tasks.task_id').limit(ROWS_A_LOOK).execute();
  const assigned = await assignedNames(
    view,
    'task',
    rows.map(({ task_id }) => task_id),
  );
  return pieceOf(
    rows,
    (row) =>
      dueEntry({ ...row, noun: 'task', id: row.task_id, name: row.task_name }, assigned.get(row.task_id), wanted),
    (row) => ({ day: row.due_date ?? '', id: row.task_id }),
  );
}

async function subtasks(view: AccountView, wanted: Wanted, stretch: Stretch, after: Place): Promise<Piece> {
  const { scope, projectId } = wanted;
  let query = view
    .selectFrom('subtasks')
    .innerJoin('tasks', 'tasks.task_id', 'subtasks.task_id')
    .innerJoin('projects', 'projects.project_id', 'tasks.project_id')
    .selectAll('subtasks')
    .select(['tasks.task_name', 'projects.project_name'])
    .where(sql<SqlBool>`subtasks.completed = 0 and subtasks.due_date is not null`)
    .where('tasks.archived', '=', 0)
    .where(behind('subtasks.due_date', 'subtasks.subtask_id', stretch, after));
  if (scope === 'project') query = query.where('tasks.project_id', '=', projectId);
  if (scope === 'own') query = query.where(concerns('subtask', 'subtasks', 'subtask_id', wanted.userId));
  const rows = await query.orderBy('subtasks.due_date').orderBy('subtasks.subtask_id').limit(ROWS_A_LOOK).execute();
  const assigned = await assignedNames(
    view,
    'subtask',
    rows.map(({ subtask_id }) => subtask_id),
  );
  return pieceOf(
    rows,
    (row) =>
      dueEntry(
        { ...row, noun: 'subtask', id: row.subtask_id, name: row.subtask_name },
        assigned.get(row.subtask_id),
        wanted,
      ),
    (row) => ({ day: row.due_date ?? '', id: row.subtask_id }),
  );
}

/** Assigned to somebody, or theirs because they created it and it is assigned to nobody who is still there. */
function concerns(noun: string, table: string, key: string, userId: number): Expression<SqlBool> {
  const assigned = sql`select 1 from assignments join users on users.user_id = assignments.user_id
    where assignments.account_id = ${sql.ref(`${table}.account_id`)} and users.date_deleted is null
    and assignments.noun = ${noun} and assignments.record_id = ${sql.ref(`${table}.${key}`)}`;
  return sql<SqlBool>`(exists (${assigned} and assignments.user_id = ${userId})
    or (${sql.ref(`${table}.user_id`)} = ${userId} and not exists (${assigned})))`;
}

type Due = {
  readonly noun: 'task' | 'subtask';
  readonly id: number;
  readonly name: string;
  readonly task_id: number;
  readonly task_name: string;
  readonly project_name: string;
  readonly due_date: string | null;
  readonly date_created: number;
  readonly date_modified: number | null;
};

/** What is due stands where it is due: for how long it was worked at is no appointment. */
function dueEntry(row: Due, assigned: string | undefined, { domain, baseUrl }: Wanted): Entry {
  const due = row.due_date ?? '';
  return {
    uid: `${row.noun}-${row.id}@${domain}`,
    name: row.name,
    start_date: due,
    due_date: due,
    about: said(
      ['Project', row.project_name],
      ['Task', row.noun === 'subtask' ? row.task_name : ''],
      ['Assigned to', assigned ?? ''],
    ),
    category: row.project_name,
    url: `${baseUrl}/#/tasks/${row.task_id}`,
    isBusy: false,
    createdAt: row.date_created,
    modifiedAt: row.date_modified,
  };
}
