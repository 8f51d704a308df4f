import { CarillonError, createResponseError } from './errors.ts';
import { MAX_TIMER_MS } from './runtime.ts';

/** Headers and cookie mode that authentication adds to a request. */
export type Credentials = {
  /** Headers to add to the request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the browser sends cookies, as in `fetch`. */
  readonly credentials?: 'omit' | 'same-origin' | 'include';
};

/** Returns the credentials of a request. It is called before every request, so that the credentials can change. */
export type CredentialsProvider = () => Credentials;

const VISIBLE_ASCII = /^[\x21-\x7e]+$/;

/** Returns the value without surrounding white space. Throws a TypeError if it cannot be the value of a header. */
export function requireHeaderValue(name: string, value: string): string {
  // A key that was read from a file ends with a newline, and a key from the environment may be missing.
  const trimmedValue = typeof value === 'string' ? value.trim() : '';
  if (!VISIBLE_ASCII.test(trimmedValue))
    throw new TypeError(`The ${name} is empty or missing, or contains characters that a header cannot have.`);
  return trimmedValue;
}

/**
 * Authenticates with the headers `key` and `domain` (C1). Cookies are never sent.
 *
 * @param options.domain host name of the account, such as `acme.example`; case does not matter
 * @param options.key an API key of a user of that account
 * @throws TypeError if the domain or the key is not a valid header; the message never contains the value
 *
 * @example
 * ```ts
 * const auth = apiKey({ domain: 'acme.example', key });
 * const carillon = new Carillon({ baseUrl: 'https://calendar.example', auth });
 * ```
 */
export function apiKey(options: { readonly domain: string; readonly key: string }): CredentialsProvider {
  const headers = { domain: requireHeaderValue('domain', options.domain), key: requireHeaderValue('key', options.key) };
  // The closure hides the key when a client object is printed.
  return () => ({ headers, credentials: 'omit' });
}

/** Options of every call, given as its last argument. */
export type CallOptions = {
  /** Aborts the call, also between retries. The call then rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
  /** Timeout of the whole call including its retries, in milliseconds; 0 means no timeout. */
  readonly timeoutMs?: number | undefined;
  /** Maximum number of retries after a transient failure; 0 disables retries. */
  readonly retries?: number | undefined;
};

/** Options of a call that sends a POST. */
export type PostOptions = CallOptions & {
  /**
   * A unique key for this call, 1 to 255 visible ASCII characters, which replaces the generated one. If a call is
   * repeated with the same key within 24 hours, even by another process, the service executes it once and returns the
   * first response again. Errors: `idempotency_in_progress`, and `idempotency_mismatch` if the key was used for another
   * call (X4).
   */
  readonly idempotencyKey?: string | undefined;
};

/** Options of a call that changes or deletes a single record. */
export type ChangeOptions = CallOptions & {
  /**
   * The ETag that the record must have, as returned by `etagOf(record)`; otherwise nothing is changed. Such a call is
   * only retried if the service reports that it was not executed. Errors: `precondition_failed` if the record was
   * changed (X5).
   */
  readonly ifMatch?: string | undefined;
};

/**
 * The value of one query parameter. A parameter with the value `undefined` is not sent; a list is sent with commas.
 */
export type QueryValue = string | number | readonly string[] | undefined;

/** One request. The segments of `path` are appended to the base path, and each is encoded. */
export type ApiCall = PostOptions &
  ChangeOptions & {
    readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
    readonly path: readonly (string | number)[];
    readonly query?: Readonly<Record<string, QueryValue>> | undefined;
    /** The body, sent as JSON. If absent, neither a body nor a Content-Type is sent. */
    readonly body?: unknown;
    /** ETag of an earlier read. If the record still has this ETag, the response is 304 without a body (X5). */
    readonly ifNoneMatch?: string | undefined;
  };

/** A 2xx or 304 response. `body` is the parsed JSON; `undefined` for an empty body. */
export type ApiResponse = { readonly status: number; readonly headers: Headers; readonly body: unknown };

/** Sends one request. Resources depend only on this type, so that a wrapper can add retries. */
export type Send = (call: ApiCall) => Promise<ApiResponse>;

/**
 * Opens a stream of server-sent events. Resolves with the bytes of the stream as soon as the response headers have
 * arrived. `timeoutMs` does not apply; only `signal` ends a stream.
 */
export type OpenStream = (call: ApiCall) => Promise<ReadableStream<Uint8Array>>;

/** The subset of `fetch` that is used. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Options of a transport. */
export type TransportOptions = {
  /** Prefix of the URL of every request, without a trailing slash. */
  readonly apiRoot: string;
  readonly auth: CredentialsProvider;
  readonly fetch: Fetch;
};

/**
 * Creates a `Send` for requests below `apiRoot`. Redirects are never followed, because they would leak the key.
 *
 * The call rejects with a {@link CarillonError}, with the reason of the caller's signal, or with a TypeError for a path
 * segment that would change the path or an invalid header value.
 */
export function createTransport(options: TransportOptions): Send {
  return (call) => {
    const timeoutSignal = createTimeoutSignal(call.timeoutMs ?? 0);
    return sendRequest(options, call, 'application/json', timeoutSignal, async (response) =>
      parseResponse(response, await response.text()),
    );
  };
}

/** Creates an `OpenStream`. Until the stream is open, it rejects for the same reasons as a `Send`. */
export function createOpenStream(options: TransportOptions): OpenStream {
  return (call) => sendRequest(options, call, EVENT_STREAM_MEDIA_TYPE, undefined, readEventStream);
}

const EVENT_STREAM_MEDIA_TYPE = 'text/event-stream';

