import type { Authenticate } from './auth.ts';
import { CarillonError, problemFrom } from './errors.ts';

/** What may be said about any single call, as its last argument. */
export type CallOptions = {
  /** Aborts the call; it then rejects with the signal's own reason. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds for the whole call, from name lookup to the last byte; 0 waits without limit. */
  readonly timeoutMs?: number | undefined;
  /**
   * For what is created or asked for (POST): a word of your own for this call, 1 to 255 visible ASCII characters, new
   * for each. Repeated with it within 24 hours, the call is made once and answered as the first time. Errors:
   * `idempotency_in_progress`, and `idempotency_mismatch` when the word was used for another call. X4.
   */
  readonly idempotencyKey?: string | undefined;
};

/** The value of one query parameter; `undefined` leaves it out. */
export type QueryValue = string | number | undefined;

/** One request. `path` is given in segments below the base path; each is encoded. */
export type Call = CallOptions & {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: readonly (string | number)[];
  readonly query?: Readonly<Record<string, QueryValue>> | undefined;
  /** Sent as JSON; absent: no body and no Content-Type. */
  readonly body?: unknown;
};

/** A 2xx answer; `body` is parsed JSON, `undefined` when empty. */
export type Answer = { readonly status: number; readonly headers: Headers; readonly body: unknown };

/** Makes one request. Nouns know only this, so that what wraps every call wraps a `Send`. */
export type Send = (call: Call) => Promise<Answer>;

/**
 * Makes one request whose answer is a stream of server-sent events: resolves with its bytes as soon as the service has
 * agreed. `timeoutMs` does not hold here; only `signal` ends a stream.
 */
export type Open = (call: Call) => Promise<ReadableStream<Uint8Array>>;

/** The part of `fetch` that is used: an address as text, and a request to make there. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** What a transport needs to know. */
export type TransportOptions = {
  /** Beginning of every address, without a slash at its end. */
  readonly root: string;
  readonly auth: Authenticate;
  readonly fetch: Fetch;
  /** Milliseconds for a call that says nothing else; 0 waits without limit. */
  readonly timeoutMs: number;
};

/**
 * Makes requests below `root`. No redirect is ever followed: the key would go with it.
 *
 * The `Send` rejects with a {@link CarillonError}, with the reason of the caller's signal, or with a TypeError for
 * a path segment that would change the path.
 */
export function transport(options: TransportOptions): Send {
  return (call) => {
    const timeout = timeoutSignal(call.timeoutMs ?? options.timeoutMs);
    return exchange(options, call, 'application/json', timeout, async (response) =>
      read(response, await response.text()),
    );
  };
}

/** The same for streams; the `Open` rejects as the `Send` does, until there is a stream. */
export function streaming(options: TransportOptions): Open {
  return (call) => exchange(options, call, EVENT_STREAM, undefined, opened);
}

const EVENT_STREAM = 'text/event-stream';

async function exchange<T>(
  options: TransportOptions,
  call: Call,
  accept: string,
  timeout: AbortSignal | undefined,
  take: (response: Response) => Promise<T>,
): Promise<T> {
  const url = addressOf(options.root, call);
  const init = requestOf(call, options.auth, accept, timeout);
  try {
    return await take(await options.fetch(url, init));
  } catch (error) {
    if (error instanceof CarillonError) throw error;
    if (call.signal?.aborted) throw call.signal.reason;
    const what = `${call.method} ${url}`;
    if (timeout?.aborted) {
      throw new CarillonError({ code: 'timeout', status: 0, message: `${what}: no answer in time`, cause: error });
    }
    const message = `${what}: ${reasonOf(error)}`;
    throw new CarillonError({ code: 'connection', status: 0, message, cause: error });
  }
}

async function opened(response: Response): Promise<ReadableStream<Uint8Array>> {
  const { status, headers, body } = response;
  if (response.ok && headers.get('content-type')?.startsWith(EVENT_STREAM) && body !== null) return body;
  read(response, await response.text());
  throw unexpected(status, `The answer is ${status} and no stream of events.`);
}

function addressOf(root: string, call: Call): string {
  const path = call.path.map((segment) => `/${encodeSegment(segment)}`).join('');
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(call.query ?? {})) {
    if (value !== undefined) query.set(name, String(value));
  }
  const search = query.toString();
  return search === '' ? root + path : `${root}${path}?${search}`;
}

/** An empty or dotted segment would address something else: `delete('')` must not reach the list. */
function encodeSegment(segment: string | number): string {
  const text = String(segment);
  if (text === '' || text === '.' || text === '..') throw new TypeError(`${JSON.stringify(text)} is no id.`);
  return encodeURIComponent(text);
}

function timeoutSignal(timeoutMs: number): AbortSignal | undefined {
  return timeoutMs === 0 ? undefined : AbortSignal.timeout(timeoutMs);
}

function requestOf(call: Call, auth: Authenticate, accept: string, timeout: AbortSignal | undefined): RequestInit {
  const { headers, ...rest } = auth();
  const signals = [call.signal, timeout].filter((signal) => signal !== undefined);
  const hasBody = call.body !== undefined;
  return {
    ...rest,
    method: call.method,
    redirect: 'error',
    headers: {
      accept,
      ...(hasBody && { 'content-type': 'application/json' }),
      ...(call.idempotencyKey !== undefined && { 'idempotency-key': call.idempotencyKey }),
      ...headers,
    },
    ...(hasBody && { body: JSON.stringify(call.body) }),
    ...(signals.length > 0 && { signal: AbortSignal.any(signals) }),
  };
}

function read(response: Response, text: string): Answer {
  const { status, headers } = response;
  const mediaType = headers.get('content-type') ?? 'no media type';
  if (!response.ok && !mediaType.startsWith('application/problem+json')) {
    // A gateway's page, or another service's 404: it says nothing about our records.
    throw unexpected(status, `The answer is ${status} (${mediaType}) and no problem document.`);
  }
  const body = parse(status, text);
  if (!response.ok) throw problemFrom(status, body, headers.get('retry-after'));
  return { status, headers, body };
}

function parse(status: number, text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw unexpected(status, `The answer is ${status} and its body is not JSON.`, error);
  }
}

/** An answer that is not what this interface gives. */
export function unexpected(status: number, message: string, cause?: unknown): CarillonError {
  return new CarillonError({ code: 'unexpected_answer', status, message, ...(cause !== undefined && { cause }) });
}

/** `fetch failed` says nothing; what failed stands in the cause, at times only as its code. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  if (cause.message !== '') return cause.message;
  return 'code' in cause ? String(cause.code) : error.message;
}
