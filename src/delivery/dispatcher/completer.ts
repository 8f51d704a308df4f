import { waitForBatch } from '../../async/wait-for-batch.ts';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { Store } from '../../store/store.ts';
import type { Lease } from '../cluster/leases.ts';
import type { HookAlerts } from '../outbox/hook-alerts.ts';
import { type Completion, completeDeliveries } from './complete-deliveries.ts';

/** After a settlement could not be written: when it is tried again. */
const RETRY_DELAY_MS = 500;

/** The most settlements of one transaction. */
const MAX_BATCH_SIZE = 500;

export type CompleterPorts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly notices: HookAlerts;
  readonly log: Log;
  /** Told what is written down, and which of these lanes are not any more as they were taken up (C20). */
  readonly onWritten: (written: readonly Completion[], fenced: readonly Lease[]) => void;
};

/** Writes settlements in batches until none is left; what cannot be written now is tried again, in order. */
export class Completer {
  readonly #ports: CompleterPorts;
  #waiting: Completion[] = [];
  #writing: Promise<void> | undefined;
  #isCut = false;

  constructor(ports: CompleterPorts) {
    this.#ports = ports;
  }

  add(settlement: Completion): void {
    this.#waiting.push(settlement);
    this.#writing ??= this.#writeAll();
  }

  /** The hooks of which something is not written down yet. */
  get unwritten(): ReadonlySet<number> {
    return new Set(this.#waiting.map((one) => one.hookId));
  }

  /** From here on what cannot be written stays pending: it is told again rather than lost. */
  cut(): void {
    this.#isCut = true;
  }

  /** Until everything that was added is written down, or cut. */
  async written(): Promise<void> {
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    let isWritten: boolean;
    do {
      await waitForBatch(() => this.#waiting.length, MAX_BATCH_SIZE);
      isWritten = await this.#writeBatch();
      // Looked at in the very moment in which this ends: what came right before it would wait for the next one otherwise.
    } while (isWritten && this.#waiting.length > 0);
    this.#writing = undefined;
  }

  /** Writes one batch down; answers whether that was possible. */
  async #writeBatch(): Promise<boolean> {
    const { store, clock, notices, log, onWritten } = this.#ports;
    for (;;) {
      let batch: readonly Completion[] = [];
      const take = () => {
        batch = this.#waiting.slice(0, MAX_BATCH_SIZE);
        return { completions: batch, now: clock.now() };
      };
      try {
        const fenced = await completeDeliveries(store, take, notices);
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
