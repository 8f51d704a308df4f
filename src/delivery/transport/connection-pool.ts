import type { Socket } from 'node:net';
import { Client } from 'undici';
import type { Clock } from '../../clock.ts';
import { DialError } from './dial.ts';

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

/** Maximum number of bytes that are read of one response, head and body. */
const MAX_RESPONSE_BYTES = 64 * 1_024;
/** Maximum size of a response head. */
const MAX_HEAD_BYTES = 16 * 1_024;
/**
 * Size of the chunks that undici gets. The chunks are small, because undici parses a chunk to its end, slowly, even
 * after it has detected that the head is too large.
 */
const CHUNK_BYTES = 2_048;
const HEAD_TERMINATOR = '\r\n\r\n';
/** Matches the start of an interim response (1xx except 101). */
const INTERIM_PATTERN = /^HTTP\/1\.1 1(?!01)\d\d[ \r]/;
/** Completes the start of a response that has arrived only in part, so that INTERIM_PATTERN can match the start. */
const SAMPLE_INTERIM_START = 'HTTP/1.1 100 ';

/**
 * Limits the bytes that undici reads of a response, and removes interim responses. undici breaks the connection
 * at a `100 Continue` (8.12), although a client must ignore interim responses (RFC 9110, 15.2) and some servers
 * send one before each response to a POST. `101` is kept: it switches protocols. Without the limit, a flood of
 * interim responses would be read as fast as it arrives and leave no time for other targets (C22).
 */
class ResponseLimiter {
  readonly #socket: Socket;
  readonly #originalRead: Socket['read'];
  #onLimitExceeded: () => void = () => undefined;
  #buffer: Buffer = Buffer.alloc(0);
  #byteCount = 0;
  #hasFinalResponse = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.#originalRead = socket.read;
    socket.read = () => this.#readNextChunk();
  }

  /** Starts the next response. `onLimitExceeded` is called when the response exceeds MAX_RESPONSE_BYTES. */
  beginResponse(onLimitExceeded: () => void): void {
    this.#onLimitExceeded = onLimitExceeded;
    this.#byteCount = 0;
    this.#hasFinalResponse = false;
  }

  /** Bytes read of the current response. */
  get byteCount(): number {
    return this.#byteCount;
  }

  /** Whether no unread bytes are buffered. */
  get isBufferEmpty(): boolean {
    return this.#buffer.length === 0;
  }

  #readNextChunk(): Buffer | null {
    while (!this.#hasFinalResponse) {
      if (!this.#bufferNextChunk()) return null;
      this.#dropInterimResponses();
    }
    if (this.#buffer.length === 0 && !this.#bufferNextChunk()) return null;
    const nextChunk = this.#buffer.subarray(0, CHUNK_BYTES);
    this.#buffer = this.#buffer.subarray(CHUNK_BYTES);
    return this.#socket.destroyed ? null : nextChunk;
  }

  /** Reads the next chunk of the socket into the buffer. Returns false if there is none. */
  #bufferNextChunk(): boolean {
    if (this.#byteCount >= MAX_RESPONSE_BYTES) this.#onLimitExceeded();
    const chunk: Buffer | null = this.#socket.destroyed ? null : this.#originalRead.call(this.#socket);
    if (chunk === null) return false;
    this.#byteCount += chunk.length;
    this.#buffer = this.#buffer.length === 0 ? chunk : Buffer.concat([this.#buffer, chunk]);
    return true;
  }

  #dropInterimResponses(): void {
    let headEnd = this.#buffer.indexOf(HEAD_TERMINATOR);
    while (this.#startsWithInterimResponse() && headEnd >= 0 && headEnd < MAX_HEAD_BYTES) {
      this.#buffer = this.#buffer.subarray(headEnd + HEAD_TERMINATOR.length);
      headEnd = this.#buffer.indexOf(HEAD_TERMINATOR);
    }
    this.#hasFinalResponse = !this.#startsWithInterimResponse() || this.#buffer.length >= MAX_HEAD_BYTES;
  }

  #startsWithInterimResponse(): boolean {
    const responseStart = this.#buffer.toString('latin1', 0, SAMPLE_INTERIM_START.length);
    return INTERIM_PATTERN.test(responseStart + SAMPLE_INTERIM_START.slice(responseStart.length));
  }
}

/** Maximum bytes of the body of a failure that are kept (C21). */
const MAX_RESPONSE_TEXT_BYTES = 1_024;

/** The beginning of a response body. */
export class ResponseText {
  readonly #chunks: Buffer[] = [];
  #byteCount = 0;

  /** Adds a chunk. Returns whether MAX_RESPONSE_TEXT_BYTES are reached. */
  add(chunk: Buffer): boolean {
    const keptChunk = chunk.subarray(0, MAX_RESPONSE_TEXT_BYTES - this.#byteCount);
    this.#chunks.push(keptChunk);
    this.#byteCount += keptChunk.length;
    return this.#byteCount >= MAX_RESPONSE_TEXT_BYTES;
  }

  /** Returns the text. A character that the limit has cut is left out. */
  toString(): string {
    return new TextDecoder().decode(Buffer.concat(this.#chunks), { stream: true });
  }
}
