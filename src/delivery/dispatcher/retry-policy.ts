import { computeBackoffMs } from '../../async/backoff.ts';

/** Number of consecutive failures that end (disable) a hook (specification, section 8). */
export const MAX_FAILURES = 3;

/** Upper bound of a delay that `Retry-After` requests (C18). */
const MAX_RETRY_AFTER_MS = 24 * 3_600_000;

/** Delay after the first local error. The delay doubles with each further local error (exponential backoff). */
const MIN_LOCAL_ERROR_WAIT_MS = 1_000;
/** Maximum delay after local errors. */
const MAX_LOCAL_ERROR_WAIT_MS = 60_000;

/**
 * A pause of this process of at least this fraction of the deadline, and at least MIN_PAUSE_MS, turns a failure into a
 * local error (C19). A shorter pause leaves a healthy target enough time to respond.
 */
const MIN_PAUSE_FRACTION = 1 / 5;
/**
 * Minimum pause that excuses a failure. A busy event loop is late by some hundred milliseconds, which must not excuse a
 * target that hangs.
 */
const MIN_PAUSE_MS = 1_000;

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

/** The parts of an outcome, by `kind`; see `AttemptOutcome` for `note`, `retryAfterMs` and `responseText`. */
export type TargetFailure = { kind: 'failed'; cause: FailureCode; note?: string };
export type LocalError = { kind: 'local_error'; code: LocalErrorCode; note?: string };
type TargetResponse = { kind: 'answered'; status: number; retryAfterMs?: number; responseText?: string };
/** The outcome of an attempt before its duration is added. */
export type OutcomeWithoutDuration = TargetResponse | TargetFailure | LocalError;

/**
 * The outcome of one attempt. `durationMs` is the duration of the attempt; `retryAfterMs` (0 to 24 h) is the target's
 * `Retry-After`; `responseText` is the beginning of the body of a response other than 200 (C21); `note` may contain IP
 * addresses and is only written to the operator's log.
 */
export type AttemptOutcome = OutcomeWithoutDuration & { durationMs: number; note?: string };

/** The reasons for which a hook ends, as the API returns them in `ended_reason`. */
export const endedReasons = ['deleted', 'answered_401', 'three_failures', 'user_deleted', 'role_lost'] as const;

export type EndedReason = (typeof endedReasons)[number];

/** Options of the retry policy. */
export type RetryOptions = {
  /** The retry delays after the first and the second failure, milliseconds. */
  readonly retryDelaysMs: readonly [number, number];
  /** Random number from 0 to 1 for the jitter, which lengthens a retry delay by up to 10 % (C18). */
  readonly jitterFraction: number;
};

/** The input of the retry policy: one attempt and the state of its hook. */
export type AttemptContext = RetryOptions & {
  readonly outcome: AttemptOutcome;
  /** Number of consecutive failures before this attempt. */
  readonly failures: number;
  /** Whether a failure was counted while this attempt was in flight. If so, both failures count as one (C18). */
  readonly isPartOfFailure: boolean;
  /** Whether this is a manual attempt (X1, X3), whose failure is not counted. */
  readonly isManual: boolean;
  /** Number of consecutive local errors of this hook queue before this attempt. */
  readonly localErrorCount: number;
};

/**
 * The decision of the retry policy about one attempt.
 *
 * - `delivered`: failures are reset to 0, and pending deliveries are due immediately.
 * - `delivered_during_backoff`: delivered, but another attempt failed meanwhile; the backoff of the hook continues.
 * - `wait`: a counted failure; the same delivery is retried after `waitMs`.
 * - `part_of_counted_failure`: failed, but was in flight when a failure was counted; not counted again, retried after
 *   the backoff.
 * - `ended`: the hook ends (is disabled); nothing is sent to it any more.
 * - `retry_local_error`: a local error; not counted, retried after `waitMs`.
 * - `manual_failed`: a manual attempt failed; recorded, not counted, not retried.
 */
export type Decision =
  | { readonly is: 'delivered' | 'delivered_during_backoff' | 'part_of_counted_failure' | 'manual_failed' }
  | { readonly is: 'wait'; readonly failures: number; readonly waitMs: number }
  | { readonly is: 'ended'; readonly reason: EndedReason; readonly failures: number }
  | { readonly is: 'retry_local_error'; readonly waitMs: number };

/** The retry policy: the state table of the specification (section 3) with C17–C19, as a pure function. */
export function decide(context: AttemptContext): Decision {
  const { outcome, failures, isPartOfFailure, isManual } = context;
  if (outcome.kind === 'local_error') {
    // An attempt that was aborted before it was sent is retried without delay.
    return {
      is: 'retry_local_error',
      waitMs: outcome.code === 'stopped' ? 0 : computeLocalErrorWaitMs(context.localErrorCount),
    };
  }
  if (outcome.kind === 'answered' && outcome.status === 200) {
    return { is: isPartOfFailure && !isManual ? 'delivered_during_backoff' : 'delivered' };
  }
  if (outcome.kind === 'answered' && outcome.status === 401) return { is: 'ended', reason: 'answered_401', failures };
  if (isManual) return { is: 'manual_failed' };
  if (isPartOfFailure) return { is: 'part_of_counted_failure' };
  const newFailures = failures + 1;
  if (newFailures >= MAX_FAILURES) return { is: 'ended', reason: 'three_failures', failures: newFailures };
  return { is: 'wait', failures: newFailures, waitMs: computeRetryDelayMs(context, newFailures) };
}

