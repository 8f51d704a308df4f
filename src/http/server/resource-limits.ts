import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { Quota } from '../../async/quota.ts';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { Problem } from '../../problems.ts';
import { Bodies, type BodyDeadlines } from '../body/read-body.ts';
import { problemBody } from '../errors/problem-response.ts';
import { AdmissionControl } from './admission.ts';
import { BatchedResponses } from './batched-responses.ts';
import { networkOf, proxiesOf } from './client-network.ts';
import type { CloseReason, Deadlines } from './connection.ts';
import { ConnectionState } from './connections.ts';
import type { CorsHeaders } from './cors.ts';
import { LoadShedding } from './load-shedding.ts';
import { endWith } from './malformed-requests.ts';
import { Work } from './request-slots.ts';
import { Tally } from './tally.ts';
import { ResponseBuffers } from './unread-responses.ts';

const MIB = 1_024 * 1_024;

/** Bytes of bodies that are received and worked on: a quarter for an account, an eighth for a user. */
const MAX_BODY_BYTES_IN_FLIGHT = 64 * MIB;

/** Bytes of bodies that go into files: half of them of one account, a quarter of one user. The largest has 8 MiB. */
const MAX_FILE_BYTES_IN_FLIGHT = 64 * MIB;

/** How long callers are waited for, milliseconds unless the name says otherwise. */
export const patience = {
  /** For the head of a request. */
  headersMs: 10_000,
  /** For a body: of a caller who is known, at a minimum rate after this time; of anybody else, in full. */
  bodyGraceMs: 10_000,
  minBodyBytesPerS: 8 * 1_024,
  visitorBodyMs: 5_000,
  /** For a body that nobody needs, until it has been dropped. */
  dropMs: 5_000,
  /** For a reader to go on reading. */
  stallMs: 30_000,
  /** For the next request. */
  keepAliveMs: 65_000,
  /** And how long they wait at most. */
  answerMs: 30_000,
  /** How often connections are looked over. */
  lookEveryMs: 1_000,
  /** How long idle connections may still carry a request while the service stops. */
  drainMs: 250,
} as const satisfies Deadlines & BodyDeadlines & Record<string, number>;

export type Patience = Readonly<Record<keyof typeof patience, number>>;

type ByReason = { inc(labels: { reason: string }): void };

export type GatePorts = {
  readonly clock: Clock;
  /** Measures how long connections are waited for. */
  readonly beats: Clock;
  readonly log: Log;
  readonly metrics: { readonly shed: ByReason; readonly closed: ByReason };
  readonly baseUrl: () => string;
  readonly trustProxy: readonly string[];
  readonly maxRequests: number;
  readonly maxConnections: number;
  readonly maxUnread: number;
  readonly readable: CorsHeaders;
  readonly patience: Patience;
  /** Answers a request that has been worked on for too long. */
  readonly giveUp: (reply: FastifyReply) => void;
};

/** Everything that stands between the sockets and the routes: connections, places, bodies, and bytes that wait to be read. */
export class Gate {
  readonly #ports: GatePorts;
  readonly #closed: Tally<CloseReason>;
  readonly turnAnswers: BatchedResponses;
  readonly connections: ConnectionState;
  readonly bodies: Bodies;
  readonly work: Work;
  readonly shedding: LoadShedding;
  #begin: RequestListener = () => undefined;

  constructor(ports: GatePorts) {
    const { clock, beats, log, baseUrl, trustProxy, patience } = ports;
    this.#ports = ports;
    const onShed = (reason: string) => ports.metrics.shed.inc({ reason });
    this.shedding = new LoadShedding({ log, clock, baseUrl, onShed, readable: ports.readable });
    this.#closed = new Tally(clock, (reasons) => log.warn({ event: 'connections.closed', reasons }));
    const buffers = new ResponseBuffers(ports.maxUnread * MIB, (connection) =>
      this.connections.close(connection, 'unread'),
    );
    this.turnAnswers = new BatchedResponses((socket) => {
      const connection = this.connections.of(socket);
      if (connection !== undefined) buffers.note(connection);
    });
    const isProxy = proxiesOf(trustProxy);
    const connections = () => this.connections;
    this.work = new Work({ ...ports, answerMs: patience.answerMs, buffers, connections });
    const quota = new Quota({
      total: MAX_BODY_BYTES_IN_FLIGHT,
      group: MAX_BODY_BYTES_IN_FLIGHT / 4,
      member: MAX_BODY_BYTES_IN_FLIGHT / 8,
    });
    const fileQuota = new Quota({
      total: MAX_FILE_BYTES_IN_FLIGHT,
      group: MAX_FILE_BYTES_IN_FLIGHT / 2,
      member: MAX_FILE_BYTES_IN_FLIGHT / 4,
    });
    this.bodies = new Bodies({ quota, fileQuota, deadlines: patience, connections });
    const admission = new AdmissionControl({
      clock,
      begin: (request, response) => this.#begin(request, response),
      hasRoom: (claim, waiting) => this.work.hasRoom(claim, waiting),
      shed: (request, response, claim) =>
        this.shedding.shed(request, response, claim === 'caller' ? 'requests' : 'visitors'),
    });
    this.connections = new ConnectionState({
      clock: beats,
      deadlines: patience,
      maxConnections: ports.maxConnections,
      networkOf: (address) => (isProxy(address) ? undefined : { group: 'visitors', member: networkOf(address) }),
      buffers,
      begin: admission.enter,
      refuse: (request, response, detail) => this.#refuse(request, response, detail),
      end: (socket, reason) =>
        endWith(socket, new Problem(reason === 'too_many' ? 'overloaded' : 'request_timeout'), baseUrl()),
      onClosed: (reason) => {
        ports.metrics.closed.inc({ reason });
        this.#closed.count(reason);
      },
    });
  }

  /** Stands before the framework from now on: a request that is shed costs next to nothing. */
  attach({ server }: FastifyInstance): void {
    const [begin] = server.listeners('request') as RequestListener[];
    if (begin === undefined) throw new Error('the framework takes no requests');
    this.#begin = begin;
    const { take } = this.connections;
    server.removeListener('request', begin).on('request', take);
    // A body is asked for when its route wants it.
    server.on('checkContinue', take);
    // An expectation that nobody has to meet (RFC 9110, 10.1.1).
    server.on('checkExpectation', take);
    // Node would end it without a problem of ours.
    server.on('connect', (_request, socket) =>
      endWith(socket, new Problem('malformed_request'), this.#ports.baseUrl()),
    );
    this.connections.watch(server as Server);
    server.once('close', () => {
      this.shedding.logShed();
      this.#closed.flush();
      this.work.close();
    });
  }

  /** What might be read in two ways is answered, and goes no further than here. */
  #refuse(request: IncomingMessage, response: ServerResponse, detail: string): void {
    const problem = new Problem('malformed_request', { detail });
    const body = Buffer.from(JSON.stringify(problemBody(problem, this.#ports.baseUrl())));
    const headers = { 'content-type': 'application/problem+json', 'content-length': body.length, connection: 'close' };
    response.writeHead(problem.status, headers).end(body);
    const { method, socket } = request;
    const { status, code } = problem;
    const from = socket.remoteAddress;
    this.#ports.log.info({ event: 'request', method, route: '(none)', status, from, problem: code });
  }
}
