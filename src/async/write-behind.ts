import type { Clock } from '../clock.ts';

/** Default time from the first buffered entry to the write: a buffer is written at most once a second. */
const WRITE_DELAY_MS = 1_000;

type WriteBehindOptions<K, V> = {
  readonly clock: Pick<Clock, 'after'>;
  /** Maximum number of buffered entries. Entries with further keys are only counted. */
  readonly maxEntries: number;
  /** Merges two values of one key. */
  readonly merge: (older: V, newer: V) => V;
  /**
   * Writes all entries. A failed write is retried with the same and newer entries, so an entry may be written twice.
   *
   * @param overflowCount number of values that did not fit into the buffer
   */
  readonly write: (entries: ReadonlyMap<K, V>, overflowCount: number) => Promise<unknown>;
  readonly onWriteFailed: (error: unknown) => void;
  /** Returns the time until the next write; called when entries begin to wait, and after a failed write. */
  readonly computeDelayMs?: () => number;
};

/**
 * Write-behind buffer: collects entries in memory and writes them together a moment later, so that frequent events cost
 * few writes and no request waits for one or fails because of one. A crash loses the entries that are not written yet.
 */
export class WriteBehind<K, V> {
  readonly #options: WriteBehindOptions<K, V>;
  #entries = new Map<K, V>();
  #overflowCount = 0;
  #cancelTimer: (() => void) | undefined;
  /** Resolves when the writes so far have ended. Only one write runs at a time. */
  #lastWrite: Promise<void> = Promise.resolve();

  constructor(options: WriteBehindOptions<K, V>) {
    this.#options = options;
  }

  add(key: K, value: V): void {
    this.#put(key, value);
    this.#scheduleWrite();
  }

  /** Writes all entries now; called at shutdown. A failed write is retried only when another entry is added. */
  flush(): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#lastWrite = this.#lastWrite.then(() => this.#write());
    return this.#lastWrite;
  }

  #put(key: K, value: V): void {
    const { maxEntries, merge } = this.#options;
    const olderValue = this.#entries.get(key);
    if (olderValue !== undefined) this.#entries.set(key, merge(olderValue, value));
    else if (this.#entries.size < maxEntries) this.#entries.set(key, value);
    else this.#overflowCount += 1;
  }

  #scheduleWrite(): void {
    const { clock, computeDelayMs = () => WRITE_DELAY_MS } = this.#options;
    this.#cancelTimer ??= clock.after(computeDelayMs(), async () => {
      const write = this.flush();
      await write;
      // Retry a failed write, unless a later write, which includes its entries, has begun.
      if (this.#lastWrite === write && this.#entries.size > 0) this.#scheduleWrite();
    });
  }

  async #write(): Promise<void> {
    const [entries, overflowCount] = [this.#entries, this.#overflowCount];
    if (entries.size === 0) return;
    this.#entries = new Map();
    this.#overflowCount = 0;
    try {
      await this.#options.write(entries, overflowCount);
    } catch (error) {
      const newerEntries = this.#entries;
      this.#entries = entries;
      this.#overflowCount += overflowCount;
      for (const [key, value] of newerEntries) this.#put(key, value);
      this.#options.onWriteFailed(error);
    }
  }
}
