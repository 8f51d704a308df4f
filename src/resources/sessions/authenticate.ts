import type { Clock } from '../../clock.ts';
import type { AuthenticateSession, CallerLookupResult, Reauthorize } from '../../http/auth/route-groups.ts';
import type { Log } from '../../log.ts';
import { type Caller, type Permission, permissionsOf, type Role } from '../../permissions.ts';
import { hashToken } from '../../secrets.ts';
import { prepareQuery, withRowLocksSkipLocked } from '../../store/prepared-queries.ts';
import type { Queries, Store, Tx } from '../../store/store.ts';
import { type CachedCaller, CallerCache } from '../auth/caller-cache.ts';
import { LastUsedTracker } from '../auth/last-used.ts';

const DAY_MS = 24 * 3_600_000;

/** Maximum lifetime of a session. */
export const SESSION_TTL_MS = 30 * DAY_MS;
/** Maximum time between two uses of a session. An unused session expires after this time. */
export const SESSION_IDLE_TTL_MS = 14 * DAY_MS;

/** Returns when a session expires, in milliseconds since the epoch. */
export function sessionExpiryOf({ expires_at, last_used }: { expires_at: number; last_used: number }): number {
  return Math.min(expires_at, last_used + SESSION_IDLE_TTL_MS);
}

/** Authenticates callers by session token, and tracks the last use of each session in batches. */
type SessionAuthenticator = {
  readonly authenticate: AuthenticateSession;
  readonly reauthorize: Reauthorize;
  /** Writes the recorded uses; called at shutdown. */
  flush(): Promise<void>;
};

const findSessionByHash = prepareQuery((queries, { hash }: { hash: string }) =>
  queries
    .selectFrom('sessions')
    .innerJoin('users', 'users.user_id', 'sessions.user_id')
    .select([
      'sessions.session_id',
      'sessions.account_id',
      'sessions.user_id',
      'sessions.expires_at',
      'sessions.last_used',
      'users.role',
    ])
    .where('sessions.token_hash', '=', hash)
    .where('users.date_deleted', 'is', null),
);

const findSessionByIdAndRole = prepareQuery((queries, { sessionId, role }: { sessionId: number; role: Role }) =>
  queries
    .selectFrom('sessions')
    .innerJoin('users', 'users.user_id', 'sessions.user_id')
    .select(['sessions.expires_at', 'sessions.last_used'])
    .where('sessions.session_id', '=', sessionId)
    .where('users.date_deleted', 'is', null)
    .where('users.role', '=', role),
);

/** A caller with a session. `expiresAt` is the end of its maximum lifetime; an unused session expires earlier. */
type CachedSession = CachedCaller & { readonly expiresAt: number };

const permissionSetsByRole = new Map<Role, ReadonlySet<Permission>>();

/** Returns the permissions of a session, which are those of the user's role. */
function getRolePermissions(role: Role): ReadonlySet<Permission> {
  const permissionSet = permissionSetsByRole.get(role) ?? new Set(permissionsOf(role));
  permissionSetsByRole.set(role, permissionSet);
  return permissionSet;
}

/** Records the last use of sessions. Rows that another transaction has locked are skipped: their use is not important. */
function writeLastUsed(queries: Queries, sessionIds: readonly number[], usedAt: number): Promise<unknown> {
  const sessionsToUpdateQuery = queries
    .selectFrom('sessions')
    .select('session_id')
    .where('session_id', 'in', sessionIds)
    .where('last_used', '<', usedAt);
  return queries
    .updateTable('sessions')
    .set({ last_used: usedAt })
    .where('session_id', 'in', withRowLocksSkipLocked(queries, sessionsToUpdateQuery))
    .execute();
}

