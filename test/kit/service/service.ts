import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { CarillonConsole } from '../../../packages/sdk/src/console.ts';
import { apiKey, Carillon } from '../../../packages/sdk/src/index.ts';
import { type Clock, systemClock } from '../../../src/clock.ts';
import { loadConfig } from '../../../src/config/load.ts';
import type { OptionName } from '../../../src/config/options.ts';
import { defaultTimeouts } from '../../../src/http/server/resource-limits.ts';
import { permissions as everyPermission, type Permission, permissionsOf, type Role } from '../../../src/permissions.ts';
import { createAccount } from '../../../src/resources/accounts/actions.ts';
import { buildInvitationLink, insertInvitation } from '../../../src/resources/invitations/invitations.ts';
import { insertKey } from '../../../src/resources/keys/keys.ts';
import { openSession } from '../../../src/resources/sessions/sessions.ts';
import { insertUser } from '../../../src/resources/users/users.ts';
import { type ScryptCost, systemRandom } from '../../../src/secrets.ts';
import { type Service, type ServiceDeps, startService } from '../../../src/server.ts';
import { AccountWrite } from '../../../src/store/account-scope.ts';
import { openStore } from '../../../src/store/open.ts';
import type { Store } from '../../../src/store/store.ts';
import { atEnd, type Cleanup } from '../cleanup.ts';

/** Changes to the default service of a test, which has the default configuration with short waits. */
export type ServiceSetup = {
  readonly options?: Partial<Record<OptionName, string>>;
  readonly deps?: Partial<ServiceDeps>;
  /** The database. The default is a new database. */
  readonly database?: string;
};

/** An API user: a client and its credentials. */
export type ApiUser = {
  readonly carillon: Carillon;
  readonly domain: string;
  readonly key: string;
  readonly userId: string;
  readonly headers: Readonly<Record<string, string>>;
};

/** A console user: a client and the headers that the browser sends. */
export type ConsoleUser = Omit<ApiUser, 'carillon' | 'key'> & {
  readonly console: CarillonConsole;
  readonly token: string;
};

export type TestService = {
  readonly service: Service;
  readonly baseUrl: string;
  /** The value for `--database`. */
  readonly database: string;
  /** A second connection to the database, with which tests read and change the stored state. */
  readonly store: Store;
  /** All log lines. */
  readonly logged: readonly Record<string, unknown>[];
  /** Creates an account with its owner. */
  createAccount(domain: string): Promise<ApiUser>;
  /** Creates a user with a key, by default with all permissions of the role. */
  createUser(owner: ApiUser, role: Role, permissions?: readonly Permission[]): Promise<ApiUser>;
  /** Creates another key of a user. */
  createKey(
    user: Pick<ApiUser, 'domain' | 'userId'>,
    options: { permissions?: readonly Permission[]; expiresAt?: number },
  ): Promise<ApiUser>;
  /** Creates a link to set a passphrase. */
  createInvitationLink(user: Pick<ApiUser, 'domain' | 'userId'>): Promise<string>;
  /** Opens a console session without a passphrase. */
  signIn(user: Pick<ApiUser, 'domain' | 'userId'>): Promise<ConsoleUser>;
  /** Sends a raw request with the credentials of a user. */
  call(
    user: Pick<ApiUser, 'headers'> | undefined,
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<ApiResponse>;
  stop(): Promise<void>;
};

export type ApiResponse = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: Json;
};

/** Parsed JSON of any shape. */
// biome-ignore lint/suspicious/noExplicitAny: tests read responses of any shape, and fail if the shape is unexpected
export type Json = any;

let folderCount = 0;

