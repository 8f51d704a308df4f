import { computeBackoffMs } from '../async/backoff.ts';
import { type Clock, sleep } from '../clock.ts';
import { TransferError } from '../transfer/operator-report.ts';

/** A client of another service that has the same API. It sends one request at a time, limits its rate, and retries. */
export type SourceClient = {
  /** Sends a GET request for a path below `/v2`. Throws `TransferError` if the service cannot be read. */
  get(path: readonly string[], query?: Readonly<Record<string, number>>): Promise<SourceReply>;
};

/**
 * The reply of the source: found; absent (the source has no such resource); or refused (the key may not read the
 * resource).
 */
export type SourceReply = { readonly state: 'found'; readonly body: unknown } | MissingReply;
export type MissingReply = { readonly state: 'absent' | 'refused'; readonly status: number };

type SourceOptions = {
  /** Base URL, without `/v2`. */
  readonly sourceUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly clock: Clock;
  /** Requests per second. */
  readonly requestsPerSecond: number;
  /** Reports why a request is retried. */
  readonly print: (line: string) => void;
};

const REQUEST_TIMEOUT_MS = 90_000;

/**
 * Maximum size of a decompressed response, in bytes. A thousand of the largest records that this service accepts fit
 * into it.
 */
const MAX_RESPONSE_BYTES = 64 << 20;

/** Error of a response that exceeds MAX_RESPONSE_BYTES. The caller can request a smaller page. */
export class ResponseTooLarge extends TransferError {}

/**
 * Maximum number of attempts of a request. The backoff between them is 1, 2, 4, … seconds, about three minutes in
 * total.
 */
const MAX_REQUEST_ATTEMPTS = 9;
/** Maximum number of attempts before the first response. It is lower because the URL may be wrong. */
const MAX_INITIAL_ATTEMPTS = 3;
const FIRST_BACKOFF_MS = 1_000;
/** Maximum backoff between two attempts. */
const MAX_BACKOFF_MS = 60_000;
/** Maximum `Retry-After` that is waited for; a longer one is an error. */
const MAX_RETRY_AFTER_MS = 24 * 3_600_000;

/** HTTP statuses of responses that are retried. */
const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504]);
/** HTTP statuses that mean that the source has no such resource. */
const ABSENT_STATUSES: ReadonlySet<number> = new Set([404, 405, 410, 501]);
/** HTTP statuses that mean that the key may not read the resource. */
const REFUSED_STATUSES: ReadonlySet<number> = new Set([401, 403]);

type HttpResponse = {
  readonly status: number;
  readonly isJson: boolean;
  /** Undefined if the response was larger than MAX_RESPONSE_BYTES. */
  readonly text: string | undefined;
  readonly location: string | null;
  readonly retryAfterMs: number | undefined;
};
/** A request without a response; `failed` is the reason. */
type FailedRequest = { readonly failed: string };

export function createSourceClient(options: SourceOptions): SourceClient {
  const { sourceUrl, clock, print } = options;
  let lastRequestAt = Number.NEGATIVE_INFINITY;
  let hasResponded = false;

  async function sendRateLimitedRequest(url: string): Promise<HttpResponse | FailedRequest> {
    await sleep(clock, lastRequestAt + 1_000 / options.requestsPerSecond - clock.monotonic());
    lastRequestAt = clock.monotonic();
    return sendRequest(options, url);
  }

  return {
    async get(path, query = {}) {
      const searchParams = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
      const encodedPath = path.map((segment) => `/${encodeURIComponent(segment)}`).join('');
      const url = `${sourceUrl}/v2${encodedPath}${searchParams.size > 0 ? `?${searchParams}` : ''}`;
      for (let attempt = 1; ; attempt += 1) {
        const response = await sendRateLimitedRequest(url);
        const reply = toReply(response, url);
        if (reply !== undefined) {
          hasResponded = true;
          return reply;
        }
        const reason = retryReasonOf(response);
        if (attempt >= (hasResponded ? MAX_REQUEST_ATTEMPTS : MAX_INITIAL_ATTEMPTS))
          throw createUnreadableError(url, reason, attempt);
        const waitMs = retryDelayMs(response, attempt);
        if (waitMs > MAX_RETRY_AFTER_MS)
          throw createUnreadableError(url, `${reason}, and Retry-After is more than a day`, attempt);
        print(`${url}: ${reason}; retry in ${Math.ceil(waitMs / 1_000)} s`);
        await sleep(clock, waitMs);
      }
    },
  };
}

