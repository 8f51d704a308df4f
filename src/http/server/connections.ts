import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Quota, type QuotaOwner } from '../../async/quota.ts';
import { RunningTime } from '../../async/running-time.ts';
import type { Clock } from '../../clock.ts';
import { type CloseReason, Connection, type ConnectionDeadlines } from './connection.ts';
import { burstDetector } from './connection-burst.ts';
import { isHeaderNamed } from './cors.ts';
import type { UnreadResponseQuota } from './response-buffers.ts';

/** Maximum number of waiting pipelined requests per connection. A client that sends more is disconnected. */
const MAX_PIPELINED_REQUESTS = 100;

/**
 * Maximum number of overdue connections that are closed per event-loop iteration. Closing one takes about 100 µs, and
 * an attacker can make 1,000 connections overdue at the same moment.
 */
const MAX_CLOSED_PER_ITERATION = 50;

type ConnectionTrackerDeps = {
  readonly clock: Clock;
  readonly deadlines: ConnectionDeadlines & { readonly deadlineCheckIntervalMs: number };
  /** Maximum number of concurrent connections in total. A client network may have a quarter of them. */
  readonly maxConnections: number;
  /**
   * The client network to which a connection is charged; undefined for a trusted proxy, which forwards for many
   * networks.
   */
  readonly networkQuotaOwnerOf: (address: string) => QuotaOwner | undefined;
  readonly unreadResponseQuota: UnreadResponseQuota;
  /** Rejects an ambiguous request, which another HTTP parser may read differently. */
  readonly rejectAmbiguous: (request: IncomingMessage, response: ServerResponse, detail: string) => void;
  /** Sends an error response over a connection that has no current request, and closes the connection. */
  readonly closeWithProblem: (socket: Socket, reason: 'head_timeout' | 'too_many') => void;
  /** Called when this service closes a connection, or rejects its request, because of an exceeded limit. */
  readonly onForcedClose: (reason: CloseReason) => void;
};

/** Tracks all open connections. The requests of a connection are processed in order, one at a time. */
export class ConnectionTracker {
  readonly #deps: ConnectionTrackerDeps;
  readonly #connections = new Map<Duplex, Connection>();
  readonly #connectionSlots: Quota;
  readonly #runningTime: RunningTime;
  #admitRequest: RequestListener = () => undefined;

