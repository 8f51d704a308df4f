import { computeBackoffMs } from '../../async/backoff.ts';
import { BoundedMap } from '../../async/bounded-map.ts';
import type { Clock } from '../../clock.ts';
import { clientNetworkOf } from '../../http/server/client-network.ts';
import { Problem } from '../../problems.ts';

/** Number of failed attempts within a window that cause no delay. */
const FREE_ATTEMPTS = 5;
/** Length of the window in which failed attempts are counted. */
const FAILURE_WINDOW_MS = 15 * 60_000;

/** Delay after the last free attempt. It doubles with each further failure. */
const INITIAL_DELAY_MS = 30_000;
/** Maximum delay before the next attempt. */
const MAX_DELAY_MS = 15 * 60_000;

/** Maximum number of tracked pairs of user and network. The least recently used pair is evicted. */
const MAX_TRACKED_PAIRS = 10_000;

/** The failures of one user from one network. Times are in milliseconds of the monotonic clock. */
type ThrottleEntry = { failures: number; windowStartedAt: number; blockedUntil: number; expiresAt: number };

/** One login attempt. It counts as failed until it succeeds. */
type LoginAttempt = {
  /** Runs the passphrase check `verify`. An attempt whose check throws is not counted. */
  verifyPassphrase(verify: () => Promise<boolean>): Promise<boolean>;
};

/**
 * Rate-limits failed logins for each pair of user and network, so that an attacker cannot lock a user out from other
 * networks. The state is in the memory of this process only.
 */
export class LoginThrottle {
  readonly #clock: Clock;
  readonly #entries = new BoundedMap<string, ThrottleEntry>(MAX_TRACKED_PAIRS);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Begins a login attempt, unless earlier failures still delay it.
   *
   * @param userKey a text that identifies the user
   * @param source the client's address or session; an IPv6 address counts as its network, since one machine may use
   *   the whole network
   * @throws Problem `too_many_tries` with `retryAfterS`
   */
  beginAttempt(userKey: string, source: string): LoginAttempt {
    const entryKey = JSON.stringify([userKey, clientNetworkOf(source)]);
    const now = this.#clock.monotonic();
    const entry = this.#getOrCreateEntry(entryKey, now);
    if (now < entry.blockedUntil) {
      throw new Problem('too_many_tries', { retryAfterS: Math.ceil((entry.blockedUntil - now) / 1_000) });
    }
    // The attempt is counted before the check, so that concurrent attempts are counted too.
    entry.failures += 1;
    const excessFailures = entry.failures - FREE_ATTEMPTS;
    if (excessFailures >= 0)
      entry.blockedUntil = now + computeBackoffMs(excessFailures, INITIAL_DELAY_MS, MAX_DELAY_MS);
    entry.expiresAt = Math.max(now, entry.blockedUntil) + FAILURE_WINDOW_MS;
    this.#entries.set(entryKey, entry);
    return {
      verifyPassphrase: async (verify) => {
        const isCorrect = await verify().catch((error: unknown) => {
          entry.failures -= 1;
          if (entry.failures < FREE_ATTEMPTS) entry.blockedUntil = 0;
          // Delete an entry without failures, so that it does not evict an entry with failures.
          if (entry.failures === 0 && this.#entries.get(entryKey) === entry) this.#entries.delete(entryKey);
          throw error;
        });
        if (isCorrect) this.#entries.delete(entryKey);
        return isCorrect;
      },
    };
  }

  #getOrCreateEntry(entryKey: string, now: number): ThrottleEntry {
    const entry = this.#entries.get(entryKey);
    const isStale = entry !== undefined && (now >= entry.expiresAt || isWindowOver(entry, now));
    return entry === undefined || isStale
      ? { failures: 0, windowStartedAt: now, blockedUntil: 0, expiresAt: 0 }
      : entry;
  }
}

/** Returns whether the window has ended with free attempts left. The count of failures then starts again. */
function isWindowOver({ failures, windowStartedAt }: ThrottleEntry, now: number): boolean {
  return failures < FREE_ATTEMPTS && now - windowStartedAt >= FAILURE_WINDOW_MS;
}
