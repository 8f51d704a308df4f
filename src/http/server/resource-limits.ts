import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { FairScheduler } from '../../async/fair-scheduler.ts';
import { Quota } from '../../async/quota.ts';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { Problem } from '../../problems.ts';
import { type BodyDeadlines, BodyReader } from '../body/read-body.ts';
import { createProblemBody } from '../errors/problem-response.ts';
import { AdmissionControl, LoadShedding, ReasonCounter } from './admission.ts';
import { clientNetworkOf, createProxyMatcher } from './client-network.ts';
import type { CloseReason, ConnectionDeadlines } from './connection.ts';
import { ConnectionTracker } from './connections.ts';
import type { CorsPolicy } from './cors.ts';
import { closeWithProblem } from './malformed-requests.ts';
import { RequestSlots } from './request-slots.ts';
import { BatchedResponses, UnreadResponseQuota } from './response-buffers.ts';

const MIB = 1_024 * 1_024;

/**
 * Maximum time per event-loop iteration for starting requests and for reading long bodies. Node accepts one connection
 * per iteration, so long iterations would keep new connections waiting for seconds.
 */
const ITERATION_BUDGET_MS = 2;

/** Maximum bytes of all request bodies in memory. An account may use a quarter of them, a user an eighth. */
const MAX_BODY_BYTES_IN_FLIGHT = 64 * MIB;

/**
 * Maximum bytes of all request bodies in temporary files. An account may use half of them, a user a quarter. A single
 * body is limited to 8 MiB.
 */
const MAX_FILE_BYTES_IN_FLIGHT = 64 * MIB;

/** Timeouts of connections and requests, in milliseconds unless the name has another unit. */
export const defaultTimeouts = {
  /** Timeout for the head of a request. */
  headersMs: 10_000,
  /** Time after which the request body of an authenticated caller must arrive at `minBodyBytesPerS`. */
  bodyGraceMs: 10_000,
  /** Minimum average rate of the request body of an authenticated caller after `bodyGraceMs`. */
  minBodyBytesPerS: 8 * 1_024,
  /** Timeout for the whole request body of an unauthenticated caller. */
  visitorBodyMs: 5_000,
  /** Timeout for reading and discarding an unneeded request body. */
  dropMs: 5_000,
  /** Timeout for a client that reads nothing of its response. */
  stallMs: 30_000,
  /** Timeout for an idle connection. */
  keepAliveMs: 65_000,
  /** Timeout for the processing of a request. */
  requestTimeoutMs: 30_000,
  /** Interval at which the deadlines of all connections are checked. */
  deadlineCheckIntervalMs: 1_000,
  /** How long idle connections may still send a request while the service stops. */
  drainMs: 250,
} as const satisfies ConnectionDeadlines & BodyDeadlines & Record<string, number>;

export type Timeouts = Readonly<Record<keyof typeof defaultTimeouts, number>>;

type ReasonCountMetric = { inc(labels: { reason: string }): void };

type HttpLimitsDeps = {
  readonly clock: Clock;
  /** Real-time clock for connection deadlines; never replaced by a test's fake clock. */
  readonly realClock: Clock;
  readonly log: Log;
  readonly metrics: {
    readonly shedRequestCounter: ReasonCountMetric;
    readonly closedConnectionCounter: ReasonCountMetric;
  };
  readonly baseUrl: () => string;
  readonly trustProxy: readonly string[];
  readonly maxRequests: number;
  readonly maxConnections: number;
  readonly maxUnreadMiB: number;
  readonly corsPolicy: CorsPolicy;
  readonly timeouts: Timeouts;
  /** Responds to a request that has exceeded `requestTimeoutMs`. */
  readonly onRequestTimeout: (reply: FastifyReply) => void;
};

/**
 * Applies all limits between the sockets and the routes: on connections, request slots, request bodies and unread
 * responses.
 */
export class HttpLimits {
  readonly #deps: HttpLimitsDeps;
  readonly #closedConnectionCounter: ReasonCounter<CloseReason>;
  readonly batchedResponses: BatchedResponses;
  readonly connectionTracker: ConnectionTracker;
  readonly bodyReader: BodyReader;
  readonly requestSlots: RequestSlots;
  readonly loadShedding: LoadShedding;
  readonly #scheduler: FairScheduler;

