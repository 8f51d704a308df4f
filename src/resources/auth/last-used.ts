import type { Clock } from '../../clock.ts';
import type { Queries, Store } from '../../store/store.ts';
import type { CachedCaller } from './caller-cache.ts';

/** Delay from the first use to the write. All uses in between are written in one batch. */
const WRITE_DELAY_MS = 1_000;
/** A stored `last_used` is not written again until it is older than this. */
const REFRESH_INTERVAL_MS = 60_000;

type LastUsedPorts = {
  readonly store: Store;
  readonly clock: Clock;
  /**
   * Stores `at`, in milliseconds since the epoch, as the time of last use. Rows locked by another node are skipped,
   * because that node writes them.
   */
  readonly write: (queries: Queries, ids: readonly number[], at: number) => Promise<unknown>;
  /** Called when a write has failed. */
  readonly onWriteFailed: (error: unknown) => void;
};

/** Tracks when keys or sessions were last used. It writes the uses in batches, not once per request. */
export class LastUsedTracker {
  readonly #ports: LastUsedPorts;
  readonly #pending = new Set<number>();
  /** Time of the first use in `#pending`, in milliseconds since the epoch. */
  #firstUseAt = 0;
  #cancel: (() => void) | undefined;
  #writing: Promise<unknown> | undefined;

  constructor(ports: LastUsedPorts) {
    this.#ports = ports;
  }

  /** Records a use. `id` is the id of the key or session. */
  recordUse(entry: CachedCaller, id: number): void {
    const now = this.#ports.clock.now();
    if (now - entry.lastUsed < REFRESH_INTERVAL_MS) return;
    entry.lastUsed = now;
    if (this.#pending.size === 0) this.#firstUseAt = now;
    this.#pending.add(id);
    this.#scheduleWrite();
  }

  /** Writes all recorded uses; called at shutdown. */
  async flush(): Promise<void> {
    await this.#writing;
    this.#cancel?.();
    this.#cancel = undefined;
    await this.#write();
  }

  /** Schedules a write. Only one write runs at a time; later uses wait for the next write. */
  #scheduleWrite(): void {
    this.#cancel ??= this.#ports.clock.after(WRITE_DELAY_MS, () => {
      this.#cancel = undefined;
      if (this.#writing === undefined) void this.#write();
      else this.#scheduleWrite();
    });
  }

  async #write(): Promise<void> {
    const { store, write, onWriteFailed } = this.#ports;
    if (this.#pending.size === 0) return;
    const [ids, at] = [[...this.#pending], this.#firstUseAt];
    this.#pending.clear();
    // A failed write must not fail a request. A later use is written again.
    const written = store.write(({ queries }) => write(queries, ids, at)).catch(onWriteFailed);
    this.#writing = written;
    await written;
    this.#writing = undefined;
  }
}
