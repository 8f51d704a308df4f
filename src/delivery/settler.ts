import type { Clock } from '../clock.ts';
import { gather } from '../gather.ts';
import type { Log } from '../log.ts';
import type { Store } from '../store/store.ts';
import type { Held } from './claims.ts';
import type { Notices } from './notices.ts';
import { type Settlement, settle } from './settle.ts';

/** After a settlement could not be written: when it is tried again. */
const AGAIN_MS = 500;

/** The most settlements of one transaction. */
const LARGEST_SETTLEMENT = 500;

export type SettlerPorts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly notices: Notices;
  readonly log: Log;
  /** Told what is written down, and which of these lanes are not any more as they were taken up (C20). */
  readonly onWritten: (written: readonly Settlement[], fenced: readonly Held[]) => void;
};

/** Writes settlements in batches until none is left; what cannot be written now is tried again, in order. */
export class Settler {
  readonly #ports: SettlerPorts;
  #waiting: Settlement[] = [];
  #writing: Promise<void> | undefined;
  #isCut = false;

  constructor(ports: SettlerPorts) {
    this.#ports = ports;
  }

  add(settlement: Settlement): void {
    this.#waiting.push(settlement);
    this.#writing ??= this.#writeAll();
  }

  /** The hooks of which something is not written down yet. */
  get unwritten(): ReadonlySet<number> {
    return new Set(this.#waiting.map((one) => one.hookId));
  }

  /** From here on what cannot be written stays owed: it is told again rather than lost. */
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
      await gather(() => this.#waiting.length, LARGEST_SETTLEMENT);
      isWritten = await this.#writeSome();
      // Looked at in the very moment in which this ends: what came right before it would wait for the next one otherwise.
    } while (isWritten && this.#waiting.length > 0);
    this.#writing = undefined;
  }

  /** Writes one batch down; answers whether that was possible. */
  async #writeSome(): Promise<boolean> {
    const { store, clock, notices, log, onWritten } = this.#ports;
    for (;;) {
      let batch: readonly Settlement[] = [];
      const take = () => {
        batch = this.#waiting.slice(0, LARGEST_SETTLEMENT);
        return { settlements: batch, now: clock.now() };
      };
      try {
        const fenced = await settle(store, take, notices);
        this.#waiting.splice(0, batch.length);
        onWritten(batch, fenced);
        return true;
      } catch (error) {
        log.error({ event: 'engine.settle_failed', err: error, settlements: this.#waiting.length });
        if (this.#isCut) return false;
        await new Promise<void>((resolve) => clock.after(AGAIN_MS, resolve));
      }
    }
  }
}
