import { splitIntoBatches } from '../../async/batches.ts';
import { expandInHalves, type Page } from '../../http/routes/pagination.ts';
import { notFound } from '../../problems.ts';
import type { AccountView, AccountWrite } from '../../store/account-scope.ts';
import { fullNameOf, requireUsers } from '../users/lookup.ts';
import type { AssignedTeam, AssignedUser } from './domain-fields.ts';

/**
 * Resource types that users can be assigned to. The value is true if teams can be assigned too. Users are assigned to a
 * team as its members.
 */
const allowsTeamsByType = { project: true, subtask: true, task: true, team: false };

export type AssignableResourceType = keyof typeof allowsTeamsByType;

export function canHaveAssignees(resourceType: string): resourceType is AssignableResourceType {
  return Object.hasOwn(allowsTeamsByType, resourceType);
}

/** Users and teams assigned to a record. A list that a request does not set is undefined. */
export type Assignees = {
  readonly users?: readonly AssignedUser[] | undefined;
  readonly teams?: readonly AssignedTeam[] | undefined;
};

/**
 * Maximum number of assignments loaded for one batch of records; users and teams are counted separately. The
 * assignments of a single record are always loaded completely.
 */
export const MAX_ASSIGNMENTS_PER_BATCH = 2_000;

/** Adds the assigned users and teams to the rows of a page. A batch with too many assignments is halved and retried. */
export function addAssigneesToPage<R extends object>(
  view: AccountView,
  resourceType: AssignableResourceType,
  page: Page<R>,
  idOf: (row: R) => number,
): Promise<Page<R & Required<Assignees>>> {
  return expandInHalves(page, async (rows) => {
    const recordIds = rows.map(idOf);
    const [users, teams] = await Promise.all([
      loadAssignedUsers(view, resourceType, recordIds),
      loadAssignedTeams(view, resourceType, recordIds),
    ]);
    if (rows.length > 1 && Math.max(users.length, teams.length) > MAX_ASSIGNMENTS_PER_BATCH) return undefined;
    const usersByRecord = Map.groupBy(users, ({ record_id }) => record_id);
    const teamsByRecord = Map.groupBy(teams, ({ record_id }) => record_id);
    return rows.map((row) => ({
      ...row,
      users: usersByRecord.get(idOf(row)) ?? [],
      teams: teamsByRecord.get(idOf(row)) ?? [],
    }));
  });
}

/** Loads the users and teams assigned to one record. */
export async function loadAssignees(
  view: AccountView,
  resourceType: AssignableResourceType,
  recordId: number,
): Promise<Required<Assignees>> {
  const [users, teams] = await Promise.all([
    loadAssignedUsers(view, resourceType, [recordId]),
    loadAssignedTeams(view, resourceType, [recordId]),
  ]);
  return { users, teams };
}

/**
 * Row limit of a query: one more than the batch size, to detect a batch that is too large. A single record has no
 * limit.
 */
const rowLimitFor = (recordIds: readonly number[]) =>
  recordIds.length > 1 ? MAX_ASSIGNMENTS_PER_BATCH + 1 : undefined;

/** Loads the users assigned to these records, sorted by user id. Deleted users are left out. */
export async function loadAssignedUsers(
  view: AccountView,
  resourceType: AssignableResourceType,
  recordIds: readonly number[],
  limit = rowLimitFor(recordIds),
) {
  if (recordIds.length === 0) return [];
  const query = view
    .selectFrom('assignments')
    .innerJoin('users', 'users.user_id', 'assignments.user_id')
    .where('users.date_deleted', 'is', null)
    .where('assignments.resource_type', '=', resourceType)
    .where('assignments.record_id', 'in', recordIds)
    .select(['assignments.record_id', 'users.user_id', 'users.first_name', 'users.last_name']);
  const rows = await (limit === undefined ? query : query.limit(limit)).execute();
  return rows
    .map((row) => ({ record_id: row.record_id, user_id: row.user_id, user_name: fullNameOf(row) }))
    .sort((one, other) => one.user_id - other.user_id);
}

