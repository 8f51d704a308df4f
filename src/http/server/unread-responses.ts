import { type Owner, Quota } from '../../async/quota.ts';
import type { Connection } from './connection.ts';

/**
 * The bytes of responses that wait in the memory of this process, since nobody reads them: a limit in total, a quarter of
 * it for each account, and an eighth for each user. Callers without an account have a quarter together.
 */
export class ResponseBuffers {
  readonly #quota: Quota;
  readonly #waiting = new Set<Connection>();
  readonly #cut: (connection: Connection) => void;

  /** @param cut ends a connection in the middle of its response */
  constructor(maxBytes: number, cut: (connection: Connection) => void) {
    this.#quota = new Quota({ total: maxBytes, group: Math.ceil(maxBytes / 4), member: Math.ceil(maxBytes / 8) });
    this.#cut = cut;
  }

  /** Whether an owner may add so many bytes. */
  hasRoom(owner: Owner, bytes = 0): boolean {
    return this.#quota.hasRoom(owner, bytes);
  }

  /** Some bytes of a connection could not leave at once. */
  note(connection: Connection): void {
    this.#charge(connection);
    const { response, unread } = connection;
    // A response that goes on and on, such as a stream, could not be refused before it began.
    const isGoingOn = response !== undefined && !response.writableEnded;
    if (isGoingOn && unread !== undefined && !this.#quota.hasRoom(unread.owner, 0)) this.#cut(connection);
  }

  /** Counts again what waits. */
  refresh(): void {
    for (const connection of this.#waiting) this.#charge(connection);
  }

  forget(connection: Connection): void {
    if (connection.unread !== undefined) this.#quota.give(connection.unread.owner, connection.unread.bytes);
    connection.unread = undefined;
    this.#waiting.delete(connection);
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
    this.#waiting.add(connection);
  }
}
