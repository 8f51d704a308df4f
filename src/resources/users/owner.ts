import { type Caller, isAdmin } from '../../permissions.ts';
import { Problem } from '../../problems.ts';

/** Resolves the user that a list is about: the caller, or for admins another user. */
export function resolveHookOwner(caller: Caller, requested: number | undefined): number {
  if (requested === undefined || requested === caller.userId) return caller.userId;
  if (!isAdmin(caller))
    throw new Problem('not_permitted', { detail: 'Only admins may read what belongs to another user.' });
  return requested;
}
