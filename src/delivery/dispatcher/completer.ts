import { waitForBatch } from '../../async/wait-for-batch.ts';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { Store } from '../../store/store.ts';
import type { Lease } from '../cluster/leases.ts';
import type { HookAlerts } from '../outbox/end-hooks.ts';
import { type Completion, completeDeliveries } from './complete-deliveries.ts';

/** Delay before a batch that could not be committed is retried. */
const RETRY_DELAY_MS = 500;

/** Maximum number of completions per transaction. */
const MAX_BATCH_SIZE = 500;

export type CompleterPorts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly hookAlerts: HookAlerts;
  readonly log: Log;
  /** Called after each commit; `fenced` are the leases of this batch whose fencing token was stale (C20). */
  readonly onWritten: (written: readonly Completion[], fenced: readonly Lease[]) => void;
};

/** Commits the results of attempts in batches, in the order in which they were added; a failed commit is retried. */
export class Completer {
  readonly #ports: CompleterPorts;
  #waiting: Completion[] = [];
  #writing: Promise<void> | undefined;
  #isCut = false;

  constructor(ports: CompleterPorts) {
    this.#ports = ports;
  }

  add(completion: Completion): void {
    this.#waiting.push(completion);
    this.#writing ??= this.#writeAll();
  }

  /** Ids of hooks with results that are not committed yet. */
  get hooksWithUncommitted(): ReadonlySet<number> {
    return new Set(this.#waiting.map(({ hookId }) => hookId));
  }

  /** From now on, a failed commit is not retried. Its deliveries stay pending and are sent again later. */
  cut(): void {
    this.#isCut = true;
  }

  /** Resolves when all results that were added are committed, or given up after `stopRetrying`. */
  async written(): Promise<void> {
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    let isWritten: boolean;
    do {
      await waitForBatch(() => this.#waiting.length, MAX_BATCH_SIZE);
      isWritten = await this.#writeBatch();
      // Checked in the same tick in which `#running` is cleared: otherwise a result that arrives in between would wait
      // for the next result.
    } while (isWritten && this.#waiting.length > 0);
    this.#writing = undefined;
  }

  /** Commits one batch, with retries. Resolves with false if it was given up after `stopRetrying`. */
  async #writeBatch(): Promise<boolean> {
    const { store, clock, hookAlerts, log, onWritten } = this.#ports;
    for (;;) {
      let batch: readonly Completion[] = [];
      const take = () => {
        batch = this.#waiting.slice(0, MAX_BATCH_SIZE);
        return { completions: batch, now: clock.now() };
      };
      try {
        const fenced = await completeDeliveries(store, take, hookAlerts);
        this.#waiting.splice(0, batch.length);
        onWritten(batch, fenced);
        return true;
      } catch (error) {
        log.error({ event: 'dispatcher.complete_failed', err: error, settlements: this.#waiting.length });
        if (this.#isCut) return false;
        await new Promise<void>((resolve) => clock.after(RETRY_DELAY_MS, resolve));
      }
    }
  }
}
