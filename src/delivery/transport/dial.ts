import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { errors } from 'undici';
import type { Clock } from '../../clock.ts';
import type { Failed, FailureCode, LocalError, LocalErrorCode } from '../dispatcher/attempt-outcome.ts';
import { startDeadline } from './deadline.ts';
import { type CheckedAddress, explain, type SsrfGuard } from './ssrf-guard.ts';

/** A name with a thousand addresses makes no port scanner of us. */
const MAX_DIALED_ADDRESSES = 6;

const LOCAL_ERRORS: Readonly<Record<string, LocalErrorCode>> = {
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

const FAILURE_CODES: Readonly<Record<string, FailureCode>> = {
  ECONNREFUSED: 'refused',
  ECONNRESET: 'reset',
  ECONNABORTED: 'reset',
  EPIPE: 'reset',
  ETIMEDOUT: 'timeout',
  EPROTO: 'tls',
};

/** Carries an outcome out of the connector. */
export class DialError extends Error {
  readonly result: Failed | LocalError;

  constructor(result: Failed | LocalError) {
    super(result.note ?? 'The target was not reached.');
    this.result = result;
  }
}

/** The addresses that may be dialled; throws `Unreached` where there are none. */
export async function asDialError(
  guard: SsrfGuard,
  url: URL,
  dnsTimeoutMs: number,
): Promise<readonly CheckedAddress[]> {
  const check = await guard.check(url, dnsTimeoutMs);
  if ('failure' in check) {
    if (check.failure === 'resolver_silent') throw new DialError({ kind: 'ours', fault: 'no_resolver' });
    throw new DialError({ kind: 'failed', cause: 'no_such_name' });
  }
  if (!check.allowed) throw new DialError({ kind: 'failed', cause: 'forbidden', note: explain(check) });
  return check.addresses;
}

type DialOptions = { clock: Clock; leftMs: () => number; ended: AbortSignal; ca: string | undefined };

/** Connects to the first address that takes the connection; each may use its share of the time that is left. */
export async function dial(url: URL, addresses: readonly CheckedAddress[], dialling: DialOptions): Promise<Socket> {
  const turns = alternateFamilies(addresses).slice(0, MAX_DIALED_ADDRESSES);
  const results: (Failed | LocalError)[] = [];
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
  throw new DialError(mostSignificant(results));
}

/** What several addresses come to: our shortage, else what a target did, else that none could be tried (C19). */
function mostSignificant(results: readonly (Failed | LocalError)[]): Failed | LocalError {
  const unreachable = (result: Failed | LocalError) =>
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
async function secured(socket: Socket, url: URL, dialling: DialOptions): Promise<Socket> {
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
    throw new DialError(classify(error, 'tls'));
  }
  return secure;
}

/** Waits until the socket is open; a socket that is not open in time, or not wanted any more, is destroyed. */
function opened(
  socket: Socket,
  event: 'connect' | 'secureConnect',
  limitMs: number,
  { clock, ended }: DialOptions,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const giveUp = (code: string) => socket.destroy(Object.assign(new Error(`${event} ${code}`), { code }));
  const cancelTimer = startDeadline(clock, limitMs, () => giveUp('ETIMEDOUT'));
  socket.once(event, resolve);
  // For the socket's whole life: an error that nobody waits for any more must not surface.
  socket.on('error', reject);
  socket.once('close', () => reject(Object.assign(new Error(`${event} closed`), { code: 'ECONNRESET' })));
  ended.addEventListener('abort', () => socket.destroy(), { once: true });
  return promise.finally(cancelTimer);
}

/** Says of an error whose doing it was; `otherwise` is what an error without a known code stands for. */
export function classify(error: unknown, otherwise: FailureCode): Failed | LocalError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const note = error instanceof Error ? error.message : String(error);
  const fault = LOCAL_ERRORS[code];
  if (fault !== undefined) return { kind: 'ours', fault, note };
  return { kind: 'failed', cause: FAILURE_CODES[code] ?? causeOf(error, code) ?? otherwise, note };
}

function causeOf(error: unknown, code: string): FailureCode | undefined {
  if (code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_')) return 'tls';
  // undici's words for a connection that was closed; its other socket errors are about what was said on it.
  const closed = error instanceof errors.SocketError && /closed|destroyed/.test(error.message);
  return closed ? 'reset' : undefined;
}
