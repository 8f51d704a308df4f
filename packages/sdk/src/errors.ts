/** Codes that the service answers, each with its status. The first half of {@link ProblemCode}. C6. */
export const serviceCodes = [
  'malformed_body', // 400: the body is not JSON
  'malformed_request', // 400: not HTTP that can be read
  'invalid_input', // 400: `errors` names every bad field
  'unauthorized', // 401: key or domain missing or not acceptable (C1)
  'signed_out', // 401, the console: nobody is signed in here
  'sign_in_refused', // 401, the console: domain, email and passphrase do not belong together
  'not_permitted', // 401: the key is known and may not do this (C2)
  'cross_origin', // 403, the console: called from another page than its own
  'not_found', // 404: no such record, or one of another account (C3)
  'request_timeout', // 408: the request did not arrive in time
  'target_taken', // 409: a live hook has this target (C12)
  'too_many_hooks', // 409: the account has as many live hooks as it may have
  'hook_ended', // 409: the hook has ended, nothing is sent to it any more (X3)
  'last_owner', // 409: the account would be left without an owner (X7)
  'email_taken', // 409: another user has this address
  'domain_taken', // 409: another account has this domain
  'idempotency_in_progress', // 409: a call with this Idempotency-Key is still running (X4)
  'cursor_gone', // 410: what came after the cursor is not kept any more; begin anew (X2)
  'precondition_failed', // 412: the record is not as If-Match says (X5)
  'body_too_large', // 413
  'uri_too_long', // 414
  'unsupported_media_type', // 415: not `application/json` (C4)
  'idempotency_mismatch', // 422: the Idempotency-Key was used for another call (X4)
  'rate_limited', // 429: more calls than the operator allows a key, or an account
  'pending_quota_exceeded', // 429: too many notifications of the account are still to be told
  'too_many_tries', // 429, the console: too many wrong passphrases from here
  'headers_too_large', // 431
  'internal', // 500
  'overloaded', // 503: come back later
  'storage_unavailable', // 503: nothing can be written now
  'timed_out', // 503: the service gave up on the request
] as const;

/** Codes for what goes wrong on this side of the wire. The second half of {@link ProblemCode}. */
export const clientCodes = [
  'connection', // no answer, or half of one: name, network, TLS
  'timeout', // no whole answer within `timeoutMs`
  'unexpected_answer', // not Carillon's: a gateway's page, a redirect; or a code that this version does not know
  'secret_gone', // it was issued by a call made before, whose lost answer alone showed its secret (X4)
] as const;

/** Every value that {@link CarillonError.code} can have; a `switch` over it can be exhaustive. */
export type ProblemCode = (typeof serviceCodes)[number] | (typeof clientCodes)[number];

/** One field that was refused: its name as sent, and why. */
export type FieldError = { readonly field: string; readonly message: string };

/** What a {@link CarillonError} is made of. */
export type Problem = {
  /** What happened. */
  readonly code: ProblemCode;
  /** HTTP status; 0 when there was no answer. */
  readonly status: number;
  /** The same in a sentence. */
  readonly message: string;
  /** Every refused field. */
  readonly errors?: readonly FieldError[];
  /** Seconds to wait before the next try. */
  readonly retryAfterS?: number | undefined;
  /** What the service has logged the request under. */
  readonly requestId?: string | undefined;
  /** What was thrown below. */
  readonly cause?: unknown;
};

/**
 * The one error that a call rejects with, save two: the reason of your own `AbortSignal` passes through untouched,
 * and an argument that can be no request at all (an empty id) is a `TypeError`. C6.
 */
export class CarillonError extends Error {
  override readonly name = 'CarillonError';
  /** What happened, from a closed set. */
  readonly code: ProblemCode;
  /** HTTP status of the answer; 0 when there was none (`connection`, `timeout`). */
  readonly status: number;
  /** Every refused field at once; empty unless `code` is `invalid_input`. */
  readonly errors: readonly FieldError[];
  /** How many seconds the service asks to wait before the next try; undefined where it says nothing. */
  readonly retryAfterS: number | undefined;
  /** What the service has logged the request under; undefined where there was no answer of it. */
  readonly requestId: string | undefined;

  constructor(problem: Problem) {
    super(problem.message, 'cause' in problem ? { cause: problem.cause } : undefined);
    this.code = problem.code;
    this.status = problem.status;
    this.errors = problem.errors ?? [];
    this.retryAfterS = problem.retryAfterS;
    this.requestId = problem.requestId;
  }
}

const known: ReadonlySet<unknown> = new Set(serviceCodes);

function isServiceCode(code: unknown): code is (typeof serviceCodes)[number] {
  return known.has(code);
}

function isFieldError(entry: unknown): entry is FieldError {
  if (typeof entry !== 'object' || entry === null) return false;
  return 'field' in entry && typeof entry.field === 'string' && 'message' in entry && typeof entry.message === 'string';
}

/** Reads an `application/problem+json` answer (C6). An unknown code keeps its status and its message. */
export function problemFrom({ status, headers }: Pick<Response, 'status' | 'headers'>, body: unknown): CarillonError {
  const problem: Record<string, unknown> = typeof body === 'object' && body !== null ? { ...body } : {};
  const { code, message, errors } = problem;
  return new CarillonError({
    status,
    code: isServiceCode(code) ? code : 'unexpected_answer',
    message: typeof message === 'string' ? message : `The service answered ${status}.`,
    errors: Array.isArray(errors) ? errors.filter(isFieldError) : [],
    retryAfterS: retryAfterOf(headers),
    requestId: headers.get('x-request-id') ?? undefined,
  });
}

/** In seconds, or as a date: then by the clock of who answered. */
function retryAfterOf(headers: Headers): number | undefined {
  const asked = headers.get('retry-after');
  if (asked === null) return undefined;
  if (/^\d{1,9}$/.test(asked)) return Number(asked);
  const seconds = (Date.parse(asked) - Date.parse(headers.get('date') ?? '')) / 1_000;
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}
