import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Owner } from '../../async/quota.ts';

/**
 * The phases of a connection, and the deadline of each:
 *
 * | Phase | From | Until | Deadline |
 * | --- | --- | --- | --- |
 * | head | it opens, or the first byte of another request | a head is complete | `headersMs`, then 408 |
 * | working | a head is complete | the response has left | none here; see ActiveRequests |
 * | body | a request waits for its body | the body is complete | `PendingBody.isLate`, then its problem |
 * | dropping | a response has left before the body arrived | the body is complete | `dropMs`, then it is closed |
 * | idle | a response has left | the first byte of another request | `keepAliveMs`, then it is closed |
 *
 * In every phase, a connection whose client reads nothing for `stallMs` while bytes are buffered is closed.
 */
export type Phase = 'head' | 'working' | 'body' | 'dropping' | 'idle';

/** Why a connection was closed, as metrics and log lines name it. */
export type CloseReason = 'head_timeout' | 'body_timeout' | 'drop_timeout' | 'unread' | 'pipelined' | 'too_many';

/** A body that a request waits for. */
export type PendingBody = {
  /** Whether the body has taken too long. */
  isLate(ageMs: number): boolean;
  /** Ends the wait. */
  giveUp(): void;
};

/**
 * An unneeded remainder of a request body up to this size is read and discarded, so that the connection can be
 * kept alive.
 */
export const MAX_DROPPED_BYTES = 64 * 1_024;

/** A client that reads fewer bytes than this within `stallMs` counts as stalled. */
const MIN_READ_BYTES = 32 * 1_024;

export type Deadlines = Readonly<Record<'headersMs' | 'keepAliveMs' | 'dropMs' | 'stallMs', number>>;

/** A connection and its current request; pipelined requests wait for it. */
export class Connection {
  readonly socket: Socket;
  readonly network: Owner;
  phase: Phase = 'head';
  /** When the phase began, in running time. */
  since: number;
  request: IncomingMessage | undefined;
  response: ServerResponse | undefined;
  body: PendingBody | undefined;
  readonly pipelined: (readonly [IncomingMessage, ServerResponse])[] = [];
  /** Run when the response has left or the client has disconnected. */
  readonly releases: (() => void)[] = [];
  /** Runs when all complete requests have been answered. */
  onAnswered: (() => void) | undefined;
  /** Nothing that arrives from now on is processed. */
  isEnding = false;
  /** The response is delayed; a client that sends more in the meantime is disconnected. */
  isDelayed = false;
  /** The owner that the bytes of the response are charged to. */
  owner: Owner;
  /** Response bytes buffered in memory, and the owner that they are charged to. */
  unread: { readonly owner: Owner; readonly bytes: number } | undefined;
  #bytesRead: number | undefined;
  #stall: { since: number; delivered: number; bytes: number } | undefined;

  constructor(socket: Socket, network: Owner, now: number) {
    this.socket = socket;
    this.network = network;
    this.owner = network;
    this.since = now;
  }

  enter(phase: Phase, now: number): void {
    this.phase = phase;
    this.since = now;
    this.#bytesRead = undefined;
  }

  /**
   * Enters the next phase if bytes have arrived or a body is complete. Returns the deadline that has passed, if
   * any.
   */
  overdue(now: number, { headersMs, keepAliveMs, dropMs, stallMs }: Deadlines): CloseReason | 'idle' | undefined {
    if (this.#stalledMs(now) >= stallMs) return 'unread';
    const ageMs = now - this.since;
    if (this.phase === 'head') return ageMs >= headersMs ? 'head_timeout' : undefined;
    if (this.phase === 'body') return this.body?.isLate(ageMs) === true ? 'body_timeout' : undefined;
    if (this.phase === 'working') return undefined;
    // Counted from the first check of the phase: reading the counter for each request would cost more.
    this.#bytesRead ??= this.socket.bytesRead;
    const bytes = this.socket.bytesRead - this.#bytesRead;
    if (this.phase === 'dropping') {
      if (this.request?.complete !== true)
        return ageMs >= dropMs || bytes > MAX_DROPPED_BYTES ? 'drop_timeout' : undefined;
      this.enter('idle', now);
      return undefined;
    }
    if (bytes === 0) return ageMs >= keepAliveMs ? 'idle' : undefined;
    this.enter('head', now);
    return undefined;
  }

  /** Milliseconds since the client last read anything, while bytes are buffered. */
  #stalledMs(now: number): number {
    const bytes = this.socket.writableLength;
    if (bytes === 0) {
      this.#stall = undefined;
      return 0;
    }
    const delivered = deliveredBytes(this.socket);
    const { since, ...before } = this.#stall ?? { since: now, delivered, bytes };
    const hasRead = delivered - before.delivered >= Math.min(before.bytes, MIN_READ_BYTES);
    this.#stall = hasRead ? { since: now, delivered, bytes } : { since, ...before };
    return now - this.#stall.since;
  }
}

/** Counters of libuv that Node uses to detect progress of a write; there is no public API for them. */
type Handle = { readonly bytesWritten: number; readonly writeQueueSize: number };

/** Bytes that the kernel has accepted, including those of a write that is still in progress. */
function deliveredBytes(socket: Socket): number {
  const handle: Handle | null | undefined = Reflect.get(socket, '_handle');
  return handle == null ? 0 : handle.bytesWritten - handle.writeQueueSize;
}

/** Whether the remainder of an unneeded request body may be read and discarded. */
export function isDroppable({ complete, headers }: IncomingMessage): boolean {
  if (complete) return true;
  if (headers['transfer-encoding'] !== undefined) return false;
  return Number(headers['content-length'] ?? 0) <= MAX_DROPPED_BYTES;
}
