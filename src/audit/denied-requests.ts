import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { Caller } from '../permissions.ts';
import { hashApiKey } from '../secrets.ts';
import type { Queries, Store } from '../store/store.ts';
import { type FullEntry, noteAcross } from './actions.ts';

/** Somebody who was refused for who they are. `caller`: where the key was good and something else was not. */
export type DeniedRequest = {
  /** What they called, as method and path of the route. */
  readonly route: string;
  readonly source: string;
  readonly caller: Caller | undefined;
  /** What they showed to be let in; forgotten as soon as it is hashed. */
  readonly shown: { readonly key: string | undefined; readonly domain: string | undefined };
};

/** A sign-in to the console that was refused: the account and the user that it named, 0 for none. */
export type DeniedSignIn = { readonly source: string; readonly accountId: number; readonly userId: number };

/** How soon refusals are written down: at once, that is; and how seldom, while they go on and on. */
const FIRST_AFTER_MS = 1_000;
const LATEST_AFTER_MS = 60_000;

/** The most that are told apart in one go; the rest is counted in one row. */
const MAX_GROUPS = 20;

/** The most rows of one hour that tell refusals apart; beyond it they are counted, one row a minute. */
const MAX_ROWS_PER_HOUR = 500;
const HOUR_MS = 3_600_000;

/** Refusals that look alike, since they were last written down. */
type Alike = {
  readonly route: string;
  readonly source: string;
  readonly caller?: Caller | undefined;
  readonly hash?: string | undefined;
  readonly domain?: string | undefined;
  readonly signIn?: DeniedSignIn;
};

type Gathered = Alike & { count: number };

/**
 * Gathers refusals and writes them to the audit log: whoever tries keys costs no write for a call and cannot fill the
 * disk. At most once a second, less and less often while it goes on, at most 21 rows each time; five hundred in an hour,
 * and then one a minute.
 */
export class DeniedRequestLog {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Log;
  #gathered = new Map<string, Gathered>();
  #others = 0;
  #waitMs = FIRST_AFTER_MS;
  #hourBegan = 0;
  #rowsThisHour = 0;
  #cancel: (() => void) | undefined;

