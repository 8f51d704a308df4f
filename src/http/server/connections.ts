import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type Owner, Quota } from '../../async/quota.ts';
import { RunningTime } from '../../async/running-time.ts';
import type { Clock } from '../../clock.ts';
import { type CloseReason, Connection, type Deadlines } from './connection.ts';
import { ambiguityOf } from './malformed-requests.ts';
import type { ResponseBuffers } from './unread-responses.ts';

/** Requests that may wait on a connection for the one before them; whoever sends more is cut off. */
const MAX_PIPELINED = 100;

export type ConnectionsPorts = {
  readonly clock: Clock;
  readonly deadlines: Deadlines & { readonly lookEveryMs: number };
  /** The most connections at a time; a quarter of them from one network. */
  readonly maxConnections: number;
  /** The network of an address that may have a share alone; undefined for a proxy, which stands for many. */
  readonly networkOf: (address: string) => Owner | undefined;
  readonly buffers: ResponseBuffers;
  /** Takes a request that can be read in one way alone. */
  readonly begin: RequestListener;
  /** Answers one that might be read in two. */
  readonly refuse: (request: IncomingMessage, response: ServerResponse, why: string) => void;
  /** Ends a connection with a response of its own: there is no request that it could be the response to. */
  readonly end: (socket: Socket, reason: 'head_timeout' | 'too_many') => void;
  readonly onClosed: (reason: CloseReason) => void;
};

/** Every connection, from its first byte to its last. Requests on one are processed one after the other. */
export class ConnectionState {
  readonly #ports: ConnectionsPorts;
  readonly #all = new Map<Duplex, Connection>();
  readonly #places: Quota;
  readonly #time: RunningTime;

  constructor(ports: ConnectionsPorts) {
    const { clock, deadlines, maxConnections } = ports;
    this.#ports = ports;
    this.#places = new Quota({ total: maxConnections, member: Math.ceil(maxConnections / 4) });
    this.#time = new RunningTime(clock, deadlines.lookEveryMs, () => this.#look());
  }

  /** Watches the connections of a server from now on. */
  watch(server: Server): void {
    server.on('connection', (socket) => this.#open(socket));
    // A listener keeps Node from closing those that are idle: it would do so after a pause of the process, too.
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
      // Another reader may take what follows for a part of what came before. Node keeps it until it is answered.
      if (connection !== undefined && connection.pipelined.push([request, response]) > MAX_PIPELINED) socket.destroy();
      return;
    }
    if (connection.response === undefined) this.#begin(connection, request, response);
    else if (connection.isHeldBack) socket.destroy();
    else if (connection.pipelined.push([request, response]) > MAX_PIPELINED) this.close(connection, 'pipelined');
  };

  /**
   * A response is held back: whoever sends more over its connection meanwhile, or has already, is cut off. It would pile
   * up behind it.
   */
  pauseConnection({ socket }: ServerResponse): void {
    const connection = socket === null ? undefined : this.#all.get(socket);
    if (connection === undefined) return;
    if (connection.pipelined.length > 0 || connection.isEnding) connection.socket.destroy();
    else connection.isHeldBack = true;
  }

  /**
   * Goes on when every request that was complete has its response: nobody is to be given another's. Data that breaks off
   * in the middle of a body is about the last of them.
   */
  afterResponses(socket: Duplex, goOn: () => void): void {
    const connection = this.#all.get(socket);
    if (connection === undefined) {
      goOn();
      return;
    }
    // It has had its response, or waits for it, and ends with it.
    if (connection.isEnding) return;
    connection.isEnding = true;
    // Node would go on to read, and tell of each piece.
    socket.pause();
    const { request, response } = connection;
    if (connection.isHeldBack || (response?.headersSent === true && request?.complete === false)) socket.destroy();
    else if (response === undefined || request?.complete === false) goOn();
    else connection.onAnswered = goOn;
  }

  /** Runs something when a response has left, or nobody waits for it any more. */
  whenOver(response: ServerResponse, run: () => void): void {
    const connection = this.#all.get(response.req.socket);
    if (connection?.response === response) connection.releases.push(run);
    else response.once('close', run);
  }

  /** A request waits for its body from now on, or has it. */
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
    const network = this.#ports.networkOf(socket.remoteAddress ?? '');
    const place = network ?? { group: 'proxies' };
    const connection = new Connection(socket, place, this.#time.nextMs);
    this.#time.start();
    this.#all.set(socket, connection);
    const hasPlace = this.#places.take(place);
    socket.once('close', () => {
      this.#all.delete(socket);
      if (hasPlace) this.#places.give(place);
      this.#ports.buffers.forget(connection);
      if (this.#all.size === 0) this.#time.stop();
    });
    if (hasPlace) return;
    connection.isEnding = true;
    this.#ports.onClosed('too_many');
    this.#ports.end(socket, 'too_many');
  }

  #begin(connection: Connection, request: IncomingMessage, response: ServerResponse): void {
    connection.request = request;
    connection.response = response;
    connection.owner = connection.network;
    connection.enter('working', this.#time.nextMs);
    response.once('close', () => this.#answered(connection));
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

  #answered(connection: Connection): void {
    const { socket, request, onAnswered } = connection;
    connection.response = undefined;
    connection.body = undefined;
    connection.isHeldBack = false;
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

  #look(): void {
    const now = this.#time.ms;
    for (const connection of this.#all.values()) {
      if (connection.socket.destroyed) continue;
      const reason = connection.overdue(now, this.#ports.deadlines);
      if (reason === 'idle') connection.socket.destroy();
      else if (reason === 'body_timeout') {
        this.#ports.onClosed(reason);
        connection.body?.giveUp();
      } else if (reason === 'head_timeout') {
        this.#ports.onClosed(reason);
        connection.isEnding = true;
        connection.enter('idle', now);
        this.#ports.end(connection.socket, reason);
      } else if (reason !== undefined) this.close(connection, reason);
    }
    this.#ports.buffers.refresh();
  }
}
