import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';

/** After a turn that failed: when it is made again. */
const RETRY_DELAY_MS = 500;

/** What a loop does, a turn at a time, for as long as there is work. */
export type Work = {
  hasWork(): boolean;
  runOnce(): Promise<void>;
};

/** One part of the engine's work, beside the others: one turn at a time, and one that failed again a little later. */
export class WorkLoop {
  readonly #ports: { readonly clock: Clock; readonly log: Log };
  readonly #work: Work;
  #isRunning = false;

  constructor(ports: { readonly clock: Clock; readonly log: Log }, work: Work) {
    this.#ports = ports;
    this.#work = work;
  }

  /** Goes on where there is work; what becomes work while it goes is done by the turns after. */
  wake(): void {
    if (this.#isRunning || !this.#work.hasWork()) return;
    this.#isRunning = true;
    void this.#run();
  }

  async #run(): Promise<void> {
    // What one piece of news brings is done together.
    await Promise.resolve();
    try {
      while (this.#work.hasWork()) await this.#work.runOnce();
    } catch (error) {
      this.#ports.log.error({ event: 'dispatcher.load_failed', err: error });
      this.#ports.clock.after(RETRY_DELAY_MS, () => this.wake());
    }
    this.#isRunning = false;
  }
}

/** So many of a set that may be far larger, in its order. */
export function firstOf<T>(all: ReadonlySet<T>, most: number): T[] {
  const first: T[] = [];
  for (const one of all) {
    if (first.length === most) break;
    first.push(one);
  }
  return first;
}
