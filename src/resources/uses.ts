import type { Clock } from '../clock.ts';
import type { Queries, Store } from '../store/store.ts';
import type { Visitor } from './known.ts';

/** How soon a use is written down, and how old what is written may become before it is written again. */
const WRITE_AFTER_MS = 1_000;
const REFRESH_AFTER_MS = 60_000;

type Ports = {
  readonly store: Store;
  readonly clock: Clock;
  /** Writes down when one was last used. */
  readonly write: (queries: Queries, id: number, at: number) => Promise<unknown>;
  /** Hears that it could not be written down. */
  readonly failed: (error: unknown) => void;
};

/** When each key, or each session, was last used, without a write per request. */
export class Uses {
  readonly #ports: Ports;
  readonly #waiting = new Map<number, number>();
  #cancel: (() => void) | undefined;

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /** Somebody has come once more. */
  note(visitor: Visitor, id: number): void {
    const now = this.#ports.clock.now();
    if (now - visitor.lastUsed < REFRESH_AFTER_MS) return;
    visitor.lastUsed = now;
    this.#waiting.set(id, now);
    this.#cancel ??= this.#ports.clock.after(WRITE_AFTER_MS, () => void this.flush());
  }

  /** Writes down what is remembered. */
  async flush(): Promise<void> {
    const { store, write, failed } = this.#ports;
    this.#cancel?.();
    this.#cancel = undefined;
    const uses = [...this.#waiting];
    if (uses.length === 0) return;
    this.#waiting.clear();
    try {
      await store.write(async ({ queries }) => {
        for (const [id, at] of uses) await write(queries, id, at);
      });
    } catch (error) {
      // When something was used is worth knowing and not worth failing for; the next use is remembered again.
      failed(error);
    }
  }
}
