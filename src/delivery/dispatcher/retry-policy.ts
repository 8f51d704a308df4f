import type { LocalErrorCode, Outcome, Result } from './attempt-outcome.ts';

/** The number of failures in a row that ends a hook (the specification, section 8). */
export const MAX_FAILURES = 3;

/** A wait that `Retry-After` asks for is not lengthened beyond this (C18). */
const MAX_WAIT_MS = 24 * 3_600_000;

/** Waits after faults of our own: doubled from the first to the longest. */
const MIN_LOCAL_ERROR_WAIT_MS = 1_000;
const MAX_LOCAL_ERROR_WAIT_MS = 60_000;

/**
 * A pause of this process from which on a failure is ours (C19): a fifth of the deadline, since what is left is ample for a
 * healthy target, and never less than a second. A loop that is merely busy is late by some hundred milliseconds, and must
 * not excuse a target that hangs each time.
 */
const EXCUSING_PART = 1 / 5;
const MIN_EXCUSING_PAUSE_MS = 1_000;

export const endedReasons = ['deleted', 'answered_401', 'three_failures', 'user_deleted'] as const;

export type EndedReason = (typeof endedReasons)[number];

/** What is known when an attempt has ended. */
export type AttemptContext = {
  readonly outcome: Outcome;
  /** Failures in a row before this attempt. */
  readonly failures: number;
  /** The hook has failed since this attempt began: it belongs to the same burst (C18). */
  readonly sameBurst: boolean;
  /** The attempt was asked for (X1, X3): it counts no failure. */
  readonly isManual: boolean;
  /** Faults of our own in a row on this lane. */
  readonly localErrors: number;
  /** The waits after the first and the second failure, milliseconds. */
  readonly waitsMs: readonly [number, number];
  /** Chance from 0 to 1, by which a wait is lengthened (C18). */
  readonly fraction: number;
};

/**
 * What follows from an attempt.
 *
 * - `delivered`: told; failures go back to 0, and what is pending is due at once.
 * - `delivered_during_backoff`: told, but the hook has failed meanwhile: its wait goes on.
 * - `wait`: a failure that counts; the same delivery is tried again after `waitMs`.
 * - `part_of_counted_failure`: part of a burst that has failed already; counts nothing.
 * - `ended`: the hook is removed.
 * - `again`: a fault of ours; counts nothing, and the attempt is made again after `waitMs`.
 * - `shown`: an attempt that was asked for failed; it is shown and counts nothing.
 */
export type Decision =
  | { readonly is: 'delivered' | 'delivered_during_backoff' | 'part_of_counted_failure' | 'manual_failed' }
  | { readonly is: 'wait'; readonly failures: number; readonly waitMs: number }
  | { readonly is: 'ended'; readonly reason: EndedReason; readonly failures: number }
  | { readonly is: 'retry_local_error'; readonly waitMs: number };

/** The specification's state table (section 3) with C17–C19: pure. */
export function decide(situation: AttemptContext): Decision {
  const { outcome, failures, sameBurst, isManual } = situation;
  if (outcome.kind === 'ours') {
    // What was stopped before it went out failed at nothing: it goes out as soon as it may.
    return {
      is: 'retry_local_error',
      waitMs: outcome.fault === 'stopped' ? 0 : localErrorWaitMs(situation.localErrors),
    };
  }
  if (outcome.kind === 'answered' && outcome.status === 200) {
    return { is: sameBurst && !isManual ? 'delivered_during_backoff' : 'delivered' };
  }
  if (outcome.kind === 'answered' && outcome.status === 401) return { is: 'ended', reason: 'answered_401', failures };
  if (isManual) return { is: 'manual_failed' };
  if (sameBurst) return { is: 'part_of_counted_failure' };
  const counted = failures + 1;
  if (counted >= MAX_FAILURES) return { is: 'ended', reason: 'three_failures', failures: counted };
  return { is: 'wait', failures: counted, waitMs: waitMs(situation, counted) };
}

/**
 * The result of an attempt during which this process was paused. While it stood still the deadline ran out, or the target
 * gave up waiting: neither is the target's fault. An answer counts whenever it was read.
 */
export function excusePaused(result: Result, pausedMs: number, deadlineMs: number): Result {
  if (result.kind !== 'failed' || (result.cause !== 'timeout' && result.cause !== 'reset')) return result;
  if (pausedMs < Math.max(MIN_EXCUSING_PAUSE_MS, deadlineMs * EXCUSING_PART)) return result;
  const note = `${result.cause} after this process was paused for ${Math.round(pausedMs)} ms`;
  return { kind: 'ours', fault: 'process_paused', note };
}

/** The longest wait that can follow from a failure (C18). */
export function longestWaitMs(waitsMs: readonly number[]): number {
  return Math.max(MAX_WAIT_MS, ...waitsMs.map((waitMs) => Math.round(waitMs * 1.1)));
}

/**
 * How long a wait goes on that ends at a stored moment; 0 or less: it is over. A moment that no wait can reach was written
 * while the clock was ahead, and is now.
 */
export function remainingMs(dueAt: number | null, now: number, longestMs: number): number {
  const waitMs = (dueAt ?? 0) - now;
  return waitMs > longestMs ? 0 : waitMs;
}

function waitMs({ outcome, waitsMs, fraction }: AttemptContext, failures: number): number {
  const wait = (failures === 1 ? waitsMs[0] : waitsMs[1]) * (1 + 0.1 * fraction);
  const askedMs = outcome.kind === 'answered' ? (outcome.retryAfterMs ?? 0) : 0;
  return Math.round(Math.max(wait, Math.min(askedMs, MAX_WAIT_MS)));
}

function localErrorWaitMs(faultsBefore: number): number {
  return Math.min(MIN_LOCAL_ERROR_WAIT_MS * 2 ** Math.min(faultsBefore, 10), MAX_LOCAL_ERROR_WAIT_MS);
}

/** An outcome in one word, as it is shown and counted: a status, or a word of a closed set. */
export function outcomeWord(outcome: Outcome): string {
  if (outcome.kind === 'answered') return String(outcome.status);
  return outcome.kind === 'failed' ? outcome.cause : outcome.fault;
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

/** The words of those outcomes that are faults of our own (C19): neither delivered nor failed. */
export const localErrorWords: readonly string[] = Object.keys(localErrorCodes);

/** The word of the one outcome that is a success (C17). */
export const DELIVERED = '200';

/** Why an attempt counted, or did not, in a sentence (X3). */
export function reasonOf(decision: Decision): string {
  switch (decision.is) {
    case 'delivered':
      return 'answered 200: delivered';
    case 'delivered_during_backoff':
      return 'answered 200: delivered; another delivery of the same burst had failed, so the wait goes on';
    case 'wait':
      return `failure ${decision.failures} of ${MAX_FAILURES} in a row: tried again after the wait`;
    case 'part_of_counted_failure':
      return 'in flight when the hook failed: part of that failure, not one more';
    case 'ended':
      return decision.reason === 'answered_401'
        ? 'answered 401: the hook ends at once'
        : `failure ${decision.failures} of ${MAX_FAILURES} in a row: the hook ends`;
    case 'retry_local_error':
      return 'a fault of this service: not counted, tried again';
    case 'manual_failed':
      return 'asked for: shown, not counted';
  }
}