  constructor({ store, clock, log }: { store: Store; clock: Clock; log: Log }) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
  }

  add({ route, source, caller, shown }: DeniedRequest): void {
    const hash = shown.key === undefined ? undefined : hashApiKey(shown.key);
    // Whoever may not do one thing is told apart by it; whoever is unknown, by the key.
    const name = caller === undefined ? [source, hash, shown.domain] : [source, caller.keyId, caller.sessionId, route];
    this.#gather(JSON.stringify(name), { route, source, caller, hash, domain: shown.domain });
  }

  /** Of these, nothing that was typed is held: somebody may have put the passphrase where the address belongs. */
  addSignIn(signIn: DeniedSignIn): void {
    const { source, accountId, userId } = signIn;
    this.#gather(JSON.stringify(['sign-in', source, accountId, userId]), { route: '', source, signIn });
  }

  #gather(name: string, alike: Alike): void {
    const same = this.#gathered.get(name);
    if (same !== undefined) same.count += 1;
    else if (this.#gathered.size >= MAX_GROUPS) this.#others += 1;
    else this.#gathered.set(name, { ...alike, count: 1 });
    if (this.#cancel !== undefined) return;
    // It was quiet: what comes now is as soon as ever, or as seldom as this hour has left.
    this.#waitMs = this.#soonest();
    this.#cancel = this.#clock.after(this.#waitMs, () => void this.#writeDown());
  }

  /** Writes down what is gathered, at a stop. */
  async flush(): Promise<void> {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#waitMs = FIRST_AFTER_MS;
    await this.#write();
  }

  async #writeDown(): Promise<void> {
    this.#cancel = undefined;
    const isQuiet = this.#gathered.size === 0;
    this.#waitMs = isQuiet ? this.#soonest() : Math.min(2 * this.#waitMs, LATEST_AFTER_MS);
    if (isQuiet) return;
    // Comes once more, to see whether it goes on.
    this.#cancel = this.#clock.after(this.#waitMs, () => void this.#writeDown());
    await this.#write();
  }

  #beginHour(): void {
    const now = this.#clock.now();
    if (now - this.#hourBegan < HOUR_MS) return;
    this.#hourBegan = now;
    this.#rowsThisHour = 0;
  }

  #soonest(): number {
    this.#beginHour();
    return this.#rowsThisHour < MAX_ROWS_PER_HOUR ? FIRST_AFTER_MS : LATEST_AFTER_MS;
  }

  async #write(): Promise<void> {
    const all = [...this.#gathered.values()];
    if (all.length === 0) return;
    this.#beginHour();
    const gathered = all.slice(0, MAX_ROWS_PER_HOUR - this.#rowsThisHour);
    this.#rowsThisHour += gathered.length;
    const others = all.slice(gathered.length).reduce((sum, one) => sum + one.count, this.#others);
    this.#waitMs = Math.max(this.#waitMs, this.#soonest());
    this.#gathered = new Map();
    this.#others = 0;
    try {
      await this.#store.write(async (tx) => {
        noteAcross(tx, await entriesOf(tx.queries, gathered, others, this.#clock.now()), this.#clock.now());
      });
    } catch (error) {
      // Worth knowing, and not worth failing for: the lines of the log have each of them.
      this.#log.warn({ event: 'audit.write_failed', err: error });
    }
  }
}

async function entriesOf(
  queries: Queries,
  gathered: readonly Gathered[],
  others: number,
  now: number,
): Promise<FullEntry[]> {
  const strangers = gathered.filter(({ caller, signIn }) => caller === undefined && signIn === undefined);
  const keys = await keysOf(queries, strangers);
  const accounts = await accountsOf(queries, strangers);
  const entries = gathered.map((one): FullEntry & { count: number } => {
    const key = one.hash === undefined ? undefined : keys.get(one.hash);
    if (one.caller !== undefined) return notPermitted(one, one.caller);
    if (one.signIn !== undefined) return signInRefused(one, one.signIn);
    if (key !== undefined) return unusableKey(one, key, now);
    const accountId = accounts.get(one.domain ?? '') ?? 0;
    const by = { userId: 0, keyId: 0, source: one.source };
    return { action: 'denied.unknown_key', subject: '', accountId, by, count: one.count };
  });
  const rest: FullEntry[] = [
    {
      action: 'denied.others',
      subject: '',
      detail: { count: others },
      accountId: 0,
      by: { userId: 0, keyId: 0, source: 'many' },
    },
  ];
  return [...addUp(entries), ...(others > 0 ? rest : [])];
}

function notPermitted({ route, source, count }: Gathered, { accountId, userId, keyId }: Caller) {
  return { action: 'denied.not_permitted', subject: route, accountId, by: { userId, keyId, source }, count } as const;
}

function signInRefused({ count }: Gathered, { source, accountId, userId }: DeniedSignIn) {
  const by = { userId: 0, keyId: 0, source };
  const subject = userId === 0 ? '' : `user ${userId}`;
  return { action: 'login.refused', subject, accountId, by, count } as const;
}

function unusableKey({ source, domain, count }: Gathered, key: KnownKey, now: number) {
  const { account_id: accountId, user_id: userId, key_id: keyId } = key;
  const detail = { because: whyUnusable(key, domain, now) };
  const by = { userId, keyId, source };
  return { action: 'denied.dead_key', subject: `key ${keyId}`, detail, accountId, by, count } as const;
}

/** Rows that would say the same: one, with how often. */
function addUp(entries: readonly (FullEntry & { readonly count: number })[]): FullEntry[] {
  const sums = new Map<string, FullEntry & { count: number }>();
  for (const entry of entries) {
    const name = JSON.stringify({ ...entry, count: 0 });
    const same = sums.get(name);
    if (same === undefined) sums.set(name, { ...entry });
    else same.count += entry.count;
  }
  return [...sums.values()].map(({ count, detail, ...entry }) => ({ ...entry, detail: { ...detail, count } }));
}

type KnownKey = Awaited<ReturnType<typeof knownKeys>>[number];

async function keysOf(queries: Queries, strangers: readonly Gathered[]): Promise<Map<string, KnownKey>> {
  const hashes = strangers.map(({ hash }) => hash).filter((hash) => hash !== undefined);
  const rows = hashes.length === 0 ? [] : await knownKeys(queries, hashes);
  return new Map(rows.map((row) => [row.key_hash, row]));
}

function knownKeys(queries: Queries, hashes: readonly string[]) {
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

function whyUnusable(key: KnownKey, domain: string | undefined, now: number): string {
  if (key.date_deleted !== null) return 'its user was deleted';
  if (key.revoked_at !== null) return 'revoked';
  if (key.expires_at !== null && key.expires_at <= now) return 'expired';
  return key.domain === domain ? 'unknown at that moment' : 'shown with another domain';
}

async function accountsOf(queries: Queries, strangers: readonly Gathered[]): Promise<Map<string, number>> {
  const domains = strangers.map(({ domain }) => domain).filter((domain) => domain !== undefined);
  if (domains.length === 0) return new Map();
  const rows = await queries
    .selectFrom('accounts')
    .select(['account_id', 'domain'])
    .where('domain', 'in', domains)
    .execute();
  return new Map(rows.map((row) => [row.domain, row.account_id]));
}
