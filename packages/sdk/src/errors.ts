/** Error codes that the service returns, each with its HTTP status (C6). */
export const serviceErrorCodes = [
  'malformed_body', // 400: the body is not JSON
  'malformed_request', // 400: invalid HTTP
  'invalid_input', // 400: `errors` names every invalid field
  'unauthorized', // 401: key or domain missing or invalid (C1)
  'signed_out', // 401, the console: no valid session
  'sign_in_refused', // 401, the console: domain, email and passphrase do not match
  'not_permitted', // 401: the key lacks the permission (C2)
  'cross_origin', // 403, the console: called from a page of another origin
  'not_found', // 404: the record does not exist, or belongs to another account (C3)
  'request_timeout', // 408: the request did not arrive in time
  'target_taken', // 409: a live hook has this target (C12)
  'too_many_hooks', // 409: the account has reached its quota of live hooks
  'hook_disabled', // 409: the hook is disabled (X13)
  'hook_ended', // 409: the hook has ended (X3)
  'last_owner', // 409: the account would be left without an owner (X7)
  'email_taken', // 409: another user has this e-mail address
  'domain_taken', // 409: another account has this domain
  'idempotency_in_progress', // 409: a call with this Idempotency-Key is still running (X4)
  'cursor_gone', // 410: entries after the cursor are no longer stored; start again (X2)
  'precondition_failed', // 412: the record does not match If-Match (X5)
  'body_too_large', // 413: the body exceeds the maximum size
  'uri_too_long', // 414: the URL exceeds the maximum length
  'unsupported_media_type', // 415: the body is not `application/json` (C4)
  'idempotency_mismatch', // 422: the Idempotency-Key was used for another call (X4)
  'rate_limited', // 429: more calls than the operator allows for a key or an account
  'pending_quota_exceeded', // 429: the account has reached its quota of pending deliveries
  'too_many_tries', // 429, the console: too many wrong passphrases from this network
  'headers_too_large', // 431: the headers exceed the maximum size
  'internal', // 500: an error of the service, which is in its log
  'overloaded', // 503: try again later
  'storage_unavailable', // 503: the database cannot be written, and nothing was changed
  'timed_out', // 503: the call took too long, and the service canceled it
] as const;

/** Error codes that the client detects itself. */
export const clientErrorCodes = [
  'connection', // no complete response, because of DNS, the network or TLS
  'timeout', // no complete response within `timeoutMs`
  'unexpected_answer', // not a response of Carillon, such as a gateway's page or a redirect; or an unknown code
  'secret_gone', // the secret was in the response of an earlier call, and that response was lost (X4)
] as const;

/** All values of {@link CarillonError.code}. The set is closed, so a `switch` can be exhaustive. */
export type ProblemCode = (typeof serviceErrorCodes)[number] | (typeof clientErrorCodes)[number];

/** An invalid field: its name as sent, and the error message for it. */
export type FieldError = { readonly field: string; readonly message: string };

/** Arguments of the constructor of {@link CarillonError}. */
export type CarillonErrorInit = {
  /** Error code, from a closed set of codes. */
  readonly code: ProblemCode;
  /** HTTP status; 0 without a response. */
  readonly status: number;
  /** Error message for people. */
  readonly message: string;
  /** The invalid fields, each with its own message. */
  readonly errors?: readonly FieldError[];
  /** Seconds to wait before a retry. */
  readonly retryAfterS?: number | undefined;
  /** Identifier of the request in the log of the service. */
  readonly requestId?: string | undefined;
  /** The error that caused this one. */
  readonly cause?: unknown;
};

/**
 * Calls reject with this error. There are two exceptions: an aborted call rejects with the reason of its `AbortSignal`,
 * and an invalid argument, such as an empty id, is a `TypeError` (C6).
 *
 * @example
 * ```ts
 * try {
 *   await carillon.events.get('7');
 * } catch (error) {
 *   if (!(error instanceof CarillonError && error.code === 'not_found')) throw error;
 * }
 * ```
 */
export class CarillonError extends Error {
  override readonly name = 'CarillonError';
  /** Error code, from a closed set of codes. */
  readonly code: ProblemCode;
  /** HTTP status; 0 without a response (`connection`, `timeout`). */
  readonly status: number;
  /** Every invalid field; empty unless `code` is `invalid_input`. */
  readonly errors: readonly FieldError[];
  /** Seconds from `Retry-After`; undefined without this header. */
  readonly retryAfterS: number | undefined;
  /** Identifier of the request in the log of the service; undefined without a response. */
  readonly requestId: string | undefined;

  constructor(problem: CarillonErrorInit) {
    super(problem.message, 'cause' in problem ? { cause: problem.cause } : undefined);
    this.code = problem.code;
    this.status = problem.status;
    this.errors = problem.errors ?? [];
    this.retryAfterS = problem.retryAfterS;
    this.requestId = problem.requestId;
  }
}

const serviceCodeSet: ReadonlySet<unknown> = new Set(serviceErrorCodes);

function isServiceCode(code: unknown): code is (typeof serviceErrorCodes)[number] {
  return serviceCodeSet.has(code);
}

function isFieldError(entry: unknown): entry is FieldError {
  if (typeof entry !== 'object' || entry === null) return false;
  return 'field' in entry && typeof entry.field === 'string' && 'message' in entry && typeof entry.message === 'string';
}

/** Creates the error for an `application/problem+json` response (C6). An unknown code becomes `unexpected_answer`. */
export function createResponseError(
  { status, headers }: Pick<Response, 'status' | 'headers'>,
  body: unknown,
): CarillonError {
  const problem: Record<string, unknown> = typeof body === 'object' && body !== null ? { ...body } : {};
  const { code, message, errors } = problem;
  return new CarillonError({
    status,
    code: isServiceCode(code) ? code : 'unexpected_answer',
    message: typeof message === 'string' ? message : `The service responded ${status}.`,
    errors: Array.isArray(errors) ? errors.filter(isFieldError) : [],
    retryAfterS: parseRetryAfterS(headers),
    requestId: headers.get('x-request-id') ?? undefined,
  });
}

/**
 * Reads `Retry-After` in seconds. A date is compared with the `Date` header, so that the local clock does not matter.
 */
function parseRetryAfterS(headers: Headers): number | undefined {
  const retryAfter = headers.get('retry-after');
  if (retryAfter === null) return undefined;
  if (/^\d{1,9}$/.test(retryAfter)) return Number(retryAfter);
  const seconds = (Date.parse(retryAfter) - Date.parse(headers.get('date') ?? '')) / 1_000;
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}
