import type { Clock } from '../../clock.ts';
import type { Authenticate, CallerLookup, Reauthorize } from '../../http/auth/authenticate.ts';
import type { Log } from '../../log.ts';
import { type Caller, isPermission, type Permission, permissionsOf, type Role } from '../../permissions.ts';
import { hashApiKey } from '../../secrets.ts';
import { lockedOrSkipped, prepared } from '../../store/prepared-queries.ts';
import type { Store, Tx } from '../../store/store.ts';
import { type CachedCaller, CallerCache } from '../auth/caller-cache.ts';
import { LastUsedTracker } from '../auth/last-used.ts';

/** Finds callers by key and domain, and remembers when each key was last used, without a write per request. */
export type Authenticator = {
  readonly authenticate: Authenticate;
  readonly confirm: Reauthorize;
  flush(): Promise<void>;
};

const findKey = prepared((queries, { hash, domain }: { hash: string; domain: string }) =>
  queries
    .selectFrom('api_keys')
    .innerJoin('users', 'users.user_id', 'api_keys.user_id')
    .innerJoin('accounts', 'accounts.account_id', 'api_keys.account_id')
    .select([
      'api_keys.key_id',
      'api_keys.account_id',
      'api_keys.user_id',
      'api_keys.permissions',
      'api_keys.expires_at',
      'api_keys.last_used',
      'users.role',
    ])
    .where('api_keys.key_hash', '=', hash)
    .where('api_keys.revoked_at', 'is', null)
    .where('users.date_deleted', 'is', null)
    .where('accounts.domain', '=', domain),
);

const findLive = prepared(
  (queries, { keyId }: { keyId: number }) =>
    queries
      .selectFrom('api_keys')
      .innerJoin('users', 'users.user_id', 'api_keys.user_id')
      .select(['api_keys.expires_at', 'api_keys.permissions', 'users.role'])
      .where('api_keys.key_id', '=', keyId)
      .where('api_keys.revoked_at', 'is', null)
      .where('users.date_deleted', 'is', null),
  'together',
);

const granted = new Map<string, ReadonlySet<Permission>>();

/** What a key may do: never more than its user, also when the user's role has shrunk since. Worked out once for each. */
function grantedTo(role: Role, text: string): ReadonlySet<Permission> {
  const name = `${role}:${text}`;
  let set = granted.get(name);
  if (set === undefined) {
    const widest = permissionsOf(role);
    set = new Set(
      text
        .split(',')
        .filter(isPermission)
        .filter((permission) => widest.includes(permission)),
    );
    granted.set(name, set);
  }
  return set;
}

/** C1: a key that is unknown, revoked, expired or of another account's domain finds nobody. */
export function createAuthenticator({ store, clock, log }: { store: Store; clock: Clock; log: Log }): Authenticator {
  const known = new CallerCache(store);
  const uses = new LastUsedTracker({
    store,
    clock,
    write: (queries, keyIds, at) => {
      const older = queries
        .selectFrom('api_keys')
        .select('key_id')
        .where('key_id', 'in', keyIds)
        .where(({ or, eb }) => or([eb('last_used', 'is', null), eb('last_used', '<', at)]));
      return queries
        .updateTable('api_keys')
        .set({ last_used: at })
        .where('key_id', 'in', lockedOrSkipped(queries, older))
        .execute();
    },
    failed: (err) => log.warn({ event: 'keys.last_used_failed', err }),
  });

  function authenticate(key: string, domain: string): CallerLookup {
    const hash = hashApiKey(key);
    const found = known.find(`${hash} ${domain}`, () => lookUp(hash, domain));
    return found instanceof Promise ? found.then(enter) : enter(found);
  }

  function enter(visitor: CachedCaller | undefined): Caller | undefined {
    if (visitor === undefined || hasEnded(visitor.caller.expiresAt)) return undefined;
    uses.note(visitor, visitor.caller.keyId);
    return visitor.caller;
  }

  const hasEnded = (expiresAt: number | null) => expiresAt !== null && expiresAt <= clock.now();

  async function lookUp(hash: string, domain: string): Promise<CachedCaller | undefined> {
    let [row] = await findKey(store.read, { hash, domain });
    // Another process may have made it since this turn of the event loop began to read.
    if (row === undefined && store.refreshSnapshot()) [row] = await findKey(store.read, { hash, domain });
    if (row === undefined) return undefined;
    const role = row.role as Role;
    const caller: Caller = {
      accountId: row.account_id,
      userId: row.user_id,
      role,
      keyId: row.key_id,
      sessionId: 0,
      permissions: grantedTo(role, row.permissions),
      expiresAt: row.expires_at,
    };
    return { caller, lastUsed: row.last_used ?? 0 };
  }

  async function confirm(tx: Tx, caller: Caller): Promise<boolean> {
    const { keyId, role, expiresAt } = caller;
    if (!tx.mayHaveStaleAccess && known.of(caller) !== undefined) return !hasEnded(expiresAt);
    const [row] = await tx.dedupe(caller, () => findLive(tx.queries, { keyId }));
    if (row === undefined || row.role !== role || hasEnded(row.expires_at)) return false;
    // The same permissions are the same set.
    return grantedTo(role, row.permissions) === caller.permissions;
  }

  return { authenticate, confirm, flush: () => uses.flush() };
}