  constructor(deps: ConnectionTrackerDeps) {
    const { clock, deadlines, maxConnections } = deps;
    this.#deps = deps;
    this.#connectionSlots = new Quota({ maxTotal: maxConnections, maxPerMember: Math.ceil(maxConnections / 4) });
    this.#runningTime = new RunningTime(clock, deadlines.deadlineCheckIntervalMs, () =>
      this.#closeOverdueConnections(),
    );
  }

  /** @param admitRequest starts, queues or sheds a request that is not ambiguous */
  trackConnections(server: Server, admitRequest: RequestListener): void {
    this.#admitRequest = admitRequest;
    server.on('connection', (socket) => this.#onConnection(socket));
    // This listener prevents Node from closing idle connections. Node would also close a connection that only seems
    // idle because this process was paused.
    server.on('timeout', () => undefined);
    server.once('close', () => this.#runningTime.stop());
  }

  findConnection(socket: Duplex): Connection | undefined {
    return this.#connections.get(socket);
  }

  readonly onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request;
    const connection = this.#connections.get(socket);
    if (connection === undefined || connection.isClosing) {
      // After an ambiguous request, ignore all requests that were pipelined after it: another parser may have read them
      // as the body of that request (request smuggling). The pair is kept because Node expects a response for each
      // request.
      if (connection !== undefined && connection.pipelinedRequests.push([request, response]) > MAX_PIPELINED_REQUESTS)
        socket.destroy();
      return;
    }
    if (connection.response === undefined) this.#beginRequest(connection, request, response);
    else if (connection.isDelayed) socket.destroy();
    else if (connection.pipelinedRequests.push([request, response]) > MAX_PIPELINED_REQUESTS)
      this.close(connection, 'pipelined');
  };

  /**
   * Marks the response as delayed. A client that has pipelined more requests, or sends another one before the response
   * is sent, is disconnected: its requests would pile up.
   */
  pauseConnection({ socket }: ServerResponse): void {
    const connection = socket === null ? undefined : this.#connections.get(socket);
    if (connection === undefined) return;
    if (connection.pipelinedRequests.length > 0 || connection.isClosing) connection.socket.destroy();
    else connection.isDelayed = true;
  }

  /**
   * Calls `respond`, which sends an error response, when all complete requests have been answered. Otherwise, the
   * client would take the error for the response to an earlier request. If the body of the current request is
   * incomplete, the error belongs to that request, and `respond` is called immediately.
   */
  respondAfterPending(socket: Duplex, respond: () => void): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) {
      respond();
      return;
    }
    // An error response is already pending on this connection, which closes after it.
    if (connection.isClosing) return;
    connection.isClosing = true;
    // Pause the socket, because Node would otherwise continue to read and emit an error for each chunk.
    socket.pause();
    const { request, response } = connection;
    if (connection.isDelayed || (response?.headersSent === true && request?.complete === false)) socket.destroy();
    else if (response === undefined || request?.complete === false) respond();
    else connection.onAnswered = respond;
  }

  /** Calls `callback` when the response is sent or the client has disconnected. */
  runAfterResponse(response: ServerResponse, callback: () => void): void {
    const connection = this.#connections.get(response.req.socket);
    if (connection?.response === response) connection.cleanups.push(callback);
    else response.once('close', callback);
  }

  /** Sets the body that the current request waits for; undefined when the body has arrived. */
  setPendingBody(connection: Connection, body: Connection['pendingBody']): void {
    connection.pendingBody = body;
    connection.enterPhase(body === undefined ? 'working' : 'body', this.#runningTime.runningMsAtNextTick);
  }

  close(connection: Connection, reason: CloseReason): void {
    if (connection.socket.destroyed) return;
    this.#deps.onForcedClose(reason);
    connection.socket.destroy();
  }

  #onConnection(socket: Socket): void {
    burstDetector.recordConnection();
    const networkOwner = this.#deps.networkQuotaOwnerOf(socket.remoteAddress ?? '');
    const connectionOwner = networkOwner ?? { group: 'proxies' };
    const connection = new Connection(socket, connectionOwner, this.#runningTime.runningMsAtNextTick);
    this.#runningTime.start();
    this.#connections.set(socket, connection);
    const hasSlot = this.#connectionSlots.tryAcquire(connectionOwner);
    socket.once('close', () => {
      this.#connections.delete(socket);
      if (hasSlot) this.#connectionSlots.release(connectionOwner);
      this.#deps.unreadResponseQuota.releaseCharge(connection);
      if (this.#connections.size === 0) this.#runningTime.stop();
    });
    if (hasSlot) return;
    connection.isClosing = true;
    this.#deps.onForcedClose('too_many');
    this.#deps.closeWithProblem(socket, 'too_many');
  }

  #beginRequest(connection: Connection, request: IncomingMessage, response: ServerResponse): void {
    connection.request = request;
    connection.response = response;
    connection.responseOwner = connection.quotaOwner;
    connection.enterPhase('working', this.#runningTime.runningMsAtNextTick);
    response.once('close', () => this.#onResponseClosed(connection));
    const ambiguity = ambiguityOf(request);
    if (ambiguity === undefined) {
      this.#admitRequest(request, response);
      return;
    }
    connection.isClosing = true;
    connection.onAnswered = undefined;
    connection.pipelinedRequests.length = 0;
    this.#deps.rejectAmbiguous(request, response, ambiguity);
  }

  #onResponseClosed(connection: Connection): void {
    const { socket, request, onAnswered } = connection;
    connection.response = undefined;
    connection.pendingBody = undefined;
    connection.isDelayed = false;
    this.#deps.unreadResponseQuota.releaseCharge(connection);
    for (const cleanup of connection.cleanups.splice(0)) cleanup();
    if (socket.destroyed) return;
    const [nextPipelined] = connection.pipelinedRequests;
    const canBeginNext = nextPipelined !== undefined && (onAnswered === undefined || nextPipelined[0].complete);
    if (canBeginNext && (!connection.isClosing || onAnswered !== undefined)) {
      connection.pipelinedRequests.shift();
      this.#beginRequest(connection, ...nextPipelined);
    } else if (onAnswered !== undefined) onAnswered();
    else connection.enterPhase(request?.complete === true ? 'idle' : 'dropping', this.#runningTime.runningMsAtNextTick);
  }

  #closeOverdueConnections(): void {
    const now = this.#runningTime.runningMs;
    let closedCount = 0;
    for (const connection of this.#connections.values()) {
      if (connection.socket.destroyed) continue;
      const reason = connection.checkDeadlines(now, this.#deps.deadlines);
      if (reason === undefined) continue;
      closedCount += 1;
      if (closedCount > MAX_CLOSED_PER_ITERATION) {
        setImmediate(() => this.#closeOverdueConnections());
        return;
      }
      if (reason === 'idle') connection.socket.destroy();
      else if (reason === 'body_timeout') {
        this.#deps.onForcedClose(reason);
        connection.pendingBody?.rejectTooSlow();
      } else if (reason === 'head_timeout') {
        this.#deps.onForcedClose(reason);
        connection.isClosing = true;
        connection.enterPhase('idle', now);
        this.#deps.closeWithProblem(connection.socket, reason);
      } else this.close(connection, reason);
    }
    this.#deps.unreadResponseQuota.refreshAllConnections();
  }
}

/** RTSP methods. Node's HTTP parser accepts them, even if the protocol of the request is RTSP. */
const RTSP_METHODS = new Set(
  'DESCRIBE ANNOUNCE SETUP PLAY PAUSE TEARDOWN REDIRECT RECORD FLUSH GET_PARAMETER SET_PARAMETER'.split(' '),
);

/**
 * Matches a character that is invalid in a host (RFC 9112, 3.2): space, a control or non-ASCII character, or a
 * delimiter of a URL.
 */
const INVALID_HOST_CHARACTER = /[^\x21-\x7e]|[/\\@?#"<>`{}|^]/;

/**
 * Returns the reason why a proxy in front of the service might read a request differently although Node accepts it
 * (request smuggling); undefined if the request is unambiguous. The text is sent to the client as the problem's detail.
 */
function ambiguityOf({ rawHeaders, httpVersion, url = '', method }: IncomingMessage): string | undefined {
  if (method === undefined || RTSP_METHODS.has(method)) return 'This is not HTTP/1.1.';
  let [hostCount, contentTypeCount] = [0, 0];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const headerName = rawHeaders[index];
    if (isHeaderNamed(headerName, 'host')) {
      hostCount += 1;
      if (INVALID_HOST_CHARACTER.test(rawHeaders[index + 1] ?? '')) return 'The host header is invalid.';
    }
    if (isHeaderNamed(headerName, 'content-type')) contentTypeCount += 1;
    // Node accepts `transfer-encoding: gzip, chunked`, and passes on the compressed body.
    const isTransferEncoding = isHeaderNamed(headerName, 'transfer-encoding');
    if (isTransferEncoding && (httpVersion === '1.0' || rawHeaders[index + 1]?.toLowerCase() !== 'chunked'))
      return 'A body needs a content-length, or the transfer-encoding chunked alone.';
  }
  if (hostCount > 1) return 'The host header is sent more than once.';
  if (contentTypeCount > 1) return 'The content-type header is sent more than once.';
  if (url.includes('#')) return 'A request target must not contain a fragment.';
  if (url === '*' && method !== 'OPTIONS') return 'A request target must begin with /.';
  if (httpVersion === '1.1') return hostCount === 1 ? undefined : 'The host header is missing.';
  return httpVersion === '1.0' ? undefined : 'This is not HTTP/1.1.';
}
