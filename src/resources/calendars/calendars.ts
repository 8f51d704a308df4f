import { writeAuditEntries } from '../../audit/actions.ts';
import { readOnlyTimestamp } from '../../http/fields/dates.ts';
import { type CreationInput, createParser, type Field, type StoredRecordOf } from '../../http/fields/field.ts';
import { ownRecordId, readOnlyId, recordIdOrNone } from '../../http/fields/reference-fields.ts';
import { oneTimeSecret, plainText, readOnlyText, shortText } from '../../http/fields/scalar-fields.ts';
import {
  defineCreateRoute,
  defineDeleteRoute,
  defineGetRoute,
  defineListRoute,
} from '../../http/routes/define-routes.ts';
import { mapRows, type Page, type PageRequest, waitForSliceTurn } from '../../http/routes/pagination.ts';
import type { ParsedParameters } from '../../http/routes/query-parameters.ts';
import type { Route } from '../../http/routes/route.ts';
import { isZoneName } from '../../ical/zone.ts';
import { type Caller, isAdmin, isPermission, type Permission, permissionsOf, type Role } from '../../permissions.ts';
import { invalidInput } from '../../problems.ts';
import { hashToken, newToken, type Random } from '../../secrets.ts';
import type { AccountView, AccountWrite } from '../../store/account-scope.ts';
import { revokeCalendars } from '../auth/revoke-access.ts';
import { type AssignableResourceType, loadAssignedUsers, MAX_ASSIGNMENTS_PER_BATCH } from '../core/assignments.ts';
import { buildFilterConditions, idFilter } from '../core/filters.ts';
import { loadPage } from '../core/pagination.ts';
import { requireRecord } from '../core/references.ts';
import { ascendingOrder, numberKey } from '../core/sorting.ts';
import { requireManageable, requireVisible } from '../users/lookup.ts';

/** The scopes of a calendar: entries that concern its user, entries of one project, or all entries of the account. */
const calendarScopes = ['own', 'project', 'account'] as const;

export type CalendarScope = (typeof calendarScopes)[number];

const readOnlyScopeField = (description: string): Field<string | null, 'readOnly'> => ({
  ...readOnlyText(description),
  outputSchema: { type: 'string', enum: calendarScopes },
});

/** Response fields of a calendar; they never include its address (X9). */
const calendarFields = {
  id: ownRecordId('Identifier of the calendar.'),
  user_id: readOnlyId('Its user: the calendar shows only what this user may read.'),
  label: readOnlyText('Its label.'),
  scope: readOnlyScopeField('Its contents.'),
  project_id: readOnlyId('The project it shows; 0 for none.'),
  time_zone: readOnlyText("Time zone of its times; empty for the account's."),
  date_created: readOnlyTimestamp('When it was created, UTC.'),
  last_fetched: readOnlyTimestamp('When a program last fetched it, UTC, to the hour.'),
  expires: readOnlyTimestamp('When it expires, UTC: with the key that created it.'),
};

const SCOPE_REQUIREMENT = `must be one of ${calendarScopes.join(', ')}`;

const scopeField: Field<CalendarScope, 'writable'> = {
  mode: 'writable',
  description:
    'own: what you created or are assigned to, and the events of your projects; project: one project; account: everything.',
  inputSchema: { type: 'string', enum: calendarScopes, 'x-must': SCOPE_REQUIREMENT },
  parse: createParser(SCOPE_REQUIREMENT, (value) => calendarScopes.find((scope) => scope === value)),
  default: 'own',
  outputSchema: {},
  serialize: (storedValue) => storedValue,
};

const ZONE_REQUIREMENT = 'must be the name of a time zone, such as Europe/Zurich, or empty';

/** Declares a field for a time zone: its IANA name, or an empty text for the zone of the account. */
export function timeZoneField(description: string): Field<string, 'writable'> {
  return {
    ...shortText(description, 64),
    inputSchema: { type: 'string', maxLength: 64, 'x-must': ZONE_REQUIREMENT },
    parse: createParser(ZONE_REQUIREMENT, (value) =>
      typeof value === 'string' && (value === '' || isZoneName(value)) ? value : undefined,
    ),
  };
}

