import type { Clock } from '../../clock.ts';
import { networkOf } from '../../http/server/client-network.ts';
import { Problem } from '../../problems.ts';

/** Failed attempts without a delay, counted over a window. */
const FREE_ATTEMPTS = 5;
const WINDOW_MS = 15 * 60_000;

/** Delay after the last free attempt; it doubles with each further failure, up to a maximum. */
const INITIAL_DELAY_MS = 30_000;
const MAX_DELAY_MS = 15 * 60_000;

/** Maximum number of tracked user and network pairs; the least recently used one is evicted. */
const MAX_TRACKED = 10_000;

/** Failures of a user and network pair; times in milliseconds of the monotonic clock. */
type Entry = { failures: number; startedAt: number; blockedUntil: number; expiresAt: number };

/** One login attempt. It counts as failed until it succeeds. */
export type LoginAttempt = {
  /** Runs the check. An attempt whose check throws is not counted. */
  check(work: () => Promise<boolean>): Promise<boolean>;
};

/**
 * Rate-limits failed logins per user and network together, so that an attacker cannot lock a user out of another network.
 * The state is in the memory of this process only.
 */
export class LoginThrottle {
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * @param user the user name tried
   * @param source the client's address; an IPv6 address counts as its network, since one machine has the whole of it
   * @throws Problem `too_many_tries` with `retryAfterS`
   */
  begin(user: string, source: string): LoginAttempt {
    const name = JSON.stringify([user, networkOf(source)]);
    const now = this.#clock.monotonic();
    const entry = this.#find(name, now);
    if (now < entry.blockedUntil) {
      throw new Problem('too_many_tries', { retryAfterS: Math.ceil((entry.blockedUntil - now) / 1_000) });
    }
    // Counted before the check, so that concurrent attempts count as well.
    entry.failures += 1;
    const excess = entry.failures - FREE_ATTEMPTS;
    if (excess >= 0) entry.blockedUntil = now + Math.min(INITIAL_DELAY_MS * 2 ** excess, MAX_DELAY_MS);
    entry.expiresAt = Math.max(now, entry.blockedUntil) + WINDOW_MS;
    this.#store(name, entry);
    return {
      check: async (work) => {
        const isRight = await work().catch((error: unknown) => {
          entry.failures -= 1;
          if (entry.failures < FREE_ATTEMPTS) entry.blockedUntil = 0;
          // An entry without failures must not stay: it could evict entries that matter.
          if (entry.failures === 0 && this.#entries.get(name) === entry) this.#entries.delete(name);
          throw error;
        });
        if (isRight) this.#entries.delete(name);
        return isRight;
      },
    };
  }

  #find(name: string, now: number): Entry {
    const entry = this.#entries.get(name);
    const isStale = entry !== undefined && (now >= entry.expiresAt || isWindowOver(entry, now));
    return entry === undefined || isStale ? { failures: 0, startedAt: now, blockedUntil: 0, expiresAt: 0 } : entry;
  }

  #store(name: string, entry: Entry): void {
    this.#entries.delete(name);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size >= MAX_TRACKED && oldest !== undefined) this.#entries.delete(oldest);
    this.#entries.set(name, entry);
  }
}

/** Whether the window has passed without using up the free attempts; the count then starts again. */
function isWindowOver({ failures, startedAt }: Entry, now: number): boolean {
  return failures < FREE_ATTEMPTS && now - startedAt >= WINDOW_MS;
}
