import type { Socket } from 'node:net';
import type { SeededRandom } from './random.ts';
import type { ReceivedRequest } from './request.ts';

export type ConnectionOptions = {
  readonly random: SeededRandom;
  /** Timeout of the sender in milliseconds, as given by `--deadline`. */
  readonly deadlineMs: number;
  /** Interval between two dripped bytes in milliseconds, as given by `--pace`. */
  readonly paceMs: number;
};

/**
 * One accepted connection, with the operations that behaviours use. Operations have no effect after the sender has
 * closed the connection.
 */
export class Connection {
  readonly random: SeededRandom;
  readonly deadlineMs: number;
  readonly paceMs: number;
  /** The part of the request that has arrived; undefined before the request is read. */
  request: ReceivedRequest | undefined;
  /** Resolves when the sender closes the connection or half-closes it. */
  readonly senderClosed: Promise<void>;
  /** The TCP socket, also while TLS runs over it. */
  readonly #tcpSocket: Socket;
  #socket: Socket;
  #hasSenderClosed = false;
  #resolveSenderClosed: () => void;

  constructor(tcpSocket: Socket, { random, deadlineMs, paceMs }: ConnectionOptions) {
    this.random = random;
    this.deadlineMs = deadlineMs;
    this.paceMs = paceMs;
    this.#tcpSocket = tcpSocket;
    this.#socket = tcpSocket;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.senderClosed = promise;
    this.#resolveSenderClosed = resolve;
    this.switchToSocket(tcpSocket);
  }

  /** Uses another socket for all further operations, such as the TLS socket after a handshake. */
  switchToSocket(socket: Socket): void {
    this.#socket = socket;
    for (const event of ['error', 'end', 'close']) socket.on(event, () => this.#onSenderClosed());
  }

  #onSenderClosed(): void {
    this.#hasSenderClosed = true;
    this.#resolveSenderClosed();
  }

  get socket(): Socket {
    return this.#socket;
  }

  get hasSenderClosed(): boolean {
    return this.#hasSenderClosed;
  }

  /** Writes bytes and keeps the connection open. Returns false if the socket buffer is full. */
  write(bytes: string | Uint8Array): boolean {
    if (this.#hasSenderClosed) return true;
    return this.#socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  }

  /** Writes bytes and closes the connection with FIN. Over TLS, a `close_notify` precedes the FIN. */
  end(bytes: string | Uint8Array = ''): void {
    this.write(bytes);
    this.#socket.end();
  }

  /** Closes the TCP connection with FIN, without a `close_notify`. */
  closeTcp(): void {
    this.#tcpSocket.end();
  }

  /** Writes bytes and resets the connection (RST). */
  async reset(bytes = ''): Promise<void> {
    if (bytes !== '') {
      this.write(bytes);
      // A reset discards bytes that the sender's program has not read yet, so give it time to read them.
      await this.wait(Math.min(100, this.deadlineMs / 5));
    }
    if (!this.#tcpSocket.destroyed) this.#tcpSocket.resetAndDestroy();
  }

  /** Resolves after `ms` milliseconds, or earlier if the sender closes the connection. */
  async wait(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, Math.max(ms, 0));
    await Promise.race([promise, this.senderClosed]);
    clearTimeout(timer);
  }

  /** Writes one byte at a time. The bytes are spread over `withinMs`, or sent one per `paceMs`. */
  async drip(bytes: string, withinMs?: number): Promise<void> {
    const intervalMs = withinMs === undefined ? this.paceMs : withinMs / bytes.length;
    const startedAt = performance.now();
    for (let index = 0; index < bytes.length && !this.#hasSenderClosed; index += 1) {
      this.write(bytes.charAt(index));
      await this.wait(startedAt + (index + 1) * intervalMs - performance.now());
    }
  }

  /** Writes the same bytes `times` times, as fast as the sender reads. Stops if the sender closes the connection. */
  async writeRepeatedly(bytes: string | Uint8Array, times = Number.POSITIVE_INFINITY): Promise<void> {
    const chunk = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes;
    for (let count = 0; count < times && !this.#hasSenderClosed; count += 1) {
      if (!this.write(chunk)) await this.#waitForDrain();
    }
  }

  async #waitForDrain(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#socket.once('drain', resolve);
    await Promise.race([promise, this.senderClosed]);
    this.#socket.off('drain', resolve);
  }
}
