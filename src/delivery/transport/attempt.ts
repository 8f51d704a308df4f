import { errors } from 'undici';
import { type Clock, startDeadline } from '../../clock.ts';
import { toPrintable } from '../../control-characters.ts';
import {
  type AttemptOutcome,
  type LocalError,
  type OutcomeWithoutDuration,
  type TargetFailure,
  toLocalErrorIfPaused,
} from '../dispatcher/retry-policy.ts';
import { Connection, type ConnectionPool, ResponseText } from './connection-pool.ts';
import { classifyConnectionError, DialError, dial, resolveAndCheckTarget } from './dial.ts';
import { PauseMonitor } from './pause-monitor.ts';
import type { SsrfGuard } from './ssrf-guard.ts';

/** The input of one attempt. `timeoutMs` is the time limit from the DNS query to the head of the response (C21). */
export type AttemptRequest = {
  target: string;
  body: string;
  deliveryId: string;
  /** Further headers as alternating names and values (X8, X11). */
  headers?: readonly string[];
  timeoutMs: number;
  /** Aborts the attempt: no more bytes are written, and the outcome is `stopped` if no outcome was known before. */
  signal: AbortSignal;
  /**
   * Called right before the first byte is sent. From then on, the target may receive the webhook even if the attempt is
   * aborted.
   */
  onBeforeSend?: () => void;
  /** Called when the reused connection was closed, before a new one is dialled. No byte of the webhook was sent. */
  onNotSent?: () => void;
  /** Keep-alive connections to the target. If absent, a new connection is dialled, and closed afterwards. */
  connectionPool?: ConnectionPool | undefined;
};

/** Sends one POST request and resolves with its outcome. Rejects only because of a bug in this service. */
export type SendAttempt = (request: AttemptRequest) => Promise<AttemptOutcome>;

const MAX_RESPONSE_BODY_BYTES = 16 * 1_024;
const RESPONSE_BODY_TIMEOUT_MS = 1_000;
/** How long the outcome of a failure waits for the body after the head. */
const RESPONSE_TEXT_TIMEOUT_MS = 100;
const MAX_RETRY_AFTER_MS = 24 * 60 * 60 * 1_000;
/** Time limit of DNS, less than the whole deadline, so that a silent resolver is not mistaken for a slow target. */
const DNS_TIMEOUT_MS = 5_000;

const STOPPED_RESULT = { kind: 'local_error', code: 'stopped' } as const;
const TIMEOUT_RESULT = { kind: 'failed', cause: 'timeout' } as const;

/** Result of `sendWebhook` if the reused connection was closed: nothing was sent, and a new one is dialled. */
const STALE_CONNECTION = 'stale';

type AttemptDeps = { guard: SsrfGuard; userAgent: string; clock: Clock; ca?: string };

/**
 * Creates the function that sends all webhooks. An attempt uses a keep-alive connection of its hook, or dials
 * an address that the SSRF guard has just checked. A dead keep-alive connection does not count as a failure.
 * `ca` replaces the trusted certificate authorities.
 */
export function createAttemptSender(deps: AttemptDeps): SendAttempt {
  return withDuration(deps.clock, (request, getRemainingMs) => sendWithRedial(deps, { request, getRemainingMs }));
}

/** Wraps `makeAttempt`: measures the duration, and turns failures during a process pause into local errors (C19). */
export function withDuration(
  clock: Clock,
  makeAttempt: (request: AttemptRequest, getRemainingMs: () => number) => Promise<OutcomeWithoutDuration>,
): SendAttempt {
  const pauseMonitor = new PauseMonitor(clock);
  return async (request) => {
    if (request.signal.aborted) return { ...STOPPED_RESULT, durationMs: 0 };
    const startedAt = clock.monotonic();
    const getElapsedMs = () => clock.monotonic() - startedAt;
    const getRemainingMs = () => Math.max(0, request.timeoutMs - getElapsedMs());
    const pauseWatch = pauseMonitor.startWatch();
    try {
      const result = toLocalErrorIfPaused(
        await makeAttempt(request, getRemainingMs),
        pauseWatch.getLongestPauseMs(),
        request.timeoutMs,
      );
      return { ...result, durationMs: Math.round(getElapsedMs()) };
    } finally {
      pauseWatch.end();
    }
  };
}

