import { fileURLToPath } from 'node:url';
import { createPublicDocuments } from './api-docs/documents.ts';
import { createApp } from './app.ts';
import { DeniedRequestLog, type DeniedSignIn } from './audit/denied-requests.ts';
import { createBackgroundWork } from './background.ts';
import { type Clock, systemClock } from './clock.ts';
import { type Config, summarizeConfig } from './config/load.ts';
import { findRiskyOrigins } from './config/origins.ts';
import { findOldestPending } from './delivery/maintenance/oldest-pending.ts';
import { ReadReceipts } from './delivery/maintenance/read-receipts.ts';
import { BacklogQuota } from './delivery/outbox/backlog-quota.ts';
import { enqueueHookAlerts, skipHookAlerts } from './delivery/outbox/end-hooks.ts';
import { isTargetTaken } from './delivery/outbox/restore-hook.ts';
import { createAttemptSender, type SendAttempt } from './delivery/transport/attempt.ts';
import { createResolver, type ResolveName } from './delivery/transport/dns-resolver.ts';
import { createSsrfGuard } from './delivery/transport/ssrf-guard.ts';
import { addRateLimitedProblem, RateLimits } from './http/auth/rate-limits.ts';
import { createApiRouteGroup, createConsoleRouteGroup } from './http/auth/route-groups.ts';
import { SessionCookie } from './http/auth/session-cookie.ts';
import { createOpenApiDocument } from './http/routes/openapi.ts';
import { closeServer } from './http/server/graceful-shutdown.ts';
import { defaultTimeouts, type Timeouts } from './http/server/resource-limits.ts';
import { ConsoleFiles } from './http/static/console-files.ts';
import { createLog, type Log } from './log.ts';
import { isLoopback } from './loopback.ts';
import { createMetrics } from './metrics.ts';
import { createFirstAccount, type FirstAccount } from './resources/accounts/actions.ts';
import { createCalendarUrl } from './resources/calendars/ics-route.ts';
import { webhooks } from './resources/hooks/webhook.ts';
import { createApiRoutes, createConsoleRoutes, createPublicRoutes } from './resources/index.ts';
import { createKeyAuthenticator } from './resources/keys/authenticate.ts';
import { LoginThrottle } from './resources/passphrases/login-throttle.ts';
import { createSessionAuthenticator } from './resources/sessions/authenticate.ts';
import { PassphraseHasher, type Random, SCRYPT_COST, type ScryptCost, systemRandom } from './secrets.ts';
import type { StoreOptions } from './store/database-url.ts';
import { openStore } from './store/open.ts';
import { DatabaseLostError, type Store, StoreError } from './store/store.ts';
import { explainIncompleteTransfer, findIncompleteTransfer } from './transfer/incomplete-transfers.ts';
import { version } from './version.ts';

/** Time for which the process keeps running after its database was lost, so that clients get a 503. */
const DATABASE_LOST_GRACE_MS = 250;

/** Folder of the built console; the same in the repository and in the published package. */
const CONSOLE_FOLDER = fileURLToPath(new URL('../console/dist', import.meta.url));