async function loadAssignedTeams(
  view: AccountView,
  resourceType: AssignableResourceType,
  recordIds: readonly number[],
) {
  const limit = rowLimitFor(recordIds);
  if (recordIds.length === 0 || !allowsTeamsByType[resourceType]) return [];
  const query = view
    .selectFrom('team_assignments')
    .innerJoin('teams', 'teams.team_id', 'team_assignments.team_id')
    .where('team_assignments.resource_type', '=', resourceType)
    .where('team_assignments.record_id', 'in', recordIds)
    .select(['team_assignments.record_id', 'teams.team_id', 'teams.team_name']);
  const rows = await (limit === undefined ? query : query.limit(limit)).execute();
  return rows.sort((one, other) => one.team_id - other.team_id);
}

/**
 * Replaces the assigned users and teams of a record. An undefined list stays unchanged. Throws 404 for an unknown user
 * or team.
 */
export async function setAssignees(
  write: AccountWrite,
  resourceType: AssignableResourceType,
  recordId: number,
  { users, teams }: Assignees,
): Promise<void> {
  const recordKey = { resource_type: resourceType, record_id: recordId };
  if (users !== undefined) {
    const rows = users.map(({ user_id }) => ({ ...recordKey, user_id }));
    await requireUsers(
      write,
      rows.map(({ user_id }) => user_id),
    );
    await unassignAll(write, 'assignments', resourceType, [recordId]);
    if (rows.length > 0) await write.insertInto('assignments', rows).execute();
  }
  if (teams !== undefined && allowsTeamsByType[resourceType]) {
    const rows = teams.map(({ team_id }) => ({ ...recordKey, team_id }));
    await requireTeams(
      write,
      rows.map(({ team_id }) => team_id),
    );
    await unassignAll(write, 'team_assignments', resourceType, [recordId]);
    if (rows.length > 0) await write.insertInto('team_assignments', rows).execute();
  }
}

const INSERT_BATCH_SIZE = 1_000;

/** Copies the assignments of records to the copies of these records. */
export async function copyAssignees(
  write: AccountWrite,
  resourceType: AssignableResourceType,
  copyIdByRecordId: ReadonlyMap<number, number>,
): Promise<void> {
  const recordIds = [...copyIdByRecordId.keys()];
  const [userAssignments, teamAssignments] = await Promise.all([
    write
      .selectFrom('assignments')
      .innerJoin('users', 'users.user_id', 'assignments.user_id')
      .where('users.date_deleted', 'is', null)
      .where('assignments.resource_type', '=', resourceType)
      .where('assignments.record_id', 'in', recordIds)
      .select(['assignments.record_id', 'assignments.user_id'])
      .execute(),
    write
      .selectFrom('team_assignments')
      .where('team_assignments.resource_type', '=', resourceType)
      .where('team_assignments.record_id', 'in', recordIds)
      .select(['team_assignments.record_id', 'team_assignments.team_id'])
      .execute(),
  ]);
  const toCopiedRow = <R extends { readonly record_id: number }>(row: R) => ({
    ...row,
    resource_type: resourceType,
    record_id: copyIdByRecordId.get(row.record_id) ?? 0,
  });
  for (const batch of splitIntoBatches(userAssignments, INSERT_BATCH_SIZE))
    await write.insertInto('assignments', batch.map(toCopiedRow)).execute();
  for (const batch of splitIntoBatches(teamAssignments, INSERT_BATCH_SIZE))
    await write.insertInto('team_assignments', batch.map(toCopiedRow)).execute();
}

async function requireTeams(view: AccountView, teamIds: readonly number[]): Promise<void> {
  if (teamIds.length === 0) return;
  const rows = await view.selectFrom('teams').select('teams.team_id').where('teams.team_id', 'in', teamIds).execute();
  if (rows.length < teamIds.length) throw notFound();
}

/** Removes all assignments of these records. */
export async function removeAssignees(
  write: AccountWrite,
  resourceType: AssignableResourceType,
  recordIds: readonly number[],
): Promise<void> {
  const tables = ['assignments', 'team_assignments'] as const;
  await Promise.all(tables.map((table) => unassignAll(write, table, resourceType, recordIds)));
}

async function unassignAll(
  write: AccountWrite,
  table: 'assignments' | 'team_assignments',
  resourceType: AssignableResourceType,
  recordIds: readonly number[],
): Promise<void> {
  await write.deleteFrom(table).where('resource_type', '=', resourceType).where('record_id', 'in', recordIds).execute();
}
