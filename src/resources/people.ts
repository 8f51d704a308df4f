import type { Expression } from 'kysely';
import { type Caller, isAdmin } from '../access.ts';
import type { Assigned } from '../http/fields.ts';
import { notFound, Problem } from '../problems.ts';
import type { AccountView, AccountWrite } from '../store/account.ts';

/** The name of a user as it is shown: both names, or what there is of them. */
export function userName(user: { first_name: string; last_name: string }): string {
  return `${user.first_name} ${user.last_name}`.trim();
}

/**
 * Whose record it is to be: the caller's unless an admin names another user of the account. Whoever may not is refused
 * before the user is looked up (C14); an unknown user is 404 (C26).
 *
 * @param wanted the user_id given; 0 for none
 * @param present whose it is at present: naming them changes nothing
 */
export async function creatorFor(view: AccountView, caller: Caller, wanted: number, present: number): Promise<number> {
  if (wanted === 0 || wanted === present) return present;
  if (!isAdmin(caller))
    throw new Problem('not_permitted', { detail: 'Only admins may name another user as the creator.' });
  await mustBeUsers(view, [wanted]);
  return wanted;
}

async function mustBeUsers(view: AccountView, userIds: readonly number[]): Promise<void> {
  if (userIds.length === 0) return;
  const rows = await view
    .selectFrom('users')
    .select('users.user_id')
    .where('users.date_deleted', 'is', null)
    .where('users.user_id', 'in', userIds)
    .execute();
  if (rows.length < userIds.length) throw notFound();
}

/** The nouns that users are assigned to. */
const assignable = ['project', 'task', 'subtask'] as const;

export type AssignableNoun = (typeof assignable)[number];

export function isAssignable(noun: string): noun is AssignableNoun {
  return assignable.some((one) => one === noun);
}

/** Who is assigned to each of these records, by record. */
export async function assignedTo(
  view: AccountView,
  noun: AssignableNoun,
  recordIds: readonly number[],
): Promise<Map<number, Assigned[]>> {
  const found = new Map<number, Assigned[]>();
  if (recordIds.length === 0) return found;
  const rows = await view
    .selectFrom('assignments')
    .innerJoin('users', 'users.user_id', 'assignments.user_id')
    .where('users.date_deleted', 'is', null)
    .where('assignments.noun', '=', noun)
    .where('assignments.record_id', 'in', recordIds)
    .select(['assignments.record_id', 'users.user_id', 'users.first_name', 'users.last_name'])
    .orderBy('users.user_id')
    .execute();
  for (const row of rows) {
    const assigned = found.get(row.record_id) ?? [];
    assigned.push({ user_id: row.user_id, user_name: userName(row) });
    found.set(row.record_id, assigned);
  }
  return found;
}

/** Each row with those who are assigned to it. */
export async function withAssigned<R extends object>(
  view: AccountView,
  noun: AssignableNoun,
  rows: readonly R[],
  idOf: (row: R) => number,
): Promise<(R & { users: readonly Assigned[] })[]> {
  const assigned = await assignedTo(view, noun, rows.map(idOf));
  return rows.map((row) => ({ ...row, users: assigned.get(idOf(row)) ?? [] }));
}

/** Assigns exactly these users to a record; an unknown one is 404. Undefined leaves it as it is. */
export async function assign(
  write: AccountWrite,
  noun: AssignableNoun,
  recordId: number,
  users: readonly Assigned[] | undefined,
): Promise<void> {
  if (users === undefined) return;
  const userIds = users.map((user) => user.user_id);
  await mustBeUsers(write, userIds);
  await unassign(write, noun, [recordId]);
  if (userIds.length === 0) return;
  await write
    .insertInto(
      'assignments',
      userIds.map((user_id) => ({ noun, record_id: recordId, user_id })),
    )
    .execute();
}

/** Nobody is assigned to these records any more. */
export async function unassign(
  write: AccountWrite,
  noun: AssignableNoun,
  recordIds: readonly number[] | Expression<{ id: number }>,
): Promise<void> {
  await write
    .deleteFrom('assignments')
    .where('noun', '=', noun)
    .where('record_id', 'in', recordIds as readonly number[])
    .execute();
}
