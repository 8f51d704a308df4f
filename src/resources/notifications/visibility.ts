import { type Kind, kinds, permissionFor } from '../../delivery/outbox/event-kinds.ts';
import { type Caller, isAdmin } from '../../permissions.ts';
import { Problem } from '../../problems.ts';

/** Occurrences that a caller sees (X2): those caused by a user, or by anyone if undefined, and of which kinds. */
export type Reach = { readonly userId: number | undefined; readonly kinds: ReadonlySet<string> };

type VisibilityQuery = { readonly kind?: Kind; readonly scope?: 'own' | 'account' };

/** Limits a query to the kinds that the caller may read. Throws `not_permitted` for scope `account` without admin role. */
export function reachOf(caller: Caller, { kind, scope }: VisibilityQuery): Reach {
  if (scope === 'account' && !isAdmin(caller)) {
    throw new Problem('not_permitted', { detail: 'Only admins may follow the whole account.' });
  }
  const wanted = kind === undefined ? (Object.keys(kinds) as Kind[]) : [kind];
  return {
    userId: scope === 'account' ? undefined : caller.userId,
    // Kinds recorded by a newer version are not in the table and so never included.
    kinds: new Set(wanted.filter((one) => caller.permissions.has(permissionFor(one)))),
  };
}

export function isWithin(reach: Reach, occurrence: { readonly kind: string; readonly user_id: number }): boolean {
  return (reach.userId ?? occurrence.user_id) === occurrence.user_id && reach.kinds.has(occurrence.kind);
}
