/**
 * An independent implementation of the state table of a hook (C17 to C19, C22, X1, X3). It is written from the
 * contract and uses no code of the service. `nextStatus` is the state table, and `DeliveryChecker` replays
 * observed attempts against it.
 */

/** Failures in a row that end a hook (C18). */
export const MAX_FAILURES = 3;

/** Attempts that a hook may have in flight while it is healthy (C22). A failing hook may have one attempt in flight. */
export const MAX_IN_FLIGHT = 8;

/** Maximum jitter of a backoff, as a fraction of the backoff (C18). */
const MAX_JITTER = 0.1;
/** Maximum `Retry-After` that the service honors (C18). */
const MAX_RETRY_AFTER_MS = 24 * 3_600_000;

/** Status of a hook in the state table: its failures in a row, or the reason for which the service ended it. */
export type HookStatus = number | 'answered_401' | 'three_failures';

/** Returns the status that a row of the table `hooks` contains. */
export function statusOf({ failures, ended_reason: endedReason }: Record<string, unknown>): HookStatus {
  return endedReason === '' ? Number(failures) : (String(endedReason) as HookStatus);
}

/**
 * Returns the status that follows an attempt in the state table. `answer` is the HTTP status of the response,
 * undefined without a response.
 */
export function nextStatus(status: HookStatus, answer: number | undefined): HookStatus {
  if (typeof status !== 'number') return status;
  if (answer === 200) return 0;
  if (answer === 401) return 'answered_401';
  return status + 1 < MAX_FAILURES ? status + 1 : 'three_failures';
}

/** One attempt, as an observer outside the service knows it. Times are milliseconds of one monotonic clock. */
export type Attempt = {
  readonly deliveryId: string;
  readonly startedAt: number;
  readonly answer: number | undefined;
  readonly retryAfterMs?: number | undefined;
  /** Earliest time at which the service may have known the result. */
  readonly knownFrom: number;
  /** Latest time at which the service knew the result. */
  readonly knownBy: number;
  /**
   * Whether a client requested the attempt. A manual attempt counts no failure and ignores the backoff (X1, X3).
   * `perhaps`: the attempt may be a scheduled one.
   */
  readonly manual: 'yes' | 'no' | 'perhaps';
  /** Whether the result changes the status of the hook. `unknown`: any status may follow. */
  readonly effect: 'certain' | 'possible' | 'none' | 'unknown';
  /** True if nothing delays the retry after this attempt, so that the latest start of the retry is checked too. */
  readonly isRetryPunctual: boolean;
};

export type CheckerOptions = {
  /**
   * Backoffs after the first and the second failure, in milliseconds. A backoff that is missing here is not
   * checked.
   */
  readonly waitsMs: readonly number[];
  /** Converts a monotonic time to wall-clock time: the service measures backoffs with the wall clock. */
  readonly toWallTime: (at: number) => number;
  /**
   * True if the times at which the service knew the results are exact, so that the order of attempts and the
   * number in flight are known.
   */
  readonly isExact: boolean;
};

/** A state that the hook may be in. */
type HookState = {
  readonly status: HookStatus;
  /**
   * Time at which the service knew of the last counted failure. Attempts that started earlier are part of that
   * failure (C18).
   */
  readonly failureKnownAt: number;
  /** Id of the delivery that failed. The hook retries it before it sends any other delivery. */
  readonly retryDeliveryId: string | undefined;
  /** Earliest wall-clock time at which the retry starts. */
  readonly retryFrom: number;
  /** Latest wall-clock time at which the retry starts. */
  readonly retryBy: number;
  /** Attempts that the hook may have in flight: 1, and 1 more for each 200, up to MAX_IN_FLIGHT. */
  readonly concurrency: number;
};

const initialState = (status: HookStatus): HookState => ({
  status,
  failureKnownAt: Number.NEGATIVE_INFINITY,
  retryDeliveryId: undefined,
  retryFrom: Number.NEGATIVE_INFINITY,
  retryBy: Number.POSITIVE_INFINITY,
  concurrency: 1,
});

