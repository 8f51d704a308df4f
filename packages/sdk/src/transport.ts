import { type Authenticate, headerValue } from './auth.ts';
import { CarillonError, problemFrom } from './errors.ts';

/** What may be said about any single call, as its last argument. */
export type CallOptions = {
  /** Aborts the call, also while it waits to be repeated; it then rejects with the signal's own reason. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds for the whole call with all its repeats, from name lookup to the last byte; 0 waits without limit. */
  readonly timeoutMs?: number | undefined;
  /** How often the call is repeated at most when it fails in a way that may pass; 0: never. */
  readonly retries?: number | undefined;
};

/** What may be said about a call that creates something or asks for it (POST). */
export type OnceOptions = CallOptions & {
  /**
   * A word of your own for this call, 1 to 255 visible ASCII characters, new for each, in place of one that is made up.
   * Repeated with it within 24 hours, also by another process, the call is made once and answered as the first time.
   * Errors: `idempotency_in_progress`, and `idempotency_mismatch` when the word was used for another call. X4.
   */
  readonly idempotencyKey?: string | undefined;
};

/** What may be said about a call that changes or deletes a single record. */
export type ChangeOptions = CallOptions & {
  /**
   * The tag that the record must still have, `etagOf(record)`: else nothing is done. Such a call is repeated only where
   * the service says that it has done nothing. Errors: `precondition_failed` when somebody else was faster. X5.
   */
  readonly ifMatch?: string | undefined;
};

/** The value of one query parameter; `undefined` leaves it out. */
export type QueryValue = string | number | undefined;

/** One request. `path` is given in segments below the base path; each is encoded. */
export type Call = OnceOptions &
  ChangeOptions & {
    readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
    readonly path: readonly (string | number)[];
    readonly query?: Readonly<Record<string, QueryValue>> | undefined;
    /** Sent as JSON; absent: no body and no Content-Type. */
    readonly body?: unknown;
    /** The tag that is known already: the answer is 304 while the record has it. X5. */
    readonly ifNoneMatch?: string | undefined;
  };

/** A 2xx answer, or 304; `body` is parsed JSON, `undefined` when empty. */
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
};

/**
 * Makes one request for each call, below `root`. No redirect is ever followed: the key would go with it.
 *
 * The `Send` rejects with a {@link CarillonError}, with the reason of the caller's signal, or with a TypeError for
 * a path segment that would change the path, and for what no header can carry.
 */
export function transport(options: TransportOptions): Send {
  return (call) => {
    const timeout = timeoutSignal(call.timeoutMs ?? 0);
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
    const response = await options.fetch(url, init);
    await refuseRedirect(response, `${call.method} ${url}`);
    return await take(response);
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

/** Whoever is led elsewhere has the wrong `baseUrl`; browsers do not say where to. */
async function refuseRedirect({ type, status, headers, body }: Response, what: string): Promise<void> {
  const isRedirect = type === 'opaqueredirect' || (status >= 300 && status < 400 && status !== 304);
  if (!isRedirect) return;
  await body?.cancel();
  const target = headers.get('location') ?? 'another address';
  throw unexpected(status, `${what}: no redirect is followed, this one leads to ${target}`);
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

/** What a timer can wait for at most; one that is asked for more waits for nothing. */
const MAX_TIMER_MS = 2 ** 31 - 1;

function timeoutSignal(timeoutMs: number): AbortSignal | undefined {
  return timeoutMs === 0 ? undefined : AbortSignal.timeout(Math.min(timeoutMs, MAX_TIMER_MS));
}

function requestOf(call: Call, auth: Authenticate, accept: string, timeout: AbortSignal | undefined): RequestInit {
  const { headers, ...rest } = auth();
  const signals = [call.signal, timeout].filter((signal) => signal !== undefined);
  const hasBody = call.body !== undefined;
  return {
    ...rest,
    method: call.method,
    redirect: 'manual',
    headers: {
      accept,
      ...(hasBody && { 'content-type': 'application/json' }),
      ...ownHeaders(call),
      ...headers,
    },
    ...(hasBody && { body: JSON.stringify(call.body) }),
    ...(signals.length > 0 && { signal: AbortSignal.any(signals) }),
  };
}

/** A header for each property of a call that becomes one. */
const headerNames = { idempotencyKey: 'idempotency-key', ifMatch: 'if-match', ifNoneMatch: 'if-none-match' } as const;

function ownHeaders(call: Call): Record<string, string> {
  const own: Record<string, string> = {};
  for (const name of Object.keys(headerNames) as (keyof typeof headerNames)[]) {
    const value = call[name];
    if (value !== undefined) own[headerNames[name]] = headerValue(name, value);
  }
  return own;
}

function read(response: Response, text: string): Answer {
  const { status, headers } = response;
  const isGood = response.ok || status === 304;
  const mediaType = headers.get('content-type') ?? 'no media type';
  if (!isGood && !mediaType.startsWith('application/problem+json')) {
    // A gateway's page, or another service's 404: it says nothing about our records.
    throw problemFrom(response, { message: `The answer is ${status} (${mediaType}) and no problem document.` });
  }
  const body = parse(status, text);
  if (!isGood) throw problemFrom(response, body);
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
