import type { IncomingMessage, OutgoingHttpHeader, OutgoingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import { isDroppable } from './connection.ts';

// An ESM import of `node:http` evaluates all its exports, which loads a second HTTP client: 55 ms of every start.
const { ServerResponse } = process.getBuiltinModule('node:http');

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[];

/** Responses per batch: clients can process the first batch while the next one is prepared. */
const MAX_CORKED = 32;

/** Longer responses are not held back: they would only occupy memory. */
const MAX_HELD_BYTES = 64 * 1_024;

/**
 * Corks sockets and flushes all responses once per event-loop iteration. Flushing each response separately
 * wakes a client on the same machine once per response: under load that was a third of the CPU time of a short
 * call.
 */
export class BatchedResponses {
  /** Corked sockets, flushed at the end of this iteration. */
  #batch: Socket[] = [];
  /** Sockets on which Node's own calls of `uncork` are ignored. */
  readonly #corked = new WeakSet<Socket>();
  readonly #patched = new WeakSet<Socket>();
  readonly #onUnread: (socket: Socket) => void;
  #isStopped = false;

  /** @param onUnread is called with a socket that still buffers bytes after a flush */
  constructor(onUnread: (socket: Socket) => void = () => undefined) {
    this.#onUnread = onUnread;
  }

  /** The `ServerResponse` class for `createServer`. */
  get responseClass(): typeof ServerResponse {
    const cork = (socket: Socket | null, isLong: boolean) => this.#cork(socket, isLong);
    const mayKeepAlive = (request: IncomingMessage) => !this.#isStopped && isDroppable(request);
    return class<R extends IncomingMessage> extends ServerResponse<R> {
      override writeHead(status: number, reasonOrHeaders?: string | Headers, headers?: Headers): this {
        if (!mayKeepAlive(this.req)) this.shouldKeepAlive = false;
        cork(this.socket, contentLength(reasonOrHeaders) > MAX_HELD_BYTES);
        return super.writeHead(status, reasonOrHeaders as string, headers);
      }
    };
  }

  /**
   * Ends batching: each response is flushed immediately and closes its connection, since Node's `closeIdleConnections`
   * takes a connection with a finished but corked response for an idle one.
   */
  stop(): void {
    this.#isStopped = true;
    this.#flush();
  }

  #cork(socket: Socket | null, isLong: boolean): void {
    if (socket === null || this.#corked.has(socket)) return;
    if (!this.#patched.has(socket)) this.#patchUncork(socket);
    if (this.#isStopped || isLong) return;
    if (this.#batch.length === MAX_CORKED) this.#flush();
    socket.cork();
    this.#corked.add(socket);
    this.#batch.push(socket);
    if (this.#batch.length === 1) setImmediate(() => this.#flush());
  }

  /** Node uncorks a socket when a response ends, however often it was corked: ignored while the batch holds it. */
  #patchUncork(socket: Socket): void {
    const uncork = socket.uncork.bind(socket);
    socket.uncork = () => {
      if (this.#corked.has(socket)) return;
      uncork();
      if (socket.writableLength > 0) this.#onUnread(socket);
    };
    this.#patched.add(socket);
  }

  #flush(): void {
    const batch = this.#batch;
    this.#batch = [];
    for (const socket of batch) {
      this.#corked.delete(socket);
      socket.uncork();
    }
  }
}

/** The `content-length` among these headers, or 0. */
function contentLength(headers: string | Headers | undefined): number {
  return typeof headers === 'object' && 'content-length' in headers ? Number(headers['content-length']) : 0;
}
