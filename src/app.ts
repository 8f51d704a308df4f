import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import type { Caller } from './access.ts';
import type { Denied } from './audit/denials.ts';
import type { Clock } from './clock.ts';
import type { Rate } from './durations.ts';
import { Admission } from './http/admission.ts';
import { problemBody } from './http/answers.ts';
import { answerBroken, endWith } from './http/broken.ts';
import { Connections } from './http/connections.ts';
import { allowOrigins, readableBy } from './http/cors.ts';
import type { Door } from './http/door.ts';
import { Followers } from './http/followers.ts';
import { addHealth, type HealthPorts } from './http/health.ts';
import { takeJson } from './http/json.ts';
import { mount } from './http/mount.ts';
import { mountOpen, type OpenRoute } from './http/open.ts';
import { parseQuery } from './http/query.ts';
import type { RateLimits } from './http/rate-limits.ts';
import { Refusals } from './http/refusals.ts';
import type { SessionCookie } from './http/session-cookie.ts';
import { Shedding } from './http/shedding.ts';
import { mountSubscribed, type SubscribedRow } from './http/subscribed.ts';
import { TurnAnswers } from './http/turn-answers.ts';
import { UnderWay } from './http/under-way.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';
import { notFound, Problem } from './problems.ts';
import type { Chance } from './secrets.ts';
import type { Store } from './store/store.ts';

const LARGEST_BODY = 64 * 1_024;
const LARGEST_HEADERS = 16 * 1_024;
const LONGEST_URL = 8 * 1_024;

/** How long callers are waited for, milliseconds: for their headers, for a whole request, for the next one. */
export const patience = {
  headersMs: 10_000,
  requestMs: 30_000,
  keepAliveMs: 65_000,
  /** And how long they wait at most. */
  answerMs: 30_000,
  /** How often connections are looked over. */
  lookEveryMs: 5_000,
  /** How long idle connections may still carry a request while the service stops. */
  drainMs: 250,
};

export type Patience = typeof patience;

export type AppPorts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly doors: readonly Door[];
  /** The open addresses beside a door, and the cookie that they set; undefined where nobody can sign in. */
  readonly open?:
    | { readonly door: Door; readonly rows: readonly OpenRoute[]; readonly cookie: SessionCookie }
    | undefined;
  /** What programs read by an address that is the secret itself. */
  readonly subscribed?: readonly SubscribedRow[];
  readonly health: Omit<HealthPorts, 'baseUrl'>;
  readonly baseUrl: () => string;
  readonly corsOrigins: readonly string[];
  readonly trustProxy: readonly string[];
  readonly maxRequests: number;
  readonly maxFollowers: number;
  readonly limits: RateLimits;
  /** How many wrong keys an address may show before they wait for their answers. */
  readonly wrongKeys: Rate | undefined;
  /** Whether an account is owed so much that nothing may add to it. */
  readonly isOwedTooMuch: (accountId: number) => boolean | Promise<boolean>;
  /** Hears of everybody who is refused for who they are. */
  readonly onDenied: (denied: Denied) => void;
  /** Other than the usual, in tests. */
  readonly patience?: Patience;
};

/** The HTTP app: every row behind every door, and what each request passes on its way. Never listens by itself. */
export type App = {
  readonly server: FastifyInstance;
  /** From now on answers end their connection, so that a stop leaves nobody unanswered. */
  drain(): void;
};

