import { fileURLToPath } from 'node:url';
import { documents } from './api-docs/documents.ts';
import { createApp } from './app.ts';
import { DeniedRequestLog, type DeniedSignIn } from './audit/denied-requests.ts';
import { createBackground } from './background.ts';
import { type Clock, systemClock } from './clock.ts';
import { type Config, summaryOf } from './config/load.ts';
import { openOrigins } from './config/origins.ts';
import { ReadReceipts } from './delivery/maintenance/read-receipts.ts';
import { BacklogQuota } from './delivery/outbox/backlog-quota.ts';
import { enqueueAlerts, noAlerts } from './delivery/outbox/hook-alerts.ts';
import { isTargetTaken } from './delivery/outbox/target-in-use.ts';
import { type Attempt, createAttempt } from './delivery/transport/attempt.ts';
import { createResolver, type Resolve } from './delivery/transport/dns-resolver.ts';
import { createSsrfGuard } from './delivery/transport/ssrf-guard.ts';
import { limited, RateLimits } from './http/auth/rate-limits.ts';
import { apiRouteGroup, consoleRouteGroup } from './http/auth/route-groups.ts';
import { SessionCookie } from './http/auth/session-cookie.ts';
import { openapi } from './http/routes/openapi.ts';
import { closeServer } from './http/server/graceful-shutdown.ts';
import { type Patience, patience } from './http/server/resource-limits.ts';
import { ConsoleFiles } from './http/static/console-files.ts';
import { createLog, type Log } from './log.ts';
import { isLoopback } from './loopback.ts';
import { createMetrics } from './metrics.ts';
import { createFirstAccount, type FirstAccount } from './resources/accounts/actions.ts';
import { calendarAddress } from './resources/calendars/ics-route.ts';
import { webhooks } from './resources/hooks/webhook.ts';
import { allRoutes, consoleRoutes, openRoutes } from './resources/index.ts';
import { createAuthenticator } from './resources/keys/authenticate.ts';
import { LoginThrottle } from './resources/passphrases/login-throttle.ts';
import { createSessionAuthenticator } from './resources/sessions/authenticate.ts';
import { COST, type Cost, Passphrases, type Random, systemRandom } from './secrets.ts';
import type { OpenOptions } from './store/database-url.ts';
import { openStore } from './store/open.ts';
import { DatabaseLost, type Store, StoreError } from './store/store.ts';
import { explain, findUnfinished } from './transfer/incomplete-transfers.ts';
import { version } from './version.ts';

/** How long a process whose database is lost still answers 503, so that callers hear of it. */
const LOST_GRACE_MS = 250;

/** Where the console was built: beside the source, and beside what the package holds. */
const CONSOLE = fileURLToPath(new URL('../console/dist', import.meta.url));

/** What a service takes from outside; a test hands in its own. */
export type Ports = {
  readonly clock: Clock;
  /** Measures whether nodes live, and how long others are waited for; the machine's own unless all of the world is simulated. */
  readonly realClock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly resolve: Resolve;
  /** Stands in for the one way out. */
  readonly attempt?: Attempt;
  /** Called when the process cannot go on; the default logs and ends it. */
  readonly onFatal: (error: unknown) => void;
  /** The most pages of the database; for tests of a full disk. */
  readonly maxPages?: number;
  /** Stands in for SQLite itself. */
  readonly sqlite?: OpenOptions['sqlite'];
  /** Stands in for the socket: answers the port that is listened on. */
  readonly listen?: typeof listen;
  /** How long callers are waited for. */
  readonly timeouts?: Patience;
  /** How dear a hash of a passphrase is. */
  readonly passphraseCost?: Cost | undefined;
};

export type Service = {
  /** Where it listens. */
  readonly url: string;
  readonly baseUrl: string;
  /** The account that was made because there was none. */
  readonly firstAccount: FirstAccount | undefined;
  /** Finishes what is in flight (10 s at most), writes everything down, closes everything. */
  stop(): Promise<void>;
};