async function sendRequest<T>(
  options: TransportOptions,
  call: ApiCall,
  acceptHeader: string,
  timeoutSignal: AbortSignal | undefined,
  readResponse: (response: Response) => Promise<T>,
): Promise<T> {
  const url = buildRequestUrl(options.apiRoot, call);
  const init = createRequestInit(call, options.auth, acceptHeader, timeoutSignal);
  try {
    const response = await options.fetch(url, init);
    await rejectRedirect(response, `${call.method} ${url}`);
    return await readResponse(response);
  } catch (error) {
    if (error instanceof CarillonError) throw error;
    if (call.signal?.aborted) throw call.signal.reason;
    const requestLine = `${call.method} ${url}`;
    if (timeoutSignal?.aborted) {
      throw new CarillonError({ code: 'timeout', status: 0, message: `${requestLine}: timed out`, cause: error });
    }
    const message = `${requestLine}: ${describeFetchError(error)}`;
    throw new CarillonError({ code: 'connection', status: 0, message, cause: error });
  }
}

/** Throws for a redirect, which means that `baseUrl` is wrong. Browsers hide the target of the redirect. */
async function rejectRedirect({ type, status, headers, body }: Response, requestLine: string): Promise<void> {
  const isRedirect = type === 'opaqueredirect' || (status >= 300 && status < 400 && status !== 304);
  if (!isRedirect) return;
  await body?.cancel();
  const redirectTarget = headers.get('location') ?? 'another URL';
  throw createUnexpectedResponseError(
    status,
    `${requestLine}: redirects are not followed; the service redirects to ${redirectTarget}`,
  );
}

async function readEventStream(response: Response): Promise<ReadableStream<Uint8Array>> {
  const { status, headers, body } = response;
  if (response.ok && headers.get('content-type')?.startsWith(EVENT_STREAM_MEDIA_TYPE) && body !== null) return body;
  parseResponse(response, await response.text());
  throw createUnexpectedResponseError(status, `The response (${status}) is not a stream of events.`);
}

function buildRequestUrl(apiRoot: string, call: ApiCall): string {
  const path = call.path.map((segment) => `/${encodeSegment(segment)}`).join('');
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(call.query ?? {})) {
    if (value !== undefined) query.set(name, String(value));
  }
  const queryString = query.toString();
  return queryString === '' ? apiRoot + path : `${apiRoot}${path}?${queryString}`;
}

/**
 * Encodes a segment of a path. Rejects empty and dotted segments, which would change the path: `delete('')` must not
 * reach the list.
 */
function encodeSegment(segment: string | number): string {
  const segmentText = String(segment);
  if (segmentText === '' || segmentText === '.' || segmentText === '..')
    throw new TypeError(`${JSON.stringify(segmentText)} is not an id.`);
  return encodeURIComponent(segmentText);
}

function createTimeoutSignal(timeoutMs: number): AbortSignal | undefined {
  return timeoutMs === 0 ? undefined : AbortSignal.timeout(Math.min(timeoutMs, MAX_TIMER_MS));
}

function createRequestInit(
  call: ApiCall,
  auth: CredentialsProvider,
  acceptHeader: string,
  timeoutSignal: AbortSignal | undefined,
): RequestInit {
  const { headers, ...rest } = auth();
  const signals = [call.signal, timeoutSignal].filter((signal) => signal !== undefined);
  const hasBody = call.body !== undefined;
  return {
    ...rest,
    method: call.method,
    redirect: 'manual',
    headers: {
      accept: acceptHeader,
      ...(hasBody && { 'content-type': 'application/json' }),
      ...createOptionHeaders(call),
      ...headers,
    },
    ...(hasBody && { body: JSON.stringify(call.body) }),
    ...(signals.length > 0 && { signal: AbortSignal.any(signals) }),
  };
}

/** Names of the headers that are sent for properties of a call. */
const headerNameByOption = {
  idempotencyKey: 'idempotency-key',
  ifMatch: 'if-match',
  ifNoneMatch: 'if-none-match',
} as const;

function createOptionHeaders(call: ApiCall): Record<string, string> {
  const callHeaders: Record<string, string> = {};
  for (const name of Object.keys(headerNameByOption) as (keyof typeof headerNameByOption)[]) {
    const value = call[name];
    if (value !== undefined) callHeaders[headerNameByOption[name]] = requireHeaderValue(name, value);
  }
  return callHeaders;
}

function parseResponse(response: Response, text: string): ApiResponse {
  const { status, headers } = response;
  const isSuccess = response.ok || status === 304;
  const mediaType = headers.get('content-type') ?? 'no media type';
  if (!isSuccess && !mediaType.startsWith('application/problem+json')) {
    // A page of a gateway or a 404 of another service must not be mistaken for the error `not_found`.
    throw createResponseError(response, {
      message: `The response is ${status} (${mediaType}) and no problem document.`,
    });
  }
  const body = parseBody(status, text);
  if (!isSuccess) throw createResponseError(response, body);
  return { status, headers, body };
}

function parseBody(status: number, text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw createUnexpectedResponseError(status, `The body of the response (${status}) is not JSON.`, error);
  }
}

/** Creates the error for a response that does not follow the API. */
export function createUnexpectedResponseError(status: number, message: string, cause?: unknown): CarillonError {
  return new CarillonError({ code: 'unexpected_answer', status, message, ...(cause !== undefined && { cause }) });
}

/**
 * Returns the reason of a failed `fetch`. The message of the error only says `fetch failed`; the reason is in its
 * `cause`, sometimes only as a code.
 */
function describeFetchError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  if (cause.message !== '') return cause.message;
  return 'code' in cause ? String(cause.code) : error.message;
}
