import { type Caller, isAdmin } from '../../permissions.ts';
import { notFound, Problem } from '../../problems.ts';
import type { AccountView } from '../../store/account-scope.ts';

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
export async function resolveOwner(
  view: AccountView,
  caller: Caller,
  wanted: number,
  present: number,
): Promise<number> {
  if (wanted === 0 || wanted === present) return present;
  if (!isAdmin(caller))
    throw new Problem('not_permitted', { detail: 'Only admins may name another user as the creator.' });
  await requireUsers(view, [wanted]);
  return wanted;
}

/** All of them must be users of the account. */
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
