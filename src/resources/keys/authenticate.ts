import type { Clock } from '../../clock.ts';
import type { AuthenticateKey, CallerLookupResult, Reauthorize } from '../../http/auth/route-groups.ts';
import type { Log } from '../../log.ts';
import { type Caller, isPermission, type Permission, permissionsOf, type Role } from '../../permissions.ts';
import { hashApiKey } from '../../secrets.ts';
import { prepareBatchedSelect } from '../../store/batched-queries.ts';
import { prepareQuery, withRowLocksSkipLocked } from '../../store/prepared-queries.ts';
import type { Store, Tx } from '../../store/store.ts';
import { type CachedCaller, CallerCache } from '../auth/caller-cache.ts';
import { LastUsedTracker } from '../auth/last-used.ts';

/** Authenticates callers by key and domain, and tracks the last use of each key in batches. */
export type KeyAuthenticator = {
  readonly authenticate: AuthenticateKey;
  readonly reauthorize: Reauthorize;
  /** Writes the recorded uses; called at shutdown. */
  flush(): Promise<void>;
};

const findKeyByHash = prepareQuery((queries, { hash, domain }: { hash: string; domain: string }) =>
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

const findLiveKeyById = prepareBatchedSelect({ keyId: 'int8' }, (queries, { keyId }: { keyId: number }) =>
  queries
    .selectFrom('api_keys')
    .innerJoin('users', 'users.user_id', 'api_keys.user_id')
    .select(['api_keys.expires_at', 'api_keys.permissions', 'users.role'])
    .where('api_keys.key_id', '=', keyId)
    .where('api_keys.revoked_at', 'is', null)
    .where('users.date_deleted', 'is', null),
);

const memoizedPermissionSets = new Map<string, ReadonlySet<Permission>>();

/**
 * Returns the permissions of a key: the stored ones, without those that the role of its user does not have. Sets are
 * memoized, so equal permissions are the same object.
 */
function getEffectivePermissions(role: Role, permissionText: string): ReadonlySet<Permission> {
  const cacheKey = `${role}:${permissionText}`;
  let permissionSet = memoizedPermissionSets.get(cacheKey);
  if (permissionSet === undefined) {
    const rolePermissions = permissionsOf(role);
    permissionSet = new Set(
      permissionText
        .split(',')
        .filter(isPermission)
        .filter((permission) => rolePermissions.includes(permission)),
    );
    memoizedPermissionSets.set(cacheKey, permissionSet);
  }
  return permissionSet;
}

/**
 * Creates the authenticator for API keys (C1). It finds no caller for a key that is unknown, revoked, expired or of
 * another domain.
 */
export function createKeyAuthenticator({
  store,
  clock,
  log,
}: {
  store: Store;
  clock: Clock;
  log: Log;
}): KeyAuthenticator {
  const cache = new CallerCache(store);
  const lastUsedTracker = new LastUsedTracker({
    store,
    clock,
    writeLastUsed: (queries, keyIds, usedAt) => {
      const keysToUpdateQuery = queries
        .selectFrom('api_keys')
        .select('key_id')
        .where('key_id', 'in', keyIds)
        .where(({ or, eb }) => or([eb('last_used', 'is', null), eb('last_used', '<', usedAt)]));
      return queries
        .updateTable('api_keys')
        .set({ last_used: usedAt })
        .where('key_id', 'in', withRowLocksSkipLocked(queries, keysToUpdateQuery))
        .execute();
    },
    onWriteFailed: (err) => log.warn({ event: 'keys.last_used_failed', err }),
  });

  function authenticate(key: string, domain: string): CallerLookupResult {
    const hash = hashApiKey(key);
    const entryOrPromise = cache.findOrLoadEntry(`${hash} ${domain}`, () => lookUpKey(hash, domain));
    return entryOrPromise instanceof Promise
      ? entryOrPromise.then(getValidCallerAndRecordUse)
      : getValidCallerAndRecordUse(entryOrPromise);
  }

  function getValidCallerAndRecordUse(entry: CachedCaller | undefined): Caller | undefined {
    if (entry === undefined || hasExpired(entry.caller.expiresAt)) return undefined;
    lastUsedTracker.recordUse(entry, entry.caller.keyId);
    return entry.caller;
  }

  const hasExpired = (expiresAt: number | null) => expiresAt !== null && expiresAt <= clock.now();

  async function lookUpKey(hash: string, domain: string): Promise<CachedCaller | undefined> {
    let [row] = await findKeyByHash(store.read, { hash, domain });
    // Another process may have created the key since this lookup began. Concurrent requests share its result.
    if (row === undefined) [row] = await findKeyByHash(store.read, { hash, domain });
    if (row === undefined) return undefined;
    const role = row.role as Role;
    const caller: Caller = {
      accountId: row.account_id,
      userId: row.user_id,
      role,
      keyId: row.key_id,
      sessionId: 0,
      permissions: getEffectivePermissions(role, row.permissions),
      expiresAt: row.expires_at,
    };
    return { caller, lastUsedAt: row.last_used ?? 0 };
  }

  async function reauthorize(tx: Tx, caller: Caller): Promise<boolean> {
    const { keyId, role } = caller;
    const [row] = await findLiveKeyById(tx.queries, { keyId });
    if (row === undefined || row.role !== role || hasExpired(row.expires_at)) return false;
    // Sets are memoized, so equal permissions are the same object.
    return getEffectivePermissions(role, row.permissions) === caller.permissions;
  }

  return { authenticate, reauthorize, flush: () => lastUsedTracker.flush() };
}
