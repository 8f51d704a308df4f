import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import type { DeniedRequest } from './audit/denied-requests.ts';
import type { Clock } from './clock.ts';
import type { RequestRate } from './durations.ts';
import type { RateLimits } from './http/auth/rate-limits.ts';
import type { RouteGroup } from './http/auth/route-groups.ts';
import type { SessionCookie } from './http/auth/session-cookie.ts';
import { disableBodyParsing } from './http/body/read-body.ts';
import { ErrorHandler } from './http/errors/error-handler.ts';
import { FeedWaiters } from './http/feed/waiters.ts';
import { type CapabilityUrl, mountCapabilityUrl } from './http/routes/capability-urls.ts';
import { mountRouteGroup } from './http/routes/mount.ts';
import { mountPublicRoutes, type PublicRoute } from './http/routes/public-routes.ts';
import { decodeQuery } from './http/routes/query-parameters.ts';
import { isProbe } from './http/server/admission.ts';
import { addCorsHeaders, createCorsPolicy } from './http/server/cors.ts';
import { addKeylessRoutes, type KeylessRouteDeps } from './http/server/health.ts';
import { respondToMalformed } from './http/server/malformed-requests.ts';
import { defaultTimeouts, HttpLimits, type Timeouts } from './http/server/resource-limits.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';
import type { Caller } from './permissions.ts';
import { notFound, Problem } from './problems.ts';
import type { Random } from './secrets.ts';
import type { Store } from './store/store.ts';

const MAX_HEADER_BYTES = 16 * 1_024;
const MAX_URL_BYTES = 8 * 1_024;

type AppDeps = {
  readonly store: Store;
  readonly clock: Clock;
  /** Real-time clock for connection deadlines; never replaced by a test's fake clock. */
  readonly realClock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly routeGroups: readonly RouteGroup[];
  /**
   * The public routes with their route group, and the session cookie that they set. Undefined on a node without
   * console.
   */
  readonly publicRoutes?:
    | { readonly routeGroup: RouteGroup; readonly routes: readonly PublicRoute[]; readonly cookie: SessionCookie }
    | undefined;
  /** URLs that contain their own credential, such as calendar addresses. */
  readonly capabilityUrls?: readonly CapabilityUrl[];
  readonly keylessRouteDeps: Omit<KeylessRouteDeps, 'baseUrl'>;
  readonly baseUrl: () => string;
  readonly corsOrigins: readonly string[];
  readonly trustProxy: readonly string[];
  /** Maximum number of concurrent requests of callers. Visitors have a quarter as many slots of their own. */
  readonly maxRequests: number;
  /** Maximum number of open connections. A client network may have a quarter of them. */
  readonly maxConnections: number;
  /** Maximum size of responses in memory that clients have not read yet, in MiB. */
  readonly maxUnreadMiB: number;
  /** Maximum number of requests that wait for feed entries: long polls and streams. */
  readonly maxFeedWaiters: number;
  readonly rateLimits: RateLimits;
  /** Rate of requests with a wrong key from one client network. Above this rate, their responses are delayed. */
  readonly wrongKeyRate: RequestRate | undefined;
  /** Whether the account has reached its pending-delivery quota. */
  readonly isOverPendingQuota: (accountId: number) => boolean | Promise<boolean>;
  /** Called for each request that is rejected for lack of authentication or permission. */
  readonly onDenied: (deniedRequest: DeniedRequest) => void;
  /** Replaces the default timeouts in tests. */
  readonly timeouts?: Timeouts;
};

/** The HTTP app with all route groups. The caller starts its server. */
type App = {
  readonly server: FastifyInstance;
  /**
   * Begins a graceful shutdown: each response closes its connection. Requests that wait for the feed and delayed
   * responses are answered immediately.
   */
  drain(): void;
};

