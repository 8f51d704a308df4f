import { get } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Waits until a server of this process has received all data that was sent to it before this call, on new and on open
 * connections. Returns the current time in monotonic milliseconds.
 *
 * @param url a path that responds to GET immediately
 */
export async function waitForSentData(url: string): Promise<number> {
  // Connections are accepted in order: when this one is accepted, all earlier connections have been accepted as well.
  await new Promise<void>((resolve, reject) => {
    const request = get(url, { agent: false }, (response) => response.resume().on('end', resolve));
    request.on('error', reject);
  });
  // Data that has arrived is read in this event-loop iteration or in the next one.
  for (let iteration = 0; iteration < 2; iteration += 1) await new Promise<void>((resolve) => setImmediate(resolve));
  return performance.now();
}

/** Records when notifications began to arrive. The first notification of a connection begins with the connection. */
export class NotificationStarts {
  readonly #connectedAt = new WeakMap<Socket, number>();

  recordConnection(socket: Socket): void {
    this.#connectedAt.set(socket, performance.now());
  }

  /** Whether the connection has not received a request before. */
  isFresh(socket: Socket): boolean {
    return this.#connectedAt.has(socket);
  }

  /** Returns the start of the notification that is arriving on a socket, in monotonic milliseconds. */
  takeStartTime(socket: Socket): number {
    const at = this.#connectedAt.get(socket) ?? performance.now();
    this.#connectedAt.delete(socket);
    return at;
  }
}
