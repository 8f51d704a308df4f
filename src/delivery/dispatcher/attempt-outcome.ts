/** A failure of the target: it counts against the hook (C17). */
export type FailureCode = 'timeout' | 'refused' | 'reset' | 'tls' | 'no_such_name' | 'forbidden' | 'protocol';

/** A failure of this machine or service. It never counts against the target (C19). `broken`: the attempt threw. */
export type LocalErrorCode =
  | 'no_file_handle'
  | 'no_local_port'
  | 'no_route'
  | 'no_resolver'
  | 'no_memory'
  | 'process_paused'
  | 'stopped'
  | 'broken';

export type TargetFailure = { kind: 'failed'; cause: FailureCode; note?: string };
export type LocalError = { kind: 'local_error'; code: LocalErrorCode; note?: string };
type TargetResponse = { kind: 'answered'; status: number; retryAfterMs?: number };
export type AttemptResult = TargetResponse | TargetFailure | LocalError;

/**
 * The outcome of one attempt. `ms` is its duration; `retryAfterMs` (0 to 24 h) is the target's `Retry-After`;
 * `note` may contain IP addresses and is only written to the operator's log.
 */
export type AttemptOutcome = AttemptResult & { ms: number; note?: string };
