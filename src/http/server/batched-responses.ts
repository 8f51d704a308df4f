import type { IncomingMessage, OutgoingHttpHeader, OutgoingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import { isDroppable } from './connection.ts';

// Imported, all that `node:http` names is asked for, and a second HTTP client is loaded with it: 55 ms of every start.
const { ServerResponse } = process.getBuiltinModule('node:http');

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[];

/** So many wait for each other at the most: whoever asks goes on with the first of them while the others are made. */
const MAX_CORKED = 32;

/** Answers that are longer wait for nobody: they would only lie in memory meanwhile. */
const MAX_HELD_BYTES = 64 * 1_024;

/**
 * Lets answers leave at the end of the turn of the event loop in which they are given, together with all others of that
 * turn. Each by itself would wake up whoever waits for it on the same machine, and let them fall asleep again before the
 * next: under load that was a third of what a short call cost.
 */
export class BatchedResponses {
  /** The connections whose answers wait for the end of this turn. */
  #waiting: Socket[] = [];
  /** Those of which Node is not to empty the buffer before. */
  readonly #corked = new WeakSet<Socket>();
  readonly #patched = new WeakSet<Socket>();
  readonly #onUnread: (socket: Socket) => void;
  #isStopped = false;

  /** @param onUnread hears of a connection whose other side did not take all of what was written at once */
  constructor(onUnread: (socket: Socket) => void = () => undefined) {
    this.#onUnread = onUnread;
  }

  /** The answers of a server that do so. */
  get responseClass(): typeof ServerResponse {
    const hold = (socket: Socket | null, isLong: boolean) => this.#cork(socket, isLong);
    const mayGoOn = (request: IncomingMessage) => !this.#isStopped && isDroppable(request);
    return class<R extends IncomingMessage> extends ServerResponse<R> {
      override writeHead(status: number, said?: string | Headers, headers?: Headers): this {
        if (!mayGoOn(this.req)) this.shouldKeepAlive = false;
        hold(this.socket, lengthIn(said) > MAX_HELD_BYTES);
        return super.writeHead(status, said as string, headers);
      }
    };
  }

  /**
   * From here on each leaves as it is given, and ends its connection: whoever closes connections takes those for idle
   * whose answer is made.
   */
  stop(): void {
    this.#isStopped = true;
    this.#flush();
  }

  #cork(socket: Socket | null, isLong: boolean): void {
    if (socket === null || this.#corked.has(socket)) return;
    if (!this.#patched.has(socket)) this.#patchUncork(socket);
    if (this.#isStopped || isLong) return;
    if (this.#waiting.length === MAX_CORKED) this.#flush();
    socket.cork();
    this.#corked.add(socket);
    this.#waiting.push(socket);
    if (this.#waiting.length === 1) setImmediate(() => this.#flush());
  }

  /** The end of an answer uncorks its connection, however often it was corked. */
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
    const all = this.#waiting;
    this.#waiting = [];
    for (const socket of all) {
      this.#corked.delete(socket);
      socket.uncork();
    }
  }
}

/** The length of a body that its head announces; 0 where it does not. */
function lengthIn(headers: string | Headers | undefined): number {
  return typeof headers === 'object' && 'content-length' in headers ? Number(headers['content-length']) : 0;
}
