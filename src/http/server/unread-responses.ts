import { Quota, type QuotaOwner } from '../../async/quota.ts';
import type { Connection } from './connection.ts';

/**
 * Quota for response bytes that clients have not read yet and that are buffered in this process: a total limit,
 * a quarter of it per account, an eighth per user. All callers without an account share a quarter.
 */
export class ResponseBuffers {
  readonly #quota: Quota;
  readonly #connections = new Set<Connection>();
  readonly #closeConnection: (connection: Connection) => void;

  /** @param closeConnection closes a connection in the middle of its response */
  constructor(maxBytes: number, closeConnection: (connection: Connection) => void) {
    this.#quota = new Quota({ total: maxBytes, group: Math.ceil(maxBytes / 4), member: Math.ceil(maxBytes / 8) });
    this.#closeConnection = closeConnection;
  }

  hasRoom(owner: QuotaOwner, bytes = 0): boolean {
    return this.#quota.hasRoom(owner, bytes);
  }

  /** Records the bytes that a connection buffers after a write. */
  updateBufferedBytes(connection: Connection): void {
    this.#charge(connection);
    const { response, unread } = connection;
    // Close the connection of a streamed response that exceeds the quota: its size was unknown at its start.
    const isStreaming = response !== undefined && !response.writableEnded;
    if (isStreaming && unread !== undefined && !this.#quota.hasRoom(unread.owner, 0)) this.#closeConnection(connection);
  }

  /** Updates the number of buffered bytes of all connections that have any. */
  refresh(): void {
    for (const connection of this.#connections) this.#charge(connection);
  }

  forget(connection: Connection): void {
    if (connection.unread !== undefined) this.#quota.giveBack(connection.unread.owner, connection.unread.bytes);
    connection.unread = undefined;
    this.#connections.delete(connection);
  }

  #charge(connection: Connection): void {
    const bytes = connection.socket.writableLength;
    if (bytes === 0) {
      this.forget(connection);
      return;
    }
    const { owner, bytes: before } = connection.unread ?? { owner: connection.owner, bytes: 0 };
    this.#quota.add(owner, bytes - before);
    connection.unread = { owner, bytes };
    this.#connections.add(connection);
  }
}