/**
 * Checks the attempts of one hook. Where the outcome is uncertain (a result that a crash may have lost, a request
 * without a response), the checker follows every possible state until the database shows which state applies. An
 * attempt is a fault if no possible state allows it.
 */
export class DeliveryChecker {
  readonly faults: string[] = [];
  readonly #options: CheckerOptions;
  readonly #maxBackoffMs: number;
  /** Undefined while any state is possible. */
  #states: readonly HookState[] | undefined = [initialState(0)];
  /** Attempts in flight that started after the last restore of the hook and the last start of the service. */
  readonly #inFlight = new Set<Attempt>();
  /**
   * Ids of delivered deliveries. They include those that were delivered by attempts from before the hook ended,
   * because these are not retried either.
   */
  readonly #delivered = new Set<string>();

  constructor(options: CheckerOptions) {
    this.#options = options;
    const backoffsMs = options.waitsMs.map((waitMs) => waitMs * (1 + MAX_JITTER));
    this.#maxBackoffMs = Math.max(MAX_RETRY_AFTER_MS, ...backoffsMs);
  }

  onStarted(attempt: Attempt): void {
    this.#inFlight.add(attempt);
    if (this.#states === undefined) return;
    const complaints = this.#states.map((state) => this.#violations(state, attempt));
    this.faults.push(...complaints.reduce((fewest, one) => (one.length < fewest.length ? one : fewest)));
    this.#states = this.#states.map((state) =>
      isRetry(state, attempt) ? { ...state, retryBy: Number.POSITIVE_INFINITY } : state,
    );
  }

