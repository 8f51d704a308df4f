import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Quota, type QuotaOwner } from '../../async/quota.ts';
import { RunningTime } from '../../async/running-time.ts';
import type { Clock } from '../../clock.ts';
import { type CloseReason, Connection, type ConnectionDeadlines } from './connection.ts';
import { connectionBurst } from './connection-burst.ts';
import { ambiguityOf } from './malformed-requests.ts';
import type { ResponseBuffers } from './unread-responses.ts';

/** Maximum number of waiting pipelined requests per connection. A client that sends more is disconnected. */
const MAX_PIPELINED = 100;

/**
 * Maximum number of overdue connections that are closed per event-loop iteration. Closing one takes about 100 µs, and
 * an attacker can make 1,000 connections overdue at the same moment.
 */
const MAX_CLOSED_PER_ITERATION = 50;

export type ConnectionTrackerPorts = {
  readonly clock: Clock;
  readonly deadlines: ConnectionDeadlines & { readonly lookEveryMs: number };
  /** Maximum number of concurrent connections in total. A client network may have a quarter of them. */
  readonly maxConnections: number;
  /**
   * The client network to which a connection is charged; undefined for a trusted proxy, which forwards for many
   * networks.
   */
  readonly networkOf: (address: string) => QuotaOwner | undefined;
  readonly buffers: ResponseBuffers;
  /** Starts a request that is not ambiguous. */
  readonly begin: RequestListener;
  /** Rejects an ambiguous request, which another HTTP parser may read differently. */
  readonly rejectAmbiguous: (request: IncomingMessage, response: ServerResponse, detail: string) => void;
  /** Sends an error response over a connection that has no current request, and closes the connection. */
  readonly closeWithProblem: (socket: Socket, reason: 'head_timeout' | 'too_many') => void;
  readonly onClosed: (reason: CloseReason) => void;
};

/** Tracks all open connections. The requests of a connection are processed in order, one at a time. */
export class ConnectionTracker {
  readonly #ports: ConnectionTrackerPorts;
  readonly #connections = new Map<Duplex, Connection>();
  readonly #slots: Quota;
  readonly #time: RunningTime;

  constructor(ports: ConnectionTrackerPorts) {
    const { clock, deadlines, maxConnections } = ports;
    this.#ports = ports;
    this.#slots = new Quota({ total: maxConnections, member: Math.ceil(maxConnections / 4) });
    this.#time = new RunningTime(clock, deadlines.lookEveryMs, () => this.#checkDeadlines());
  }

