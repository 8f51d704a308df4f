import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { Client, errors } from 'undici';
import type { Clock } from '../clock.ts';
import { type CheckedAddress, explain, type Guard } from './guard.ts';

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
};

/** What a target did wrong: a failure (C17). */
export type Cause = 'timeout' | 'refused' | 'reset' | 'tls' | 'no_such_name' | 'forbidden' | 'protocol';

/** What was missing here: no failure of the target (C19). `broken` is for who catches an attempt that rejected. */
export type Fault =
  | 'no_file_handle'
  | 'no_local_port'
  | 'no_route'
  | 'no_resolver'
  | 'no_memory'
  | 'stopped'
  | 'broken';

type Failed = { kind: 'failed'; cause: Cause; note?: string };
type Ours = { kind: 'ours'; fault: Fault; note?: string };
type Answered = { kind: 'answered'; status: number; retryAfterMs?: number };
type Result = Answered | Failed | Ours;

/**
 * How an attempt went. `ms` is what it took; `retryAfterMs` (0 to 24 h) is the target's `Retry-After`; `note` may name
 * addresses and is for the operator's log alone.
 */
export type Outcome = Result & { ms: number; note?: string };

/** One POST, one outcome. Rejects only where the service itself is at fault. */
export type Attempt = (order: Order) => Promise<Outcome>;

/** Names get less than the whole deadline, so that a silent resolver is told from a slow target. */
const LONGEST_DNS_MS = 5_000;

/** A name with a thousand addresses makes no port scanner of us. */
const MOST_DIALLED = 6;

const LARGEST_HEAD_BYTES = 16 * 1_024;
const LARGEST_BODY_BYTES = 16 * 1_024;
/** All that is read of a connection, whatever it is. */
const LARGEST_ANSWER_BYTES = 64 * 1_024;
/** undici reads a part to its end, and that slowly, although it has found its head to be too large. */
const PART_BYTES = 2_048;
const HEAD_END = '\r\n\r\n';
/** The start of an interim answer, and one that stands for as much of it as is not here yet. */
const INTERIM = /^HTTP\/1\.1 1(?!01)\d\d[ \r]/;
const CONTINUED = 'HTTP/1.1 100 ';
const LONGEST_BODY_MS = 1_000;
const LONGEST_RETRY_AFTER_MS = 24 * 60 * 60 * 1_000;

const FAULTS: Readonly<Record<string, Fault>> = {
  EMFILE: 'no_file_handle',
  ENFILE: 'no_file_handle',
  EADDRNOTAVAIL: 'no_local_port',
  ENETUNREACH: 'no_route',
  ENETDOWN: 'no_route',
  EHOSTUNREACH: 'no_route',
  EHOSTDOWN: 'no_route',
  EAFNOSUPPORT: 'no_route',
  EPERM: 'no_route',
  EACCES: 'no_route',
  ENOBUFS: 'no_memory',
  ENOMEM: 'no_memory',
};

const CAUSES: Readonly<Record<string, Cause>> = {
  ECONNREFUSED: 'refused',
  ECONNRESET: 'reset',
  ECONNABORTED: 'reset',
  EPIPE: 'reset',
  ETIMEDOUT: 'timeout',
  EPROTO: 'tls',
};

/** Carries an outcome out of the connector. */
class Unreached extends Error {
  readonly result: Failed | Ours;

  constructor(result: Failed | Ours) {
    super(result.note ?? 'The target was not reached.');
    this.result = result;
  }
}

/**
 * The only way out of this service. Each attempt has a connection of its own, dialled to an address that the guard has
 * just judged: nothing is shared between hooks, and no stale connection is held against a target. `ca` replaces the
 * trusted certificate authorities.
 */
