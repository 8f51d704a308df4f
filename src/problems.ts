/**
 * The table of problems: every way in which a call can fail. A problem is thrown as a `Problem`, and `http/errors/`
 * sends it as RFC 9457 `application/problem+json` (C6).
 */
export const problems = {
  unauthorized: {
    status: 401,
    title: 'Unauthorized',
    detail: 'The headers key and domain do not name a valid key of that account.',
  },
  signed_out: { status: 401, title: 'Signed out', detail: 'There is no valid session. Sign in.' },
  sign_in_refused: {
    status: 401,
    title: 'Sign-in refused',
    detail: 'Domain, email and passphrase do not match.',
  },
  cross_origin: {
    status: 403,
    title: 'Cross-origin',
    detail: 'The console accepts calls only from its own pages.',
  },
  not_permitted: { status: 401, title: 'Not permitted', detail: 'This key may not do that.' },
  not_found: { status: 404, title: 'Not found', detail: 'There is nothing here for this key.' },
  invalid_input: { status: 400, title: 'Invalid input', detail: 'Some fields are invalid; see errors.' },
  malformed_body: { status: 400, title: 'Malformed body', detail: 'The body is not one JSON object in UTF-8.' },
  malformed_request: { status: 400, title: 'Malformed request', detail: 'The request is not valid HTTP.' },
  unsupported_media_type: {
    status: 415,
    title: 'Unsupported media type',
    detail: 'Bodies are application/json in UTF-8.',
  },
  too_many_tries: {
    status: 429,
    title: 'Too many tries',
    detail: 'Too many failed attempts from this network; wait as long as Retry-After says.',
  },
  rate_limited: {
    status: 429,
    title: 'Rate limited',
    detail: 'More calls than the operator of this service allows; wait as long as Retry-After says.',
  },
  pending_quota_exceeded: {
    status: 429,
    title: 'Too many pending deliveries',
    detail:
      'The account has reached its quota of pending deliveries, and this request would add to them. Nothing was changed. Repair or delete the hooks whose targets do not respond, then try again.',
  },
  too_many_hooks: {
    status: 409,
    title: 'Too many hooks',
    detail: 'The account has reached its quota of live hooks; delete one first.',
  },
  body_too_large: {
    status: 413,
    title: 'Body too large',
    detail: 'A body has at most 64 KiB, one with a calendar at most 8 MiB.',
  },
  uri_too_long: { status: 414, title: 'URI too long', detail: 'A URL with its query has at most 8 KiB.' },
  headers_too_large: { status: 431, title: 'Headers too large', detail: 'The headers have at most 16 KiB.' },
  request_timeout: { status: 408, title: 'Request timeout', detail: 'The request did not arrive in time.' },
  target_taken: { status: 409, title: 'Target taken', detail: 'Another hook has this target_url.' },
  hook_ended: { status: 409, title: 'Hook ended', detail: 'This hook has ended; restore it first.' },
  hook_disabled: { status: 409, title: 'Hook disabled', detail: 'This hook is disabled; enable it first.' },
  email_taken: { status: 409, title: 'Email taken', detail: 'Another user of the account has this email.' },
  domain_taken: { status: 409, title: 'Domain taken', detail: 'Another account has this domain.' },
  last_owner: { status: 409, title: 'Last owner', detail: 'An account keeps at least one owner.' },
  idempotency_in_progress: {
    status: 409,
    title: 'Idempotency-Key in progress',
    detail: 'A call with this Idempotency-Key is still running; repeat the call later to get its response.',
  },
  idempotency_mismatch: {
    status: 422,
    title: 'Idempotency-Key mismatch',
    detail: 'This Idempotency-Key was used for another call within the last 24 hours; use a new one.',
  },
  precondition_failed: {
    status: 412,
    title: 'Precondition failed',
    detail: 'The record does not match If-Match or If-None-Match; nothing was changed. Read it again.',
  },
  cursor_gone: {
    status: 410,
    title: 'Cursor gone',
    detail:
      'Entries after this cursor are no longer stored. Start over: follow the feed without a cursor to its end, read the lists, and continue from there.',
  },
  overloaded: { status: 503, title: 'Overloaded', detail: 'The service is overloaded; try again shortly.' },
  storage_unavailable: {
    status: 503,
    title: 'Storage unavailable',
    detail: 'The database could not take the change; nothing was written.',
  },
  timed_out: { status: 503, title: 'Timed out', detail: 'The call took too long and was canceled.' },
  internal: { status: 500, title: 'Internal error', detail: 'The service failed; the error has been logged.' },
} as const satisfies Record<string, { status: number; title: string; detail: string }>;

export type ProblemCode = keyof typeof problems;

/** An invalid field of the input: its name as the caller wrote it, and the error message. */
export type FieldError = { field: string; message: string };

/** An error that is sent to the caller. Any other thrown error is sent as `internal`. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly errors: readonly FieldError[];
  /** Seconds after which the caller may retry. Undefined means the default for the status. */
  readonly retryAfterS: number | undefined;

  constructor(
    code: ProblemCode,
    options: { detail?: string; errors?: readonly FieldError[]; retryAfterS?: number; cause?: unknown } = {},
  ) {
    super(options.detail ?? problems[code].detail, options.cause === undefined ? {} : { cause: options.cause });
    this.name = 'Problem';
    this.code = code;
    this.errors = options.errors ?? [];
    this.retryAfterS = options.retryAfterS;
  }

  get status(): number {
    return problems[this.code].status;
  }
}

/**
 * Creates the problem of invalid fields (400). The detail repeats their messages, for clients that only show the
 * detail.
 */
export function invalidInput(errors: readonly FieldError[]): Problem {
  const detail = errors.map(({ field, message }) => `${field}: ${message}`).join('; ');
  return new Problem('invalid_input', { detail, errors });
}

/**
 * Creates the problem of a record that does not exist for this caller. The response is the same if the record is
 * unknown, was deleted, or belongs to another account (C3).
 */
export function notFound(): Problem {
  return new Problem('not_found');
}
