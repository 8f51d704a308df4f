/**
 * Second opinion on the state table of a hook (C17 to C19, C22, X1, X3), written from the contract and without the code
 * of the service: `nextStatus` is the table, `DeliveryChecker` replays observed attempts against it.
 */

/** Failures in a row that end a hook (C18). */
export const MAX_FAILURES = 3;

/** Attempts that a hook may have in flight while it is healthy (C22). A failing hook has one. */
export const MAX_IN_FLIGHT = 8;

/** Maximum jitter of a backoff, as a fraction of it, and maximum `Retry-After` that is honored (C18). */
const MAX_JITTER = 0.1;
const MAX_RETRY_AFTER_MS = 24 * 3_600_000;

/** Status of a hook in the state table: its failures in a row, or the reason for which the service ended it. */
export type HookStatus = number | 'answered_401' | 'three_failures';

/** The status of a row of the table `hooks`. */
export function statusOf({ failures, ended_reason: endedReason }: Record<string, unknown>): HookStatus {
  return endedReason === '' ? Number(failures) : (String(endedReason) as HookStatus);
}

/** The state table. `answer` is the status of the response, undefined if the target gave none. */
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
  /** Earliest and latest time at which the service knew the result. */
  readonly knownFrom: number;
  readonly knownBy: number;
  /** Manual attempts count no failure and wait for no backoff (X1, X3). `perhaps`: it may be a scheduled one instead. */
  readonly manual: 'yes' | 'no' | 'perhaps';
  /** Whether the result changes the hook. `unknown`: any status may follow. */
  readonly effect: 'certain' | 'possible' | 'none' | 'unknown';
  /** Nothing delays the retry after this attempt, so that its latest start is checked too. */
  readonly isRetryPunctual: boolean;
};

export type CheckerOptions = {
  /** Backoff after the first and the second failure, in milliseconds; a missing one is not checked. */
  readonly waitsMs: readonly number[];
  /** Wall-clock time at a monotonic time: the service measures backoffs with the wall clock. */
  readonly wallOf: (at: number) => number;
  /**
   * True if the times at which the service knew the results are exact, so that the order of attempts and the
   * number in flight are known.
   */
  readonly isExact: boolean;
};

/** One of the states that the hook may be in. */
type State = {
  readonly status: HookStatus;
  /** When the service knew of the last counted failure. Attempts that started earlier are part of that failure (C18). */
  readonly failureKnownAt: number;
  /** The delivery that failed and is retried before any other. */
  readonly retryDeliveryId: string | undefined;
  /** Wall-clock times between which the retry starts. */
  readonly retryFrom: number;
  readonly retryBy: number;
  /** Attempts that the hook may have in flight: 1, and 1 more for each 200, up to MAX_IN_FLIGHT. */
  readonly concurrency: number;
};

const initial = (status: HookStatus): State => ({
  status,
  failureKnownAt: Number.NEGATIVE_INFINITY,
  retryDeliveryId: undefined,
  retryFrom: Number.NEGATIVE_INFINITY,
  retryBy: Number.POSITIVE_INFINITY,
  concurrency: 1,
});

/**
 * Checks the attempts of one hook. Where the outcome is uncertain (a result that a crash may have lost, a
 * request without a response), it follows every possible state until the database shows which one applies. An
 * attempt is a fault if no possible state allows it.
 */
export class DeliveryChecker {
  readonly faults: string[] = [];
  readonly #options: CheckerOptions;
  readonly #maxBackoffMs: number;
  /** Undefined while any state is possible. */
  #states: readonly State[] | undefined = [initial(0)];
  /** Attempts since the hook was last restored and the service last started. */
  readonly #inFlight = new Set<Attempt>();
  /** Includes deliveries by attempts from before the hook ended, since these are not retried either. */
  readonly #delivered = new Set<string>();

  constructor(options: CheckerOptions) {
    this.#options = options;
    const backoffsMs = options.waitsMs.map((waitMs) => waitMs * (1 + MAX_JITTER));
    this.#maxBackoffMs = Math.max(MAX_RETRY_AFTER_MS, ...backoffsMs);
  }

  started(attempt: Attempt): void {
    this.#inFlight.add(attempt);
    if (this.#states === undefined) return;
    const complaints = this.#states.map((state) => this.#complaints(state, attempt));
    this.faults.push(...complaints.reduce((fewest, one) => (one.length < fewest.length ? one : fewest)));
    this.#states = this.#states.map((state) =>
      isRetry(state, attempt) ? { ...state, retryBy: Number.POSITIVE_INFINITY } : state,
    );
  }

