import { computeRemainingBackoffMs, DELIVERED_OUTCOME, type Decision } from './retry-policy.ts';

/**
 * Maximum concurrency of a hook. The concurrency starts at 1 and grows by 1 with each 200 (C22). So a slow hook gains
 * concurrency slowly, and a hook that only fails keeps 1.
 */
const MAX_IN_FLIGHT_PER_HOOK = 8;

/** The part of the health that is stored with the hook, so that it survives a restart (C18, C20). */
type StoredHealth = {
  /** Failures in a row. */
  readonly failures: number;
  /** End of the backoff, milliseconds since the epoch; null if there is none. */
  readonly dueAt: number | null;
  /** The delivery that failed first and is retried first; null if none has failed. */
  readonly retryDeliveryId: number | null;
  /** The last outcome in one word; `''` before the first attempt. */
  readonly lastOutcome: string;
};

/**
 * The health of one hook, which decides when and how many attempts may start. It is immutable: `applyDecision` returns
 * the next one. All times are milliseconds since the epoch.
 */
export type HookHealth = {
  /** The same object as before if nothing has to be written. */
  readonly stored: StoredHealth;
  /** Maximum number of attempts in flight while nothing fails. */
  readonly concurrencyLimit: number;
  /** Number of failures that were counted since the claim. An attempt that began at a lower number is part of one. */
  readonly failureCountSinceClaim: number;
  /** Local errors in a row. Errors of attempts that were in flight together count once. */
  readonly localErrorCount: number;
  readonly lastLocalErrorAt: number;
  /** End of the pause after local errors. */
  readonly pausedUntil: number;
};

/** The attempt that a decision is about. */
export type DecidedAttempt = {
  readonly deliveryId: number;
  readonly isManual: boolean;
  /** Start of the attempt, milliseconds since the epoch. */
  readonly beganAt: number;
  /** The outcome in one word. */
  readonly outcome: string;
};

/** Age from which a delivery was certainly held back by its hook when it was claimed, rather than late. */
const HELD_BACK_AGE_MS = 10 * 60_000;

/**
 * Returns the time from which a delivery counts as due. What has waited for long at the claim was held back by a
 * disabled or ended hook, so it is due from the claim on. If no node has delivered, the age of the oldest pending
 * delivery shows it.
 */
export const countsAsDueFrom = (createdAt: number, claimedAt: number): number =>
  createdAt < claimedAt - HELD_BACK_AGE_MS ? claimedAt : createdAt;

/** Returns the health of a hook that was just claimed. */
export const createHealth = (stored: StoredHealth): HookHealth => ({
  stored,
  concurrencyLimit: 1,
  failureCountSinceClaim: 0,
  localErrorCount: 0,
  lastLocalErrorAt: 0,
  pausedUntil: 0,
});

/**
 * Returns the health after a decision of the retry policy.
 *
 * | decision | failures | backoff | pause | concurrency |
 * | --- | --- | --- | --- | --- |
 * | `delivered` | 0 | ends | ends | + 1, up to 8; unchanged by a manual attempt |
 * | `delivered_during_backoff`, `part_of_counted_failure` | – | – | – | – |
 * | `wait` | counted | begins, with this delivery first | – | 1 |
 * | `manual_failed` | – | – | – | – |
 * | `ended` | as decided | ends | – | – |
 * | `retry_local_error` | – | – | begins, unless the attempt was stopped | – |
 *
 * Every decision except `retry_local_error` resets the number of local errors.
 *
 * @param now the time of the outcome
 */
export function applyDecision(
  health: HookHealth,
  decision: Decision,
  attempt: DecidedAttempt,
  now: number,
): HookHealth {
  if (decision.is === 'retry_local_error') {
    return decision.waitMs > 0 ? applyLocalError(health, attempt, now, decision.waitMs) : health;
  }
  const { stored } = health;
  const { outcome } = attempt;
  const nextHealth = health.localErrorCount === 0 ? health : { ...health, localErrorCount: 0 };
  switch (decision.is) {
    case 'delivered':
      return {
        ...nextHealth,
        stored: isHealthy(stored) ? stored : { failures: 0, dueAt: null, retryDeliveryId: null, lastOutcome: outcome },
        pausedUntil: 0,
        concurrencyLimit: attempt.isManual
          ? nextHealth.concurrencyLimit
          : Math.min(nextHealth.concurrencyLimit + 1, MAX_IN_FLIGHT_PER_HOOK),
      };
    case 'delivered_during_backoff':
    case 'part_of_counted_failure':
      return nextHealth;
    case 'wait':
      return {
        ...nextHealth,
        stored: {
          failures: decision.failures,
          dueAt: now + decision.waitMs,
          retryDeliveryId: attempt.deliveryId,
          lastOutcome: outcome,
        },
        concurrencyLimit: 1,
        failureCountSinceClaim: nextHealth.failureCountSinceClaim + 1,
      };
    case 'manual_failed':
      return stored.lastOutcome === outcome
        ? nextHealth
        : { ...nextHealth, stored: { ...stored, lastOutcome: outcome } };
    case 'ended':
      return { ...nextHealth, stored: { ...stored, failures: decision.failures, dueAt: null, lastOutcome: outcome } };
  }
}

