import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';

/** Delay before a failed run is retried. */
const RUN_RETRY_DELAY_MS = 500;

/** The work of a loop: `runOnce` is called, one run at a time, while `hasWork` returns true. */
type WorkSource = {
  hasWork(): boolean;
  runOnce(): Promise<void>;
};

/** Runs one part of the dispatcher's work (claim, prefetch, dispatch) serially; a failed run is logged and retried. */
export class WorkLoop {
  readonly #deps: { readonly clock: Clock; readonly log: Log };
  readonly #workSource: WorkSource;
  #isRunning = false;

  constructor(deps: { readonly clock: Clock; readonly log: Log }, workSource: WorkSource) {
    this.#deps = deps;
    this.#workSource = workSource;
  }

  /** Starts the loop if it is not running and there is work. */
  wake(): void {
    if (this.#isRunning || !this.#workSource.hasWork()) return;
    this.#isRunning = true;
    void this.#runUntilIdle();
  }

  async #runUntilIdle(): Promise<void> {
    // Wait one microtask, so that one run includes all work that a commit event adds.
    await Promise.resolve();
    try {
      while (this.#workSource.hasWork()) await this.#workSource.runOnce();
    } catch (error) {
      this.#deps.log.error({ event: 'dispatcher.load_failed', err: error });
      this.#deps.clock.after(RUN_RETRY_DELAY_MS, () => this.wake());
    }
    this.#isRunning = false;
  }
}

/** Returns the first `maxCount` members of a set, without copying all of it. */
export function firstMembersOf<T>(members: ReadonlySet<T>, maxCount: number): T[] {
  const firstMembers: T[] = [];
  for (const member of members) {
    if (firstMembers.length === maxCount) break;
    firstMembers.push(member);
  }
  return firstMembers;
}