/** Sends over a keep-alive connection; if there is none or it is dead, over a new connection. */
async function sendWithRedial(deps: AttemptDeps, timedAttempt: TimedAttempt): Promise<OutcomeWithoutDuration> {
  const { request } = timedAttempt;
  const keptConnection = request.connectionPool?.take();
  if (keptConnection !== undefined) {
    const result = await sendWebhook(deps, timedAttempt, keptConnection, true);
    if (result !== STALE_CONNECTION) return result;
    request.onNotSent?.();
  }
  const connectionOrError = await openConnection(deps, timedAttempt);
  if (!(connectionOrError instanceof Connection)) return connectionOrError;
  const result = await sendWebhook(deps, timedAttempt, connectionOrError, false);
  if (result === STALE_CONNECTION) throw new Error('a new connection is not stale');
  return result;
}

/** A running attempt: its request, and the time that remains until its deadline. */
type TimedAttempt = { readonly request: AttemptRequest; readonly getRemainingMs: () => number };

/** Resolves, checks and dials the target. A connection that opens after the deadline or an abort is destroyed. */
async function openConnection(
  { guard, clock, ca }: AttemptDeps,
  { request: { target, signal, timeoutMs }, getRemainingMs }: TimedAttempt,
): Promise<Connection | TargetFailure | LocalError> {
  if (signal.aborted) return STOPPED_RESULT;
  const url = new URL(target);
  const dialController = new AbortController();
  const { promise: interruption, resolve: interrupt } = Promise.withResolvers<TargetFailure | LocalError>();
  let isNameResolved = false;
  const onAbort = () => interrupt(STOPPED_RESULT);
  signal.addEventListener('abort', onAbort);
  const cancelTimer = startDeadline(clock, getRemainingMs(), () =>
    interrupt(isNameResolved ? TIMEOUT_RESULT : { kind: 'local_error', code: 'no_resolver' }),
  );
  const connect = async () => {
    const addresses = await resolveAndCheckTarget(guard, url, Math.min(DNS_TIMEOUT_MS, timeoutMs / 2));
    dialController.signal.throwIfAborted();
    isNameResolved = true;
    const socket = await dial(url, addresses, { clock, getRemainingMs, abortSignal: dialController.signal, ca });
    return new Connection(url, socket, clock.monotonic());
  };
  const connectPromise = connect();
  try {
    const firstResult = await Promise.race([interruption, connectPromise]);
    if (firstResult instanceof Connection) return firstResult;
    // Destroys a connection that is still being dialled.
    dialController.abort();
    connectPromise.catch(() => undefined);
    return firstResult;
  } catch (error) {
    if (error instanceof DialError) return error.result;
    throw error;
  } finally {
    cancelTimer();
    signal.removeEventListener('abort', onAbort);
  }
}

