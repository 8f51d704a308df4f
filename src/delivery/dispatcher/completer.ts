import { waitForBatch } from '../../async/batches.ts';
import { type Clock, sleep } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { Store } from '../../store/store.ts';
import type { Lease } from '../cluster/leases.ts';
import type { EnqueueHookAlerts } from '../outbox/end-hooks.ts';
import { completeDeliveries } from './complete-deliveries.ts';
import type { Completion } from './in-flight-attempt.ts';

/** Delay before a batch that could not be committed is retried. */
const COMMIT_RETRY_DELAY_MS = 500;

/** Maximum number of completions per transaction. */
const MAX_COMPLETIONS_PER_BATCH = 500;

type CompleterDeps = {
  readonly store: Store;
  readonly clock: Clock;
  readonly enqueueAlerts: EnqueueHookAlerts;
  readonly log: Log;
  /** Called after each commit. `fencedLeases`: the leases of this batch whose fencing token was stale (C20). */
  readonly onBatchCommitted: (completions: readonly Completion[], fencedLeases: readonly Lease[]) => void;
};

/** Commits the results of attempts in batches, in the order in which they were added. A failed commit is retried. */
export class Completer {
  readonly #deps: CompleterDeps;
  #uncommittedCompletions: Completion[] = [];
  #runningCommit: Promise<void> | undefined;
  #hasStoppedRetrying = false;

  constructor(deps: CompleterDeps) {
    this.#deps = deps;
  }

  add(completion: Completion): void {
    this.#uncommittedCompletions.push(completion);
    this.#runningCommit ??= this.#commitAll();
  }

  /** Ids of hooks with results that are not committed yet. */
  get uncommittedHookIds(): ReadonlySet<number> {
    return new Set(this.#uncommittedCompletions.map(({ hookId }) => hookId));
  }

  /** From now on, a failed commit is not retried. Its deliveries stay pending and are sent again later. */
  stopRetrying(): void {
    this.#hasStoppedRetrying = true;
  }

  /** Resolves when all added results are committed, or when a commit has failed after `stopRetrying`. */
  async waitUntilCommitted(): Promise<void> {
    await this.#runningCommit;
  }

  async #commitAll(): Promise<void> {
    let isBatchCommitted: boolean;
    do {
      await waitForBatch(() => this.#uncommittedCompletions.length, MAX_COMPLETIONS_PER_BATCH);
      isBatchCommitted = await this.#commitBatch();
      // This condition is checked in the same tick that clears `#runningCommit`: otherwise a result that arrives in
      // between would wait for the next result.
    } while (isBatchCommitted && this.#uncommittedCompletions.length > 0);
    this.#runningCommit = undefined;
  }

  /** Commits one batch, with retries. Resolves with false if the commit failed after `stopRetrying`. */
  async #commitBatch(): Promise<boolean> {
    const { store, clock, enqueueAlerts, log, onBatchCommitted } = this.#deps;
    for (;;) {
      let batch: readonly Completion[] = [];
      const takeBatch = () => {
        batch = this.#uncommittedCompletions.slice(0, MAX_COMPLETIONS_PER_BATCH);
        return { completions: batch, completedAt: clock.now() };
      };
      try {
        const fencedCompletions = await completeDeliveries(store, takeBatch, enqueueAlerts);
        this.#uncommittedCompletions.splice(0, batch.length);
        onBatchCommitted(batch, fencedCompletions);
        return true;
      } catch (error) {
        log.error({
          event: 'dispatcher.complete_failed',
          err: error,
          completions: this.#uncommittedCompletions.length,
        });
        if (this.#hasStoppedRetrying) return false;
        await sleep(clock, COMMIT_RETRY_DELAY_MS);
      }
    }
  }
}
