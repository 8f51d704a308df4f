import type { Clock } from '../../clock.ts';
import { networkOf } from '../../http/server/client-network.ts';
import { Problem } from '../../problems.ts';

/** So many wrong tries cost nothing but their time, if they come within so long. */
const FREE_TRIES = 5;
const WINDOW_MS = 15 * 60_000;

/** How long whoever has used them up waits, twice as long after each further one. */
const FIRST_WAIT_MS = 30_000;
const MAX_WAIT_MS = 15 * 60_000;

/** Those that are remembered at the most; then the longest untouched are forgotten. */
const MAX_TRACKED = 10_000;

type Kept = { wrong: number; begunAt: number; closedUntil: number; forgottenAt: number };

/** One try: it counts as wrong until it is known not to be. */
export type LoginAttempt = {
  /** Does what tells; a try that could not be judged does not count. */
  check(work: () => Promise<boolean>): Promise<boolean>;
};

/**
 * Slows down whoever tries passphrases: by whom they try to be and where they come from, together, so that nobody can
 * lock another out who comes from elsewhere. In the memory of this process alone.
 */
export class LoginThrottle {
  readonly #clock: Clock;
  readonly #kept = new Map<string, Kept>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * @param who whom they try to be
   * @param source where from; of IPv6 a whole network counts, which one machine has to itself
   * @throws Problem `too_many_tries`, saying how long to wait
   */
  begin(who: string, source: string): LoginAttempt {
    const name = JSON.stringify([who, networkOf(source)]);
    const now = this.#clock.monotonic();
    const kept = this.#find(name, now);
    if (now < kept.closedUntil) {
      throw new Problem('too_many_tries', { retryAfterS: Math.ceil((kept.closedUntil - now) / 1_000) });
    }
    // Counted at once: tries that are made together are as many.
    kept.wrong += 1;
    const over = kept.wrong - FREE_TRIES;
    if (over >= 0) kept.closedUntil = now + Math.min(FIRST_WAIT_MS * 2 ** over, MAX_WAIT_MS);
    kept.forgottenAt = Math.max(now, kept.closedUntil) + WINDOW_MS;
    this.#keep(name, kept);
    return {
      check: async (work) => {
        const isRight = await work().catch((error: unknown) => {
          kept.wrong -= 1;
          if (kept.wrong < FREE_TRIES) kept.closedUntil = 0;
          // Of whom nothing is known any more, nothing is kept: those would push others out, and cost nothing.
          if (kept.wrong === 0 && this.#kept.get(name) === kept) this.#kept.delete(name);
          throw error;
        });
        if (isRight) this.#kept.delete(name);
        return isRight;
      },
    };
  }

  #find(name: string, now: number): Kept {
    const kept = this.#kept.get(name);
    const isStale = kept !== undefined && (now >= kept.forgottenAt || isSlow(kept, now));
    return kept === undefined || isStale ? { wrong: 0, begunAt: now, closedUntil: 0, forgottenAt: 0 } : kept;
  }

  #keep(name: string, kept: Kept): void {
    this.#kept.delete(name);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size >= MAX_TRACKED && oldest !== undefined) this.#kept.delete(oldest);
    this.#kept.set(name, kept);
  }
}

/** Whether somebody who has tries left has taken their time for those they had. */
function isSlow({ wrong, begunAt }: Kept, now: number): boolean {
  return wrong < FREE_TRIES && now - begunAt >= WINDOW_MS;
}
