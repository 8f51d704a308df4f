import { type Caller, isAdmin, outranks, type Role } from '../../permissions.ts';
import { notFound, Problem } from '../../problems.ts';
import type { AccountView } from '../../store/account-scope.ts';

/** Returns the first and last name of a user, or only the one that is set. */
export function fullNameOf(user: { first_name: string; last_name: string }): string {
  return `${user.first_name} ${user.last_name}`.trim();
}

/** Throws 404 unless all of these ids belong to users of the account. `userIds` must have no duplicates. */
export async function requireUsers(view: AccountView, userIds: readonly number[]): Promise<void> {
  if (userIds.length === 0) return;
  const rows = await view
    .selectFrom('users')
    .select('users.user_id')
    .where('users.date_deleted', 'is', null)
    .where('users.user_id', 'in', userIds)
    .execute();
  if (rows.length < userIds.length) throw notFound();
}

/** Returns the id of the user whose records a list contains: the caller, or, for admins, the requested user. */
export function resolveListedUserId(caller: Caller, requestedUserId: number | undefined): number {
  if (requestedUserId === undefined || requestedUserId === caller.userId) return caller.userId;
  if (!isAdmin(caller))
    throw new Problem('not_permitted', { detail: 'Only admins may read what belongs to another user.' });
  return requestedUserId;
}

/** Returns a row that belongs to the caller; for admins, to any user. Otherwise throws 404. */
export function requireVisible<Row extends { user_id: number }>(row: Row | undefined, caller: Caller): Row {
  if (row === undefined || (row.user_id !== caller.userId && !isAdmin(caller))) throw notFound();
  return row;
}

/**
 * Returns a visible row that the caller may change. Throws `not_permitted` if the role of its user is above the role of
 * the caller.
 *
 * @param action what the caller cannot do then, such as `end the session`
 */
export function requireManageable<Row extends { user_id: number; role: string }>(
  row: Row | undefined,
  caller: Caller,
  action: string,
): Row {
  const visibleRow = requireVisible(row, caller);
  if (outranks(visibleRow.role as Role, caller.role))
    throw new Problem('not_permitted', { detail: `You cannot ${action} of a user whose role is above your own.` });
  return visibleRow;
}