  finished(attempt: Attempt): void {
    if (attempt.answer === 200) this.#delivered.add(attempt.deliveryId);
    // The result of an attempt from before a crash or a restore changes nothing.
    if (!this.#inFlight.delete(attempt) || attempt.effect === 'none') return;
    if (attempt.effect === 'unknown') this.#states = undefined;
    const isPossible = attempt.effect === 'possible';
    const next = this.#states?.flatMap((state) => [...this.#after(state, attempt), ...(isPossible ? [state] : [])]);
    this.#states = next && distinct(next);
  }

  /** The service died, and its database holds this status. */
  crashed(at: number, status: HookStatus): void {
    this.#inFlight.clear();
    const matching = this.#states?.filter((state) => state.status === status) ?? [];
    if (this.#states !== undefined && matching.length === 0) {
      this.faults.push(`is at ${status} after a crash at ${at}, and may be at ${statusesIn(this.#states)}`);
    }
    const states = matching.length > 0 ? matching : [initial(status)];
    // The next process starts with one attempt; a failure that was lost in the crash counts when it comes again.
    const { failureKnownAt, retryBy, concurrency } = initial(status);
    this.#states = distinct(states.map((state) => ({ ...state, failureKnownAt, retryBy, concurrency })));
  }

  deletionRequested(): void {
    this.#states = undefined;
  }

  /** @param isCertain whether the request was answered; if not, the hook may still be as it was */
  restored(isCertain: boolean): void {
    this.#inFlight.clear();
    if (isCertain) this.#states = [initial(0)];
    else if (this.#states !== undefined) this.#states = [...this.#states, initial(0)];
  }

  /** Compares with the reason that the database holds after the last step; null for a live hook. */
  ends(endedReason: string | null): void {
    const isBySomebody = endedReason === 'deleted' || endedReason === 'user_deleted';
    if (isBySomebody || this.#states === undefined) return;
    const fits = ({ status }: State) => (typeof status === 'number' ? null : status) === endedReason;
    if (this.#states.some(fits)) return;
    this.faults.push(`is ${endedReason ?? 'live'} at the end, and may be at ${statusesIn(this.#states)}`);
  }

  /** Rules that an attempt breaks if the hook is in this state. */
  #complaints(state: State, attempt: Attempt): string[] {
    const { status, retryDeliveryId, retryFrom, retryBy } = state;
    const { deliveryId, startedAt, manual } = attempt;
    if (isPartOfFailure(state, attempt)) return [];
    if (typeof status !== 'number') return [`is sent a delivery at ${startedAt}, and has ended`];
    const { isExact, wallOf } = this.#options;
    const isScheduled = isRetry(state, attempt);
    const wall = wallOf(startedAt);
    const isOther = retryDeliveryId !== undefined && retryDeliveryId !== deliveryId;
    // A wait that exceeds the maximum backoff was stored while the wall clock was ahead, and counts as over.
    const isWaiting = wall < retryFrom && retryFrom - wall <= this.#maxBackoffMs;
    const healthy = manual === 'no' ? state.concurrency : MAX_IN_FLIGHT;
    const inFlight = this.#inFlight.size;
    const rules = [
      [
        isScheduled && isExact && isOther && !this.#delivered.has(retryDeliveryId),
        `is sent ${deliveryId} at ${startedAt}, before the retry of ${retryDeliveryId}`,
      ],
      [isScheduled && isWaiting, `is retried at ${startedAt}, during the backoff`],
      [isScheduled && wall > retryBy, `is retried at ${startedAt}, after the longest backoff`],
      [
        isExact && inFlight > (status > 0 ? 1 : healthy),
        `has ${inFlight} in flight at ${startedAt}, after ${status} failures`,
      ],
    ] as const;
    return rules.flatMap(([isBroken, fault]) => (isBroken ? [fault] : []));
  }

  /** States that the result of an attempt may leave. */
  #after(state: State, attempt: Attempt): State[] {
    const { answer, manual } = attempt;
    if (answer === 401) return [this.#failed(state, attempt)];
    const isPart = isPartOfFailure(state, attempt);
    if (answer === 200) {
      if (isPart && manual === 'no') return [state];
      const concurrency = Math.min(state.concurrency + 1, MAX_IN_FLIGHT);
      return [{ ...state, status: nextStatus(state.status, answer), concurrency }];
    }
    if (isPart) return [state];
    if (manual === 'no') return [this.#failed(state, attempt)];
    // A manual attempt of the delivery that is due for a retry looks the same as that retry.
    const mayCount = manual === 'perhaps' || state.retryDeliveryId === attempt.deliveryId;
    return mayCount ? [state, this.#failed(state, attempt)] : [state];
  }

  #failed({ status: before }: State, { answer, deliveryId, knownFrom, knownBy, ...attempt }: Attempt): State {
    const status = nextStatus(before, answer);
    const state = { ...initial(status), failureKnownAt: knownBy, retryDeliveryId: deliveryId };
    const waitMs = typeof status === 'number' ? this.#options.waitsMs[status - 1] : undefined;
    if (waitMs === undefined) return state;
    const requestedMs = Math.min(attempt.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS);
    const wall = this.#options.wallOf(knownFrom);
    // The wall clock has a resolution of one millisecond.
    const retryFrom = wall + Math.max(waitMs, requestedMs) - 1;
    const retryBy = wall + Math.max(waitMs * (1 + MAX_JITTER), requestedMs) + 1;
    return { ...state, retryFrom, retryBy: attempt.isRetryPunctual ? retryBy : Number.POSITIVE_INFINITY };
  }
}

const isPartOfFailure = ({ failureKnownAt }: State, { startedAt }: Attempt): boolean => startedAt < failureKnownAt;

const isRetry = (state: State, attempt: Attempt): boolean =>
  !isPartOfFailure(state, attempt) && attempt.manual === 'no' && typeof state.status === 'number' && state.status > 0;

const distinct = (states: readonly State[]): readonly State[] =>
  states.length === 1 ? states : [...new Map(states.map((state) => [JSON.stringify(state), state])).values()];

const statusesIn = (states: readonly State[]): string => [...new Set(states.map(({ status }) => status))].join(' or ');
