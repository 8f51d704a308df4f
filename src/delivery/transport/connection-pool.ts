import type { Socket } from 'node:net';
import { Client } from 'undici';
import type { Clock } from '../../clock.ts';
import { DialError } from './dial.ts';
import { MAX_HEAD_BYTES, ResponseLimiter } from './response-limiter.ts';

/**
 * Keep-alive timeout of an idle connection. It is shorter than that of most servers, which avoids using a connection
 * that the server has closed.
 */
const IDLE_TIMEOUT_MS = 1_000;

/** A connection is closed after this time, so that the SSRF guard checks the target's addresses again (C11). */
const MAX_CONNECTION_AGE_MS = 10_000;

/** Maximum number of idle connections over all hook queues: each one is a file handle. */
const MAX_IDLE_CONNECTIONS = 1_000;

/** A connection to a target. It carries one attempt at a time and never reconnects. */
export class Connection {
  /** Path and query of the target. */
  readonly path: string;
  readonly client: Client;
  readonly responseLimiter: ResponseLimiter;
  readonly openedAt: number;
  readonly #socket: Socket;

  constructor(target: URL, socket: Socket, openedAt: number) {
    this.path = `${target.pathname}${target.search}`;
    this.#socket = socket;
    this.openedAt = openedAt;
    this.responseLimiter = new ResponseLimiter(socket);
    let isTaken = false;
    this.client = new Client(target.origin, {
      connect: (_options, callback) => {
        // undici would reconnect if the connection breaks before the request is sent. Fail the attempt instead.
        const isBroken = isTaken || socket.destroyed;
        isTaken = true;
        const brokenResult = { kind: 'failed', cause: 'reset', note: 'broke before the request' } as const;
        // undici does not expect the callback to be called synchronously.
        queueMicrotask(() => (isBroken ? callback(new DialError(brokenResult), null) : callback(null, socket)));
      },
      allowH2: false,
      maxHeaderSize: MAX_HEAD_BYTES,
      // `startDeadline` is the only deadline; undici's timers are coarse.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: 2 * MAX_CONNECTION_AGE_MS,
      keepAliveMaxTimeout: 2 * MAX_CONNECTION_AGE_MS,
    });
  }

  /** Whether the connection can be used for another attempt. */
  get isReusable(): boolean {
    return !this.#socket.destroyed && this.#socket.writable && this.responseLimiter.isBufferEmpty;
  }

  end(): void {
    this.client.destroy(null, () => undefined);
    // undici does not destroy a socket that it has not taken over yet.
    this.#socket.destroy();
  }
}

/** The limit of idle connections that all pools share, and the clock of the pools. */
export class IdleConnectionLimit {
  readonly clock: Clock;
  readonly #maxIdle: number;
  #idleCount = 0;

  constructor(clock: Clock, maxIdle = MAX_IDLE_CONNECTIONS) {
    this.clock = clock;
    this.#maxIdle = maxIdle;
  }

  get isBelowLimit(): boolean {
    return this.#idleCount < this.#maxIdle;
  }

  adjustIdleCount(delta: 1 | -1): void {
    this.#idleCount += delta;
  }
}

/** Keep-alive connections of one hook queue. Connections are never shared between hooks. */
export class ConnectionPool {
  readonly #idleConnectionLimit: IdleConnectionLimit;
  readonly #idleConnections: {
    readonly connection: Connection;
    readonly idleSince: number;
    readonly cancelExpiry: () => void;
  }[] = [];
  #hasEnded = false;

  constructor(idleConnectionLimit: IdleConnectionLimit) {
    this.#idleConnectionLimit = idleConnectionLimit;
  }

  /** Removes and returns the most recently used connection that is still open. */
  take(): Connection | undefined {
    for (;;) {
      const lastIdleEntry = this.#idleConnections.pop();
      if (lastIdleEntry === undefined) return undefined;
      lastIdleEntry.cancelExpiry();
      this.#idleConnectionLimit.adjustIdleCount(-1);
      const now = this.#idleConnectionLimit.clock.monotonic();
      // Check the age here too: after a process pause, timers are late, and a close by the target may be unread.
      const isYoung =
        now - lastIdleEntry.connection.openedAt < MAX_CONNECTION_AGE_MS &&
        now - lastIdleEntry.idleSince < IDLE_TIMEOUT_MS;
      if (lastIdleEntry.connection.isReusable && isYoung) return lastIdleEntry.connection;
      lastIdleEntry.connection.end();
    }
  }

  /** Keeps a connection for the next attempt; closes it after IDLE_TIMEOUT_MS. */
  put(connection: Connection): void {
    if (this.#hasEnded || !connection.isReusable || !this.#idleConnectionLimit.isBelowLimit) {
      connection.end();
      return;
    }
    this.#idleConnectionLimit.adjustIdleCount(1);
    const cancelExpiry = this.#idleConnectionLimit.clock.after(IDLE_TIMEOUT_MS, () =>
      this.#closeIdleConnection(connection),
    );
    this.#idleConnections.push({ connection, idleSince: this.#idleConnectionLimit.clock.monotonic(), cancelExpiry });
  }

  /** Closes all idle connections. From now on, `put` closes every connection. */
  end(): void {
    this.#hasEnded = true;
    for (const { connection } of [...this.#idleConnections]) this.#closeIdleConnection(connection);
  }

  #closeIdleConnection(connection: Connection): void {
    const index = this.#idleConnections.findIndex((entry) => entry.connection === connection);
    const [idleEntry] = index < 0 ? [] : this.#idleConnections.splice(index, 1);
    if (idleEntry === undefined) return;
    idleEntry.cancelExpiry();
    this.#idleConnectionLimit.adjustIdleCount(-1);
    connection.end();
  }
}
