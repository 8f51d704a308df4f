import { errors } from 'undici';
import type { Clock } from '../../clock.ts';
import type { Failed, LocalError, Outcome, Result } from '../dispatcher/attempt-outcome.ts';
import { excusePaused } from '../dispatcher/retry-policy.ts';
import { Connection, type ConnectionPool } from './connection-pool.ts';
import { startDeadline } from './deadline.ts';
import { asDialError, classify, DialError, dial } from './dial.ts';
import { PauseMonitor } from './pause-monitor.ts';
import type { SsrfGuard } from './ssrf-guard.ts';

/** One delivery to try once. `body` goes out as it is, `deadlineMs` covers everything up to the answer's head (C21). */
export type Order = {
  target: string;
  body: string;
  deliveryId: string;
  /** Headers that sign it, names and values in turn; none where its hook is not signed (X8). */
  signature?: readonly string[];
  deadlineMs: number;
  /** Aborted: not a byte is written any more, and the outcome is `stopped` unless it was known before. */
  signal: AbortSignal;
  /** Called when the target is connected, right before the first byte: from here on an abort leaves doubt. */
  onDialled?: () => void;
  /** Called when that connection was dead, and another one is dialled: an abort leaves no more doubt than before. */
  onUndialled?: () => void;
  /** Connections to this very target that were left open, one of which may be used; left out: one is dialled, and ended. */
  kept?: ConnectionPool | undefined;
};

/** One POST, one outcome. Rejects only where the service itself is at fault. */
export type Attempt = (order: Order) => Promise<Outcome>;

const MAX_BODY_BYTES = 16 * 1_024;
const BODY_TIMEOUT_MS = 1_000;
const MAX_RETRY_AFTER_MS = 24 * 60 * 60 * 1_000;
/** Names get less than the whole deadline, so that a silent resolver is told from a slow target. */
const DNS_TIMEOUT_MS = 5_000;

const STOPPED = { kind: 'ours', fault: 'stopped' } as const;
const TIMED_OUT = { kind: 'failed', cause: 'timeout' } as const;

/** A connection that was left open was found dead when it was used again: nobody was told, and nobody is at fault. */
const STALE = 'stale';

type Ports = { guard: SsrfGuard; userAgent: string; clock: Clock; ca?: string };

/**
 * The only way out of this service. Each attempt has a connection to itself, dialled to an address that the guard has
 * judged a moment ago; where one was left open by an attempt before it, on that. No dead connection is held against a
 * target. `ca` replaces the trusted certificate authorities.
 */
export function createAttempt(ports: Ports): Attempt {
  return measured(ports.clock, (order, leftMs) => makeOnce(ports, { order, leftMs }));
}

/** Measures how long an attempt takes, and whether this process was paused meanwhile (C19). */
export function measured(clock: Clock, make: (order: Order, leftMs: () => number) => Promise<Result>): Attempt {
  const pauses = new PauseMonitor(clock);
  return async (order) => {
    if (order.signal.aborted) return { ...STOPPED, ms: 0 };
    const startedAt = clock.monotonic();
    const elapsedMs = () => clock.monotonic() - startedAt;
    const leftMs = () => Math.max(0, order.deadlineMs - elapsedMs());
    const pause = pauses.watch();
    try {
      const result = excusePaused(await make(order, leftMs), pause.longestMs(), order.deadlineMs);
      return { ...result, ms: Math.round(elapsedMs()) };
    } finally {
      pause.end();
    }
  };
}

/** Over a connection that was left open, unless that is dead; then over a new one. */
async function makeOnce(ports: Ports, trying: Trying): Promise<Result> {
  const { order } = trying;
  const kept = order.kept?.take();
  if (kept !== undefined) {
    const result = await post(ports, trying, kept, true);
    if (result !== STALE) return result;
    order.onUndialled?.();
  }
  const opened = await open(ports, trying);
  if (!(opened instanceof Connection)) return opened;
  const result = await post(ports, trying, opened, false);
  if (result === STALE) throw new Error('a new connection is not stale');
  return result;
}

type Trying = { readonly order: Order; readonly leftMs: () => number };

/** Resolves, judges and dials; what is not open by the deadline, or not wanted any more, never is. */
async function open(
  { guard, clock, ca }: Ports,
  { order: { target, signal, deadlineMs }, leftMs }: Trying,
): Promise<Connection | Failed | LocalError> {
  if (signal.aborted) return STOPPED;
  const url = new URL(target);
  const ended = new AbortController();
  const { promise: over, resolve: give } = Promise.withResolvers<Failed | LocalError>();
  let isResolved = false;
  const onAbort = () => give(STOPPED);
  signal.addEventListener('abort', onAbort);
  const cancelTimer = startDeadline(clock, leftMs(), () =>
    give(isResolved ? TIMED_OUT : { kind: 'ours', fault: 'no_resolver' }),
  );
  const reach = async () => {
    const addresses = await asDialError(guard, url, Math.min(DNS_TIMEOUT_MS, deadlineMs / 2));
    ended.signal.throwIfAborted();
    isResolved = true;
    const socket = await dial(url, addresses, { clock, leftMs, ended: ended.signal, ca });
    return new Connection(url, socket, clock.monotonic());
  };
  const reached = reach();
  try {
    const first = await Promise.race([over, reached]);
    if (first instanceof Connection) return first;
    // Whatever is on its way still is ended when it comes.
    ended.abort();
    reached.catch(() => undefined);
    return first;
  } catch (error) {
    if (error instanceof DialError) return error.result;
    throw error;
  } finally {
    cancelTimer();
    signal.removeEventListener('abort', onAbort);
  }
}