/** Creates the authenticator for sessions. It finds no caller for an unknown token, or if the session has ended. */
export function createSessionAuthenticator(deps: { store: Store; clock: Clock; log: Log }): SessionAuthenticator {
  const { store, clock, log } = deps;
  const cache = new CallerCache<CachedSession>(store);
  const lastUsedTracker = new LastUsedTracker({
    store,
    clock,
    writeLastUsed,
    onWriteFailed: (err) => log.warn({ event: 'sessions.last_used_failed', err }),
  });

  const hasEnded = (expires_at: number, last_used: number) => sessionExpiryOf({ expires_at, last_used }) <= clock.now();

  function authenticate(token: string): CallerLookupResult {
    const hash = hashToken(token);
    const entryOrPromise = cache.findOrLoadEntry(hash, () => lookUpSession(hash));
    return entryOrPromise instanceof Promise
      ? entryOrPromise.then(getValidCallerAndRecordUse)
      : getValidCallerAndRecordUse(entryOrPromise);
  }

  function getValidCallerAndRecordUse(entry: CachedSession | undefined): Caller | undefined {
    if (entry === undefined || hasEnded(entry.expiresAt, entry.lastUsedAt)) return undefined;
    lastUsedTracker.recordUse(entry, entry.caller.sessionId);
    return entry.caller;
  }

  async function lookUpSession(hash: string): Promise<CachedSession | undefined> {
    const [row] = await findSessionByHash(store.read, { hash });
    if (row === undefined) return undefined;
    const role = row.role as Role;
    const caller: Caller = {
      accountId: row.account_id,
      userId: row.user_id,
      role,
      keyId: 0,
      sessionId: row.session_id,
      permissions: getRolePermissions(role),
      expiresAt: null,
    };
    return { caller, lastUsedAt: row.last_used, expiresAt: row.expires_at };
  }

  async function reauthorize(tx: Tx, caller: Caller): Promise<boolean> {
    const [row] = await findSessionByIdAndRole(tx.queries, { sessionId: caller.sessionId, role: caller.role });
    return row !== undefined && !hasEnded(row.expires_at, row.last_used);
  }

  return { authenticate, reauthorize, flush: () => lastUsedTracker.flush() };
}

/**
 * Names of browsers, each with a pattern that matches its version. The order matters: Edge comes before Chrome, because
 * the User-Agent of Edge also contains the name of Chrome. `also` is a text that the User-Agent must contain as well.
 */
const browserPatterns: readonly (readonly [name: string, pattern: RegExp, also?: string])[] = [
  ['Edge', /\bEdg(?:e|A|iOS)?\/(\d+)/],
  ['Opera', /\bOPR\/(\d+)/],
  ['Samsung Internet', /\bSamsungBrowser\/(\d+)/],
  ['Firefox', /\b(?:Firefox|FxiOS)\/(\d+)/],
  ['Chrome', /\b(?:Chrome|CriOS|HeadlessChrome)\/(\d+)/],
  ['Safari', /\bVersion\/(\d+)/, ' Safari/'],
];

const systemPatterns: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['iPhone', /\biPhone\b/],
  ['iPad', /\biPad\b/],
  ['Android', /\bAndroid\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac OS X\b|\bMacintosh\b/],
  ['Linux', /\bLinux\b|\bX11\b/],
];

const MAX_BROWSER_NAME_LENGTH = 120;

/**
 * Converts a `User-Agent` to a readable name, such as `Firefox 145 on Windows`. An unknown `User-Agent` is only
 * truncated.
 */
export function browserNameOf(userAgent: string): string {
  const browser = browserPatterns.find(
    ([, pattern, requiredText = '']) => pattern.test(userAgent) && userAgent.includes(requiredText),
  );
  const systemName = systemPatterns.find(([, pattern]) => pattern.test(userAgent))?.[0];
  if (browser === undefined)
    return [...userAgent.replaceAll('\0', '')].slice(0, MAX_BROWSER_NAME_LENGTH).join('').trim();
  const [name, pattern] = browser;
  const [, version] = pattern.exec(userAgent) ?? [];
  return `${name} ${version}${systemName === undefined ? '' : ` on ${systemName}`}`;
}
