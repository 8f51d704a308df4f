import type { Clock } from '../../clock.ts';
import type { Queries, Store } from '../../store/store.ts';
import type { CachedCaller } from './caller-cache.ts';

/** Delay from the first use to the write; uses in between are written in one batch. */
const WRITE_DELAY_MS = 1_000;
/** A stored `last_used` that is younger than this is not written again. */
const REFRESH_INTERVAL_MS = 60_000;

type Ports = {
  readonly store: Store;
  readonly clock: Clock;
  /** Stores the time of last use, milliseconds since the epoch. Rows locked by another node are skipped: it writes them. */
  readonly write: (queries: Queries, ids: readonly number[], at: number) => Promise<unknown>;
  /** Called when the write failed. */
  readonly failed: (error: unknown) => void;
};

/** Tracks the last use of keys or sessions in batches, without a write per request. */
export class LastUsedTracker {
  readonly #ports: Ports;
  readonly #pending = new Set<number>();
  /** Time of the first use among `#unwritten`. */
  #firstUseAt = 0;
  #cancel: (() => void) | undefined;
  #writing: Promise<unknown> | undefined;

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /** Records a use. `id` is the key or session. */
  note(entry: CachedCaller, id: number): void {
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

  /** Schedules a write. Only one runs at a time; later uses wait for the next. */
  #scheduleWrite(): void {
    this.#cancel ??= this.#ports.clock.after(WRITE_DELAY_MS, () => {
      this.#cancel = undefined;
      if (this.#writing === undefined) void this.#write();
      else this.#scheduleWrite();
    });
  }

  async #write(): Promise<void> {
    const { store, write, failed } = this.#ports;
    if (this.#pending.size === 0) return;
    const [ids, at] = [[...this.#pending], this.#firstUseAt];
    this.#pending.clear();
    // Losing a time of last use must not fail anything; the next use is recorded again.
    const written = store.write(({ queries }) => write(queries, ids, at)).catch(failed);
    this.#writing = written;
    await written;
    this.#writing = undefined;
  }
}
