import type { IncomingMessage, OutgoingHttpHeader, OutgoingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import { BoundedMap } from '../../async/bounded-map.ts';
import { Quota, type QuotaOwner } from '../../async/quota.ts';
import { type Connection, isBodyDroppable } from './connection.ts';

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

/**
 * Quota for response bytes that clients have not read yet and that are buffered in this process: a total limit,
 * a quarter of it per account, an eighth per user. All callers without an account share a quarter.
 */
export class UnreadResponseQuota {
  readonly #quota: Quota;
  readonly #bufferingConnections = new Set<Connection>();
  readonly #closeConnection: (connection: Connection) => void;

  /** @param closeConnection closes a connection in the middle of its response */
  constructor(maxBytes: number, closeConnection: (connection: Connection) => void) {
    this.#quota = new Quota({
      maxTotal: maxBytes,
      maxPerGroup: Math.ceil(maxBytes / 4),
      maxPerMember: Math.ceil(maxBytes / 8),
    });
    this.#closeConnection = closeConnection;
  }

  hasCapacity(owner: QuotaOwner, bytes = 0): boolean {
    return this.#quota.hasCapacity(owner, bytes);
  }

  /** Records the bytes that a connection buffers after a write. */
  recordBufferedBytes(connection: Connection): void {
    this.#updateCharge(connection);
    const { response, unreadCharge } = connection;
    // Close a streamed response that exceeds the quota: its size was unknown when it started.
    const isStreaming = response !== undefined && !response.writableEnded;
    if (isStreaming && unreadCharge !== undefined && !this.#quota.hasCapacity(unreadCharge.owner, 0))
      this.#closeConnection(connection);
  }

  /** Updates the number of buffered bytes of all connections that have any. */
  refreshAllConnections(): void {
    for (const connection of this.#bufferingConnections) this.#updateCharge(connection);
  }

  /** Removes the bytes of a connection from the quota. */
  releaseCharge(connection: Connection): void {
    if (connection.unreadCharge !== undefined)
      this.#quota.release(connection.unreadCharge.owner, connection.unreadCharge.bytes);
    connection.unreadCharge = undefined;
    this.#bufferingConnections.delete(connection);
  }

  #updateCharge(connection: Connection): void {
    const bytes = connection.socket.writableLength;
    if (bytes === 0) {
      this.releaseCharge(connection);
      return;
    }
    const { owner, bytes: chargedBytes } = connection.unreadCharge ?? { owner: connection.responseOwner, bytes: 0 };
    this.#quota.addUsage(owner, bytes - chargedBytes);
    connection.unreadCharge = { owner, bytes };
    this.#bufferingConnections.add(connection);
  }
}

/** Maximum number of cached sizes. Beyond it, the size that was recorded longest ago is evicted. */
const MAX_CACHED_SIZES = 10_000;

/** Minimum size of a large response. Smaller sizes are not recorded. */
export const MIN_LARGE_RESPONSE_BYTES = 64 * 1_024;

/**
 * Records the size of the last large response for each user and route. The next response is expected to be as large: if
 * the quota of unread responses has no capacity for it, the request is rejected before any work is done.
 */
export class ResponseSizes {
  readonly #bytesByUserAndRoute = new BoundedMap<string, number>(MAX_CACHED_SIZES);

  expectedBytesOf(userId: number, path: string): number {
    return this.#bytesByUserAndRoute.size === 0 ? 0 : (this.#bytesByUserAndRoute.get(`${userId} ${path}`) ?? 0);
  }

  recordSize(userId: number, path: string, bytes: number): void {
    if (bytes < MIN_LARGE_RESPONSE_BYTES && this.#bytesByUserAndRoute.size === 0) return;
    const userRouteKey = `${userId} ${path}`;
    if (bytes < MIN_LARGE_RESPONSE_BYTES) this.#bytesByUserAndRoute.delete(userRouteKey);
    else this.#bytesByUserAndRoute.set(userRouteKey, bytes);
  }
}
