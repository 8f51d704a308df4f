/**
 * The table of problems: every way in which a call can fail, said once. Thrown anywhere as a `Problem`, answered in
 * one place (`http/answers.ts`) as RFC 9457 `application/problem+json` (C6).
 */
export const problems = {
  unauthorized: {
    status: 401,
    title: 'Unauthorized',
    detail: 'The headers key and domain do not name a valid key of that account.',
  },
  signed_out: { status: 401, title: 'Signed out', detail: 'Nobody is signed in here, or not any more. Sign in.' },
  sign_in_refused: {
    status: 401,
    title: 'Sign-in refused',
    detail: 'Domain, email and passphrase do not belong together.',
  },
  cross_origin: {
    status: 403,
    title: 'Cross-origin',
    detail: 'The console takes calls from its own pages alone.',
  },
  not_permitted: { status: 401, title: 'Not permitted', detail: 'This key may not do that.' },
  not_found: { status: 404, title: 'Not found', detail: 'There is nothing here for this key.' },
  invalid_input: { status: 400, title: 'Invalid input', detail: 'Some fields are not acceptable; see errors.' },
  malformed_body: { status: 400, title: 'Malformed body', detail: 'The body is not one JSON object in UTF-8.' },
  malformed_request: { status: 400, title: 'Malformed request', detail: 'The request is not acceptable HTTP.' },
  unsupported_media_type: {
    status: 415,
    title: 'Unsupported media type',
    detail: 'Bodies are application/json in UTF-8.',
  },
  too_many_tries: {
    status: 429,
    title: 'Too many tries',
    detail: 'Too many wrong tries from here; wait as long as Retry-After says.',
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
    detail: 'The account has as many live hooks as it may have; delete one first.',
  },
  body_too_large: {
    status: 413,
    title: 'Body too large',
    detail: 'A body holds at most 64 KiB, and one with a calendar at most 8 MiB.',
  },
  uri_too_long: { status: 414, title: 'URI too long', detail: 'An address with its query holds at most 8 KiB.' },
  headers_too_large: { status: 431, title: 'Headers too large', detail: 'The headers hold at most 16 KiB.' },
  request_timeout: { status: 408, title: 'Request timeout', detail: 'The request did not arrive in time.' },
  target_taken: { status: 409, title: 'Target taken', detail: 'Another hook has this target_url.' },
  hook_ended: { status: 409, title: 'Hook ended', detail: 'This hook has ended; restore it first.' },
  email_taken: { status: 409, title: 'Email taken', detail: 'Another user of the account has this email.' },
  domain_taken: { status: 409, title: 'Domain taken', detail: 'Another account has this domain.' },
  last_owner: { status: 409, title: 'Last owner', detail: 'An account keeps at least one owner.' },
  idempotency_in_progress: {
    status: 409,
    title: 'Idempotency-Key in progress',
    detail: 'A call with this Idempotency-Key is still running; ask again for its answer.',
  },
  idempotency_mismatch: {
    status: 422,
    title: 'Idempotency-Key mismatch',
    detail: 'This Idempotency-Key was used for another call within the last 24 hours; take a new one.',
  },
  precondition_failed: {
    status: 412,
    title: 'Precondition failed',
    detail: 'The record is not as If-Match or If-None-Match says; nothing was changed. Read it again.',
  },
  cursor_gone: {
    status: 410,
    title: 'Cursor gone',
    detail:
      'What came after this cursor is not kept any more. Begin anew: follow without a cursor to the end, read the lists, and go on from there.',
  },
  overloaded: { status: 503, title: 'Overloaded', detail: 'Too much is under way; try again shortly.' },
  storage_unavailable: {
    status: 503,
    title: 'Storage unavailable',
    detail: 'The database could not take the change; nothing was written.',
  },
  timed_out: { status: 503, title: 'Timed out', detail: 'The call took too long and was given up.' },
  internal: { status: 500, title: 'Internal error', detail: 'Something failed on our side; it has been logged.' },
} as const satisfies Record<string, { status: number; title: string; detail: string }>;

export type ProblemCode = keyof typeof problems;

/** One bad field of the input: its name as the caller wrote it, and what is wrong, in words. */
export type FieldError = { field: string; message: string };

/** A failure that the caller is told of. Anything else that is thrown is answered as `internal`. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly errors: readonly FieldError[];
  /** How many seconds the caller should wait; undefined for what is usual. */
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

/** A problem with named fields (400); its detail repeats them, so that a reader of the sentence alone knows enough. */
export function invalidInput(errors: readonly FieldError[]): Problem {
  const detail = errors.map(({ field, message }) => `${field}: ${message}`).join('; ');
  return new Problem('invalid_input', { detail, errors });
}

/** A record that is not there for this caller. One body for never issued, deleted, and another account's (C3). */
export function notFound(): Problem {
  return new Problem('not_found');
}
