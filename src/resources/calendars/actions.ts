import { type Caller, isAdmin, outranks, type Role } from '../../access.ts';
import { note } from '../../audit/actions.ts';
import type { Created, Shown } from '../../http/field.ts';
import type { Page, Paging } from '../../http/paging.ts';
import type { Given } from '../../http/query.ts';
import { mapRows } from '../../http/slices.ts';
import { invalidInput, notFound, Problem } from '../../problems.ts';
import { type Chance, hashToken, newToken } from '../../secrets.ts';
import type { AccountView, AccountWrite } from '../../store/account.ts';
import { conditionsOf } from '../filters.ts';
import { mustBe } from '../named.ts';
import { ascending, number } from '../order.ts';
import { pageOf } from '../pages.ts';
import { revokeCalendars } from '../ways-in.ts';
import { needed } from './reach.ts';
import {
  type calendarFields,
  calendarFilters,
  type calendarInputFields,
  type madeCalendarFields,
  type Scope,
} from './schema.ts';

type CalendarRow = Shown<typeof calendarFields>;

type Stored = {
  calendar_id: number;
  user_id: number;
  label: string;
  scope: string;
  project_id: number;
  time_zone: string;
  date_created: number;
  last_fetched: number | null;
  expires_at: number | null;
};

function shown({ calendar_id: id, expires_at: expires, ...rest }: Stored): CalendarRow {
  return { ...rest, id, expires };
}

/** Those that have not ended by themselves. */
function live(view: AccountView) {
  return view
    .selectFrom('calendars')
    .where(({ or, eb }) => or([eb('calendars.expires_at', 'is', null), eb('calendars.expires_at', '>', view.now)]));
}

const byId = ascending('id', number('calendars.calendar_id'));

/** The calendars of the caller; admins see those of every user of the account. */
export async function listCalendars(
  view: AccountView,
  caller: Caller,
  given: Given<typeof calendarFilters>,
  paging: Paging,
): Promise<Page<CalendarRow>> {
  const visible = isAdmin(caller) ? live(view) : live(view).where('calendars.user_id', '=', caller.userId);
  const page = await pageOf(
    visible,
    visible.selectAll('calendars'),
    byId,
    conditionsOf(calendarFilters, given),
    paging,
  );
  return mapRows(page, shown);
}

/** One that the caller may see. */
export async function getCalendar(view: AccountView, caller: Caller, calendarId: number): Promise<CalendarRow> {
  const row = await live(view)
    .selectAll('calendars')
    .where('calendars.calendar_id', '=', calendarId)
    .executeTakeFirst();
  if (row === undefined || (row.user_id !== caller.userId && !isAdmin(caller))) throw notFound();
  return shown(row);
}

/** X9: what is made is for the caller, reads no more than the caller may now, and does not outlive the caller's key. */
export async function makeCalendar(
  write: AccountWrite,
  caller: Caller,
  input: Created<typeof calendarInputFields>,
  { chance, baseUrl }: { chance: Chance; baseUrl: () => string },
): Promise<Shown<typeof madeCalendarFields>> {
  mustFit(input.scope, input.project_id);
  if (input.project_id !== 0) await mustBe(write, 'project', input.project_id);
  const token = newToken(chance);
  const row = await write.insertRow('calendars', {
    ...input,
    user_id: caller.userId,
    token_hash: hashToken(token),
    permissions: needed.filter((one) => caller.permissions.has(one)).join(','),
    date_created: write.now,
    last_fetched: null,
    expires_at: caller.expiresAt,
  });
  const detail = { user_id: String(row.user_id), scope: row.scope, project_id: String(row.project_id) };
  note(write, { action: 'calendar.made', subject: `calendar ${row.calendar_id}`, detail });
  return { ...shown(row), url: `${baseUrl()}/calendar/${token}.ics` };
}

function mustFit(scope: Scope, projectId: number): void {
  if (scope === 'project' && projectId === 0)
    throw invalidInput([{ field: 'project_id', message: 'is required with scope project' }]);
  if (scope !== 'project' && projectId !== 0)
    throw invalidInput([{ field: 'project_id', message: 'must be left out but with scope project' }]);
}

/** Ends one at once: the caller's own, or for admins that of any user who does not stand above them. */
export async function revokeCalendar(write: AccountWrite, caller: Caller, calendarId: number): Promise<void> {
  const row = await live(write)
    .innerJoin('users', 'users.user_id', 'calendars.user_id')
    .select(['calendars.user_id', 'users.role'])
    .where('calendars.calendar_id', '=', calendarId)
    .executeTakeFirst();
  if (row === undefined || (row.user_id !== caller.userId && !isAdmin(caller))) throw notFound();
  if (outranks(row.role as Role, caller.role)) {
    throw new Problem('not_permitted', {
      detail: 'The calendar of a user whose role is above your own is not yours to revoke.',
    });
  }
  await revokeCalendars(write, { only: calendarId }, 'ended by hand');
}
