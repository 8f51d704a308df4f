import { type Caller, isAdmin, outranks, type Role } from '../../permissions.ts';
import { notFound, Problem } from '../../problems.ts';
import type { AccountView } from '../../store/account-scope.ts';

/** Returns the first and last name of a user, or only the one that is set. */
export function fullNameOf(user: { first_name: string; last_name: string }): string {
  return `${user.first_name} ${user.last_name}`.trim();
}

/**
 * Determines the owner of a record. The owner stays the same unless an admin names another user of the account. A
 * caller who is not an admin is rejected before the user is looked up (C14). Throws 404 for an unknown user (C26).
 *
 * @param requestedUserId the `user_id` of the request; 0 for none
 * @param currentOwnerId the current owner
 */
export async function resolveOwnerId(
  view: AccountView,
  caller: Caller,
  requestedUserId: number,
  currentOwnerId: number,
): Promise<number> {
  if (requestedUserId === 0 || requestedUserId === currentOwnerId) return currentOwnerId;
  if (!isAdmin(caller))
    throw new Problem('not_permitted', { detail: 'Only admins may give another user as the creator.' });
  await requireUsers(view, [requestedUserId]);
  return requestedUserId;
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
