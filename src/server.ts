import { fileURLToPath } from 'node:url';
import { documents } from './api-docs/documents.ts';
import { createApp } from './app.ts';
import { DeniedRequestLog, type DeniedSignIn } from './audit/denied-requests.ts';
import { createBackground } from './background.ts';
import { type Clock, systemClock } from './clock.ts';
import { type Config, summaryOf } from './config/load.ts';
import { riskyOrigins } from './config/origins.ts';
import { ReadReceipts } from './delivery/maintenance/read-receipts.ts';
import { BacklogQuota } from './delivery/outbox/backlog-quota.ts';
import { enqueueAlerts, noAlerts } from './delivery/outbox/end-hooks.ts';
import { isTargetTaken } from './delivery/outbox/restore-hook.ts';
import { type Attempt, createAttempt } from './delivery/transport/attempt.ts';
import { createResolver, type Resolve } from './delivery/transport/dns-resolver.ts';
import { createSsrfGuard } from './delivery/transport/ssrf-guard.ts';
import { RateLimits, rateLimitedRoutes } from './http/auth/rate-limits.ts';
import { apiRouteGroup, consoleRouteGroup } from './http/auth/route-groups.ts';
import { SessionCookie } from './http/auth/session-cookie.ts';
import { openapi } from './http/routes/openapi.ts';
import { closeServer } from './http/server/graceful-shutdown.ts';
import { defaultTimeouts, type Timeouts } from './http/server/resource-limits.ts';
import { ConsoleFiles } from './http/static/console-files.ts';
import { createLog, type Log } from './log.ts';
import { isLoopback } from './loopback.ts';
import { createMetrics } from './metrics.ts';
import { createFirstAccount, type FirstAccount } from './resources/accounts/actions.ts';
import { calendarAddress } from './resources/calendars/ics-route.ts';
import { webhooks } from './resources/hooks/webhook.ts';
import { allRoutes, consoleRoutes, publicRoutes } from './resources/index.ts';
import { createAuthenticator } from './resources/keys/authenticate.ts';
import { LoginThrottle } from './resources/passphrases/login-throttle.ts';
import { createSessionAuthenticator } from './resources/sessions/authenticate.ts';
import { Passphrases, type Random, SCRYPT_COST, type ScryptCost, systemRandom } from './secrets.ts';
import type { OpenOptions } from './store/database-url.ts';
import { openStore } from './store/open.ts';
import { DatabaseLost, type Store, StoreError } from './store/store.ts';
import { findUnfinished, unfinishedText } from './transfer/incomplete-transfers.ts';
import { version } from './version.ts';

/** How long the process keeps running after its database was lost, so that clients get a 503. */
const LOST_GRACE_MS = 250;

/** Folder of the built console; the same in the repository and in the published package. */
const CONSOLE = fileURLToPath(new URL('../console/dist', import.meta.url));

/** The dependencies of a service that tests can replace. */
export type Ports = {
  readonly clock: Clock;
  /** Real-time clock for heartbeats and connection deadlines; replaced only in a full simulation. */
  readonly realClock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly resolve: Resolve;
  /** Replaces outgoing HTTP requests. */
  readonly attempt?: Attempt;
  /** Called on a fatal error; by default logs it and exits. */
  readonly onFatal: (error: unknown) => void;
  /** Maximum number of SQLite pages, to simulate a full disk. */
  readonly maxPages?: number;
  /** Replaces the SQLite driver, to inject faults. */
  readonly sqlite?: OpenOptions['sqlite'];
  /** Replaces listening on a socket; returns the port. */
  readonly listen?: typeof listen;
  /** Timeouts of connections and requests. */
  readonly timeouts?: Timeouts;
  readonly passphraseCost?: ScryptCost | undefined;
};

export type Service = {
  /** URL of the listening socket. The public URL is `baseUrl`. */
  readonly url: string;
  readonly baseUrl: string;
  /** The account that was created because the database had none; undefined if it had accounts. */
  readonly firstAccount: FirstAccount | undefined;
  /** Graceful shutdown: finishes work in flight (at most 10 s), flushes and closes everything. */
  stop(): Promise<void>;
};

