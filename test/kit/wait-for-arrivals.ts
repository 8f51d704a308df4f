import { get } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Resolves when everything has been heard that was sent by now to a server of this process, over new connections and over
 * those that were left open; answers that moment, monotonic milliseconds.
 *
 * @param url answers a GET at once
 */
export async function heardAll(url: string): Promise<number> {
  // Connections are taken in the order in which they were made.
  await new Promise<void>((resolve, reject) => {
    const asking = get(url, { agent: false }, (response) => response.resume().on('end', resolve));
    asking.on('error', reject);
  });
  // Whatever else has come by now is read in this turn of the event loop, or in the next one.
  for (let turn = 0; turn < 2; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
  return performance.now();
}

/** When the notifications of a server began: the first of a connection with the connection itself. */
export class Beginnings {
  readonly #connectedAt = new WeakMap<Socket, number>();

  connected(socket: Socket): void {
    this.#connectedAt.set(socket, performance.now());
  }

  /** Whether nothing was heard on it before. */
  isFresh(socket: Socket): boolean {
    return this.#connectedAt.has(socket);
  }

  /** When the notification began that is heard on a socket at this moment, monotonic milliseconds. */
  of(socket: Socket): number {
    const at = this.#connectedAt.get(socket) ?? performance.now();
    this.#connectedAt.delete(socket);
    return at;
  }
}