  watch(server: Server): void {
    server.on('connection', (socket) => this.#onConnection(socket));
    // The listener prevents Node from closing idle connections. Node would also close connections that were idle only
    // because the process was paused.
    server.on('timeout', () => undefined);
    server.once('close', () => this.#time.stop());
  }

  of(socket: Duplex): Connection | undefined {
    return this.#connections.get(socket);
  }

  readonly onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request;
    const connection = this.#connections.get(socket);
    if (connection === undefined || connection.isEnding) {
      // After an ambiguous request, ignore all requests that were pipelined after it: another parser may have read them
      // as the body of that request (request smuggling). The pair is kept because Node expects a response for each
      // request.
      if (connection !== undefined && connection.pipelined.push([request, response]) > MAX_PIPELINED) socket.destroy();
      return;
    }
    if (connection.response === undefined) this.#beginRequest(connection, request, response);
    else if (connection.isDelayed) socket.destroy();
    else if (connection.pipelined.push([request, response]) > MAX_PIPELINED) this.close(connection, 'pipelined');
  };

  /**
   * Marks the response as delayed. A client that has pipelined more requests, or sends another one before the response
   * is sent, is disconnected: its requests would pile up.
   */
  pauseConnection({ socket }: ServerResponse): void {
    const connection = socket === null ? undefined : this.#connections.get(socket);
    if (connection === undefined) return;
    if (connection.pipelined.length > 0 || connection.isEnding) connection.socket.destroy();
    else connection.isDelayed = true;
  }

  /**
   * Calls `respond` when every complete request has been answered, so that the client does not take an error response
   * for the response to an earlier request. If the body of the current request is incomplete, the error belongs to that
   * request, and `respond` is called immediately.
   */
  afterResponses(socket: Duplex, respond: () => void): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) {
      respond();
      return;
    }
    // An error response is already pending on this connection, which closes after the response.
    if (connection.isEnding) return;
    connection.isEnding = true;
    // Without the pause, Node would continue to read and emit an error for each chunk.
    socket.pause();
    const { request, response } = connection;
    if (connection.isDelayed || (response?.headersSent === true && request?.complete === false)) socket.destroy();
    else if (response === undefined || request?.complete === false) respond();
    else connection.onAnswered = respond;
  }

  /** Calls `run` when the response is sent or the client has disconnected. */
  whenOver(response: ServerResponse, run: () => void): void {
    const connection = this.#connections.get(response.req.socket);
    if (connection?.response === response) connection.cleanups.push(run);
    else response.once('close', run);
  }

  /** Sets the body that the current request waits for; undefined when the body has arrived. */
  awaitBody(connection: Connection, body: Connection['body']): void {
    connection.body = body;
    connection.enter(body === undefined ? 'working' : 'body', this.#time.nextTickMs);
  }

  close(connection: Connection, reason: CloseReason): void {
    if (connection.socket.destroyed) return;
    this.#ports.onClosed(reason);
    connection.socket.destroy();
  }

  #onConnection(socket: Socket): void {
    connectionBurst.onAccepted();
    const network = this.#ports.networkOf(socket.remoteAddress ?? '');
    const owner = network ?? { group: 'proxies' };
    const connection = new Connection(socket, owner, this.#time.nextTickMs);
    this.#time.start();
    this.#connections.set(socket, connection);
    const hasSlot = this.#slots.take(owner);
    socket.once('close', () => {
      this.#connections.delete(socket);
      if (hasSlot) this.#slots.giveBack(owner);
      this.#ports.buffers.forget(connection);
      if (this.#connections.size === 0) this.#time.stop();
    });
    if (hasSlot) return;
    connection.isEnding = true;
    this.#ports.onClosed('too_many');
    this.#ports.closeWithProblem(socket, 'too_many');
  }

  #beginRequest(connection: Connection, request: IncomingMessage, response: ServerResponse): void {
    connection.request = request;
    connection.response = response;
    connection.owner = connection.network;
    connection.enter('working', this.#time.nextTickMs);
    response.once('close', () => this.#onResponseClosed(connection));
    const ambiguity = ambiguityOf(request);
    if (ambiguity === undefined) {
      this.#ports.begin(request, response);
      return;
    }
    connection.isEnding = true;
    connection.onAnswered = undefined;
    connection.pipelined.length = 0;
    this.#ports.rejectAmbiguous(request, response, ambiguity);
  }

  #onResponseClosed(connection: Connection): void {
    const { socket, request, onAnswered } = connection;
    connection.response = undefined;
    connection.body = undefined;
    connection.isDelayed = false;
    this.#ports.buffers.forget(connection);
    for (const release of connection.cleanups.splice(0)) release();
    if (socket.destroyed) return;
    const [next] = connection.pipelined;
    const hasNext = next !== undefined && (onAnswered === undefined || next[0].complete);
    if (hasNext && (!connection.isEnding || onAnswered !== undefined)) {
      connection.pipelined.shift();
      this.#beginRequest(connection, ...next);
    } else if (onAnswered !== undefined) onAnswered();
    else connection.enter(request?.complete === true ? 'idle' : 'dropping', this.#time.nextTickMs);
  }

  #checkDeadlines(): void {
    const now = this.#time.runningMs;
    let closed = 0;
    for (const connection of this.#connections.values()) {
      if (connection.socket.destroyed) continue;
      const reason = connection.checkDeadlines(now, this.#ports.deadlines);
      if (reason === undefined) continue;
      closed += 1;
      if (closed > MAX_CLOSED_PER_ITERATION) {
        setImmediate(() => this.#checkDeadlines());
        return;
      }
      if (reason === 'idle') connection.socket.destroy();
      else if (reason === 'body_timeout') {
        this.#ports.onClosed(reason);
        connection.body?.rejectLate();
      } else if (reason === 'head_timeout') {
        this.#ports.onClosed(reason);
        connection.isEnding = true;
        connection.enter('idle', now);
        this.#ports.closeWithProblem(connection.socket, reason);
      } else this.close(connection, reason);
    }
    this.#ports.buffers.refresh();
  }
}
