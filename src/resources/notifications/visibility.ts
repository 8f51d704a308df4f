import { type Kind, kinds, permissionFor } from '../../delivery/outbox/event-kinds.ts';
import { type Caller, isAdmin } from '../../permissions.ts';
import { Problem } from '../../problems.ts';

/** Which occurrences of an account a caller is shown (X2): of whom, undefined for everybody, and of which kinds. */
export type Reach = { readonly userId: number | undefined; readonly kinds: ReadonlySet<string> };

type Wanted = { readonly kind?: Kind; readonly scope?: 'own' | 'account' };

/** What of what is wanted a caller may see: the records of a kind must be theirs to read, the whole account is for admins. */
export function reachOf(caller: Caller, { kind, scope }: Wanted): Reach {
  if (scope === 'account' && !isAdmin(caller)) {
    throw new Problem('not_permitted', { detail: 'Only admins may follow the whole account.' });
  }
  const wanted = kind === undefined ? (Object.keys(kinds) as Kind[]) : [kind];
  return {
    userId: scope === 'account' ? undefined : caller.userId,
    // A newer version may have recorded what this one has no name for: it is none of these.
    kinds: new Set(wanted.filter((one) => caller.permissions.has(permissionFor(one)))),
  };
}

export function isWithin(reach: Reach, occurrence: { readonly kind: string; readonly user_id: number }): boolean {
  return (reach.userId ?? occurrence.user_id) === occurrence.user_id && reach.kinds.has(occurrence.kind);
}