/** Sends the notification over a connection, and resolves as soon as it is known what has come of it. */
function post(
  { userAgent, clock }: Ports,
  { order, leftMs }: Trying,
  connection: Connection,
  isUsedAgain: boolean,
): Promise<Result | typeof STALE> {
  if (leftMs() === 0) {
    // Nothing is sent that nobody would wait for: a process that was paused while it connected comes here too late.
    connection.end();
    return Promise.resolve(TIMED_OUT);
  }
  const { promise, resolve, reject } = Promise.withResolvers<Result | typeof STALE>();
  let settled = false;
  let isDelivered = false;
  let bodyBytes = 0;

  const settle = (result: Result | typeof STALE) => {
    settled = true;
    cancelTimer();
    resolve(result);
  };
  const letGo = () => {
    settled = true;
    cancelTimer();
    order.signal.removeEventListener('abort', onAbort);
  };
  const end = () => {
    letGo();
    connection.end();
  };
  const fail = (result: Failed | LocalError | typeof STALE) => {
    if (!settled) settle(result);
    end();
  };
  const breakDown = (error: unknown) => {
    reject(error);
    end();
  };
  const onAbort = () => fail(STOPPED);

  let cancelTimer = startDeadline(clock, leftMs(), () => fail(TIMED_OUT));
  order.signal.addEventListener('abort', onAbort);
  connection.meter.begin(() => fail({ kind: 'failed', cause: 'protocol', note: 'too much was said' }));

  connection.client.dispatch(
    {
      method: 'POST',
      path: connection.path,
      headers: [
        ...['content-type', 'application/json', 'user-agent', userAgent, 'webhook-id', order.deliveryId],
        ...(order.signature ?? []),
      ],
      body: order.body,
      reset: order.kept === undefined,
    },
    {
      onRequestStart() {
        // An abort from in here still keeps the request off the wire.
        try {
          order.onDialled?.();
        } catch (error) {
          breakDown(error);
        }
      },
      onResponseStart(_controller, status, headers) {
        // C17: the status decides as soon as the final head is here; an interim answer is not final.
        if (status < 200 || settled) return;
        const retryAfterMs = parseRetryAfter(headers['retry-after'], clock.now());
        isDelivered = status === 200;
        settle({ kind: 'answered', status, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });
        // C21: the body is let in for a moment, so that the target can finish in peace; none of it is kept.
        cancelTimer = clock.after(Math.min(BODY_TIMEOUT_MS, leftMs()), end);
      },
      onResponseData(_controller, chunk) {
        bodyBytes += chunk.length;
        if (bodyBytes >= MAX_BODY_BYTES) end();
      },
      onResponseEnd() {
        // What is to come after anything else comes later.
        if (order.kept === undefined || !isDelivered) end();
        else {
          letGo();
          // undici closes what is not to be kept right after this.
          queueMicrotask(() => order.kept?.put(connection));
        }
      },
      onResponseError(_controller, error) {
        // An order that cannot be put on the wire is our doing.
        if (error instanceof errors.InvalidArgumentError && !settled) breakDown(error);
        else {
          const result = error instanceof DialError ? error.result : classify(error, 'protocol');
          const isStale = isUsedAgain && connection.meter.bytes === 0 && 'cause' in result && result.cause === 'reset';
          fail(isStale ? STALE : result);
        }
      },
    },
  );
  return promise;
}

/** `Retry-After` in milliseconds, 0 to 24 h (C18); undefined when there is none or it is malformed. */
function parseRetryAfter(header: string | string[] | undefined, now: number): number | undefined {
  const text = (Array.isArray(header) ? header[0] : header)?.trim();
  if (text === undefined) return undefined;
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1_000 : parseHttpDate(text) - now;
  return Number.isNaN(waitMs) ? undefined : Math.min(Math.max(waitMs, 0), MAX_RETRY_AFTER_MS);
}

/** The three forms of RFC 9110, 5.6.7; NaN for anything else, since `Date.parse` takes nearly everything. */
function parseHttpDate(text: string): number {
  if (/^\w{3}, \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(text)) return Date.parse(text);
  if (/^\w{6,9}, \d{2}-\w{3}-\d{2} \d{2}:\d{2}:\d{2} GMT$/.test(text)) return Date.parse(text);
  if (/^\w{3} \w{3} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/.test(text)) return Date.parse(`${text} GMT`);
  return Number.NaN;
}
