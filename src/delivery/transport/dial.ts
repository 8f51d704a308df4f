import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { errors } from 'undici';
import { type Clock, startDeadline } from '../../clock.ts';
import type { FailureCode, LocalError, LocalErrorCode, TargetFailure } from '../dispatcher/retry-policy.ts';
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

/** The error of a failed connection; `result` is the result of the attempt. */
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
  const targetCheck = await guard.checkTarget(url, dnsTimeoutMs);
  if ('failure' in targetCheck) {
    if (targetCheck.failure === 'resolver_silent') throw new DialError({ kind: 'local_error', code: 'no_resolver' });
    throw new DialError({ kind: 'failed', cause: 'no_such_name' });
  }
  if (!targetCheck.allowed)
    throw new DialError({ kind: 'failed', cause: 'forbidden', note: explainForbiddenTarget(targetCheck) });
  return targetCheck.addresses;
}

type DialOptions = { clock: Clock; getRemainingMs: () => number; abortSignal: AbortSignal; ca: string | undefined };

/** Connects to the first address that accepts. Each address gets an equal part of the time that remains for all. */
export async function dial(url: URL, addresses: readonly CheckedAddress[], options: DialOptions): Promise<Socket> {
  const candidateAddresses = alternateIpFamilies(addresses).slice(0, MAX_DIALED_ADDRESSES);
  const failedResults: (TargetFailure | LocalError)[] = [];
  for (const [index, { address }] of candidateAddresses.entries()) {
    const timeoutMs = options.getRemainingMs() / (candidateAddresses.length - index);
    const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
    const socket = connectTcp({ host: address, port, noDelay: true, autoSelectFamily: false });
    try {
      await waitUntilOpen(socket, 'connect', timeoutMs, options);
    } catch (error) {
      options.abortSignal.throwIfAborted();
      const result = classifyConnectionError(error, 'refused');
      failedResults.push(result);
      // Without file handles or memory, the next address would fail as well.
      if (result.kind === 'local_error' && result.code !== 'no_route' && result.code !== 'no_local_port') break;
      continue;
    }
    return url.protocol === 'https:' ? await startTls(socket, url, options) : socket;
  }
  throw new DialError(pickMostSignificantResult(failedResults));
}

/**
 * Returns the most significant result if all addresses failed: a local shortage first, then a failure of the target,
 * then a missing route (C19).
 */
function pickMostSignificantResult(results: readonly (TargetFailure | LocalError)[]): TargetFailure | LocalError {
  const isUnreachable = (result: TargetFailure | LocalError) =>
    result.kind === 'local_error' && (result.code === 'no_route' || result.code === 'no_local_port');
  const significantResult =
    results.find((result) => result.kind === 'local_error' && !isUnreachable(result)) ??
    results.find((result) => result.kind === 'failed') ??
    results[0];
  return significantResult ?? { kind: 'failed', cause: 'timeout' };
}

/** Alternates IPv4 and IPv6, so that a machine with only one family does not waste all dials on the other family. */
function alternateIpFamilies(addresses: readonly CheckedAddress[]): CheckedAddress[] {
  const firstFamily = addresses.filter(({ family }) => family === addresses[0]?.family);
  const otherFamily = addresses.filter(({ family }) => family !== addresses[0]?.family);
  const addressIndexes = Array.from({ length: Math.max(firstFamily.length, otherFamily.length) }, (_, round) => round);
  return addressIndexes.flatMap((round) => [
    ...firstFamily.slice(round, round + 1),
    ...otherFamily.slice(round, round + 1),
  ]);
}

/** Starts TLS on the connected socket. The certificate must match the host of the URL, not the address. */
async function startTls(socket: Socket, url: URL, options: DialOptions): Promise<Socket> {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  const tlsSocket = connectTls({
    socket,
    host,
    // RFC 6066, 3: SNI must not contain an IP address.
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: true,
    ...(options.ca === undefined ? {} : { ca: options.ca }),
  });
  try {
    await waitUntilOpen(tlsSocket, 'secureConnect', options.getRemainingMs(), options);
  } catch (error) {
    throw new DialError(classifyConnectionError(error, 'tls'));
  }
  return tlsSocket;
}

/** Resolves when the socket is open; destroys it at the deadline or when the attempt is aborted. */
function waitUntilOpen(
  socket: Socket,
  openEvent: 'connect' | 'secureConnect',
  timeoutMs: number,
  { clock, abortSignal }: DialOptions,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const destroyWithCode = (code: string) => socket.destroy(Object.assign(new Error(`${openEvent} ${code}`), { code }));
  const cancelTimer = startDeadline(clock, timeoutMs, () => destroyWithCode('ETIMEDOUT'));
  socket.once(openEvent, resolve);
  // This listener stays registered: a later error without a listener would crash the process.
  socket.on('error', reject);
  socket.once('close', () => reject(Object.assign(new Error(`${openEvent} closed`), { code: 'ECONNRESET' })));
  abortSignal.addEventListener('abort', () => socket.destroy(), { once: true });
  return promise.finally(cancelTimer);
}

/** Maps a connection error to a local error or a failure of the target; `defaultCode` is used for unknown codes. */
export function classifyConnectionError(error: unknown, defaultCode: FailureCode): TargetFailure | LocalError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const note = error instanceof Error ? error.message : String(error);
  const localError = LOCAL_ERRORS_BY_ERRNO[code];
  if (localError !== undefined) return { kind: 'local_error', code: localError, note };
  return { kind: 'failed', cause: FAILURES_BY_ERRNO[code] ?? failureCodeOf(error, code) ?? defaultCode, note };
}

function failureCodeOf(error: unknown, code: string): FailureCode | undefined {
  if (code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_')) return 'tls';
  // undici reports a closed connection only in the message. Its other socket errors are about the response.
  const isClosed = error instanceof errors.SocketError && /closed|destroyed/.test(error.message);
  return isClosed ? 'reset' : undefined;
}