/** The dependencies of a service that tests can replace. */
export type ServiceDeps = {
  readonly clock: Clock;
  /** Real-time clock for heartbeats and connection deadlines; replaced only in a full simulation. */
  readonly realClock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly resolve: ResolveName;
  /** Replaces outgoing HTTP requests. */
  readonly sendAttempt?: SendAttempt;
  /** Called on a fatal error. The default logs the error and exits. */
  readonly onFatal: (error: unknown) => void;
  /** Maximum number of SQLite pages, to simulate a full disk. */
  readonly maxPages?: number;
  /** Replaces the SQLite driver, to inject errors. */
  readonly sqlite?: StoreOptions['sqlite'];
  /** Replaces listening on a socket; returns the port. */
  readonly listen?: typeof listenOnPort;
  /** Timeouts of connections and requests. */
  readonly timeouts?: Timeouts;
  /** Replaces the cost of passphrase hashes, so that tests are fast. */
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
export async function startService(config: Config, overrides: Partial<ServiceDeps> = {}): Promise<Service> {
  const clock = overrides.clock ?? systemClock;
  const realClock = overrides.realClock ?? systemClock;
  const random = overrides.random ?? systemRandom;
  const log = overrides.log ?? createLog(config.logLevel);
  let hasFatalError = false;
  const reportFatalError = overrides.onFatal ?? createFatalErrorHandler(log, realClock);
  const onFatal = (error: unknown) => {
    hasFatalError = true;
    reportFatalError(error);
  };
  const timeouts = overrides.timeouts ?? defaultTimeouts;
  const { drainMs } = timeouts;
  let baseUrl = config.baseUrl ?? '';

  const store = await openStore({
    database: config.database,
    durability: config.durability,
    clock,
    log,
    openAs: 'service',
    onFatal,
    realClock,
    ...(overrides.sqlite === undefined ? {} : { sqlite: overrides.sqlite }),
    ...(overrides.maxPages === undefined ? {} : { maxPages: overrides.maxPages }),
  }).catch((error: unknown) => {
    throw error instanceof StoreError ? new StartError(error.message) : error;
  });
  try {
    await failOnIncompleteImport(store);
    const isLoopbackAllowed =
      isLoopback(config.host) && (config.baseUrl === undefined || isLoopback(new URL(config.baseUrl).hostname));
    const guard = createSsrfGuard({
      resolve: overrides.resolve ?? createResolver({ clock }),
      allowRules: config.allowTargets,
      isLoopbackAllowed,
    });
    const sendAttempt =
      overrides.sendAttempt ?? createAttemptSender({ guard, userAgent: `Carillon/${version}`, clock });
    const keyAuthenticator = createKeyAuthenticator({ store, clock, log });
    const sessionAuthenticator = createSessionAuthenticator({ store, clock, log });
    const deniedRequests = new DeniedRequestLog({ store, clock, log });
    const readReceipts = new ReadReceipts({ store, clock, log });
    // Without a mail server, no alerts are stored.
    const enqueueAlerts = config.smtpUrl === undefined ? skipHookAlerts : enqueueHookAlerts;
    const quotas = { maxLiveHooks: config.maxHooks, maxPendingDeliveries: config.maxPending };
    const routeDeps = { guard, random, log, baseUrl: () => baseUrl, enqueueAlerts, quotas };
    const rateLimits = new RateLimits({
      rates: {
        'key-reads': config.rateLimitKeyReads,
        'key-writes': config.rateLimitKeyWrites,
        'account-reads': config.rateLimitAccountReads,
        'account-writes': config.rateLimitAccountWrites,
      },
      clock,
      onLimitExceeded: (limitName) => metrics.rateLimitedCounter.inc({ limit: limitName }),
    });
    const deliveryBacklogQuota = new BacklogQuota({ store, clock, log, maxPending: config.maxPending });
    const routes = addRateLimitedProblem(createApiRoutes(routeDeps), rateLimits);
    const consoleDeps = {
      ...routeDeps,
      passphraseHasher: new PassphraseHasher(random, overrides.passphraseCost ?? SCRYPT_COST),
      loginThrottle: new LoginThrottle(clock),
      onSignInRefused: (deniedSignIn: DeniedSignIn) => deniedRequests.addSignIn(deniedSignIn),
      isTargetTaken: (targetHash: string) => isTargetTaken(store.read, targetHash),
    };
    const sessionCookie = new SessionCookie(() => baseUrl);
    const apiGroup = createApiRouteGroup(routes, keyAuthenticator, (caller, path, recordIds) =>
      readReceipts.add(caller, path, recordIds),
    );
    const consoleGroup = createConsoleRouteGroup(
      [...routes, ...createConsoleRoutes(consoleDeps)],
      sessionAuthenticator,
      {
        cookie: sessionCookie,
        baseUrl: () => baseUrl,
      },
    );
    const backgroundWork = await createBackgroundWork(config, {
      store,
      clock,
      realClock,
      random,
      log,
      sendAttempt,
      enqueueAlerts,
      getMetrics: () => metrics,
      baseUrl: () => baseUrl,
    });
    const { countInFlightAttempts, countLeasedQueues } = backgroundWork;
    const metrics = createMetrics({
      store,
      clock,
      countInFlightAttempts,
      countLeasedQueues,
      findOldestPending: () => findOldestPending(store.read),
      isMailConfigured: config.smtpUrl !== undefined,
    });
    const servesApi = config.role !== 'delivery';
    let openapiDocument: unknown;
    const app = await createApp({
      store,
      clock,
      random,
      log,
      metrics,
      routeGroups: servesApi ? [apiGroup, consoleGroup] : [],
      publicRoutes: servesApi
        ? { routeGroup: consoleGroup, routes: createPublicRoutes(consoleDeps), cookie: sessionCookie }
        : undefined,
      capabilityUrls: servesApi ? [createCalendarUrl({ store, log, baseUrl: () => baseUrl })] : [],
      keylessRouteDeps: {
        clock,
        registry: metrics.registry,
        metricsToken: config.metricsToken,
        probeDatabase: () => store.probe(),
        isShuttingDown: () => hasFatalError,
        getOpenApiDocument: () => {
          openapiDocument ??= createOpenApiDocument(routes, baseUrl, version, webhooks);
          return openapiDocument;
        },
        documents: createPublicDocuments(() => ({ routes, baseUrl, version })),
        consoleFiles: servesApi ? ConsoleFiles.read(CONSOLE_FOLDER) : undefined,
        createServiceInfo: () => ({
          service: 'Carillon',
          version,
          interface: `${baseUrl}/v2`,
          openapi: `${baseUrl}/openapi.json`,
          docs: `${baseUrl}/docs`,
        }),
      },
      baseUrl: () => baseUrl,
      onDenied: (deniedRequest) => deniedRequests.addRequest(deniedRequest),
      corsOrigins: config.corsOrigins,
      trustProxy: config.trustProxy,
      realClock,
      maxRequests: config.maxRequests,
      maxConnections: config.maxConnections,
      maxUnreadMiB: config.maxUnread,
      maxFeedWaiters: config.maxFollowers,
      rateLimits,
      wrongKeyRate: config.wrongKeys,
      isOverPendingQuota: (accountId) => deliveryBacklogQuota.isFull(accountId),
      timeouts,
    });
    const port = await (overrides.listen ?? listenOnPort)(app.server, config);
    const url = `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${port}`;
    baseUrl = config.baseUrl ?? url;
    // The first account is created only after listening has succeeded: its key is shown once, and a failed start would
    // lose it.
    const firstAccount = await store.write((tx) => createFirstAccount(tx, clock.now(), random));
    await backgroundWork.start();
    // Check again: if an import and a service start at the same time, at least one of them must notice the other.
    await failOnIncompleteImport(store).catch(async (error: unknown) => {
      await Promise.all([closeServer(app.server, realClock, drainMs), backgroundWork.stop(0)]);
      throw error;
    });
    backgroundWork.startMailAndRetention();
    log.info({ event: 'started', version, url, base_url: baseUrl, options: summarizeConfig(config) });
    for (const riskyOrigin of findRiskyOrigins(config.corsOrigins))
      log.warn({ event: 'cors.open_origin', ...riskyOrigin });

    let stopPromise: Promise<void> | undefined;
    const stop = async () => {
      log.info({ event: 'stopping' });
      app.drain();
      await Promise.all([closeServer(app.server, realClock, drainMs), backgroundWork.stop()]);
      await Promise.all([
        keyAuthenticator.flush(),
        sessionAuthenticator.flush(),
        deniedRequests.flush(),
        readReceipts.flush(),
      ]);
      await store.close();
      log.info({ event: 'stopped' });
    };
    return {
      url,
      baseUrl,
      firstAccount,
      stop: () => {
        stopPromise ??= stop();
        return stopPromise;
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Throws `StartError` if the database contains an incomplete import. */
async function failOnIncompleteImport(store: Store): Promise<void> {
  const incompleteTransfer = await findIncompleteTransfer(store.read);
  if (incompleteTransfer !== undefined) throw new StartError(explainIncompleteTransfer(incompleteTransfer));
}

type HttpServer = Awaited<ReturnType<typeof createApp>>['server'];

async function listenOnPort(server: HttpServer, { host, port }: Config): Promise<number> {
  try {
    await server.listen({ host, port, backlog: 4_096 });
  } catch (error) {
    throw new StartError(`Cannot listen on ${host} port ${port}: ${formatListenError(error)}.`);
  }
  const address = server.server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}

function formatListenError(error: unknown): string {
  const errorCode = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (errorCode === 'EADDRINUSE') return 'the port is in use; choose another one with --port';
  if (errorCode === 'EADDRNOTAVAIL' || errorCode === 'ENOTFOUND') return 'this machine has no such address';
  if (errorCode === 'EACCES') return 'this user is not permitted to use the port';
  return error instanceof Error ? error.message : String(error);
}

function createFatalErrorHandler(log: Log, realClock: Clock): (error: unknown) => void {
  return (error) => {
    log.fatal({ event: 'fatal', err: error });
    const exit = () => process.exit(1);
    if (error instanceof DatabaseLostError) realClock.after(DATABASE_LOST_GRACE_MS, exit);
    else exit();
  };
}
