import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type Owner, Quota } from '../../async/quota.ts';
import { RunningTime } from '../../async/running-time.ts';
import type { Clock } from '../../clock.ts';
import { type CloseReason, Connection, type Deadlines } from './connection.ts';
import { connectionBurst } from './connection-burst.ts';
import { ambiguityOf } from './malformed-requests.ts';
import type { ResponseBuffers } from './unread-responses.ts';

/** Pipelined requests per connection; a client that sends more is disconnected. */
const MAX_PIPELINED = 100;

/** Connections closed per event-loop iteration. Closing one takes some 100 µs, and an attack lets 1,000 expire at once. */
const MAX_CLOSED_PER_ITERATION = 50;

export type ConnectionsPorts = {
  readonly clock: Clock;
  readonly deadlines: Deadlines & { readonly lookEveryMs: number };
  /** Concurrent connections in total; one network may have a quarter of them. */
  readonly maxConnections: number;
  /** The network that a connection is charged to; undefined for a trusted proxy, which forwards for many networks. */
  readonly networkOf: (address: string) => Owner | undefined;
  readonly buffers: ResponseBuffers;
  /** Processes an unambiguous request. */
  readonly begin: RequestListener;
  /** Responds to a request that another parser may read differently. */
  readonly refuse: (request: IncomingMessage, response: ServerResponse, why: string) => void;
  /** Writes a response to a connection without a request, and closes it. */
  readonly end: (socket: Socket, reason: 'head_timeout' | 'too_many') => void;
  readonly onClosed: (reason: CloseReason) => void;
};

/** All open connections. The requests of one connection are processed in order, one at a time. */
export class ConnectionTracker {
  readonly #ports: ConnectionsPorts;
  readonly #all = new Map<Duplex, Connection>();
  readonly #slots: Quota;
  readonly #time: RunningTime;

  constructor(ports: ConnectionsPorts) {
    const { clock, deadlines, maxConnections } = ports;
    this.#ports = ports;
    this.#slots = new Quota({ total: maxConnections, member: Math.ceil(maxConnections / 4) });
    this.#time = new RunningTime(clock, deadlines.lookEveryMs, () => this.#checkDeadlines());
  }

