import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { errors } from 'undici';
import type { Clock } from '../../clock.ts';
import type { FailureCode, LocalError, LocalErrorCode, TargetFailure } from '../dispatcher/attempt-outcome.ts';
import { startDeadline } from './deadline.ts';
import { type CheckedAddress, explainForbiddenTarget, type SsrfGuard } from './ssrf-guard.ts';

/**
 * Maximum number of addresses dialled per attempt: a name with a thousand addresses must not turn this service into a
 * port scanner.
 */
const MAX_DIALED_ADDRESSES = 6;

const LOCAL_ERRORS_BY_ERRNO: Readonly<Record<string, LocalErrorCode>> = {
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

const FAILURES_BY_ERRNO: Readonly<Record<string, FailureCode>> = {
  ECONNREFUSED: 'refused',
  ECONNRESET: 'reset',
  ECONNABORTED: 'reset',
  EPIPE: 'reset',
  ETIMEDOUT: 'timeout',
  EPROTO: 'tls',
};

/** Thrown while connecting; `result` is the outcome of the attempt. */
export class DialError extends Error {
  readonly result: TargetFailure | LocalError;

  constructor(result: TargetFailure | LocalError) {
    super(result.note ?? 'The target was not reached.');
    this.result = result;
  }
}

/** Resolves and checks the target; returns the addresses that may be dialled. Throws `DialError` if there are none. */
export async function resolveAndCheckTarget(
  guard: SsrfGuard,
  url: URL,
  dnsTimeoutMs: number,
): Promise<readonly CheckedAddress[]> {
  const check = await guard.check(url, dnsTimeoutMs);
  if ('failure' in check) {
    if (check.failure === 'resolver_silent') throw new DialError({ kind: 'local_error', code: 'no_resolver' });
    throw new DialError({ kind: 'failed', cause: 'no_such_name' });
  }
  if (!check.allowed) throw new DialError({ kind: 'failed', cause: 'forbidden', note: explainForbiddenTarget(check) });
  return check.addresses;
}

type DialOptions = { clock: Clock; leftMs: () => number; ended: AbortSignal; ca: string | undefined };

/** Connects to the first address that accepts a connection. The time left is divided among the remaining addresses. */
export async function dial(url: URL, addresses: readonly CheckedAddress[], options: DialOptions): Promise<Socket> {
  const candidates = alternateFamilies(addresses).slice(0, MAX_DIALED_ADDRESSES);
  const results: (TargetFailure | LocalError)[] = [];
  for (const [index, { address }] of candidates.entries()) {
    const limitMs = options.leftMs() / (candidates.length - index);
    const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
    const socket = connectTcp({ host: address, port, noDelay: true, autoSelectFamily: false });
    try {
      await waitUntilOpen(socket, 'connect', limitMs, options);
    } catch (error) {
      options.ended.throwIfAborted();
      const result = classifyConnectionError(error, 'refused');
      results.push(result);
      // Without file handles or memory, the next address would fail as well.
      if (result.kind === 'local_error' && result.code !== 'no_route' && result.code !== 'no_local_port') break;
      continue;
    }
    return url.protocol === 'https:' ? await startTls(socket, url, options) : socket;
  }
  throw new DialError(mostSignificantResult(results));
}

/**
 * Returns the most significant result if all addresses failed: a local shortage first, then a failure of the target,
 * then a missing route (C19).
 */
function mostSignificantResult(results: readonly (TargetFailure | LocalError)[]): TargetFailure | LocalError {
  const unreachable = (result: TargetFailure | LocalError) =>
    result.kind === 'local_error' && (result.code === 'no_route' || result.code === 'no_local_port');
  const significant =
    results.find((result) => result.kind === 'local_error' && !unreachable(result)) ??
    results.find((result) => result.kind === 'failed') ??
    results[0];
  return significant ?? { kind: 'failed', cause: 'timeout' };
}

/** Alternates IPv4 and IPv6, so that a machine with only one family does not use all tries for the other family. */
function alternateFamilies(addresses: readonly CheckedAddress[]): CheckedAddress[] {
  const first = addresses.filter(({ family }) => family === addresses[0]?.family);
  const others = addresses.filter(({ family }) => family !== addresses[0]?.family);
  const rounds = Array.from({ length: Math.max(first.length, others.length) }, (_, round) => round);
  return rounds.flatMap((round) => [...first.slice(round, round + 1), ...others.slice(round, round + 1)]);
}

/** Starts TLS on the connected socket. The certificate must match the host of the URL, not the address. */
async function startTls(socket: Socket, url: URL, options: DialOptions): Promise<Socket> {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  const secure = connectTls({
    socket,
    host,
    // RFC 6066, 3: SNI must not contain an IP address.
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: true,
    ...(options.ca === undefined ? {} : { ca: options.ca }),
  });
  try {
    await waitUntilOpen(secure, 'secureConnect', options.leftMs(), options);
  } catch (error) {
    throw new DialError(classifyConnectionError(error, 'tls'));
  }
  return secure;
}

/** Resolves when the socket is open; destroys it at the deadline or when the attempt is aborted. */
function waitUntilOpen(
  socket: Socket,
  event: 'connect' | 'secureConnect',
  limitMs: number,
  { clock, ended }: DialOptions,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const giveUp = (code: string) => socket.destroy(Object.assign(new Error(`${event} ${code}`), { code }));
  const cancelTimer = startDeadline(clock, limitMs, () => giveUp('ETIMEDOUT'));
  socket.once(event, resolve);
  // This listener stays registered: a later error without a listener would crash the process.
  socket.on('error', reject);
  socket.once('close', () => reject(Object.assign(new Error(`${event} closed`), { code: 'ECONNRESET' })));
  ended.addEventListener('abort', () => socket.destroy(), { once: true });
  return promise.finally(cancelTimer);
}

/** Maps a connection error to a local error or a failure of the target; `otherwise` is used for unknown codes. */
export function classifyConnectionError(error: unknown, otherwise: FailureCode): TargetFailure | LocalError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const note = error instanceof Error ? error.message : String(error);
  const localError = LOCAL_ERRORS_BY_ERRNO[code];
  if (localError !== undefined) return { kind: 'local_error', code: localError, note };
  return { kind: 'failed', cause: FAILURES_BY_ERRNO[code] ?? failureCodeOf(error, code) ?? otherwise, note };
}

function failureCodeOf(error: unknown, code: string): FailureCode | undefined {
  if (code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_')) return 'tls';
  // The message of undici shows a closed connection. Its other socket errors concern the content of the response.
  const closed = error instanceof errors.SocketError && /closed|destroyed/.test(error.message);
  return closed ? 'reset' : undefined;
}
