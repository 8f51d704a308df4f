/** What a target did wrong: a failure (C17). */
export type FailureCode = 'timeout' | 'refused' | 'reset' | 'tls' | 'no_such_name' | 'forbidden' | 'protocol';

/** What was missing here: no failure of the target (C19). `broken` is for who catches an attempt that rejected. */
export type LocalErrorCode =
  | 'no_file_handle'
  | 'no_local_port'
  | 'no_route'
  | 'no_resolver'
  | 'no_memory'
  | 'process_paused'
  | 'stopped'
  | 'broken';

export type Failed = { kind: 'failed'; cause: FailureCode; note?: string };
export type LocalError = { kind: 'ours'; fault: LocalErrorCode; note?: string };
type Answered = { kind: 'answered'; status: number; retryAfterMs?: number };
export type Result = Answered | Failed | LocalError;

/**
 * How an attempt went. `ms` is what it took; `retryAfterMs` (0 to 24 h) is the target's `Retry-After`; `note` may name
 * addresses and is for the operator's log alone.
 */
export type Outcome = Result & { ms: number; note?: string };
