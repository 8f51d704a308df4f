import { sql } from 'kysely';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { Store } from '../store/store.ts';

/** How long an answer is believed at least; at most a hundredth of all time goes into looking. */
const BELIEVED_MS = 1_000;
const SHARE_OF_TIME = 100;

/** Accounts that are remembered at the most; then the one that was longest not looked at is forgotten. */
const MOST_KEPT = 10_000;

export type BacklogPorts = {
  readonly store: Pick<Store, 'read'>;
  readonly clock: Clock;
  readonly log: Log;
  /** The most that may be owed to the live hooks of one account; undefined: no limit. */
  readonly most: number | undefined;
};

/**
 * Which accounts are owed too much. Asked by every write, and so it answers at once with what was so a moment ago, and
 * looks again when that is old: an account may get beyond its limit by what it writes within a second or two.
 */
export class Backlog {
  readonly #ports: BacklogPorts;
  readonly #known = new Map<number, { isFull: boolean; goodUntil: number }>();

  constructor(ports: BacklogPorts) {
    this.#ports = ports;
  }

  isFull(accountId: number): boolean {
    const { most, clock } = this.#ports;
    if (most === undefined) return false;
    const known = this.#known.get(accountId) ?? { isFull: false, goodUntil: 0 };
    if (clock.monotonic() >= known.goodUntil) {
      // One look at a time.
      this.#keep(accountId, { ...known, goodUntil: Number.POSITIVE_INFINITY });
      void this.#look(accountId, most);
    }
    return known.isFull;
  }

  async #look(accountId: number, most: number): Promise<void> {
    const { store, clock, log } = this.#ports;
    const began = clock.monotonic();
    const known = this.#known.get(accountId)?.isFull ?? false;
    const isFull = await isOwedMoreThan(store, accountId, most).catch((err: unknown) => {
      log.error({ event: 'backlog.look_failed', err });
      return known;
    });
    const now = clock.monotonic();
    this.#keep(accountId, { isFull, goodUntil: now + Math.max(BELIEVED_MS, (now - began) * SHARE_OF_TIME) });
  }

  #keep(accountId: number, known: { isFull: boolean; goodUntil: number }): void {
    this.#known.delete(accountId);
    const [oldest] = this.#known.keys();
    if (this.#known.size >= MOST_KEPT && oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(accountId, known);
  }
}

/** Counts no further than it has to. What was not told to a hook before it ended is not owed while it is. */
async function isOwedMoreThan({ read }: Pick<Store, 'read'>, accountId: number, most: number): Promise<boolean> {
  const owed = read
    .selectFrom('hooks')
    .innerJoin('owed', 'owed.hook_id', 'hooks.hook_id')
    .where('hooks.account_id', '=', accountId)
    .where('hooks.date_ended', 'is', null)
    .select('owed.delivery_id')
    .limit(most + 1);
  const { count } = await read
    .selectFrom(owed.as('some'))
    .select(sql<number>`count(*)`.as('count'))
    .executeTakeFirstOrThrow();
  return count > most;
}
