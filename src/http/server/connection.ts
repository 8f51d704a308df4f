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
 * | body | the request waits for its body | the body is complete | `PendingBody.isTooSlow`, then 408 |
 * | dropping | the response is sent before the body has arrived | the body is complete | `dropMs`, then close |
 * | idle | the response is sent | another request begins to arrive | `keepAliveMs`, then close |
 *
 * In every phase, a connection whose client reads nothing for `stallMs` while bytes are buffered is closed.
 */
type ConnectionPhase = 'head' | 'working' | 'body' | 'dropping' | 'idle';

/** The reason why a connection was closed, as it appears in metrics and log lines. */
export type CloseReason = 'head_timeout' | 'body_timeout' | 'drop_timeout' | 'unread' | 'pipelined' | 'too_many';

/** A request body that has not arrived completely, while its request waits for it. */
type PendingBody = {
  /** Whether the body is too slow, `ageMs` milliseconds after the request began to wait for it. */
  isTooSlow(ageMs: number): boolean;
  /** Rejects the request, because its body is too slow. */
  rejectTooSlow(): void;
};

/** Maximum size of an unneeded request body that is read and discarded, so that its connection can be kept alive. */
const MAX_DROPPED_BYTES = 64 * 1_024;

/** A client that reads fewer bytes than this within `stallMs` counts as stalled. */
const MIN_READ_BYTES = 32 * 1_024;

/** The timeouts of connections; see `defaultTimeouts`. */
export type ConnectionDeadlines = Readonly<Record<'headersMs' | 'keepAliveMs' | 'dropMs' | 'stallMs', number>>;

/** A client connection and its current request. Pipelined requests wait until the current one is answered. */
export class Connection {
  readonly socket: Socket;
  /** The quota owner to which the connection itself is charged: its client network, or all trusted proxies. */
  readonly quotaOwner: QuotaOwner;
  phase: ConnectionPhase = 'head';
  /** The time at which the phase began, in milliseconds of `RunningTime`. */
  phaseSince: number;
  request: IncomingMessage | undefined;
  response: ServerResponse | undefined;
  pendingBody: PendingBody | undefined;
  readonly pipelinedRequests: (readonly [IncomingMessage, ServerResponse])[] = [];
  /** Functions that run when the response is sent or the client has disconnected. */
  readonly cleanups: (() => void)[] = [];
  /** Called when all requests that have arrived completely are answered. */
  onAnswered: (() => void) | undefined;
  /** Whether the connection is about to close: requests that arrive from now on are not processed. */
  isClosing = false;
  /**
   * Whether the response is delayed on purpose. A client that sends another request in the meantime is disconnected.
   */
  isDelayed = false;
  /** The quota owner to which the bytes of the response are charged. */
  responseOwner: QuotaOwner;
  /** Response bytes that are buffered in memory, and the quota owner to which they are charged. */
  unreadCharge: { readonly owner: QuotaOwner; readonly bytes: number } | undefined;
  /** `socket.bytesRead` at the first check of the deadlines in this phase. */
  #bytesReadAtFirstCheck: number | undefined;
  /** When the client last read enough bytes, and the counters at that time; undefined if no bytes are buffered. */
  #stallState: { stalledSince: number; acceptedBytes: number; bufferedBytes: number } | undefined;

  constructor(socket: Socket, quotaOwner: QuotaOwner, now: number) {
    this.socket = socket;
    this.quotaOwner = quotaOwner;
    this.responseOwner = quotaOwner;
    this.phaseSince = now;
  }

  enterPhase(phase: ConnectionPhase, now: number): void {
    this.phase = phase;
    this.phaseSince = now;
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
    if (this.#measureStalledMs(now) >= stallMs) return 'unread';
    const ageMs = now - this.phaseSince;
    if (this.phase === 'head') return ageMs >= headersMs ? 'head_timeout' : undefined;
    if (this.phase === 'body') return this.pendingBody?.isTooSlow(ageMs) === true ? 'body_timeout' : undefined;
    if (this.phase === 'working') return undefined;
    // The count begins at the first check of the phase, because reading `bytesRead` for each request would cost more.
    this.#bytesReadAtFirstCheck ??= this.socket.bytesRead;
    const bytesInPhase = this.socket.bytesRead - this.#bytesReadAtFirstCheck;
    if (this.phase === 'dropping') {
      if (this.request?.complete !== true)
        return ageMs >= dropMs || bytesInPhase > MAX_DROPPED_BYTES ? 'drop_timeout' : undefined;
      this.enterPhase('idle', now);
      return undefined;
    }
    if (bytesInPhase === 0) return ageMs >= keepAliveMs ? 'idle' : undefined;
    this.enterPhase('head', now);
    return undefined;
  }

  /** Milliseconds since the client last read enough bytes; 0 if no bytes are buffered. */
  #measureStalledMs(now: number): number {
    const bufferedBytes = this.socket.writableLength;
    if (bufferedBytes === 0) {
      this.#stallState = undefined;
      return 0;
    }
    const acceptedBytes = acceptedBytesOf(this.socket);
    const { stalledSince, ...before } = this.#stallState ?? { stalledSince: now, acceptedBytes, bufferedBytes };
    const hasProgressed = acceptedBytes - before.acceptedBytes >= Math.min(before.bufferedBytes, MIN_READ_BYTES);
    this.#stallState = hasProgressed
      ? { stalledSince: now, acceptedBytes, bufferedBytes }
      : { stalledSince, ...before };
    return now - this.#stallState.stalledSince;
  }
}

/**
 * Counters of a socket's libuv handle, by which Node itself detects the progress of a write. There is no public API for
 * them.
 */
type SocketHandle = { readonly bytesWritten: number; readonly writeQueueSize: number };

/** Number of bytes that the kernel has accepted from a socket, including the accepted part of a write in progress. */
function acceptedBytesOf(socket: Socket): number {
  const socketHandle: SocketHandle | null | undefined = Reflect.get(socket, '_handle');
  return socketHandle == null ? 0 : socketHandle.bytesWritten - socketHandle.writeQueueSize;
}

/** Whether the remainder of an unneeded request body may be read and discarded. */
export function isBodyDroppable({ complete, headers }: IncomingMessage): boolean {
  if (complete) return true;
  if (headers['transfer-encoding'] !== undefined) return false;
  return Number(headers['content-length'] ?? 0) <= MAX_DROPPED_BYTES;
}
