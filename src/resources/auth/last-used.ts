import { WriteBehind } from '../../async/write-behind.ts';
import type { Clock } from '../../clock.ts';
import type { Queries, Store } from '../../store/store.ts';
import type { CachedCaller } from './caller-cache.ts';

/** Maximum number of keys or sessions per write. A use that does not fit is written after the next use. */
const MAX_BUFFERED_USES = 10_000;
/** Minimum age of a stored `last_used` before it is written again. */
const MIN_LAST_USED_AGE_MS = 60_000;

type LastUsedDeps = {
  readonly store: Store;
  readonly clock: Clock;
  /**
   * Stores `usedAt`, in milliseconds since the epoch, as the time of the last use. Rows that another node has locked
   * are skipped, because that node writes them.
   */
  readonly writeLastUsed: (queries: Queries, ids: readonly number[], usedAt: number) => Promise<unknown>;
  readonly onWriteFailed: (error: unknown) => void;
};

/** Tracks when keys or sessions were last used. It writes the uses in batches, not once per request. */
export class LastUsedTracker {
  readonly #clock: Clock;
  /** The times of uses, in milliseconds since the epoch, by id of the key or session. */
  readonly #buffer: WriteBehind<number, number>;

  constructor({ store, clock, writeLastUsed, onWriteFailed }: LastUsedDeps) {
    this.#clock = clock;
    this.#buffer = new WriteBehind({
      clock,
      maxEntries: MAX_BUFFERED_USES,
      merge: (firstUseAt) => firstUseAt,
      // All rows get the time of the first use, so that one statement writes them.
      write: (usesById) =>
        store.write(({ queries }) => writeLastUsed(queries, [...usesById.keys()], Math.min(...usesById.values()))),
      onWriteFailed,
    });
  }

  /** Records a use. `id` is the id of the key or session. */
  recordUse(entry: CachedCaller, id: number): void {
    const now = this.#clock.now();
    if (now - entry.lastUsedAt < MIN_LAST_USED_AGE_MS) return;
    entry.lastUsedAt = now;
    this.#buffer.add(id, now);
  }

  /** Writes all recorded uses; called at shutdown. */
  flush(): Promise<void> {
    return this.#buffer.flush();
  }
}