/**
 * Returns the maximum number of attempts in flight. A failing hook has one, a manual attempt included (C18, C22).
 *
 * @param isManual whether the next attempt is manual: it does not wait until the hook has gained concurrency
 */
export const concurrencyLimitOf = ({ stored, concurrencyLimit }: HookHealth, isManual: boolean): number => {
  if (stored.failures > 0) return 1;
  return isManual ? MAX_IN_FLIGHT_PER_HOOK : concurrencyLimit;
};

/** Whether the last outcome was a 200. All unproven targets share a concurrency limit and a start rate (C22). */
export const isProven = ({ stored }: HookHealth): boolean =>
  stored.failures === 0 && stored.lastOutcome === DELIVERED_OUTCOME;

/**
 * Returns the milliseconds until an attempt may start; 0 or less if it may. Manual attempts wait for the pause, but not
 * for the backoff (X1).
 *
 * @param maxRetryDelayMs maximum retry delay; a `dueAt` further ahead was stored while the clock was wrong, and counts
 *   as due
 */
export const computeRemainingWaitMs = (
  health: HookHealth,
  isManual: boolean,
  now: number,
  maxRetryDelayMs: number,
): number => {
  const pauseMs = computeRemainingPauseMs(health, now);
  return isManual ? pauseMs : Math.max(computeRemainingBackoffMs(health.stored.dueAt, now, maxRetryDelayMs), pauseMs);
};

/**
 * Returns the remaining milliseconds of the pause after a local error; 0 or less if it is over. A clock that was set
 * back to before the error ends the pause.
 */
const computeRemainingPauseMs = ({ lastLocalErrorAt, pausedUntil }: HookHealth, now: number): number =>
  now < lastLocalErrorAt ? 0 : pausedUntil - now;

/** Returns the number of local errors in a row before an attempt (C19). */
export const countLocalErrorsBefore = (health: HookHealth, beganAt: number): number =>
  wasInFlightAtLastLocalError(health, beganAt) ? health.localErrorCount - 1 : health.localErrorCount;

/**
 * Whether an attempt was in flight at the last local error, so that its own local error is not a further one. No
 * attempt starts between a local error and the end of its pause.
 */
const wasInFlightAtLastLocalError = ({ localErrorCount, lastLocalErrorAt }: HookHealth, beganAt: number): boolean =>
  localErrorCount > 0 && beganAt <= lastLocalErrorAt;

/** Returns the health after a local error: the pause begins, or lasts longer if it has begun already. */
function applyLocalError(health: HookHealth, { beganAt }: DecidedAttempt, now: number, waitMs: number): HookHealth {
  const isClockSetBack = now < health.lastLocalErrorAt;
  const isFurtherError = isClockSetBack || !wasInFlightAtLastLocalError(health, beganAt);
  return {
    ...health,
    ...(isFurtherError ? { localErrorCount: health.localErrorCount + 1, lastLocalErrorAt: now } : {}),
    pausedUntil: Math.max(isClockSetBack ? 0 : health.pausedUntil, now + waitMs),
  };
}

const isHealthy = ({ failures, dueAt, retryDeliveryId, lastOutcome }: StoredHealth): boolean =>
  failures === 0 && dueAt === null && retryDeliveryId === null && lastOutcome === DELIVERED_OUTCOME;

/**
 * The reason why a queue starts no attempt, or that it can. The first row that holds is the status:
 *
 * | status | holds when | ends with |
 * | --- | --- | --- |
 * | `ended` | the hook has ended, or the lease is lost or released (C13) | – |
 * | `prefetching` | settings or deliveries are being read | the end of the read |
 * | `unread` | an attempt could start, but its settings or its delivery have to be read (X8) | a prefetch |
 * | `ready` | an attempt can start | – |
 * | `busy` | attempts are in flight or results are not committed | an outcome or a commit |
 * | `waiting` | the target has failed (backoff, C18), or a local error occurred (pause, C19) | the retry timer |
 * | `idle` | nothing is pending, or the hook is disabled (X13); the lease may be released | a commit event or a poll |
 */
export type QueueStatus = 'ended' | 'prefetching' | 'unread' | 'ready' | 'busy' | 'waiting' | 'idle';
