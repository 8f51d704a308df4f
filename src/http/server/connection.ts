import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Owner } from '../../async/quota.ts';

/**
 * The phases of a connection, and the deadline of each:
 *
 * | Phase | From | Until | Deadline |
 * | --- | --- | --- | --- |
 * | head | it opens, or the first byte of another request | a head is complete | `headersMs`, then 408 |
 * | working | a head is complete | the response has left | none here; see UnderWay |
 * | body | a request waits for its body | the body is complete | `PendingBody.fault`, then its problem |
 * | dropping | a response has left before the body arrived | the body is complete | `dropMs`, then it is closed |
 * | idle | a response has left | the first byte of another request | `keepAliveMs`, then it is closed |
 *
 * In every phase, one that reads nothing for `stallMs` while bytes wait for it is closed.
 */
export type Phase = 'head' | 'working' | 'body' | 'dropping' | 'idle';

/** Why a connection was closed, as metrics and log lines name it. */
export type CloseReason = 'head_timeout' | 'body_timeout' | 'drop_timeout' | 'unread' | 'pipelined' | 'too_many';

/** A body that a request waits for. */
export type PendingBody = {
  /** Answers why it has taken too long, if it has. */
  isLate(ageMs: number): boolean;
  /** Ends the wait. */
  giveUp(): void;
};

/** A small remainder of a body that nobody needs is read and dropped, so that the connection can go on. */
export const MAX_DROPPED_BYTES = 64 * 1_024;

/** A reader that takes fewer bytes than this within `stallMs` has read nothing. */
const MIN_READ_BYTES = 32 * 1_024;

export type Deadlines = Readonly<Record<'headersMs' | 'keepAliveMs' | 'dropMs' | 'stallMs', number>>;

/** A connection, and the one request on it that is being processed: those behind it wait. */
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
  /** What is given back when the response has left, or nobody waits for it any more. */
  readonly releases: (() => void)[] = [];
  /** Runs when the requests that were complete have their responses. */
  onAnswered: (() => void) | undefined;
  /** Nothing more that arrives is processed. */
  isEnding = false;
  /** Its response is held back: whoever sends more meanwhile is cut off. */
  isHeldBack = false;
  /** The owner of the bytes of its response. */
  owner: Owner;
  /** Bytes of responses that wait in memory, and who they are charged to. */
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

  /** Looks at its phase, and goes on to the next one where nothing else says so; answers which deadline has passed. */
  overdue(now: number, { headersMs, keepAliveMs, dropMs, stallMs }: Deadlines): CloseReason | 'idle' | undefined {
    if (this.#stalledMs(now) >= stallMs) return 'unread';
    const ageMs = now - this.since;
    if (this.phase === 'head') return ageMs >= headersMs ? 'head_timeout' : undefined;
    if (this.phase === 'body') return this.body?.isLate(ageMs) === true ? 'body_timeout' : undefined;
    if (this.phase === 'working') return undefined;
    // Counted from the first look on: a look at each request would cost more.
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

  /** For how long bytes have waited without being read. */
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

/** Counts of a socket that Node itself goes by to see whether a write makes progress, and does not offer otherwise. */
type Handle = { readonly bytesWritten: number; readonly writeQueueSize: number };

/** How many bytes the system has taken over for the other side; part of one long write as well. */
function deliveredBytes(socket: Socket): number {
  const handle: Handle | null | undefined = Reflect.get(socket, '_handle');
  return handle == null ? 0 : handle.bytesWritten - handle.writeQueueSize;
}

/** Whether what is missing of a body that nobody needs may be read and dropped. */
export function isDroppable({ complete, headers }: IncomingMessage): boolean {
  if (complete) return true;
  if (headers['transfer-encoding'] !== undefined) return false;
  return Number(headers['content-length'] ?? 0) <= MAX_DROPPED_BYTES;
}