export function createAttempt({
  guard,
  userAgent,
  clock,
  ca,
}: {
  guard: Guard;
  userAgent: string;
  clock: Clock;
  ca?: string;
}): Attempt {
  return async (order) => {
    const startedAt = clock.monotonic();
    const elapsedMs = () => clock.monotonic() - startedAt;
    const leftMs = () => Math.max(0, order.deadlineMs - elapsedMs());
    if (order.signal.aborted) return { kind: 'ours', fault: 'stopped', ms: 0 };

    const url = new URL(order.target);
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
    const ended = new AbortController();
    let stage: 'idle' | 'resolving' | 'dialling' = 'idle';
    let settled = false;
    let bodyBytes = 0;

    const settle = (result: Result) => {
      settled = true;
      cancelTimer();
      resolve({ ...result, ms: Math.round(elapsedMs()) });
    };
    const fail = (result: Failed | Ours) => {
      if (!settled) settle(result);
      end();
    };
    const breakDown = (error: unknown) => {
      reject(error);
      end();
    };
    const end = () => {
      settled = true;
      cancelTimer();
      order.signal.removeEventListener('abort', onAbort);
      ended.abort();
      client.destroy(null, () => {});
    };
    const onAbort = () => fail({ kind: 'ours', fault: 'stopped' });
    const onDeadline = () => {
      if (stage === 'resolving') fail({ kind: 'ours', fault: 'no_resolver' });
      else fail({ kind: 'failed', cause: 'timeout' });
    };

    const reach = async (): Promise<Socket> => {
      // undici dials again when a connection breaks before the request is on it; we resolve and dial once.
      if (stage !== 'idle') throw new Unreached({ kind: 'failed', cause: 'reset', note: 'broke before the request' });
      stage = 'resolving';
      const addresses = await judged(guard, url, Math.min(LONGEST_DNS_MS, order.deadlineMs / 2));
      ended.signal.throwIfAborted();
      stage = 'dialling';
      const socket = await dial(url, addresses, { clock, leftMs, ended: ended.signal, ca });
      meter(socket, () => fail({ kind: 'failed', cause: 'protocol', note: 'too much was said' }));
      return socket;
    };

    const client = new Client(url.origin, {
      connect: (_options, callback) => {
        reach()
          .then(
            (socket) => callback(null, socket),
            (error: Error) => {
              if (error instanceof Unreached) fail(error.result);
              else if (!settled) breakDown(error);
              callback(error, null);
            },
          )
          .catch(breakDown);
      },
      allowH2: false,
      maxHeaderSize: LARGEST_HEAD_BYTES,
      // The one deadline is ours; undici's timers are coarse.
      headersTimeout: 0,
      bodyTimeout: 0,
    });

    let cancelTimer = clock.after(order.deadlineMs, onDeadline);
    order.signal.addEventListener('abort', onAbort);

    client.dispatch(
      {
        method: 'POST',
        path: `${url.pathname}${url.search}`,
        headers: [
          ...['content-type', 'application/json', 'user-agent', userAgent, 'webhook-id', order.deliveryId],
          ...(order.signature ?? []),
        ],
        body: order.body,
        reset: true,
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
          settle({ kind: 'answered', status, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });
          // C21: the body is let in for a moment, so that the target can finish in peace; none of it is kept.
          cancelTimer = clock.after(Math.min(LONGEST_BODY_MS, leftMs()), end);
        },
        onResponseData(_controller, chunk) {
          bodyBytes += chunk.length;
          if (bodyBytes >= LARGEST_BODY_BYTES) end();
        },
        onResponseEnd: end,
        onResponseError(_controller, error) {
          // An order that cannot be put on the wire is our doing.
          if (error instanceof errors.InvalidArgumentError && !settled) breakDown(error);
          else fail(classify(error, 'protocol'));
        },
      },
    );
    return promise;
  };
}

/** The addresses that may be dialled; throws `Unreached` where there are none. */
async function judged(guard: Guard, url: URL, dnsTimeoutMs: number): Promise<readonly CheckedAddress[]> {
  const verdict = await guard.judge(url, dnsTimeoutMs);
  if ('failure' in verdict) {
    if (verdict.failure === 'resolver_silent') throw new Unreached({ kind: 'ours', fault: 'no_resolver' });
    throw new Unreached({ kind: 'failed', cause: 'no_such_name' });
  }
  if (!verdict.allowed) throw new Unreached({ kind: 'failed', cause: 'forbidden', note: explain(verdict) });
  return verdict.addresses;
}

type Dialling = { clock: Clock; leftMs: () => number; ended: AbortSignal; ca: string | undefined };

/** Connects to the first address that takes the connection; each may use its share of the time that is left. */
async function dial(url: URL, addresses: readonly CheckedAddress[], dialling: Dialling): Promise<Socket> {
  const turns = alternateFamilies(addresses).slice(0, MOST_DIALLED);
  const results: (Failed | Ours)[] = [];
  for (const [index, { address }] of turns.entries()) {
    const limitMs = dialling.leftMs() / (turns.length - index);
    const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
    const socket = connectTcp({ host: address, port, noDelay: true, autoSelectFamily: false });
    try {
      await opened(socket, 'connect', limitMs, dialling);
    } catch (error) {
      dialling.ended.throwIfAborted();
      const result = classify(error, 'refused');
      results.push(result);
      // Out of handles or memory: the next address would have fared no better.
      if (result.kind === 'ours' && result.fault !== 'no_route' && result.fault !== 'no_local_port') break;
      continue;
    }
    return url.protocol === 'https:' ? await secured(socket, url, dialling) : socket;
  }
  throw new Unreached(weightiest(results));
}

/** What several addresses come to: our shortage, else what a target did, else that none could be tried (C19). */
function weightiest(results: readonly (Failed | Ours)[]): Failed | Ours {
  const unreachable = (result: Failed | Ours) =>
    result.kind === 'ours' && (result.fault === 'no_route' || result.fault === 'no_local_port');
  const weighty =
    results.find((result) => result.kind === 'ours' && !unreachable(result)) ??
    results.find((result) => result.kind === 'failed') ??
    results[0];
  return weighty ?? { kind: 'failed', cause: 'timeout' };
}

/** So that a machine with one family alone does not spend every turn on the other. */
function alternateFamilies(addresses: readonly CheckedAddress[]): CheckedAddress[] {
  const first = addresses.filter(({ family }) => family === addresses[0]?.family);
  const others = addresses.filter(({ family }) => family !== addresses[0]?.family);
  const rounds = Array.from({ length: Math.max(first.length, others.length) }, (_, round) => round);
  return rounds.flatMap((round) => [...first.slice(round, round + 1), ...others.slice(round, round + 1)]);
}

