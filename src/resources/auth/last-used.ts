import type { Clock } from '../../clock.ts';
import type { Queries, Store } from '../../store/store.ts';
import type { CachedCaller } from './caller-cache.ts';

/** How soon a use is written down, and how old what is written may become before it is written again. */
const WRITE_AFTER_MS = 1_000;
const REFRESH_AFTER_MS = 60_000;

type Ports = {
  readonly store: Store;
  readonly clock: Clock;
  /** Writes down when these were last used; those that another node is just writing down, that one sees to. */
  readonly write: (queries: Queries, ids: readonly number[], at: number) => Promise<unknown>;
  /** Hears that it could not be written down. */
  readonly failed: (error: unknown) => void;
};

/** When each key, or each session, was last used, without a write per request. */
export class LastUsedTracker {
  readonly #ports: Ports;
  readonly #waiting = new Set<number>();
  /** When the first of them was used. */
  #since = 0;
  #cancel: (() => void) | undefined;
  #writing: Promise<unknown> | undefined;

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /** Somebody has come once more. */
  note(visitor: CachedCaller, id: number): void {
    const now = this.#ports.clock.now();
    if (now - visitor.lastUsed < REFRESH_AFTER_MS) return;
    visitor.lastUsed = now;
    if (this.#waiting.size === 0) this.#since = now;
    this.#waiting.add(id);
    this.#writeSoon();
  }

  /** Writes down what is remembered, at a stop. */
  async flush(): Promise<void> {
    await this.#writing;
    this.#cancel?.();
    this.#cancel = undefined;
    await this.#write();
  }

  /** One write at a time, however long it takes: what comes meanwhile has time. */
  #writeSoon(): void {
    this.#cancel ??= this.#ports.clock.after(WRITE_AFTER_MS, () => {
      this.#cancel = undefined;
      if (this.#writing === undefined) void this.#write();
      else this.#writeSoon();
    });
  }

  async #write(): Promise<void> {
    const { store, write, failed } = this.#ports;
    if (this.#waiting.size === 0) return;
    const [ids, at] = [[...this.#waiting], this.#since];
    this.#waiting.clear();
    // When something was used is worth knowing and not worth failing for; the next use is remembered again.
    const written = store.write(({ queries }) => write(queries, ids, at)).catch(failed);
    this.#writing = written;
    await written;
    this.#writing = undefined;
  }
}
