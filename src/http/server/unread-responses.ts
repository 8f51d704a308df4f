import { BoundedMap } from '../../async/bounded-map.ts';
import { Quota, type QuotaOwner } from '../../async/quota.ts';
import type { Connection } from './connection.ts';

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