/** Thrown if the service cannot start. The message is one line for the operator. */
export class StartError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'StartError';
  }
}

/**
 * The composition root. Creates the store, the dispatcher and the app in this order, and stops them in reverse order.
 */
export async function startService(config: Config, given: Partial<Ports> = {}): Promise<Service> {
  const clock = given.clock ?? systemClock;
  const realClock = given.realClock ?? systemClock;
  const random = given.random ?? systemRandom;
  const log = given.log ?? createLog(config.logLevel);
  let isEnding = false;
  const end = given.onFatal ?? endProcess(log, realClock);
  const onFatal = (error: unknown) => {
    isEnding = true;
    end(error);
  };
  const timeouts = given.timeouts ?? defaultTimeouts;
  const { drainMs } = timeouts;
  let baseUrl = config.baseUrl ?? '';

  const store = await openStore({
    database: config.database,
    durability: config.durability,
    clock,
    log,
    as: 'service',
    onFatal,
    beats: realClock,
    ...(given.sqlite === undefined ? {} : { sqlite: given.sqlite }),
    ...(given.maxPages === undefined ? {} : { maxPages: given.maxPages }),
  }).catch((error: unknown) => {
    throw error instanceof StoreError ? new StartError(error.message) : error;
  });
  try {
    await rejectIncomplete(store);
    const loopbackAllowed =
      isLoopback(config.host) && (config.baseUrl === undefined || isLoopback(new URL(config.baseUrl).hostname));
    const guard = createSsrfGuard({
      resolve: given.resolve ?? createResolver({ clock }),
      allow: config.allowTargets,
      loopbackAllowed,
    });
    const attempt = given.attempt ?? createAttempt({ guard, userAgent: `Carillon/${version}`, clock });
    const authenticator = createAuthenticator({ store, clock, log });
    const sessions = createSessionAuthenticator({ store, clock, log });
    const denials = new DeniedRequestLog({ store, clock, log });
    const fetches = new ReadReceipts({ store, clock, log });
    // Without a mail server, no alerts are stored.
    const hookAlerts = config.smtpUrl === undefined ? noAlerts : enqueueAlerts;
    const quotas = { hooks: config.maxHooks, pending: config.maxPending };
    const routePorts = { guard, random, log, baseUrl: () => baseUrl, notices: hookAlerts, quotas };
    const limits = new RateLimits({
      rates: {
        'key-reads': config.rateLimitKeyReads,
        'key-writes': config.rateLimitKeyWrites,
        'account-reads': config.rateLimitAccountReads,
        'account-writes': config.rateLimitAccountWrites,
      },
      clock,
      onRefused: (limit) => metrics.limited.inc({ limit }),
    });
    const backlog = new BacklogQuota({ store, clock, log, max: config.maxPending });
    const routes = rateLimitedRoutes(allRoutes(routePorts), limits);
    const consolePorts = {
      ...routePorts,
      passphrases: new Passphrases(random, given.passphraseCost ?? SCRYPT_COST),
      throttle: new LoginThrottle(clock),
      onRefused: (refused: DeniedSignIn) => denials.addSignIn(refused),
      isTaken: (targetHash: string) => isTargetTaken(store.read, targetHash),
    };
    const cookie = new SessionCookie(() => baseUrl);
    const apiGroup = apiRouteGroup(routes, authenticator, (caller, path, ids) => fetches.add(caller, path, ids));
    const consoleGroup = consoleRouteGroup([...routes, ...consoleRoutes(consolePorts)], sessions, {
      cookie,
      baseUrl: () => baseUrl,
    });
    const background = await createBackground(config, {
      store,
      clock,
      realClock,
      random,
      log,
      attempt,
      hookAlerts,
      metrics: () => metrics,
      baseUrl: () => baseUrl,
    });
    const { inFlight, queuesHeld } = background;
    const metrics = createMetrics({ store, clock, inFlight, queuesHeld, mails: config.smtpUrl !== undefined });
    const isServing = config.role !== 'delivery';
    let document: unknown;
    const app = await createApp({
      store,
      clock,
      random,
      log,
      metrics,
      routeGroups: isServing ? [apiGroup, consoleGroup] : [],
      open: isServing ? { routeGroup: consoleGroup, rows: publicRoutes(consolePorts), cookie } : undefined,
      subscribed: isServing ? [calendarAddress({ store, log, baseUrl: () => baseUrl })] : [],
      health: {
        clock,
        registry: metrics.registry,
        metricsToken: config.metricsToken,
        probe: () => store.probe(),
        isEnding: () => isEnding,
        openapi: () => {
          document ??= openapi(routes, baseUrl, version, webhooks);
          return document;
        },
        documents: documents(() => ({ routes, baseUrl, version })),
        pages: isServing ? ConsoleFiles.read(CONSOLE) : undefined,
        greeting: () => ({
          service: 'Carillon',
          version,
          interface: `${baseUrl}/v2`,
          openapi: `${baseUrl}/openapi.json`,
          docs: `${baseUrl}/docs`,
        }),
      },
      baseUrl: () => baseUrl,
      onDenied: (denied) => denials.add(denied),
      corsOrigins: config.corsOrigins,
      trustProxy: config.trustProxy,
      beats: realClock,
      maxRequests: config.maxRequests,
      maxConnections: config.maxConnections,
      maxUnread: config.maxUnread,
      maxFollowers: config.maxFollowers,
      limits,
      wrongKeys: config.wrongKeys,
      isOverPendingQuota: (accountId) => backlog.isFull(accountId),
      timeouts,
    });
    const port = await (given.listen ?? listen)(app.server, config);
    const url = `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${port}`;
    baseUrl = config.baseUrl ?? url;
    // The first account is created only after listening has succeeded: its key is shown once, and a failed start would
    // lose it.
    const firstAccount = await store.write((tx) => createFirstAccount(tx, clock.now(), random));
    await background.start();
    // Check again: if an import and a service start at the same time, at least one of them must notice the other.
    await rejectIncomplete(store).catch(async (error: unknown) => {
      await Promise.all([closeServer(app.server, realClock, drainMs), background.stop(0)]);
      throw error;
    });
    background.startRetention();
    log.info({ event: 'started', version, url, base_url: baseUrl, options: summaryOf(config) });
    for (const open of riskyOrigins(config.corsOrigins)) log.warn({ event: 'cors.open_origin', ...open });

    let stopping: Promise<void> | undefined;
    const stop = async () => {
      log.info({ event: 'stopping' });
      app.drain();
      await Promise.all([closeServer(app.server, realClock, drainMs), background.stop()]);
      await Promise.all([authenticator.flush(), sessions.flush(), denials.flush(), fetches.flush()]);
      await store.close();
      log.info({ event: 'stopped' });
    };
    return {
      url,
      baseUrl,
      firstAccount,
      stop: () => {
        stopping ??= stop();
        return stopping;
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Throws `StartError` if the database contains an incomplete import. */
async function rejectIncomplete(store: Store): Promise<void> {
  const unfinished = await findUnfinished(store.read);
  if (unfinished !== undefined) throw new StartError(unfinishedText(unfinished));
}

type HttpServer = Awaited<ReturnType<typeof createApp>>['server'];

async function listen(server: HttpServer, { host, port }: Config): Promise<number> {
  try {
    await server.listen({ host, port, backlog: 4_096 });
  } catch (error) {
    throw new StartError(`Cannot listen on ${host} port ${port}: ${reasonFor(error)}.`);
  }
  const address = server.server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}

function reasonFor(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'EADDRINUSE') return 'the port is in use; choose another one with --port';
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') return 'this machine has no such address';
  if (code === 'EACCES') return 'this user is not permitted to use the port';
  return error instanceof Error ? error.message : String(error);
}

function endProcess(log: Log, realClock: Clock): (error: unknown) => void {
  return (error) => {
    log.fatal({ event: 'fatal', err: error });
    const exit = () => process.exit(1);
    if (error instanceof DatabaseLost) realClock.after(LOST_GRACE_MS, exit);
    else exit();
  };
}