  constructor(deps: HttpLimitsDeps) {
    const { clock, realClock, log, baseUrl, trustProxy, timeouts } = deps;
    this.#deps = deps;
    const onShed = (reason: string) => deps.metrics.shedRequestCounter.inc({ reason });
    this.loadShedding = new LoadShedding({ log, clock, baseUrl, onShed, corsPolicy: deps.corsPolicy });
    this.#closedConnectionCounter = new ReasonCounter(clock, (reasons) =>
      log.warn({ event: 'connections.closed', reasons }),
    );
    const unreadResponseQuota = new UnreadResponseQuota(deps.maxUnreadMiB * MIB, (connection) =>
      this.connectionTracker.close(connection, 'unread'),
    );
    this.batchedResponses = new BatchedResponses((socket) => {
      const connection = this.connectionTracker.findConnection(socket);
      if (connection !== undefined) unreadResponseQuota.recordBufferedBytes(connection);
    });
    const isTrustedProxy = createProxyMatcher(trustProxy);
    this.connectionTracker = new ConnectionTracker({
      clock: realClock,
      deadlines: timeouts,
      maxConnections: deps.maxConnections,
      networkQuotaOwnerOf: (address) =>
        isTrustedProxy(address) ? undefined : { group: 'visitors', member: clientNetworkOf(address) },
      unreadResponseQuota,
      rejectAmbiguous: (request, response, detail) => this.#rejectAmbiguous(request, response, detail),
      closeWithProblem: (socket, reason) =>
        closeWithProblem(socket, new Problem(reason === 'too_many' ? 'overloaded' : 'request_timeout'), baseUrl()),
      onForcedClose: (reason) => {
        deps.metrics.closedConnectionCounter.inc({ reason });
        this.#closedConnectionCounter.count(reason);
      },
    });
    this.requestSlots = new RequestSlots({
      ...deps,
      requestTimeoutMs: timeouts.requestTimeoutMs,
      unreadResponseQuota,
      connectionTracker: this.connectionTracker,
    });
    const memoryQuota = new Quota({
      maxTotal: MAX_BODY_BYTES_IN_FLIGHT,
      maxPerGroup: MAX_BODY_BYTES_IN_FLIGHT / 4,
      maxPerMember: MAX_BODY_BYTES_IN_FLIGHT / 8,
    });
    const fileQuota = new Quota({
      maxTotal: MAX_FILE_BYTES_IN_FLIGHT,
      maxPerGroup: MAX_FILE_BYTES_IN_FLIGHT / 2,
      maxPerMember: MAX_FILE_BYTES_IN_FLIGHT / 4,
    });
    this.#scheduler = new FairScheduler({ clock, iterationBudgetMs: ITERATION_BUDGET_MS });
    this.bodyReader = new BodyReader({
      memoryQuota,
      fileQuota,
      deadlines: timeouts,
      connectionTracker: this.connectionTracker,
      scheduler: this.#scheduler,
    });
  }

  /** Replaces the framework's request listener, so that a request can be shed before the framework sees it. */
  attach({ server }: FastifyInstance): void {
    const [frameworkListener] = server.listeners('request') as RequestListener[];
    if (frameworkListener === undefined) throw new Error('the server has no request listener');
    const { onRequest } = this.connectionTracker;
    server.removeListener('request', frameworkListener).on('request', onRequest);
    // Do not send `100 Continue` yet: the route sends it when it reads the body.
    server.on('checkContinue', onRequest);
    // Ignore unknown expectations, which RFC 9110, 10.1.1 permits.
    server.on('checkExpectation', onRequest);
    // Reject CONNECT with a problem document. By default, Node closes the connection without one.
    server.on('connect', (_request, socket) =>
      closeWithProblem(socket, new Problem('malformed_request'), this.#deps.baseUrl()),
    );
    const admission = new AdmissionControl({
      scheduler: this.#scheduler,
      startRequest: frameworkListener,
      requestSlots: this.requestSlots,
      loadShedding: this.loadShedding,
    });
    this.connectionTracker.trackConnections(server as Server, admission.admit);
    server.once('close', () => {
      this.loadShedding.flushShedLog();
      this.#closedConnectionCounter.flush();
      this.requestSlots.close();
    });
  }

  /** Responds 400 to an ambiguous request, which never reaches the routes. */
  #rejectAmbiguous(request: IncomingMessage, response: ServerResponse, detail: string): void {
    const problem = new Problem('malformed_request', { detail });
    const body = Buffer.from(JSON.stringify(createProblemBody(problem, this.#deps.baseUrl())));
    const headers = { 'content-type': 'application/problem+json', 'content-length': body.length, connection: 'close' };
    response.writeHead(problem.status, headers).end(body);
    const { method, socket } = request;
    const { status, code } = problem;
    const remoteAddress = socket.remoteAddress;
    this.#deps.log.info({ event: 'request', method, route: '(none)', status, from: remoteAddress, problem: code });
  }
}
