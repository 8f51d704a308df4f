import type { Clock } from '../../clock.ts';
import { locked } from '../../store/prepared-queries.ts';
import type { Queries, Store } from '../../store/store.ts';

/** A jump is believed when a service has seen so much time go by behind it, and nobody has set the clock back. */
const CONFIRMED_AFTER_MS = 24 * 3_600_000;

/** All nodes share one row. */
const ONLY = 1;

/** What is known of the time; milliseconds, moments since the epoch. */
export type Known = {
  /** The time that rows are dropped by: never ahead of the clock. */
  readonly trustedAt: number;
  /** What the clock said last. */
  readonly observedAt: number;
  /** A jump, or a time in which no service ran, that is not believed yet; 0 for none. */
  readonly doubtedMs: number;
  /** What the clock said when it was first seen, and how much time a service has seen go by since. */
  readonly doubtedSince: number;
  readonly seenSinceMs: number;
};

/** Of a database that nobody has looked at the clock for, everything is in doubt. */
export const NOTHING: Known = { trustedAt: 0, observedAt: 0, doubtedMs: 0, doubtedSince: 0, seenSinceMs: 0 };

/**
 * What is known after one more look at the clock.
 *
 * @param elapsedMs what the monotonic clock of this process has seen go by since its last look
 */
export function observe(known: Known, now: number, elapsedMs: number): Known {
  // Another node may have looked in between, and counted its part of that time.
  const seenMs = Math.max(0, Math.min(elapsedMs, now - known.observedAt));
  const trustedAt = Math.min(known.trustedAt + seenMs, now);
  const seenSinceMs = known.seenSinceMs + seenMs;
  const wasSetRight = now < known.doubtedSince;
  if (known.doubtedMs === 0 || wasSetRight) return doubting(trustedAt, now);
  if (seenSinceMs >= CONFIRMED_AFTER_MS) return doubting(Math.min(trustedAt + known.doubtedMs, now), now);
  return { ...known, trustedAt, observedAt: now, seenSinceMs };
}

/** Whatever lies between the trusted time and the clock is in doubt from now on. */
function doubting(trustedAt: number, now: number): Known {
  return { trustedAt, observedAt: now, doubtedMs: now - trustedAt, doubtedSince: now, seenSinceMs: 0 };
}

/**
 * The time that old rows are dropped by. A clock that is set far ahead, or wrong at a start, drops nothing before its time:
 * trusted time goes on with the time that services have seen go by, and a jump counts once they have seen a day go by behind
 * it.
 */
export class RetentionClock {
  readonly #store: Store;
  readonly #clock: Clock;
  #lookedAt: number;

  constructor({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
    this.#lookedAt = clock.monotonic();
  }

  /** Looks at the clock; resolves with the trusted time. */
  async now(): Promise<number> {
    const [monotonic, now] = [this.#clock.monotonic(), this.#clock.now()];
    // Both databases keep whole milliseconds; the monotonic clock has fractions.
    const elapsedMs = Math.round(monotonic - this.#lookedAt);
    const { trustedAt } = await this.#store.write(async ({ queries }) => {
      const known = observe(await read(queries), now, elapsedMs);
      await write(queries, known);
      return known;
    });
    this.#lookedAt = monotonic;
    return trustedAt;
  }
}

async function read(queries: Queries): Promise<Known> {
  const query = queries.selectFrom('retention_clock').selectAll().where('clock_id', '=', ONLY);
  const [row] = await locked(queries, query).execute();
  if (row === undefined) return NOTHING;
  return {
    trustedAt: row.trusted_at,
    observedAt: row.observed_at,
    doubtedMs: row.doubted_ms,
    doubtedSince: row.doubted_since,
    seenSinceMs: row.seen_since_ms,
  };
}

async function write(queries: Queries, known: Known): Promise<void> {
  const row = {
    trusted_at: known.trustedAt,
    observed_at: known.observedAt,
    doubted_ms: known.doubtedMs,
    doubted_since: known.doubtedSince,
    seen_since_ms: known.seenSinceMs,
  };
  await queries
    .insertInto('retention_clock')
    .values({ clock_id: ONLY, ...row })
    .onConflict((conflict) => conflict.column('clock_id').doUpdateSet(row))
    .execute();
}
