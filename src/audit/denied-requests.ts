import { WriteBehind } from '../async/write-behind.ts';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { Caller } from '../permissions.ts';
import { hashApiKey } from '../secrets.ts';
import type { Queries, Store } from '../store/store.ts';
import { type AttributedAuditEntry, writeAuditEntriesAcrossAccounts } from './actions.ts';

/** A request that was denied with 401. `caller` is set if the key was valid but lacked a permission. */
export type DeniedRequest = {
  /** Method and path of the route. */
  readonly route: string;
  /** The client's IP address. */
  readonly source: string;
  readonly caller: Caller | undefined;
  /** The credentials of the request. The key is hashed immediately and never stored. */
  readonly credentials: { readonly key: string | undefined; readonly domain: string | undefined };
};

/** A rejected sign-in, with the account and the user that it named. The id of an unknown account or user is 0. */
export type DeniedSignIn = { readonly source: string; readonly accountId: number; readonly userId: number };

/** Delay of the first write, and shortest interval between writes. */
const MIN_WRITE_INTERVAL_MS = 1_000;
/** Longest interval between writes while requests are denied. */
const MAX_WRITE_INTERVAL_MS = 60_000;

/** Maximum number of groups per write. Denied requests of further groups are counted in a single row. */
const MAX_GROUPS_PER_WRITE = 20;

/** Maximum number of rows for groups per hour. Further denied requests are only counted, in one row a minute. */
const MAX_ROWS_PER_HOUR = 500;
const HOUR_MS = 3_600_000;

/**
 * A group of denied requests that share one audit entry: requests of one caller to one route, requests with the same
 * unusable credentials, or rejected sign-ins of the same user. All of them have the same source.
 */
type DeniedGroup = {
  readonly route: string;
  readonly source: string;
  readonly caller?: Caller | undefined;
  readonly keyHash?: string | undefined;
  readonly domain?: string | undefined;
  readonly signIn?: DeniedSignIn;
};

type CountedDeniedGroup = DeniedGroup & { readonly count: number };

/**
 * Writes denied requests to the audit log in groups, so that an attacker cannot cause a write per request or fill the
 * disk. The interval between writes grows from a second to a minute (exponential backoff). A write has at most 21 rows.
 * After 500 rows in an hour, further requests are only counted, in one row a minute.
 */
export class DeniedRequestLog {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #buffer: WriteBehind<string, CountedDeniedGroup>;
  #writeIntervalMs = MIN_WRITE_INTERVAL_MS;
  /** Monotonic time of the last write. */
  #lastWriteAt = Number.NEGATIVE_INFINITY;
  #hourStartedAt = 0;
  #rowCountThisHour = 0;

  constructor({ store, clock, log }: { store: Store; clock: Clock; log: Log }) {
    this.#store = store;
    this.#clock = clock;
    this.#buffer = new WriteBehind({
      clock,
      maxEntries: MAX_GROUPS_PER_WRITE,
      merge: (older, newer) => ({ ...older, count: older.count + newer.count }),
      write: (groups, ungroupedCount) => this.#writeGroups([...groups.values()], ungroupedCount),
      // The error is only logged: no caller waits for this write, and the service log has each denied request as well.
      onWriteFailed: (error) => log.warn({ event: 'audit.write_failed', err: error }),
      computeDelayMs: () => this.#computeDelayMs(),
    });
  }

  addRequest({ route, source, caller, credentials }: DeniedRequest): void {
    const keyHash = credentials.key === undefined ? undefined : hashApiKey(credentials.key);
    // Requests of known callers are grouped by route, other requests by key.
    const groupKeyParts =
      caller === undefined ? [source, keyHash, credentials.domain] : [source, caller.keyId, caller.sessionId, route];
    const { domain } = credentials;
    this.#buffer.add(JSON.stringify(groupKeyParts), { route, source, caller, keyHash, domain, count: 1 });
  }

  /**
   * Adds a rejected sign-in. None of its input is stored: a user may have typed the passphrase into the e-mail field.
   */
  addSignIn(signIn: DeniedSignIn): void {
    const { source, accountId, userId } = signIn;
    const groupKey = JSON.stringify(['sign-in', source, accountId, userId]);
    this.#buffer.add(groupKey, { route: '', source, signIn, count: 1 });
  }

  /** Writes all groups; called at shutdown. */
  flush(): Promise<void> {
    return this.#buffer.flush();
  }

  #computeDelayMs(): number {
    const elapsedMs = this.#clock.monotonic() - this.#lastWriteAt;
    if (elapsedMs < this.#writeIntervalMs) return this.#writeIntervalMs - elapsedMs;
    // No request was denied recently: start again with the shortest interval that the hourly limit allows.
    this.#writeIntervalMs = this.#computeMinIntervalMs();
    return this.#writeIntervalMs;
  }

  #computeMinIntervalMs(): number {
    return this.#countRowsLeftThisHour() > 0 ? MIN_WRITE_INTERVAL_MS : MAX_WRITE_INTERVAL_MS;
  }

  #countRowsLeftThisHour(): number {
    const now = this.#clock.now();
    if (now - this.#hourStartedAt >= HOUR_MS) {
      this.#hourStartedAt = now;
      this.#rowCountThisHour = 0;
    }
    return MAX_ROWS_PER_HOUR - this.#rowCountThisHour;
  }

  async #writeGroups(allGroups: readonly CountedDeniedGroup[], ungroupedCount: number): Promise<void> {
    this.#lastWriteAt = this.#clock.monotonic();
    const doubledIntervalMs = Math.min(2 * this.#writeIntervalMs, MAX_WRITE_INTERVAL_MS);
    this.#writeIntervalMs = Math.max(doubledIntervalMs, this.#computeMinIntervalMs());
    const groups = allGroups.slice(0, this.#countRowsLeftThisHour());
    const otherRequestCount = allGroups.slice(groups.length).reduce((sum, { count }) => sum + count, ungroupedCount);
    await this.#store.write(async (tx) => {
      const now = this.#clock.now();
      writeAuditEntriesAcrossAccounts(tx, await toAuditEntries(tx.queries, groups, otherRequestCount, now), now);
    });
    this.#rowCountThisHour += groups.length;
  }
}