/** TLS over the dialled connection: the certificate has to be for the host of the URL, not for the address. */
async function secured(socket: Socket, url: URL, dialling: Dialling): Promise<Socket> {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  const secure = connectTls({
    socket,
    host,
    // RFC 6066, 3: an address is no server name.
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: true,
    ...(dialling.ca === undefined ? {} : { ca: dialling.ca }),
  });
  try {
    await opened(secure, 'secureConnect', dialling.leftMs(), dialling);
  } catch (error) {
    throw new Unreached(classify(error, 'tls'));
  }
  return secure;
}

/** Waits until the socket is open; a socket that is not open in time, or not wanted any more, is destroyed. */
function opened(
  socket: Socket,
  event: 'connect' | 'secureConnect',
  limitMs: number,
  { clock, ended }: Dialling,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const giveUp = (code: string) => socket.destroy(Object.assign(new Error(`${event} ${code}`), { code }));
  const cancelTimer = clock.after(limitMs, () => giveUp('ETIMEDOUT'));
  socket.once(event, resolve);
  // For the socket's whole life: an error that nobody waits for any more must not surface.
  socket.on('error', reject);
  socket.once('close', () => reject(Object.assign(new Error(`${event} closed`), { code: 'ECONNRESET' })));
  ended.addEventListener('abort', () => socket.destroy(), { once: true });
  return promise.finally(cancelTimer);
}

/** Says of an error whose doing it was; `otherwise` is what an error without a known code stands for. */
function classify(error: unknown, otherwise: Cause): Failed | Ours {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const note = error instanceof Error ? error.message : String(error);
  const fault = FAULTS[code];
  if (fault !== undefined) return { kind: 'ours', fault, note };
  return { kind: 'failed', cause: CAUSES[code] ?? causeOf(error, code) ?? otherwise, note };
}

function causeOf(error: unknown, code: string): Cause | undefined {
  if (code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_')) return 'tls';
  // undici's words for a connection that was closed; its other socket errors are about what was said on it.
  const closed = error instanceof errors.SocketError && /closed|destroyed/.test(error.message);
  return closed ? 'reset' : undefined;
}

/**
 * Meters what undici reads, and takes interim answers out of it: it breaks the connection at a `100 Continue` (8.12),
 * although a client has to pass over every one, asked for or not (RFC 9110, 15.2), and some servers send it before each
 * answer to a POST. `101` stays: who answers it goes on in another protocol. Without the meter a flood of what nothing
 * counts, such as interim answers, would be read as fast as it comes, and leave no time for any other target (C22).
 */
function meter(socket: Socket, tooMuch: () => void): void {
  const read = socket.read;
  let held: Buffer = Buffer.alloc(0);
  let bytes = 0;
  let isFinal = false;

  const isMore = (): boolean => {
    if (bytes >= LARGEST_ANSWER_BYTES) tooMuch();
    const chunk: Buffer | null = socket.destroyed ? null : read.call(socket);
    if (chunk === null) return false;
    bytes += chunk.length;
    held = Buffer.concat([held, chunk]);
    return true;
  };
  const isInterim = () => {
    const start = held.toString('latin1', 0, CONTINUED.length);
    return INTERIM.test(start + CONTINUED.slice(start.length));
  };
  const dropInterim = () => {
    let end = held.indexOf(HEAD_END);
    while (isInterim() && end >= 0 && end < LARGEST_HEAD_BYTES) {
      held = held.subarray(end + HEAD_END.length);
      end = held.indexOf(HEAD_END);
    }
    isFinal = !isInterim() || held.length >= LARGEST_HEAD_BYTES;
  };
  socket.read = (): Buffer | null => {
    while (!isFinal) {
      if (!isMore()) return null;
      dropInterim();
    }
    if (held.length === 0 && !isMore()) return null;
    const part = held.subarray(0, PART_BYTES);
    held = held.subarray(PART_BYTES);
    return socket.destroyed ? null : part;
  };
}

/** `Retry-After` in milliseconds, 0 to 24 h (C18); undefined when there is none or it is malformed. */
function parseRetryAfter(header: string | string[] | undefined, now: number): number | undefined {
  const text = (Array.isArray(header) ? header[0] : header)?.trim();
  if (text === undefined) return undefined;
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1_000 : parseHttpDate(text) - now;
  return Number.isNaN(waitMs) ? undefined : Math.min(Math.max(waitMs, 0), LONGEST_RETRY_AFTER_MS);
}

/** The three forms of RFC 9110, 5.6.7; NaN for anything else, since `Date.parse` takes nearly everything. */
function parseHttpDate(text: string): number {
  if (/^\w{3}, \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(text)) return Date.parse(text);
  if (/^\w{6,9}, \d{2}-\w{3}-\d{2} \d{2}:\d{2}:\d{2} GMT$/.test(text)) return Date.parse(text);
  if (/^\w{3} \w{3} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/.test(text)) return Date.parse(`${text} GMT`);
  return Number.NaN;
}