/** Input fields of a new calendar. */
export const calendarInputFields = {
  label: plainText('Its label.'),
  scope: scopeField,
  project_id: recordIdOrNone('The project, with scope project.'),
  time_zone: timeZoneField("Time zone of its times. Default: the account's."),
};

/** Response fields of a new calendar, including its address, which is returned only once. */
const createdCalendarFields = {
  ...calendarFields,
  url: oneTimeSecret('The address to subscribe to. It is returned only once and stored as a hash.'),
};

const calendarFilters = {
  user_id: idFilter(
    'Only calendars of this user. Admins see those of all users, others their own.',
    'calendars.user_id',
  ),
};

type CalendarRow = StoredRecordOf<typeof calendarFields>;

type StoredCalendar = {
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

function toCalendarRow({ calendar_id: id, expires_at: expires, ...rest }: StoredCalendar): CalendarRow {
  return { ...rest, id, expires };
}

/** Selects the calendars that have not expired. */
function selectLiveCalendars(view: AccountView) {
  return view
    .selectFrom('calendars')
    .where(({ or, eb }) => or([eb('calendars.expires_at', 'is', null), eb('calendars.expires_at', '>', view.now)]));
}

const orderById = ascendingOrder('id', numberKey('calendars.calendar_id'));

/** Lists the calendars of the caller. Admins see the calendars of all users of the account. */
async function listCalendars(
  view: AccountView,
  caller: Caller,
  parameterValues: ParsedParameters<typeof calendarFilters>,
  paging: PageRequest,
): Promise<Page<CalendarRow>> {
  const visibleCalendarsQuery = isAdmin(caller)
    ? selectLiveCalendars(view)
    : selectLiveCalendars(view).where('calendars.user_id', '=', caller.userId);
  const page = await loadPage(
    visibleCalendarsQuery,
    visibleCalendarsQuery.selectAll('calendars'),
    orderById,
    buildFilterConditions(calendarFilters, parameterValues),
    paging,
  );
  return mapRows(page, toCalendarRow);
}

/** Returns a calendar that the caller may see; otherwise throws 404. */
async function getCalendar(view: AccountView, caller: Caller, calendarId: number): Promise<CalendarRow> {
  const row = await selectLiveCalendars(view)
    .selectAll('calendars')
    .where('calendars.calendar_id', '=', calendarId)
    .executeTakeFirst();
  return toCalendarRow(requireVisible(row, caller));
}

/**
 * Creates a calendar for the caller (X9). It has at most the caller's permissions and expires with the caller's key.
 */
async function createCalendar(
  write: AccountWrite,
  caller: Caller,
  input: CreationInput<typeof calendarInputFields>,
  { random, baseUrl }: { random: Random; baseUrl: () => string },
): Promise<StoredRecordOf<typeof createdCalendarFields>> {
  requireProjectIdMatchesScope(input.scope, input.project_id);
  if (input.project_id !== 0) await requireRecord(write, 'project', input.project_id);
  const token = newToken(random);
  const row = await write.insertRow('calendars', {
    ...input,
    user_id: caller.userId,
    token_hash: hashToken(token),
    permissions: calendarPermissions.filter((permission) => caller.permissions.has(permission)).join(','),
    date_created: write.now,
    last_fetched: null,
    expires_at: caller.expiresAt,
  });
  const detail = { user_id: String(row.user_id), scope: row.scope, project_id: String(row.project_id) };
  writeAuditEntries(write, { action: 'calendar.created', subject: `calendar ${row.calendar_id}`, detail });
  return { ...toCalendarRow(row), url: `${baseUrl()}/calendar/${token}.ics` };
}

function requireProjectIdMatchesScope(scope: CalendarScope, projectId: number): void {
  if (scope === 'project' && projectId === 0)
    throw invalidInput([{ field: 'project_id', message: 'is required with scope project' }]);
  if (scope !== 'project' && projectId !== 0)
    throw invalidInput([{ field: 'project_id', message: 'must be left out unless the scope is project' }]);
}

/** Revokes a calendar of the caller. Admins can also revoke calendars of users whose role is not above their own. */
async function revokeCalendar(write: AccountWrite, caller: Caller, calendarId: number): Promise<void> {
  const row = await selectLiveCalendars(write)
    .innerJoin('users', 'users.user_id', 'calendars.user_id')
    .select(['calendars.user_id', 'users.role'])
    .where('calendars.calendar_id', '=', calendarId)
    .executeTakeFirst();
  requireManageable(row, caller, 'revoke the calendar');
  await revokeCalendars(write, { onlyCalendarId: calendarId }, 'ended by hand');
}

type CalendarDeps = { readonly random: Random; readonly baseUrl: () => string };

/**
 * Creates the routes of calendars (X9). They require only `events:read`, because a caller who may read events may
 * share them.
 */
export function createCalendarRoutes(deps: CalendarDeps): readonly Route[] {
  return [
    defineListRoute({
      path: '/calendars',
      description: 'Lists calendars: your own, or for admins those of every user.',
      permission: 'events:read',
      parameters: calendarFilters,
      fields: calendarFields,
      handle: listCalendars,
    }),
    defineCreateRoute({
      path: '/calendars',
      description: 'Creates an address for calendar programs to subscribe to. It is returned only once.',
      permission: 'events:read',
      fields: createdCalendarFields,
      inputFields: calendarInputFields,
      recordedKinds: [],
      location: { collectionPath: '/calendars', idField: 'id' },
      handle: (write, caller, input) => createCalendar(write, caller, input, deps),
    }),
    defineGetRoute({
      path: '/calendars/{calendar_id}',
      description: 'Returns a calendar, without its address.',
      permission: 'events:read',
      fields: calendarFields,
      handle: (view, caller, ids) => getCalendar(view, caller, ids.calendar_id),
    }),
    defineDeleteRoute({
      path: '/calendars/{calendar_id}',
      description: 'Revokes a calendar; its address becomes invalid.',
      permission: 'events:read',
      recordedKinds: [],
      handle: (write, caller, ids) => revokeCalendar(write, caller, ids.calendar_id),
    }),
  ];
}

/** Permissions that a calendar can have: to read events, tasks with subtasks, and the names of projects and users. */
const calendarPermissions = [
  'events:read',
  'tasks:read',
  'projects:read',
  'users:read',
] as const satisfies Permission[];

/** Returns the permissions of a calendar: those stored at its creation that the role of its user still has. */
export function getEffectivePermissions(storedPermissions: string, role: Role): ReadonlySet<Permission> {
  const rolePermissions = permissionsOf(role);
  return new Set(
    storedPermissions
      .split(',')
      .filter((permission) => isPermission(permission) && rolePermissions.includes(permission)) as Permission[],
  );
}

/** Maximum number of assigned users whose names an entry lists. */
const MAX_ASSIGNED_NAMES = 20;

/** Number of records that are looked up before the loop yields to other requests. */
const LOOKUPS_BEFORE_YIELD = 50;

/** Loads the names of the users assigned to each record, joined by commas. */
export async function loadAssignedNames(
  view: AccountView,
  resourceType: AssignableResourceType,
  recordIds: readonly number[],
): Promise<ReadonlyMap<number, string>> {
  let assignedUsers = await loadAssignedUsers(view, resourceType, recordIds);
  if (assignedUsers.length > MAX_ASSIGNMENTS_PER_BATCH) {
    assignedUsers = [];
    for (const [index, id] of recordIds.entries()) {
      assignedUsers.push(...(await loadAssignedUsers(view, resourceType, [id], MAX_ASSIGNED_NAMES + 1)));
      if (index % LOOKUPS_BEFORE_YIELD === 0) await waitForSliceTurn();
    }
  }
  const usersByRecord = Map.groupBy(assignedUsers, ({ record_id }) => record_id);
  return new Map(
    [...usersByRecord].map(([id, recordUsers]) => [id, joinNames(recordUsers.map(({ user_name }) => user_name))]),
  );
}

function joinNames(names: readonly string[]): string {
  if (names.length <= MAX_ASSIGNED_NAMES) return names.join(', ');
  return `${names.slice(0, MAX_ASSIGNED_NAMES).join(', ')} and others`;
}