export async function createApp(deps: AppDeps): Promise<App> {
  const { log, baseUrl } = deps;
  const corsPolicy = createCorsPolicy(deps.corsOrigins);
  const httpLimits: HttpLimits = new HttpLimits({
    ...deps,
    corsPolicy,
    timeouts: deps.timeouts ?? defaultTimeouts,
    onRequestTimeout: (reply) => errorHandler.sendProblemNow(reply, new Problem('timed_out')),
  });
  const { connectionTracker, requestSlots, bodyReader } = httpLimits;
  let lastRequestNumber = 0;
  const bootId = Buffer.from(deps.random.bytes(4)).toString('hex');

  const app: FastifyInstance = fastify({
    logger: false,
    // Disable Node's timeouts of requests and headers: they would close connections whose data arrived while this
    // process was paused. `HttpLimits` enforces deadlines instead.
    requestTimeout: 0,
    keepAliveTimeout: (deps.timeouts ?? defaultTimeouts).keepAliveMs,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    trustProxy: deps.trustProxy.length > 0 ? [...deps.trustProxy] : false,
    http: {
      ServerResponse: httpLimits.batchedResponses.responseClass,
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: 0,
      // `ambiguityOf` rejects a request without host header, with a problem document.
      requireHostHeader: false,
    },
    routerOptions: { maxParamLength: 64, querystringParser: decodeQuery },
    genReqId() {
      lastRequestNumber += 1;
      return `${bootId}-${lastRequestNumber}`;
    },
    clientErrorHandler: (error, socket) => {
      const logFailure = (err: unknown) => log.error({ event: 'request.failed', err });
      const sendRejection = () =>
        void respondToMalformed(error, socket, {
          routeGroups: deps.routeGroups,
          baseUrl: baseUrl(),
          reportError: logFailure,
        });
      connectionTracker.respondAfterPending(socket, sendRejection);
    },
    frameworkErrors: (error, request, reply) => {
      void errorHandler.respondToUnroutedRequest(error, request, reply);
    },
  });
  const errorHandler = new ErrorHandler({
    ...deps,
    onDelay: (reply) => requestSlots.releaseSlot(reply),
    pauseConnection: (response) => connectionTracker.pauseConnection(response),
  });
  app.decorateRequest('caller', undefined);
  app.decorateRequest('routeGroup', undefined);
  disableBodyParsing(app);

  app.setErrorHandler((error, request, reply) => errorHandler.respondWithError(error, request, reply));
  app.setNotFoundHandler(() => {
    throw notFound();
  });

  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    const { url = '' } = request.raw;
    if (url.length > MAX_URL_BYTES) throw new Problem('uri_too_long');
    // Limit concurrent requests outside of the route groups here. A route group limits its requests after it has
    // authenticated the caller.
    if (!isProbe(url) && !deps.routeGroups.some(({ prefix }) => url.startsWith(prefix)))
      requestSlots.acquireVisitorSlot(request, reply);
    done();
  });
  // From here on, the request only waits for its client and no longer counts as a concurrent request.
  app.addHook('onSend', (_request, reply, _payload, done) => {
    requestSlots.releaseSlot(reply);
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    const routePattern = request.routeOptions.url ?? '(none)';
    deps.metrics.observeRequest(request.method, routePattern, reply.statusCode, reply.elapsedTime / 1_000);
    if (request.shedReason !== undefined) httpLimits.loadShedding.countShedRequest(request.shedReason);
    else log.info(logFieldsOf(request, reply, routePattern));
    done();
  });

  addCorsHeaders(app, corsPolicy);
  addKeylessRoutes(app, { ...deps.keylessRouteDeps, baseUrl });
  const feedWaiters = new FeedWaiters({ store: deps.store, clock: deps.clock, maxWaiters: deps.maxFeedWaiters });
  const logRequestFailure = (request: FastifyRequest, error: unknown) => errorHandler.logFailure(request, error);
  for (const routeGroup of deps.routeGroups)
    mountRouteGroup(app, routeGroup, {
      ...deps,
      feedWaiters,
      bodyReader,
      requestSlots,
      reportError: logRequestFailure,
    });
  if (deps.publicRoutes !== undefined)
    mountPublicRoutes(app, deps.publicRoutes.routes, deps.publicRoutes.routeGroup, {
      ...deps,
      ...deps.publicRoutes,
      bodyReader,
      requestSlots,
    });
  for (const capabilityUrl of deps.capabilityUrls ?? [])
    mountCapabilityUrl(app, capabilityUrl, { ...deps, requestSlots });
  await app.ready();
  httpLimits.attach(app);
  return {
    server: app,
    drain: () => {
      httpLimits.batchedResponses.stop();
      feedWaiters.stop();
      errorHandler.stop();
    },
  };
}

function logFieldsOf(request: FastifyRequest, reply: FastifyReply, routePattern: string): Record<string, unknown> {
  return {
    event: 'request',
    request_id: request.id,
    method: request.method,
    route: routePattern,
    status: reply.statusCode,
    ms: Math.round(reply.elapsedTime * 10) / 10,
    from: request.ip,
    ...(request.problemCode === undefined ? {} : { problem: request.problemCode }),
    ...(request.caller === undefined ? {} : callerLogFieldsOf(request.caller)),
  };
}

/** Returns the log fields that identify a caller. */
function callerLogFieldsOf({ accountId, userId, keyId, sessionId }: Caller): Record<string, number> {
  const credentialField = keyId === 0 ? { session_id: sessionId } : { key_id: keyId };
  return { account_id: accountId, user_id: userId, ...credentialField };
}