/**
 * Turns a timeout or reset into the local error `process_paused` if this process was paused during the attempt
 * (C19): the deadline passed, or the target stopped waiting, while nothing could be sent or read. A response
 * always counts, even if it is read late.
 */
export function toLocalErrorIfPaused(
  result: OutcomeWithoutDuration,
  pausedMs: number,
  timeoutMs: number,
): OutcomeWithoutDuration {
  if (result.kind !== 'failed' || (result.cause !== 'timeout' && result.cause !== 'reset')) return result;
  if (pausedMs < Math.max(MIN_PAUSE_MS, timeoutMs * MIN_PAUSE_FRACTION)) return result;
  const note = `${result.cause} after this process was paused for ${Math.round(pausedMs)} ms`;
  return { kind: 'local_error', code: 'process_paused', note };
}

/** Returns the longest retry delay that a failure can cause, with jitter (C18). */
export function computeMaxRetryDelayMs(retryDelaysMs: readonly number[]): number {
  return Math.max(MAX_RETRY_AFTER_MS, ...retryDelaysMs.map((waitMs) => Math.round(waitMs * 1.1)));
}

/**
 * Returns the milliseconds until a stored retry is due; 0 or less if it is due now. A `dueAt` further ahead than any
 * retry delay was stored while the clock was ahead, and counts as due.
 */
export function computeRemainingBackoffMs(dueAt: number | null, now: number, maxRetryDelayMs: number): number {
  const waitMs = (dueAt ?? 0) - now;
  return waitMs > maxRetryDelayMs ? 0 : waitMs;
}

/**
 * Returns the backoff of a hook after its first or second failure. It is not exponential: the two delays of
 * `--retry-waits` (default: 1 minute and 2 hours) plus jitter, lengthened by `Retry-After` (C18).
 */
function computeRetryDelayMs({ outcome, retryDelaysMs, jitterFraction }: AttemptContext, failures: number): number {
  const delayMs = (failures === 1 ? retryDelaysMs[0] : retryDelaysMs[1]) * (1 + 0.1 * jitterFraction);
  const retryAfterMs = outcome.kind === 'answered' ? (outcome.retryAfterMs ?? 0) : 0;
  return Math.round(Math.max(delayMs, Math.min(retryAfterMs, MAX_RETRY_AFTER_MS)));
}

/** Returns the exponential backoff after consecutive local errors, from 1 to 60 seconds (C19). */
function computeLocalErrorWaitMs(previousErrorCount: number): number {
  return computeBackoffMs(previousErrorCount, MIN_LOCAL_ERROR_WAIT_MS, MAX_LOCAL_ERROR_WAIT_MS);
}

/**
 * Returns an outcome in one word, as it is stored and counted: an HTTP status, a failure code, or a local error code.
 */
export function formatOutcome(outcome: AttemptOutcome): string {
  if (outcome.kind === 'answered') return String(outcome.status);
  return outcome.kind === 'failed' ? outcome.cause : outcome.code;
}

const localErrorCodes: Readonly<Record<LocalErrorCode, true>> = {
  no_file_handle: true,
  no_local_port: true,
  no_route: true,
  no_resolver: true,
  no_memory: true,
  process_paused: true,
  stopped: true,
  broken: true,
};

/** The outcomes of local errors (C19), as `formatOutcome` returns them. They are neither a success nor a failure. */
export const localErrorOutcomes: readonly string[] = Object.keys(localErrorCodes);

/** The outcome of a success (C17), as `formatOutcome` returns it. */
export const DELIVERED_OUTCOME = '200';

/** Whether a decision counts as a failure of the hook. */
export const isCountedFailure = (decision: Decision): boolean =>
  decision.is === 'wait' || (decision.is === 'ended' && decision.reason === 'three_failures');

/** Explains why an attempt was counted or not, in a sentence for the attempt log (X3). */
export function explainDecision(decision: Decision): string {
  switch (decision.is) {
    case 'delivered':
      return 'answered 200: delivered';
    case 'delivered_during_backoff':
      return 'answered 200: delivered; another delivery has failed, so the retry delay continues';
    case 'wait':
      return `failure ${decision.failures} of ${MAX_FAILURES} in a row: tried again after the wait`;
    case 'part_of_counted_failure':
      return 'in flight when the hook failed: part of that failure, not one more';
    case 'ended':
      return decision.reason === 'answered_401'
        ? 'answered 401: the hook ends at once'
        : `failure ${decision.failures} of ${MAX_FAILURES} in a row: the hook ends`;
    case 'retry_local_error':
      return 'local error of this service: not counted, tried again';
    case 'manual_failed':
      return 'manual attempt: not counted';
  }
}