async function toAuditEntries(
  queries: Queries,
  groups: readonly CountedDeniedGroup[],
  otherRequestCount: number,
  now: number,
): Promise<AttributedAuditEntry[]> {
  const unknownCallerGroups = groups.filter(({ caller, signIn }) => caller === undefined && signIn === undefined);
  const keysByHash = await findKeysByHash(queries, unknownCallerGroups);
  const accountIdsByDomain = await findAccountIdsByDomain(queries, unknownCallerGroups);
  const entries = groups.map((group): AttributedAuditEntry & { count: number } => {
    const apiKeyRow = group.keyHash === undefined ? undefined : keysByHash.get(group.keyHash);
    if (group.caller !== undefined) return toNotPermittedEntry(group, group.caller);
    if (group.signIn !== undefined) return toRejectedSignInEntry(group, group.signIn);
    if (apiKeyRow !== undefined) return toUnusableKeyEntry(group, apiKeyRow, now);
    const accountId = accountIdsByDomain.get(group.domain ?? '') ?? 0;
    const actor = { userId: 0, keyId: 0, source: group.source };
    return { action: 'denied.unknown_key', subject: '', accountId, actor, count: group.count };
  });
  const otherRequestsEntries: AttributedAuditEntry[] = [
    {
      action: 'denied.other',
      subject: '',
      detail: { count: otherRequestCount },
      accountId: 0,
      actor: { userId: 0, keyId: 0, source: 'many' },
    },
  ];
  return [...mergeEqualEntries(entries), ...(otherRequestCount > 0 ? otherRequestsEntries : [])];
}

function toNotPermittedEntry({ route, source, count }: CountedDeniedGroup, { accountId, userId, keyId }: Caller) {
  return {
    action: 'denied.not_permitted',
    subject: route,
    accountId,
    actor: { userId, keyId, source },
    count,
  } as const;
}

function toRejectedSignInEntry({ count }: CountedDeniedGroup, { source, accountId, userId }: DeniedSignIn) {
  const actor = { userId: 0, keyId: 0, source };
  const subject = userId === 0 ? '' : `user ${userId}`;
  return { action: 'sign_in.rejected', subject, accountId, actor, count } as const;
}

function toUnusableKeyEntry({ source, domain, count }: CountedDeniedGroup, key: ApiKeyRow, now: number) {
  const { account_id: accountId, user_id: userId, key_id: keyId } = key;
  const detail = { because: explainUnusableKey(key, domain, now) };
  const actor = { userId, keyId, source };
  return { action: 'denied.invalid_key', subject: `key ${keyId}`, detail, accountId, actor, count } as const;
}

/** Merges equal entries and adds up their counts. */
function mergeEqualEntries(
  entries: readonly (AttributedAuditEntry & { readonly count: number })[],
): AttributedAuditEntry[] {
  const entriesByKey = new Map<string, AttributedAuditEntry & { count: number }>();
  for (const entry of entries) {
    const entryKey = JSON.stringify({ ...entry, count: 0 });
    const existingEntry = entriesByKey.get(entryKey);
    if (existingEntry === undefined) entriesByKey.set(entryKey, { ...entry });
    else existingEntry.count += entry.count;
  }
  return [...entriesByKey.values()].map(({ count, detail, ...entry }) => ({ ...entry, detail: { ...detail, count } }));
}

type ApiKeyRow = Awaited<ReturnType<typeof selectKeysByHash>>[number];

async function findKeysByHash(
  queries: Queries,
  groups: readonly CountedDeniedGroup[],
): Promise<Map<string, ApiKeyRow>> {
  const hashes = groups.map(({ keyHash }) => keyHash).filter((hash) => hash !== undefined);
  const rows = hashes.length === 0 ? [] : await selectKeysByHash(queries, hashes);
  return new Map(rows.map((row) => [row.key_hash, row]));
}

function selectKeysByHash(queries: Queries, hashes: readonly string[]) {
  return queries
    .selectFrom('api_keys')
    .innerJoin('users', 'users.user_id', 'api_keys.user_id')
    .innerJoin('accounts', 'accounts.account_id', 'api_keys.account_id')
    .select([
      'api_keys.key_hash',
      'api_keys.key_id',
      'api_keys.account_id',
      'api_keys.user_id',
      'api_keys.expires_at',
      'api_keys.revoked_at',
      'users.date_deleted',
      'accounts.domain',
    ])
    .where('api_keys.key_hash', 'in', hashes)
    .execute();
}

function explainUnusableKey(key: ApiKeyRow, domain: string | undefined, now: number): string {
  if (key.date_deleted !== null) return 'its user was deleted';
  if (key.revoked_at !== null) return 'revoked';
  if (key.expires_at !== null && key.expires_at <= now) return 'expired';
  return key.domain === domain ? 'unknown at that moment' : 'shown with another domain';
}

async function findAccountIdsByDomain(
  queries: Queries,
  groups: readonly CountedDeniedGroup[],
): Promise<Map<string, number>> {
  const domains = groups.map(({ domain }) => domain).filter((domain) => domain !== undefined);
  if (domains.length === 0) return new Map();
  const rows = await queries
    .selectFrom('accounts')
    .select(['account_id', 'domain'])
    .where('domain', 'in', domains)
    .execute();
  return new Map(rows.map((row) => [row.domain, row.account_id]));
}