  watch(server: Server): void {
    server.on('connection', (socket) => this.#open(socket));
    // A listener prevents Node from closing idle connections itself: Node would also do so after a pause of the
    // process.
    server.on('timeout', () => undefined);
    server.once('close', () => this.#time.stop());
  }

  of(socket: Duplex): Connection | undefined {
    return this.#all.get(socket);
  }

  readonly take = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request;
    const connection = this.#all.get(socket);
    if (connection === undefined || connection.isEnding) {
      // After an ambiguous request, ignore everything pipelined behind it: another parser may have seen it as that
      // request's body (request smuggling). The pair is kept because Node expects a response for each request.
      if (connection !== undefined && connection.pipelined.push([request, response]) > MAX_PIPELINED) socket.destroy();
      return;
    }
    if (connection.response === undefined) this.#begin(connection, request, response);
    else if (connection.isDelayed) socket.destroy();
    else if (connection.pipelined.push([request, response]) > MAX_PIPELINED) this.close(connection, 'pipelined');
  };

  /**
   * Marks the response as delayed. A client that has pipelined more requests, or sends some before it leaves, is
   * disconnected: its requests would pile up.
   */
  pauseConnection({ socket }: ServerResponse): void {
    const connection = socket === null ? undefined : this.#all.get(socket);
    if (connection === undefined) return;
    if (connection.pipelined.length > 0 || connection.isEnding) connection.socket.destroy();
    else connection.isDelayed = true;
  }

  /**
   * Calls `respond` when every complete request has been answered, so that an error response is not taken for
   * the response to an earlier request. If a body was cut off, the error belongs to that request and is sent
   * immediately.
   */
  afterResponses(socket: Duplex, respond: () => void): void {
    const connection = this.#all.get(socket);
    if (connection === undefined) {
      respond();
      return;
    }
    // The connection was already rejected, and closes after its response.
    if (connection.isEnding) return;
    connection.isEnding = true;
    // Otherwise Node would continue to read, and emit an error for each chunk.
    socket.pause();
    const { request, response } = connection;
    if (connection.isDelayed || (response?.headersSent === true && request?.complete === false)) socket.destroy();
    else if (response === undefined || request?.complete === false) respond();
    else connection.onAnswered = respond;
  }

  /** Calls `run` when the response has left or the client has disconnected. */
  whenOver(response: ServerResponse, run: () => void): void {
    const connection = this.#all.get(response.req.socket);
    if (connection?.response === response) connection.releases.push(run);
    else response.once('close', run);
  }

  /** Sets the body that the request is waiting for; undefined when it has arrived. */
  awaitBody(connection: Connection, body: Connection['body']): void {
    connection.body = body;
    connection.enter(body === undefined ? 'working' : 'body', this.#time.nextMs);
  }

  close(connection: Connection, reason: CloseReason): void {
    if (connection.socket.destroyed) return;
    this.#ports.onClosed(reason);
    connection.socket.destroy();
  }

  #open(socket: Socket): void {
    connectionBurst.onAccepted();
    const network = this.#ports.networkOf(socket.remoteAddress ?? '');
    const owner = network ?? { group: 'proxies' };
    const connection = new Connection(socket, owner, this.#time.nextMs);
    this.#time.start();
    this.#all.set(socket, connection);
    const hasSlot = this.#slots.take(owner);
    socket.once('close', () => {
      this.#all.delete(socket);
      if (hasSlot) this.#slots.give(owner);
      this.#ports.buffers.forget(connection);
      if (this.#all.size === 0) this.#time.stop();
    });
    if (hasSlot) return;
    connection.isEnding = true;
    this.#ports.onClosed('too_many');
    this.#ports.end(socket, 'too_many');
  }

  #begin(connection: Connection, request: IncomingMessage, response: ServerResponse): void {
    connection.request = request;
    connection.response = response;
    connection.owner = connection.network;
    connection.enter('working', this.#time.nextMs);
    response.once('close', () => this.#onResponseClosed(connection));
    const ambiguity = ambiguityOf(request);
    if (ambiguity === undefined) {
      this.#ports.begin(request, response);
      return;
    }
    connection.isEnding = true;
    connection.onAnswered = undefined;
    connection.pipelined.length = 0;
    this.#ports.refuse(request, response, ambiguity);
  }

  #onResponseClosed(connection: Connection): void {
    const { socket, request, onAnswered } = connection;
    connection.response = undefined;
    connection.body = undefined;
    connection.isDelayed = false;
    this.#ports.buffers.forget(connection);
    for (const release of connection.releases.splice(0)) release();
    if (socket.destroyed) return;
    const [next] = connection.pipelined;
    const hasNext = next !== undefined && (onAnswered === undefined || next[0].complete);
    if (hasNext && (!connection.isEnding || onAnswered !== undefined)) {
      connection.pipelined.shift();
      this.#begin(connection, ...next);
    } else if (onAnswered !== undefined) onAnswered();
    else connection.enter(request?.complete === true ? 'idle' : 'dropping', this.#time.nextMs);
  }

  #checkDeadlines(): void {
    const now = this.#time.ms;
    let closed = 0;
    for (const connection of this.#all.values()) {
      if (connection.socket.destroyed) continue;
      const reason = connection.overdue(now, this.#ports.deadlines);
      if (reason === undefined) continue;
      closed += 1;
      if (closed > MAX_CLOSED_PER_ITERATION) {
        setImmediate(() => this.#checkDeadlines());
        return;
      }
      if (reason === 'idle') connection.socket.destroy();
      else if (reason === 'body_timeout') {
        this.#ports.onClosed(reason);
        connection.body?.giveUp();
      } else if (reason === 'head_timeout') {
        this.#ports.onClosed(reason);
        connection.isEnding = true;
        connection.enter('idle', now);
        this.#ports.end(connection.socket, reason);
      } else this.close(connection, reason);
    }
    this.#ports.buffers.refresh();
  }
}
