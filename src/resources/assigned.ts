import type { Expression } from 'kysely';
import type { Assigned, AssignedTeam } from '../http/fields.ts';
import { notFound } from '../problems.ts';
import type { AccountView, AccountWrite } from '../store/account.ts';
import { mustBeUsers, userName } from './people.ts';

/** The nouns that users are assigned to, and whether teams are, too. Who is in a team is what is assigned to that team. */
const assignable = { project: true, subtask: true, task: true, team: false };

export type AssignableNoun = keyof typeof assignable;

export function isAssignable(noun: string): noun is AssignableNoun {
  return Object.hasOwn(assignable, noun);
}

/** Who is assigned to a record, as far as it is given. */
export type Assignment = {
  readonly users?: readonly Assigned[] | undefined;
  readonly teams?: readonly AssignedTeam[] | undefined;
};

/** Each row with those who are assigned to it. */
export async function withAssigned<R extends object>(
  view: AccountView,
  noun: AssignableNoun,
  rows: readonly R[],
  idOf: (row: R) => number,
): Promise<(R & Required<Assignment>)[]> {
  const ids = rows.map(idOf);
  const [users, teams] = await Promise.all([assignedTo(view, noun, ids), teamsOf(view, noun, ids)]);
  return rows.map((row) => ({ ...row, users: users.get(idOf(row)) ?? [], teams: teams.get(idOf(row)) ?? [] }));
}

/** The users who are assigned to each of these records, by record. */
export async function assignedTo(
  view: AccountView,
  noun: AssignableNoun,
  recordIds: readonly number[],
): Promise<ReadonlyMap<number, readonly Assigned[]>> {
  if (recordIds.length === 0) return new Map();
  const rows = await view
    .selectFrom('assignments')
    .innerJoin('users', 'users.user_id', 'assignments.user_id')
    .where('users.date_deleted', 'is', null)
    .where('assignments.noun', '=', noun)
    .where('assignments.record_id', 'in', recordIds)
    .select(['assignments.record_id', 'users.user_id', 'users.first_name', 'users.last_name'])
    .orderBy('users.user_id')
    .execute();
  const named = rows.map((row) => ({ recordId: row.record_id, user_id: row.user_id, user_name: userName(row) }));
  return Map.groupBy(named, ({ recordId }) => recordId);
}

async function teamsOf(
  view: AccountView,
  noun: AssignableNoun,
  recordIds: readonly number[],
): Promise<ReadonlyMap<number, readonly AssignedTeam[]>> {
  if (recordIds.length === 0 || !assignable[noun]) return new Map();
  const rows = await view
    .selectFrom('team_assignments')
    .innerJoin('teams', 'teams.team_id', 'team_assignments.team_id')
    .where('team_assignments.noun', '=', noun)
    .where('team_assignments.record_id', 'in', recordIds)
    .select(['team_assignments.record_id', 'teams.team_id', 'teams.team_name'])
    .orderBy('teams.team_id')
    .execute();
  return Map.groupBy(rows, (row) => row.record_id);
}

/** Assigns exactly these to a record; who is unknown is 404. What is not given is left as it is. */
export async function assign(
  write: AccountWrite,
  noun: AssignableNoun,
  recordId: number,
  { users, teams }: Assignment,
): Promise<void> {
  const of = { noun, record_id: recordId };
  if (users !== undefined) {
    const rows = users.map(({ user_id }) => ({ ...of, user_id }));
    await mustBeUsers(
      write,
      rows.map(({ user_id }) => user_id),
    );
    await unassignUsers(write, noun, [recordId]);
    if (rows.length > 0) await write.insertInto('assignments', rows).execute();
  }
  if (teams !== undefined && assignable[noun]) {
    const rows = teams.map(({ team_id }) => ({ ...of, team_id }));
    await mustBeTeams(
      write,
      rows.map(({ team_id }) => team_id),
    );
    await unassignTeams(write, noun, [recordId]);
    if (rows.length > 0) await write.insertInto('team_assignments', rows).execute();
  }
}

async function mustBeTeams(view: AccountView, teamIds: readonly number[]): Promise<void> {
  if (teamIds.length === 0) return;
  const rows = await view.selectFrom('teams').select('teams.team_id').where('teams.team_id', 'in', teamIds).execute();
  if (rows.length < teamIds.length) throw notFound();
}

/** Records by their ids, or by a query for these. */
type Ids = readonly number[] | Expression<{ id: number }>;

/** Nobody is assigned to these records any more. */
export async function unassign(write: AccountWrite, noun: AssignableNoun, recordIds: Ids): Promise<void> {
  await Promise.all([unassignUsers(write, noun, recordIds), unassignTeams(write, noun, recordIds)]);
}

async function unassignUsers(write: AccountWrite, noun: AssignableNoun, recordIds: Ids): Promise<void> {
  const ids = recordIds as readonly number[];
  await write.deleteFrom('assignments').where('noun', '=', noun).where('record_id', 'in', ids).execute();
}

async function unassignTeams(write: AccountWrite, noun: AssignableNoun, recordIds: Ids): Promise<void> {
  const ids = recordIds as readonly number[];
  await write.deleteFrom('team_assignments').where('noun', '=', noun).where('record_id', 'in', ids).execute();
}
