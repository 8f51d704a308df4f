import { type Caller, isAdmin } from '../../permissions.ts';
import { Problem } from '../../problems.ts';

/** Whose things a list is about: the caller's, or for admins another user's. */
export function resolveHookOwner(caller: Caller, wanted: number | undefined): number {
  if (wanted === undefined || wanted === caller.userId) return caller.userId;
  if (!isAdmin(caller))
    throw new Problem('not_permitted', { detail: 'Only admins may look at what belongs to another user.' });
  return wanted;
}
