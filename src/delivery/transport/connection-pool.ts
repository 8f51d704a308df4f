import type { Socket } from 'node:net';
import { Client } from 'undici';
import type { Clock } from '../../clock.ts';
import { DialError } from './dial.ts';
import { MAX_HEAD_BYTES, ResponseLimiter } from './response-limiter.ts';

/** A connection is used again this soon after its last answer, or not at all: most servers keep it for longer. */
const IDLE_TIMEOUT_MS = 1_000;

/** The address was judged when it was dialled, and is judged anew after so long at the latest (C11). */
const MAX_LIFETIME_MS = 10_000;

/** Connections that are left open at once, of all lanes together: each is a file handle. */
const MAX_IDLE_CONNECTIONS = 1_000;

/** A connection to a target, which carries one attempt at a time. It is dialled once. */
export class Connection {
  /** What is asked for on it: path and query of the target. */
  readonly path: string;
  readonly client: Client;
  readonly meter: ResponseLimiter;
  readonly openedAt: number;
  readonly #socket: Socket;

  constructor(target: URL, socket: Socket, openedAt: number) {
    this.path = `${target.pathname}${target.search}`;
    this.#socket = socket;
    this.openedAt = openedAt;
    this.meter = new ResponseLimiter(socket);
    let isTaken = false;
    this.client = new Client(target.origin, {
      connect: (_options, callback) => {
        // undici dials again when a connection breaks before the request is on it; we resolve and dial once.
        const isBroken = isTaken || socket.destroyed;
        isTaken = true;
        const broken = { kind: 'failed', cause: 'reset', note: 'broke before the request' } as const;
        // undici takes no answer while it asks.
        queueMicrotask(() => (isBroken ? callback(new DialError(broken), null) : callback(null, socket)));
      },
      allowH2: false,
      maxHeaderSize: MAX_HEAD_BYTES,
      // The one deadline is ours; undici's timers are coarse.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: 2 * MAX_LIFETIME_MS,
      keepAliveMaxTimeout: 2 * MAX_LIFETIME_MS,
    });
  }

  /** Whether another attempt may be made on it. */
  get isOpen(): boolean {
    return !this.#socket.destroyed && this.#socket.writable && this.meter.isEmpty;
  }

  end(): void {
    this.client.destroy(null, () => undefined);
    // undici has not taken it yet.
    this.#socket.destroy();
  }
}

/** How many connections all lanes have left open. */
export class PoolCapacity {
  readonly clock: Clock;
  readonly #most: number;
  #kept = 0;

  constructor(clock: Clock, most = MAX_IDLE_CONNECTIONS) {
    this.clock = clock;
    this.#most = most;
  }

  get hasRoom(): boolean {
    return this.#kept < this.#most;
  }

  add(by: 1 | -1): void {
    this.#kept += by;
  }
}

/**
 * The connections that attempts of one lane have left open, for those that follow within moments. Of this lane alone:
 * nothing is shared between hooks.
 */
export class ConnectionPool {
  readonly #room: PoolCapacity;
  readonly #idle: { readonly connection: Connection; readonly leftAt: number; readonly cancel: () => void }[] = [];
  #ended = false;

  constructor(room: PoolCapacity) {
    this.#room = room;
  }

  /** The one that was left last, if it is open still. */
  take(): Connection | undefined {
    for (;;) {
      const last = this.#idle.pop();
      if (last === undefined) return undefined;
      last.cancel();
      this.#room.add(-1);
      const now = this.#room.clock.monotonic();
      // After a pause of this process its timer is late, and what the target has said or closed meanwhile is not read yet.
      const isYoung = now - last.connection.openedAt < MAX_LIFETIME_MS && now - last.leftAt < IDLE_TIMEOUT_MS;
      if (last.connection.isOpen && isYoung) return last.connection;
      last.connection.end();
    }
  }

  /** Leaves one for whoever comes next; it is ended when nobody does. */
  put(connection: Connection): void {
    if (this.#ended || !connection.isOpen || !this.#room.hasRoom) {
      connection.end();
      return;
    }
    this.#room.add(1);
    const cancel = this.#room.clock.after(IDLE_TIMEOUT_MS, () => this.#expire(connection));
    this.#idle.push({ connection, leftAt: this.#room.clock.monotonic(), cancel });
  }

  /** Ends all of them, and whichever is left later. */
  end(): void {
    this.#ended = true;
    for (const { connection } of [...this.#idle]) this.#expire(connection);
  }

  #expire(connection: Connection): void {
    const index = this.#idle.findIndex((one) => one.connection === connection);
    const [found] = index < 0 ? [] : this.#idle.splice(index, 1);
    if (found === undefined) return;
    found.cancel();
    this.#room.add(-1);
    connection.end();
  }
}
