import type { Clock } from '../../clock.ts';
import type { Queries, Store } from '../../store/store.ts';
import type { CachedCaller } from './caller-cache.ts';

/** Delay from the first recorded use to the write. All uses in between are written in one batch. */
const WRITE_DELAY_MS = 1_000;
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
  readonly #deps: LastUsedDeps;
  /** Ids of the keys or sessions whose use is recorded but not yet written. */
  readonly #pendingIds = new Set<number>();
  /** Time of the first use in `#pendingIds`, in milliseconds since the epoch. */
  #firstUseAt = 0;
  #cancelTimer: (() => void) | undefined;
  #activeWrite: Promise<unknown> | undefined;

  constructor(deps: LastUsedDeps) {
    this.#deps = deps;
  }

  /** Records a use. `id` is the id of the key or session. */
  recordUse(entry: CachedCaller, id: number): void {
    const now = this.#deps.clock.now();
    if (now - entry.lastUsedAt < MIN_LAST_USED_AGE_MS) return;
    entry.lastUsedAt = now;
    if (this.#pendingIds.size === 0) this.#firstUseAt = now;
    this.#pendingIds.add(id);
    this.#scheduleWrite();
  }

  /** Writes all recorded uses; called at shutdown. */
  async flush(): Promise<void> {
    await this.#activeWrite;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    await this.#writePendingIds();
  }

  /** Schedules a write. Only one write runs at a time; later uses wait for the next write. */
  #scheduleWrite(): void {
    this.#cancelTimer ??= this.#deps.clock.after(WRITE_DELAY_MS, () => {
      this.#cancelTimer = undefined;
      if (this.#activeWrite === undefined) void this.#writePendingIds();
      else this.#scheduleWrite();
    });
  }

  async #writePendingIds(): Promise<void> {
    const { store, writeLastUsed, onWriteFailed } = this.#deps;
    if (this.#pendingIds.size === 0) return;
    const [ids, usedAt] = [[...this.#pendingIds], this.#firstUseAt];
    this.#pendingIds.clear();
    // A failed write must not fail a request. It loses one time of use; a use after MIN_LAST_USED_AGE_MS is written
    // again.
    const writePromise = store.write(({ queries }) => writeLastUsed(queries, ids, usedAt)).catch(onWriteFailed);
    this.#activeWrite = writePromise;
    await writePromise;
    this.#activeWrite = undefined;
  }
}