/** Sends the webhook over a connection. Resolves as soon as the outcome is known, before the response body is read. */
function sendWebhook(
  { userAgent, clock }: AttemptDeps,
  { request, getRemainingMs }: TimedAttempt,
  connection: Connection,
  isReused: boolean,
): Promise<OutcomeWithoutDuration | typeof STALE_CONNECTION> {
  if (getRemainingMs() === 0) {
    // The process was paused while it connected, and the deadline has passed: nothing is sent.
    connection.end();
    return Promise.resolve(TIMEOUT_RESULT);
  }
  const { promise, resolve, reject } = Promise.withResolvers<OutcomeWithoutDuration | typeof STALE_CONNECTION>();
  // Whether the outcome is known, or the connection is closed or kept: a later result is ignored.
  let isCompleted = false;
  let isDelivered = false;
  let bodyByteCount = 0;
  // A response other than 200, whose text is being received. Its status has already decided (C17).
  let rejection: Extract<OutcomeWithoutDuration, { kind: 'answered' }> | undefined;
  const responseText = new ResponseText();

  const settleWith = (result: OutcomeWithoutDuration | typeof STALE_CONNECTION) => {
    isCompleted = true;
    cancelTimer();
    resolve(result);
  };
  const stopWatching = () => {
    isCompleted = true;
    cancelTimer();
    request.signal.removeEventListener('abort', onAbort);
  };
  const closeConnection = () => {
    stopWatching();
    connection.end();
  };
  const failWith = (result: TargetFailure | LocalError | typeof STALE_CONNECTION) => {
    if (!isCompleted) settleWith(rejection === undefined ? result : addText(rejection, responseText));
    closeConnection();
  };
  const finishRejection = () => {
    if (rejection === undefined || isCompleted) return;
    settleWith(addText(rejection, responseText));
    dropRestOfBody();
  };
  // The body is read and dropped for up to a second, so that the target can finish its response (C21).
  const dropRestOfBody = () => {
    cancelTimer = clock.after(Math.min(RESPONSE_BODY_TIMEOUT_MS, getRemainingMs()), closeConnection);
  };
  const rejectAttempt = (error: unknown) => {
    reject(error);
    closeConnection();
  };
  const onAbort = () => failWith(STOPPED_RESULT);

  let cancelTimer = startDeadline(clock, getRemainingMs(), () => failWith(TIMEOUT_RESULT));
  request.signal.addEventListener('abort', onAbort);
  connection.responseLimiter.beginResponse(() =>
    failWith({ kind: 'failed', cause: 'protocol', note: 'response too large' }),
  );

  connection.client.dispatch(
    {
      method: 'POST',
      path: connection.path,
      headers: [
        ...['content-type', 'application/json', 'user-agent', userAgent, 'webhook-id', request.deliveryId],
        ...(request.headers ?? []),
      ],
      body: request.body,
      reset: request.connectionPool === undefined,
    },
    {
      onRequestStart() {
        // An abort inside this callback still prevents the request from being sent.
        try {
          request.onBeforeSend?.();
        } catch (error) {
          rejectAttempt(error);
        }
      },
      onResponseStart(_controller, status, headers) {
        // The status decides as soon as the head of the final response has arrived; 1xx is ignored (C17).
        if (status < 200 || isCompleted) return;
        const retryAfterMs = parseRetryAfterMs(headers['retry-after'], clock.now());
        isDelivered = status === 200;
        const answer = { kind: 'answered', status, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) } as const;
        if (isDelivered) {
          settleWith(answer);
          dropRestOfBody();
          return;
        }
        rejection = answer;
        cancelTimer();
        cancelTimer = clock.after(Math.min(RESPONSE_TEXT_TIMEOUT_MS, getRemainingMs()), finishRejection);
      },
      onResponseData(_controller, chunk) {
        bodyByteCount += chunk.length;
        if (rejection !== undefined && responseText.add(chunk)) finishRejection();
        if (bodyByteCount >= MAX_RESPONSE_BODY_BYTES) closeConnection();
      },
      onResponseEnd() {
        finishRejection();
        // The connection is kept only after a 200: after any other status, the next attempt comes much later.
        if (request.connectionPool === undefined || !isDelivered) closeConnection();
        else {
          stopWatching();
          // undici may close the connection right after this callback. A closed connection is not put back.
          queueMicrotask(() => request.connectionPool?.put(connection));
        }
      },
      onResponseError(_controller, error) {
        // A request that undici rejects is a bug of this service, not a failure of the target.
        if (error instanceof errors.InvalidArgumentError && !isCompleted) rejectAttempt(error);
        else {
          const result = error instanceof DialError ? error.result : classifyConnectionError(error, 'protocol');
          const isStale =
            isReused && connection.responseLimiter.byteCount === 0 && 'cause' in result && result.cause === 'reset';
          failWith(isStale ? STALE_CONNECTION : result);
        }
      },
    },
  );
  return promise;
}

function addText(
  rejection: Extract<OutcomeWithoutDuration, { kind: 'answered' }>,
  text: ResponseText,
): OutcomeWithoutDuration {
  const responseText = toPrintable(text.toString());
  return responseText === '' ? rejection : { ...rejection, responseText };
}

/** Parses `Retry-After` to milliseconds, 0 to 24 h (C18). Returns undefined if it is absent or malformed. */
function parseRetryAfterMs(header: string | string[] | undefined, now: number): number | undefined {
  const text = (Array.isArray(header) ? header[0] : header)?.trim();
  if (text === undefined) return undefined;
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1_000 : parseHttpDate(text) - now;
  return Number.isNaN(waitMs) ? undefined : Math.min(Math.max(waitMs, 0), MAX_RETRY_AFTER_MS);
}

/**
 * Parses the three date forms of RFC 9110, 5.6.7. Returns NaN for any other text, since `Date.parse` accepts nearly
 * everything.
 */
function parseHttpDate(text: string): number {
  if (/^\w{3}, \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(text)) return Date.parse(text);
  if (/^\w{6,9}, \d{2}-\w{3}-\d{2} \d{2}:\d{2}:\d{2} GMT$/.test(text)) return Date.parse(text);
  if (/^\w{3} \w{3} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/.test(text)) return Date.parse(`${text} GMT`);
  return Number.NaN;
}
