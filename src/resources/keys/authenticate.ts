import { type Caller, isPermission, type Permission, permissionsOf, type Role } from '../../access.ts';
import type { Clock } from '../../clock.ts';
import type { Authenticate, Confirm } from '../../http/auth.ts';
import type { Log } from '../../log.ts';
import { hashApiKey } from '../../secrets.ts';
import { prepared } from '../../store/prepared.ts';
import type { Store, Tx } from '../../store/store.ts';

/** How soon a use is written down, and how old what is written may become before it is written again. */
const WRITE_AFTER_MS = 1_000;
const REFRESH_AFTER_MS = 60_000;

/** Finds callers by key and domain, and remembers when each key was last used, without a write per request. */
export type Authenticator = { readonly authenticate: Authenticate; readonly confirm: Confirm; flush(): Promise<void> };

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

const findLive = prepared((queries, { keyId, role }: { keyId: number; role: Role }) =>
  queries
    .selectFrom('api_keys')
    .innerJoin('users', 'users.user_id', 'api_keys.user_id')
    .select('api_keys.expires_at')
    .where('api_keys.key_id', '=', keyId)
    .where('api_keys.revoked_at', 'is', null)
    .where('users.date_deleted', 'is', null)
    .where('users.role', '=', role),
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

type Entry = { readonly caller: Caller; lastUsed: number };

/** Callers that are remembered at the most. */
const MOST_KNOWN = 10_000;

/**
 * Who was let in, by the hash of the key and the domain, for as long as nothing has changed that could matter: no key
 * revoked and no user changed here, nothing at all changed by another process. So a revocation is in force at once.
 */
class Known {
  readonly #store: Store;
  readonly #entries = new Map<string, Entry>();
  readonly #callers = new Set<Caller>();
  #foreignVersion: number;
  /** How often everything was forgotten. */
  changes = 0;

  constructor(store: Store) {
    this.#store = store;
    this.#foreignVersion = store.foreignVersion();
    store.onCommitted((news) => {
      if (news.access) this.#forget();
    });
  }

  find(hash: string, domain: string): Entry | undefined {
    this.#lookAround();
    return this.#entries.get(`${hash} ${domain}`);
  }

  /** Whether nothing has changed since this caller was let in. */
  has(caller: Caller): boolean {
    this.#lookAround();
    return this.#callers.has(caller);
  }

  add(hash: string, domain: string, entry: Entry): void {
    if (this.#entries.size >= MOST_KNOWN) this.#forget();
    this.#entries.set(`${hash} ${domain}`, entry);
    this.#callers.add(entry.caller);
  }

  #lookAround(): void {
    const foreignVersion = this.#store.foreignVersion();
    if (foreignVersion === this.#foreignVersion) return;
    this.#foreignVersion = foreignVersion;
    this.#forget();
  }

  #forget(): void {
    this.#entries.clear();
    this.#callers.clear();
    this.changes += 1;
  }
}

/** C1: a key that is unknown, revoked, expired or of another account's domain finds nobody. */
export function createAuthenticator({ store, clock, log }: { store: Store; clock: Clock; log: Log }): Authenticator {
  const used = new Map<number, number>();
  const known = new Known(store);
  let cancel: (() => void) | undefined;

  async function authenticate(key: string, domain: string): Promise<Caller | undefined> {
    const hash = hashApiKey(key);
    const entry = known.find(hash, domain) ?? (await lookUp(hash, domain));
    const now = clock.now();
    if (entry === undefined || (entry.caller.expiresAt !== null && entry.caller.expiresAt <= now)) return undefined;
    if (now - entry.lastUsed >= REFRESH_AFTER_MS) {
      entry.lastUsed = now;
      remember(entry.caller.keyId, now);
    }
    return entry.caller;
  }

  async function lookUp(hash: string, domain: string): Promise<Entry | undefined> {
    const { changes } = known;
    const [row] = await findKey(store.read, { hash, domain });
    if (row === undefined) return undefined;
    const role = row.role as Role;
    const caller: Caller = {
      accountId: row.account_id,
      userId: row.user_id,
      role,
      keyId: row.key_id,
      permissions: grantedTo(role, row.permissions),
      expiresAt: row.expires_at,
    };
    const entry = { caller, lastUsed: row.last_used ?? 0 };
    // What was read before something changed is good for this request alone.
    if (changes === known.changes) known.add(hash, domain, entry);
    return entry;
  }

  async function confirm(tx: Tx, caller: Caller): Promise<boolean> {
    const { keyId, role, expiresAt } = caller;
    if (!tx.accessInDoubt && known.has(caller)) return expiresAt === null || expiresAt > clock.now();
    const [row] = await findLive(tx.queries, { keyId, role });
    return row !== undefined && (row.expires_at === null || row.expires_at > clock.now());
  }

  function remember(keyId: number, now: number): void {
    used.set(keyId, now);
    cancel ??= clock.after(WRITE_AFTER_MS, () => void flush());
  }

  async function flush(): Promise<void> {
    cancel?.();
    cancel = undefined;
    const uses = [...used];
    if (uses.length === 0) return;
    used.clear();
    try {
      await store.write(async ({ queries }) => {
        for (const [keyId, at] of uses)
          await queries.updateTable('api_keys').set({ last_used: at }).where('key_id', '=', keyId).execute();
      });
    } catch (error) {
      // When a key was used is worth knowing and not worth failing for; the next use is remembered again.
      log.warn({ event: 'keys.last_used_failed', err: error });
    }
  }

  return { authenticate, confirm, flush };
}