/** Creates a temporary folder and deletes it when the test ends. */
export function createTemporaryFolder(context: Cleanup): string {
  folderCount += 1;
  const folder = mkdtempSync(join(tmpdir(), `carillon-test-${process.pid}-${folderCount}-`));
  atEnd(context, () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * The clock of heartbeats when the service has a test clock. It is 20 times slower than real time, so that a node does
 * not look dead while a slow machine delays its heartbeats.
 */
const slowHeartbeatClock: Clock = {
  now: () => systemClock.now() / 20,
  monotonic: () => systemClock.monotonic() / 20,
  after: systemClock.after,
};

/**
 * Cheap passphrase hashing, because most tests do not depend on its cost. {@link withProductionHashing} sets the
 * production cost.
 */
const passphraseCost: ScryptCost = { logN: 5, r: 8, p: 1 };

/** Setup with the production cost of passphrase hashing. */
export const withProductionHashing: ServiceSetup = { deps: { passphraseCost: undefined } };

/** No drain delay at shutdown: no load balancer sends requests to a test service. */
const testTimeouts = { ...defaultTimeouts, drainMs: 0 };

/** Starts a service in this process, on a database and a socket. It is stopped when the test ends. */
export async function startTestService(context: Cleanup, database: string, setup: ServiceSetup): Promise<TestService> {
  const flags = {
    port: '0',
    retryWaits: '50ms,100ms',
    attemptTimeout: '2s',
    // All callers of a test share one address, so a wrong key of one caller must not delay the other callers.
    wrongKeys: 'off',
    ...setup.options,
    database,
  };
  const loadedConfig = loadConfig({ flags, environment: {} });
  if ('faults' in loadedConfig) throw new Error(loadedConfig.faults.join('\n'));
  const logged: Record<string, unknown>[] = [];
  const log = pino({ level: 'debug', base: null }, { write: (line: string) => void logged.push(JSON.parse(line)) });
  const heartbeatClock = setup.deps?.clock === undefined ? {} : { realClock: slowHeartbeatClock };
  const service = await startService(loadedConfig.config, {
    log,
    ...heartbeatClock,
    timeouts: testTimeouts,
    passphraseCost,
    ...setup.deps,
  });
  const store = await openStore({
    database: loadedConfig.config.database,
    openAs: 'command',
    onFatal: fail,
    clock: systemClock,
    log,
    durability: 'any',
  });
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= store.close().then(() => service.stop());
    return stopped;
  };
  atEnd(context, stop);
  const { baseUrl } = service;
  const now = () => (setup.deps?.clock ?? { now: Date.now }).now();

  function createApiUser(domain: string, userId: string, key: string): ApiUser {
    const carillon = new Carillon({ baseUrl, auth: apiKey({ domain, key }), retries: 0 });
    return { carillon, domain, key, userId, headers: { domain, key } };
  }

  async function writeInAccount<T>(domain: string, work: (write: AccountWrite) => Promise<T>): Promise<T> {
    return store.write(async (tx) => {
      const { account_id } = await tx.queries
        .selectFrom('accounts')
        .select('account_id')
        .where('domain', '=', domain)
        .executeTakeFirstOrThrow();
      return work(new AccountWrite(tx, account_id, now()));
    });
  }

  return {
    service,
    baseUrl,
    database,
    store,
    logged,
    stop,
    async createAccount(domain) {
      const created = await store.write((tx) =>
        createAccount(tx, { domain, email: `owner@${domain}` }, now(), systemRandom),
      );
      return createApiUser(domain, String(created.user_id), created.key);
    },
    async createUser(owner, role, permissions = permissionsOf(role)) {
      const createdKey = await writeInAccount(owner.domain, async (write) => {
        const email = `${role}-${systemRandom.fraction()}@${owner.domain}`;
        const { user_id } = await insertUser(write, { email, first_name: 'Test', last_name: role, role });
        const keyInput = { userId: user_id, label: 'test', permissions, expiresAt: null };
        return insertKey(write, keyInput, systemRandom);
      });
      return createApiUser(owner.domain, String(createdKey.user_id), createdKey.key ?? '');
    },
    async createKey({ domain, userId }, { permissions = everyPermission, expiresAt }) {
      const keyInput = { userId: Number(userId), label: 'test', permissions, expiresAt: expiresAt ?? null };
      const { key } = await writeInAccount(domain, (write) => insertKey(write, keyInput, systemRandom));
      return createApiUser(domain, userId, key ?? '');
    },
    async createInvitationLink({ domain, userId }) {
      const { token } = await writeInAccount(domain, (write) => insertInvitation(write, Number(userId), systemRandom));
      return buildInvitationLink(baseUrl, token);
    },
    async signIn({ domain, userId }) {
      const { token } = await writeInAccount(domain, (write) =>
        openSession(write, { userId: Number(userId), userAgent: 'a test' }, systemRandom),
      );
      return createConsoleUser(baseUrl, { domain, userId }, token);
    },
    async call(user, method, path, body, headers = {}) {
      const sentBody =
        typeof body === 'string' || body instanceof Uint8Array || body === undefined ? body : JSON.stringify(body);
      const contentTypeHeaders: Record<string, string> =
        sentBody === undefined ? {} : { 'content-type': 'application/json' };
      const init = {
        method,
        headers: { ...contentTypeHeaders, ...user?.headers, ...headers },
        ...(sentBody === undefined ? {} : { body: sentBody }),
      };
      const response = await fetch(`${baseUrl}${path}`, { ...init, redirect: 'manual' });
      const text = await response.text();
      return { status: response.status, headers: response.headers, text, json: parseJsonOrUndefined(text) };
    },
  };
}

/** Returns the headers that a browser with this session token in its cookie sends. */
export function browserHeaders(baseUrl: string, token: string): Record<string, string> {
  const { protocol, port } = new URL(baseUrl);
  const name = protocol === 'https:' ? '__Host-carillon' : `carillon_${port}`;
  return { cookie: `${name}=${token}`, 'sec-fetch-site': 'same-origin' };
}

/** Returns a console user with this session token, at any node of the service. */
export function createConsoleUser(
  baseUrl: string,
  user: Pick<ApiUser, 'domain' | 'userId'>,
  token: string,
): ConsoleUser {
  const headers = browserHeaders(baseUrl, token);
  const consoleClient = new CarillonConsole({
    baseUrl,
    fetch: (url, init) => fetch(url, { ...init, headers: { ...(init.headers as Record<string, string>), ...headers } }),
  });
  return { domain: user.domain, userId: user.userId, token, headers, console: consoleClient };
}

function parseJsonOrUndefined(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function fail(error: unknown): never {
  throw error;
}