/** Interprets a response. Returns undefined if the request must be retried. */
function toReply(response: HttpResponse | FailedRequest, url: string): SourceReply | undefined {
  if ('failed' in response || RETRYABLE_STATUSES.has(response.status)) return undefined;
  const { status, isJson, text = '', location } = response;
  if (ABSENT_STATUSES.has(status)) return { state: 'absent', status };
  if (REFUSED_STATUSES.has(status)) return { state: 'refused', status };
  if (status >= 300 && status < 400)
    throw new TransferError(
      `${url} redirects to ${location ?? 'another address'}: redirects are not followed, since the key would be sent there. --from-api must be the right address.`,
    );
  if (status !== 200) throw new TransferError(`${url} returned ${status}: ${JSON.stringify(text.slice(0, 200))}`);
  if (response.text === undefined)
    throw new ResponseTooLarge(`${url} returned more than ${MAX_RESPONSE_BYTES >> 20} MiB.`);
  const body = parseJson(text);
  if (body !== undefined) return { state: 'found', body };
  // The JSON is truncated. A retry may return all of it.
  if (isJson) return undefined;
  throw new TransferError(`${url} returned something other than JSON: --from-api must be the address of the service.`);
}

function retryReasonOf(response: HttpResponse | FailedRequest): string {
  if ('failed' in response) return response.failed;
  return response.status === 200 ? 'the response was truncated' : `the response is ${response.status}`;
}

/** Returns the delay before the next attempt: `Retry-After` if the response has it, otherwise exponential backoff. */
function retryDelayMs(response: HttpResponse | FailedRequest, attempt: number): number {
  const requestedMs = 'failed' in response ? undefined : response.retryAfterMs;
  return requestedMs ?? computeBackoffMs(attempt - 1, FIRST_BACKOFF_MS, MAX_BACKOFF_MS);
}

function createUnreadableError(url: string, reason: string, attempts: number): TransferError {
  return new TransferError(`${url} cannot be read, after ${attempts} tries: ${reason}.`);
}

async function sendRequest({ clock, headers }: SourceOptions, url: string): Promise<HttpResponse | FailedRequest> {
  const timeoutController = new AbortController();
  const cancelTimeout = clock.after(REQUEST_TIMEOUT_MS, () => timeoutController.abort());
  try {
    const response = await fetch(url, { headers, redirect: 'manual', signal: timeoutController.signal });
    const text = await readBodyText(response);
    return {
      status: response.status,
      isJson: /^application\/([\w.-]+\+)?json\b/i.test(response.headers.get('content-type') ?? ''),
      text,
      location: response.headers.get('location'),
      retryAfterMs: parseRetryAfterMs(response.headers.get('retry-after'), clock.now()),
    };
  } catch (error) {
    return {
      failed: timeoutController.signal.aborted
        ? `no response within ${REQUEST_TIMEOUT_MS / 1_000} s`
        : failureMessageOf(error),
    };
  } finally {
    cancelTimeout();
  }
}

/** Reads a response body as text; undefined, without reading the rest, if it is too large. */
async function readBodyText({ body }: Response): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let text = '';
  let byteCount = 0;
  for await (const chunk of body ?? []) {
    byteCount += chunk.byteLength;
    if (byteCount > MAX_RESPONSE_BYTES) return undefined;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** Returns why a request has failed. The message of `fetch` is always "fetch failed"; the reason is in its cause. */
function failureMessageOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return String(cause);
  return cause.message || ('code' in cause ? String(cause.code) : cause.name);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Parses `Retry-After`, seconds or a date, as milliseconds from now; undefined if it is absent or malformed. */
function parseRetryAfterMs(header: string | null, now: number): number | undefined {
  const text = header?.trim() ?? '';
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000;
  // `Date.parse` accepts nearly everything; HTTP dates end with GMT.
  const retryAt = text.endsWith(' GMT') ? Date.parse(text) : Number.NaN;
  return Number.isNaN(retryAt) ? undefined : Math.max(retryAt - now, 0);
}