export async function createApp(ports: AppPorts): Promise<App> {
  const { log, baseUrl } = ports;
  const { headersMs, requestMs, keepAliveMs, answerMs, lookEveryMs } = ports.patience ?? patience;
  const turnAnswers = new TurnAnswers();
  let draining = false;
  let requestNumber = 0;
  const boot = Buffer.from(ports.chance.bytes(4)).toString('hex');

  const app: FastifyInstance = fastify({
    logger: false,
    bodyLimit: LARGEST_BODY,
    requestTimeout: requestMs,
    keepAliveTimeout: keepAliveMs,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    trustProxy: ports.trustProxy.length > 0 ? [...ports.trustProxy] : false,
    http: {
      ServerResponse: turnAnswers.answerClass,
      maxHeaderSize: LARGEST_HEADERS,
      headersTimeout: headersMs,
      connectionsCheckingInterval: lookEveryMs,
      // A missing host is refused as a problem, like all else.
      requireHostHeader: false,
    },
    routerOptions: { maxParamLength: 64, querystringParser: parseQuery },
    genReqId() {
      requestNumber += 1;
      return `${boot}-${requestNumber}`;
    },
    clientErrorHandler: (error, socket) => {
      const failed = (err: unknown) => log.error({ event: 'request.failed', err });
      const answer = () => void answerBroken(error, socket, { doors: ports.doors, baseUrl: baseUrl(), failed });
      connections.afterAnswers(socket, answer);
    },
    frameworkErrors: (error, request, reply) => {
      void refusals.refuseUnrouted(error, request, reply);
    },
  });
  const underWay = new UnderWay(ports.clock, answerMs, (reply) => refusals.answer(reply, new Problem('timed_out')));
  const refusals = new Refusals({
    ...ports,
    onWait: (reply) => underWay.leave(reply),
    holdBack: (response) => connections.holdBack(response),
    isDraining: () => draining,
  });
  // Node would end these without a problem of ours: a tunnel, and an expectation that nobody has to meet (RFC 9110, 10.1.1).
  app.server.on('connect', (_request, socket) => endWith(socket, new Problem('malformed_request'), baseUrl()));
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  app.decorateRequest('caller', undefined);
  app.decorateRequest('door', undefined);
  takeJson(app);

  /** What might be read in two ways is answered, and goes no further than here. */
  function refuse(request: IncomingMessage, response: ServerResponse, detail: string): void {
    const problem = new Problem('malformed_request', { detail });
    const body = Buffer.from(JSON.stringify(problemBody(problem, baseUrl())));
    const headers = { 'content-type': 'application/problem+json', 'content-length': body.length, connection: 'close' };
    response.writeHead(problem.status, headers).end(body);
    const { method, socket } = request;
    const { status, code } = problem;
    log.info({ event: 'request', method, route: '(none)', status, from: socket.remoteAddress, problem: code });
  }

  app.setErrorHandler((error, request, reply) => refusals.refuse(error, request, reply));
  app.setNotFoundHandler(() => {
    throw notFound();
  });

  app.addHook('onRequest', (request, reply, done) => {
    underWay.enter(reply);
    reply.header('x-request-id', request.id);
    if (draining) reply.header('connection', 'close');
    if ((request.raw.url ?? '').length > LONGEST_URL) throw new Problem('uri_too_long');
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? '(none)';
    ports.metrics.observeRequest(request.method, route, reply.statusCode, reply.elapsedTime / 1_000);
    log.info({
      event: 'request',
      request_id: request.id,
      method: request.method,
      route,
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime * 10) / 10,
      from: request.ip,
      ...(request.problem === undefined ? {} : { problem: request.problem }),
      ...(request.caller === undefined ? {} : whoIs(request.caller)),
    });
    done();
  });

  const readable = readableBy(ports.corsOrigins);
  allowOrigins(app, readable);
  addHealth(app, { ...ports.health, baseUrl });
  const followers = new Followers({ store: ports.store, clock: ports.clock, most: ports.maxFollowers });
  const release = (reply: FastifyReply) => underWay.leave(reply);
  const failed = (request: FastifyRequest, error: unknown) => refusals.failed(request, error);
  for (const door of ports.doors) mount(app, door, { ...ports, followers, release, failed });
  if (ports.open !== undefined) mountOpen(app, ports.open.rows, ports.open.door, { ...ports, ...ports.open });
  for (const row of ports.subscribed ?? []) mountSubscribed(app, row, ports);
  await app.ready();
  // Before the framework: whoever is shed costs next to nothing.
  const [begin] = app.server.listeners('request') as RequestListener[];
  if (begin === undefined) throw new Error('the framework takes no requests');
  const onShed = () => ports.metrics.shed.inc();
  const shedding = new Shedding({ log, clock: ports.clock, baseUrl, onShed, readable, isDraining: () => draining });
  app.server.once('close', () => {
    shedding.say();
    underWay.close();
  });
  const admission = new Admission({
    clock: ports.clock,
    begin,
    mayEnter: (request, waiting) => underWay.count + waiting < ports.maxRequests || isProbe(request),
    shed: shedding.shed,
  });
  const connections = new Connections({ begin: admission.enter, refuse });
  app.server.removeListener('request', begin).on('request', connections.take);
  return {
    server: app,
    drain: () => {
      draining = true;
      turnAnswers.stop();
      followers.stop();
      refusals.stop();
      underWay.forEach((reply) => void reply.header('connection', 'close'));
    },
  };
}

/** A caller as the log names them. */
function whoIs({ accountId, userId, keyId, sessionId }: Caller): Record<string, number> {
  const by = keyId === 0 ? { session_id: sessionId } : { key_id: keyId };
  return { account_id: accountId, user_id: userId, ...by };
}

function isProbe({ url }: IncomingMessage): boolean {
  return url === '/healthz' || url === '/readyz' || url === '/metrics';
}
