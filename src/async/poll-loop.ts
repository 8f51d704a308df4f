import type { Clock } from '../clock.ts';

type PollLoopOptions = {
  readonly clock: Pick<Clock, 'after'>;
  /** Time from the end of a turn to the start of the next one. */
  readonly intervalMs: number;
  readonly runTurn: () => Promise<void>;
  /** Called when a turn has failed. The loop continues with the next turn. */
  readonly onTurnFailed: (error: unknown) => void;
};

/** Runs a turn again and again, at an interval or when it is woken, one turn at a time, until it is stopped. */
export class PollLoop {
  readonly #options: PollLoopOptions;
  #isStarted = false;
  #isWoken = false;
  #runningTurns: Promise<void> | undefined;
  #cancelTimer: () => void = () => undefined;

  constructor(options: PollLoopOptions) {
    this.#options = options;
  }

  /** Starts the loop; has no effect if it is started. The first turn begins after `firstDelayMs`. */
  start(firstDelayMs = this.#options.intervalMs): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    // A turn that still runs since before a stop sets the timer when it ends.
    if (this.#runningTurns === undefined) this.#setTimer(firstDelayMs);
  }

  /** Starts the loop with a turn now. Resolves when this turn has ended, also if it failed. */
  startNow(): Promise<void> {
    this.#isStarted = true;
    return this.wake();
  }

  /** Runs a turn now, or once more after the running one. Resolves when it has ended, also if it failed. */
  wake(): Promise<void> {
    if (!this.#isStarted) return Promise.resolve();
    this.#isWoken = true;
    this.#runningTurns ??= this.#runTurns();
    return this.#runningTurns;
  }

  /** Stops the loop, which can be started again. Resolves when the running turn has ended. */
  async stop(): Promise<void> {
    this.#isStarted = false;
    this.#cancelTimer();
    await this.#runningTurns;
  }

  #setTimer(waitMs: number): void {
    this.#cancelTimer = this.#options.clock.after(waitMs, () => void this.wake());
  }

  async #runTurns(): Promise<void> {
    const { intervalMs, runTurn, onTurnFailed } = this.#options;
    this.#cancelTimer();
    while (this.#isStarted && this.#isWoken) {
      this.#isWoken = false;
      try {
        await runTurn();
      } catch (error) {
        onTurnFailed(error);
      }
    }
    this.#runningTurns = undefined;
    if (this.#isStarted) this.#setTimer(intervalMs);
  }
}
