import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { QuotaOwner } from '../../async/quota.ts';

/**
 * The phases of a connection, and the deadline of each phase:
 *
 * | Phase | Begins when | Ends when | Deadline |
 * | --- | --- | --- | --- |
 * | head | the connection opens, or another request begins to arrive | the head is complete | `headersMs`, then 408 |
 * | working | the head is complete | the response is sent | none in this file; see `ActiveRequests` |
 * | body | the request waits for its body | the body is complete | `PendingBody.isLate`, then 408 |
 * | dropping | the response is sent before the body has arrived | the body is complete | `dropMs`, then close |
 * | idle | the response is sent | another request begins to arrive | `keepAliveMs`, then close |
 *
 * In every phase, a connection whose client reads nothing for `stallMs` while bytes are buffered is closed.
 */
export type ConnectionPhase = 'head' | 'working' | 'body' | 'dropping' | 'idle';

/** The reason why a connection was closed, as it appears in metrics and log lines. */
export type CloseReason = 'head_timeout' | 'body_timeout' | 'drop_timeout' | 'unread' | 'pipelined' | 'too_many';

/** A request body that has not arrived completely, while its request waits for it. */
export type PendingBody = {
  /** Whether the body is too slow, `ageMs` milliseconds after the request began to wait for it. */
  isLate(ageMs: number): boolean;
  /** Rejects the request, because its body is too slow. */
  rejectLate(): void;
};

/** Maximum size of an unneeded request body that is read and discarded, so that its connection can be kept alive. */
export const MAX_DROPPED_BYTES = 64 * 1_024;

/** A client that reads fewer bytes than this within `stallMs` counts as stalled. */
const MIN_READ_BYTES = 32 * 1_024;

export type ConnectionDeadlines = Readonly<Record<'headersMs' | 'keepAliveMs' | 'dropMs' | 'stallMs', number>>;

/** A client connection and its current request. Pipelined requests wait until the current one is answered. */
export class Connection {
  readonly socket: Socket;
  readonly network: QuotaOwner;
  phase: ConnectionPhase = 'head';
  /** The time at which the phase began, in milliseconds of `RunningTime`. */
  since: number;
  request: IncomingMessage | undefined;
  response: ServerResponse | undefined;
  body: PendingBody | undefined;
  readonly pipelined: (readonly [IncomingMessage, ServerResponse])[] = [];
  /** Functions that run when the response is sent or the client has disconnected. */
  readonly cleanups: (() => void)[] = [];
  /** Called when every request that has arrived completely is answered. */
  onAnswered: (() => void) | undefined;
  /** Whether the connection is about to close: requests that arrive from now on are not processed. */
  isEnding = false;
  /**
   * Whether the response is delayed on purpose. A client that sends another request in the meantime is disconnected.
   */
  isDelayed = false;
  /** The quota owner to which the bytes of the response are charged. */
  owner: QuotaOwner;
  /** Response bytes that are buffered in memory, and the quota owner to which they are charged. */
  unread: { readonly owner: QuotaOwner; readonly bytes: number } | undefined;
  #bytesReadAtFirstCheck: number | undefined;
  #stall: { since: number; delivered: number; bytes: number } | undefined;

  constructor(socket: Socket, network: QuotaOwner, now: number) {
    this.socket = socket;
    this.network = network;
    this.owner = network;
    this.since = now;
  }

  enter(phase: ConnectionPhase, now: number): void {
    this.phase = phase;
    this.since = now;
    this.#bytesReadAtFirstCheck = undefined;
  }

  /**
   * Enters the next phase if bytes have arrived or a discarded body is complete. Returns the reason to close the
   * connection if a deadline has passed, otherwise undefined.
   */
  checkDeadlines(
    now: number,
    { headersMs, keepAliveMs, dropMs, stallMs }: ConnectionDeadlines,
  ): CloseReason | 'idle' | undefined {
    if (this.#stalledMs(now) >= stallMs) return 'unread';
    const ageMs = now - this.since;
    if (this.phase === 'head') return ageMs >= headersMs ? 'head_timeout' : undefined;
    if (this.phase === 'body') return this.body?.isLate(ageMs) === true ? 'body_timeout' : undefined;
    if (this.phase === 'working') return undefined;
    // Count bytes from the first check of the phase: reading the counter for each request would cost more.
    this.#bytesReadAtFirstCheck ??= this.socket.bytesRead;
    const bytes = this.socket.bytesRead - this.#bytesReadAtFirstCheck;
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

  /** Milliseconds since the client last read enough bytes; 0 if no bytes are buffered. */
  #stalledMs(now: number): number {
    const bytes = this.socket.writableLength;
    if (bytes === 0) {
      this.#stall = undefined;
      return 0;
    }
    const delivered = deliveredBytesOf(this.socket);
    const { since, ...before } = this.#stall ?? { since: now, delivered, bytes };
    const hasRead = delivered - before.delivered >= Math.min(before.bytes, MIN_READ_BYTES);
    this.#stall = hasRead ? { since: now, delivered, bytes } : { since, ...before };
    return now - this.#stall.since;
  }
}

/**
 * Counters of a socket's libuv handle, by which Node itself detects the progress of a write. There is no public API for
 * them.
 */
type SocketHandle = { readonly bytesWritten: number; readonly writeQueueSize: number };

/** Number of bytes that the kernel has accepted from a socket, including the accepted part of a write in progress. */
function deliveredBytesOf(socket: Socket): number {
  const handle: SocketHandle | null | undefined = Reflect.get(socket, '_handle');
  return handle == null ? 0 : handle.bytesWritten - handle.writeQueueSize;
}

/** Whether the remainder of an unneeded request body may be read and discarded. */
export function isDroppable({ complete, headers }: IncomingMessage): boolean {
  if (complete) return true;
  if (headers['transfer-encoding'] !== undefined) return false;
  return Number(headers['content-length'] ?? 0) <= MAX_DROPPED_BYTES;
}
