import type { Clock } from '../../clock.ts';
import { withRowLocks } from '../../store/prepared-queries.ts';
import type { Queries, Store } from '../../store/store.ts';

/**
 * A clock jump is trusted when services have run for this long after it, unless the clock is set back in the meantime.
 */
const JUMP_CONFIRMATION_MS = 24 * 3_600_000;

/** Id of the only row of the table `retention_clock`, which all nodes share. */
const CLOCK_ROW_ID = 1;

/** The stored state of the retention clock. Timestamps are milliseconds since the epoch. */
export type ClockState = {
  /** The trusted time, from which retention is computed. It is never ahead of the clock. */
  readonly trustedTime: number;
  /** Time of the clock at the last observation. */
  readonly observedAt: number;
  /**
   * How far the clock was ahead of the trusted time when the jump was first seen; 0 if there was no jump. A time in
   * which no service ran also counts as a jump.
   */
  readonly jumpMs: number;
  /** Time of the clock when the jump was first seen. */
  readonly jumpSeenAt: number;
  /** Time for which the service has run since the clock jumped, restarts included. */
  readonly runningSinceJumpMs: number;
};

/** State of a new database: no time is trusted yet. */
export const INITIAL_CLOCK_STATE: ClockState = {
  trustedTime: 0,
  observedAt: 0,
  jumpMs: 0,
  jumpSeenAt: 0,
  runningSinceJumpMs: 0,
};

/**
 * Returns the state after one more observation of the clock. Pure function.
 *
 * @param elapsedMs monotonic time of this process since its last observation
 */
export function observeClock(previousState: ClockState, now: number, elapsedMs: number): ClockState {
  // Another node may have observed the clock in between and counted that part of the time already.
  const runningMs = Math.max(0, Math.min(elapsedMs, now - previousState.observedAt));
  const trustedTime = Math.min(previousState.trustedTime + runningMs, now);
  const runningSinceJumpMs = previousState.runningSinceJumpMs + runningMs;
  const wasClockSetBack = now < previousState.jumpSeenAt;
  if (previousState.jumpMs === 0 || wasClockSetBack) return createClockState(trustedTime, now);
  if (runningSinceJumpMs >= JUMP_CONFIRMATION_MS)
    return createClockState(Math.min(trustedTime + previousState.jumpMs, now), now);
  return { ...previousState, trustedTime, observedAt: now, runningSinceJumpMs };
}

function createClockState(trustedTime: number, now: number): ClockState {
  return { trustedTime, observedAt: now, jumpMs: now - trustedTime, jumpSeenAt: now, runningSinceJumpMs: 0 };
}

/**
 * Provides the trusted time for retention, so that no row is dropped too early because the clock was set far ahead or
 * was wrong at a start. The trusted time advances with the monotonic running time of services. A jump of the clock is
 * accepted when services have run for a day after the jump.
 */
export class RetentionClock {
  readonly #store: Store;
  readonly #clock: Clock;
  #observedAtMonotonic: number;

  constructor({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
    this.#observedAtMonotonic = clock.monotonic();
  }

  /** Observes the clock and stores the new state; resolves with the trusted time, milliseconds since the epoch. */
  async observeTrustedTime(): Promise<number> {
    const [monotonicNow, now] = [this.#clock.monotonic(), this.#clock.now()];
    // The columns store whole milliseconds, and the monotonic clock has fractions.
    const elapsedMs = Math.round(monotonicNow - this.#observedAtMonotonic);
    const { trustedTime } = await this.#store.write(async ({ queries }) => {
      const newState = observeClock(await readClockState(queries), now, elapsedMs);
      await writeClockState(queries, newState);
      return newState;
    });
    this.#observedAtMonotonic = monotonicNow;
    return trustedTime;
  }
}

async function readClockState(queries: Queries): Promise<ClockState> {
  const query = queries.selectFrom('retention_clock').selectAll().where('clock_id', '=', CLOCK_ROW_ID);
  const [row] = await withRowLocks(queries, query).execute();
  if (row === undefined) return INITIAL_CLOCK_STATE;
  return {
    trustedTime: row.trusted_at,
    observedAt: row.observed_at,
    jumpMs: row.doubted_ms,
    jumpSeenAt: row.doubted_since,
    runningSinceJumpMs: row.seen_since_ms,
  };
}

async function writeClockState(queries: Queries, state: ClockState): Promise<void> {
  const row = {
    trusted_at: state.trustedTime,
    observed_at: state.observedAt,
    doubted_ms: state.jumpMs,
    doubted_since: state.jumpSeenAt,
    seen_since_ms: state.runningSinceJumpMs,
  };
  await queries
    .insertInto('retention_clock')
    .values({ clock_id: CLOCK_ROW_ID, ...row })
    .onConflict((conflict) => conflict.column('clock_id').doUpdateSet(row))
    .execute();
}