  onFinished(attempt: Attempt): void {
    if (attempt.answer === 200) this.#delivered.add(attempt.deliveryId);
    // The result of an attempt from before a crash or a restore changes nothing.
    if (!this.#inFlight.delete(attempt) || attempt.effect === 'none') return;
    if (attempt.effect === 'unknown') this.#states = undefined;
    const isPossible = attempt.effect === 'possible';
    const next = this.#states?.flatMap((state) => [
      ...this.#statesAfter(state, attempt),
      ...(isPossible ? [state] : []),
    ]);
    this.#states = next && distinctStates(next);
  }

  /** Records a crash of the service, after which the database contains this status of the hook. */
  onCrashed(at: number, status: HookStatus): void {
    this.#inFlight.clear();
    const matching = this.#states?.filter((state) => state.status === status) ?? [];
    if (this.#states !== undefined && matching.length === 0) {
      this.faults.push(`is at ${status} after a crash at ${at}, and may be at ${statusesIn(this.#states)}`);
    }
    const states = matching.length > 0 ? matching : [initialState(status)];
    // The next process starts with one attempt in flight. A failure that was lost in the crash counts when it is
    // repeated.
    const { failureKnownAt, retryBy, concurrency } = initialState(status);
    this.#states = distinctStates(states.map((state) => ({ ...state, failureKnownAt, retryBy, concurrency })));
  }

  onDeletionRequested(): void {
    this.#states = undefined;
  }

  /**
   * Records a restore of the hook.
   *
   * @param isCertain whether the restore was answered; if not, the hook may still have its earlier status
   */
  onRestored(isCertain: boolean): void {
    this.#inFlight.clear();
    if (isCertain) this.#states = [initialState(0)];
    else if (this.#states !== undefined) this.#states = [...this.#states, initialState(0)];
  }

  /**
   * Compares the possible states with the ended reason in the database at the end of the run, which is null for a
   * live hook.
   */
  checkEnd(endedReason: string | null): void {
    const isEndedByClient = ['deleted', 'user_deleted', 'role_lost'].includes(endedReason ?? '');
    if (isEndedByClient || this.#states === undefined) return;
    const fits = ({ status }: HookState) => (typeof status === 'number' ? null : status) === endedReason;
    if (this.#states.some(fits)) return;
    this.faults.push(`is ${endedReason ?? 'live'} at the end, and may be at ${statusesIn(this.#states)}`);
  }

  /** Returns the rules that an attempt breaks if the hook is in this state. */
  #violations(state: HookState, attempt: Attempt): string[] {
    const { status, retryDeliveryId, retryFrom, retryBy } = state;
    const { deliveryId, startedAt, manual } = attempt;
    if (isPartOfFailure(state, attempt)) return [];
    if (typeof status !== 'number') return [`is sent a delivery at ${startedAt}, and has ended`];
    const { isExact, toWallTime } = this.#options;
    const isScheduled = isRetry(state, attempt);
    const wall = toWallTime(startedAt);
    const isOther = retryDeliveryId !== undefined && retryDeliveryId !== deliveryId;
    // A wait that exceeds the maximum backoff was stored while the wall clock was ahead, and counts as over.
    const isWaiting = wall < retryFrom && retryFrom - wall <= this.#maxBackoffMs;
    const maxInFlight = manual === 'no' ? state.concurrency : MAX_IN_FLIGHT;
    const inFlight = this.#inFlight.size;
    const rules = [
      [
        isScheduled && isExact && isOther && !this.#delivered.has(retryDeliveryId),
        `is sent ${deliveryId} at ${startedAt}, before the retry of ${retryDeliveryId}`,
      ],
      [isScheduled && isWaiting, `is retried at ${startedAt}, during the backoff`],
      [isScheduled && wall > retryBy, `is retried at ${startedAt}, after the longest backoff`],
      [
        isExact && inFlight > (status > 0 ? 1 : maxInFlight),
        `has ${inFlight} in flight at ${startedAt}, after ${status} failures`,
      ],
    ] as const;
    return rules.flatMap(([isBroken, fault]) => (isBroken ? [fault] : []));
  }

  /** Returns the states that may follow from the result of an attempt. */
  #statesAfter(state: HookState, attempt: Attempt): HookState[] {
    const { answer, manual } = attempt;
    if (answer === 401) return [this.#stateAfterFailure(state, attempt)];
    const isPart = isPartOfFailure(state, attempt);
    if (answer === 200) {
      if (isPart && manual === 'no') return [state];
      const concurrency = Math.min(state.concurrency + 1, MAX_IN_FLIGHT);
      return [{ ...state, status: nextStatus(state.status, answer), concurrency }];
    }
    if (isPart) return [state];
    if (manual === 'no') return [this.#stateAfterFailure(state, attempt)];
    // A manual attempt of the delivery that is due for a retry looks the same as that retry.
    const mayCount = manual === 'perhaps' || state.retryDeliveryId === attempt.deliveryId;
    return mayCount ? [state, this.#stateAfterFailure(state, attempt)] : [state];
  }

  #stateAfterFailure(
    { status: before }: HookState,
    { answer, deliveryId, knownFrom, knownBy, ...attempt }: Attempt,
  ): HookState {
    const status = nextStatus(before, answer);
    const state = { ...initialState(status), failureKnownAt: knownBy, retryDeliveryId: deliveryId };
    const waitMs = typeof status === 'number' ? this.#options.waitsMs[status - 1] : undefined;
    if (waitMs === undefined) return state;
    const requestedMs = Math.min(attempt.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS);
    const wall = this.#options.toWallTime(knownFrom);
    // The wall clock has a resolution of one millisecond.
    const retryFrom = wall + Math.max(waitMs, requestedMs) - 1;
    const retryBy = wall + Math.max(waitMs * (1 + MAX_JITTER), requestedMs) + 1;
    return { ...state, retryFrom, retryBy: attempt.isRetryPunctual ? retryBy : Number.POSITIVE_INFINITY };
  }
}

const isPartOfFailure = ({ failureKnownAt }: HookState, { startedAt }: Attempt): boolean => startedAt < failureKnownAt;

const isRetry = (state: HookState, attempt: Attempt): boolean =>
  !isPartOfFailure(state, attempt) && attempt.manual === 'no' && typeof state.status === 'number' && state.status > 0;

const distinctStates = (states: readonly HookState[]): readonly HookState[] =>
  states.length === 1 ? states : [...new Map(states.map((state) => [JSON.stringify(state), state])).values()];

const statusesIn = (states: readonly HookState[]): string =>
  [...new Set(states.map(({ status }) => status))].join(' or ');
