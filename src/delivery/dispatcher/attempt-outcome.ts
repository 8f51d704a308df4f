/** A failure of the target: it counts against the hook (C17). */
export type FailureCode = 'timeout' | 'refused' | 'reset' | 'tls' | 'no_such_name' | 'forbidden' | 'protocol';

/** A local error: a failure of this machine or service (C19). `broken`: a bug of this service ended the attempt. */
export type LocalErrorCode =
  | 'no_file_handle'
  | 'no_local_port'
  | 'no_route'
  | 'no_resolver'
  | 'no_memory'
  | 'process_paused'
  | 'stopped'
  | 'broken';

/** The parts of an outcome, by `kind`; see `AttemptOutcome` for `note` and `retryAfterMs`. */
export type TargetFailure = { kind: 'failed'; cause: FailureCode; note?: string };
export type LocalError = { kind: 'local_error'; code: LocalErrorCode; note?: string };
type TargetResponse = { kind: 'answered'; status: number; retryAfterMs?: number };
/** The outcome of an attempt before its duration is added. */
export type OutcomeWithoutDuration = TargetResponse | TargetFailure | LocalError;

/**
 * The outcome of one attempt. `durationMs` is the duration of the attempt; `retryAfterMs` (0 to 24 h) is the target's
 * `Retry-After`; `note` may contain IP addresses and is only written to the operator's log.
 */
export type AttemptOutcome = OutcomeWithoutDuration & { durationMs: number; note?: string };
