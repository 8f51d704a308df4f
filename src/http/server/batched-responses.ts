import type { IncomingMessage, OutgoingHttpHeader, OutgoingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import { isBodyDroppable } from './connection.ts';

// Not an ESM import: that would evaluate all exports of `node:http`, which loads a second HTTP client and adds 55 ms to
// every start.
const { ServerResponse } = process.getBuiltinModule('node:http');

type WriteHeadHeaders = OutgoingHttpHeaders | OutgoingHttpHeader[];

/** Maximum body size of a response in a batch. A longer response would occupy memory until the flush. */
const MAX_BATCHED_BYTES = 64 * 1_024;

/**
 * Corks sockets and flushes all responses once per event-loop iteration. Flushing each response separately would wake a
 * client on the same host once per response, which took a third of the CPU time of a short call under load.
 */
export class BatchedResponses {
  /** Corked sockets, which are flushed at the end of this event-loop iteration. */
  #corkedBatch: Socket[] = [];
  /** Sockets in the current batch. Node's own calls of `uncork` on them are ignored. */
  readonly #corkedSockets = new WeakSet<Socket>();
  readonly #patchedSockets = new WeakSet<Socket>();
  readonly #onUnreadBytes: (socket: Socket) => void;
  #isStopped = false;

  /** @param onUnreadBytes is called with a socket that still buffers bytes after a flush */
  constructor(onUnreadBytes: (socket: Socket) => void = () => undefined) {
    this.#onUnreadBytes = onUnreadBytes;
  }

  /** The subclass of `ServerResponse` that batches responses; pass it to `createServer`. */
  get responseClass(): typeof ServerResponse {
    const cork = (socket: Socket | null, isLongResponse: boolean) => this.#cork(socket, isLongResponse);
    const mayKeepAlive = (request: IncomingMessage) => !this.#isStopped && isBodyDroppable(request);
    return class<R extends IncomingMessage> extends ServerResponse<R> {
      override writeHead(
        status: number,
        reasonOrHeaders?: string | WriteHeadHeaders,
        headers?: WriteHeadHeaders,
      ): this {
        if (!mayKeepAlive(this.req)) this.shouldKeepAlive = false;
        cork(this.socket, contentLengthOf(reasonOrHeaders) > MAX_BATCHED_BYTES);
        return super.writeHead(status, reasonOrHeaders as string, headers);
      }
    };
  }

  /**
   * Ends batching before a shutdown: from now on each response is flushed immediately and closes its connection.
   * Otherwise, Node's `closeIdleConnections` would close connections whose finished responses are not flushed yet.
   */
  stop(): void {
    this.#isStopped = true;
    this.#flush();
  }

  #cork(socket: Socket | null, isLongResponse: boolean): void {
    if (socket === null || this.#corkedSockets.has(socket)) return;
    if (!this.#patchedSockets.has(socket)) this.#patchUncork(socket);
    if (this.#isStopped || isLongResponse) return;
    socket.cork();
    this.#corkedSockets.add(socket);
    this.#corkedBatch.push(socket);
    if (this.#corkedBatch.length === 1) setImmediate(() => this.#flush());
  }

  /**
   * Replaces `uncork` of a socket by a method that does nothing while the socket is in the batch. Node calls `uncork`
   * when a response ends, which would flush the response too early.
   */
  #patchUncork(socket: Socket): void {
    const originalUncork = socket.uncork.bind(socket);
    socket.uncork = () => {
      if (this.#corkedSockets.has(socket)) return;
      originalUncork();
      if (socket.writableLength > 0) this.#onUnreadBytes(socket);
    };
    this.#patchedSockets.add(socket);
  }

  #flush(): void {
    const batch = this.#corkedBatch;
    this.#corkedBatch = [];
    for (const socket of batch) {
      this.#corkedSockets.delete(socket);
      socket.uncork();
    }
  }
}

/** The `content-length` in these headers, or 0 if there is none. */
function contentLengthOf(headers: string | WriteHeadHeaders | undefined): number {
  return typeof headers === 'object' && 'content-length' in headers ? Number(headers['content-length']) : 0;
}