/** The service cannot start; the message is one line for the operator. */
export class StartError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'StartFault';
  }
}

/** The composition root: config → store → engine → app; started in order, stopped in the opposite one. */
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
  const waiting = given.timeouts ?? patience;
  const { drainMs } = waiting;
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
    // Where no mail goes out, none is pending.
    const notices = config.smtpUrl === undefined ? noAlerts : enqueueAlerts;
    const quotas = { hooks: config.maxHooks, pending: config.maxPending };
    const routePorts = { guard, random, log, baseUrl: () => baseUrl, notices, quotas };
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
    const backlog = new BacklogQuota({ store, clock, log, most: config.maxPending });
    const routes = limited(allRoutes(routePorts), limits);
    const consolePorts = {
      ...routePorts,
      passphrases: new Passphrases(random, given.passphraseCost ?? COST),
      tries: new LoginThrottle(clock),
      onRefused: (refused: DeniedSignIn) => denials.addSignIn(refused),
      isTaken: (targetHash: string) => isTargetTaken(store.read, targetHash),
    };
    const cookie = new SessionCookie(() => baseUrl);
    const publicDoor = apiRouteGroup(routes, authenticator, (caller, path, ids) => fetches.add(caller, path, ids));
    const ownDoor = consoleRouteGroup([...routes, ...consoleRoutes(consolePorts)], sessions, {
      cookie,
      baseUrl: () => baseUrl,
    });
    const delivering = await createBackground(config, {
      store,
      clock,
      realClock,
      random,
      log,
      attempt,
      notices,
      metrics: () => metrics,
      baseUrl: () => baseUrl,
    });
    const { inFlight, queuesHeld } = delivering;
    const metrics = createMetrics({ store, clock, inFlight, queuesHeld, mails: config.smtpUrl !== undefined });
    const isServing = config.role !== 'delivery';
    let document: unknown;
    const app = await createApp({
      store,
      clock,
      random,
      log,
      metrics,
      doors: isServing ? [publicDoor, ownDoor] : [],
      open: isServing ? { door: ownDoor, rows: openRoutes(consolePorts), cookie } : undefined,
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
      timeouts: waiting,
    });
    const port = await (given.listen ?? listen)(app.server, config);
    const url = `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${port}`;
    baseUrl = config.baseUrl ?? url;
    // Only now: a start that fails must not use up the one showing of the key.
    const firstAccount = await store.write((tx) => createFirstAccount(tx, clock.now(), random));
    await delivering.start();
    // Once more: of an import that has begun meanwhile and this service, one sees the other.
    await rejectIncomplete(store).catch(async (fault: unknown) => {
      await Promise.all([closeServer(app.server, realClock, drainMs), delivering.stop(0)]);
      throw fault;
    });
    delivering.startRetention();
    log.info({ event: 'started', version, url, base_url: baseUrl, options: summaryOf(config) });
    for (const open of openOrigins(config.corsOrigins)) log.warn({ event: 'cors.open_origin', ...open });

    let stopping: Promise<void> | undefined;
    const stop = async () => {
      log.info({ event: 'stopping' });
      app.drain();
      await Promise.all([closeServer(app.server, realClock, drainMs), delivering.stop()]);
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

/** Nothing is served or told of a database that holds half of an import. */
async function rejectIncomplete(store: Store): Promise<void> {
  const unfinished = await findUnfinished(store.read);
  if (unfinished !== undefined) throw new StartError(explain(unfinished));
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
  if (code === 'EADDRINUSE') return 'something else is listening there; --port names another';
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') return 'this machine has no such address';
  if (code === 'EACCES') return 'this user may not use that port';
  return error instanceof Error ? error.message : String(error);
}

function endProcess(log: Log, beats: Clock): (error: unknown) => void {
  return (error) => {
    log.fatal({ event: 'fatal', err: error });
    const exit = () => process.exit(1);
    if (error instanceof DatabaseLost) beats.after(LOST_GRACE_MS, exit);
    else exit();
  };
}
