import { sql } from 'kysely';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { Store } from '../../store/store.ts';

/** How long an answer is believed at least; at most a hundredth of all time goes into looking. */
const BELIEVED_MS = 1_000;
const SHARE_OF_TIME = 100;

/** Accounts that are remembered at the most; then the one that was longest not looked at is forgotten. */
const MAX_CACHED_ACCOUNTS = 10_000;

export type BacklogPorts = {
  readonly store: Pick<Store, 'read'>;
  readonly clock: Clock;
  readonly log: Log;
  /** The most that may be pending for the live hooks of one account; undefined: no limit. */
  readonly most: number | undefined;
};

/**
 * Which accounts are pending too much. Asked by every write: it answers at once with what was so a moment ago, and where that
 * is old, or nothing is known, when it has looked. So an account may get beyond its limit by what it writes within a
 * second, or in a hundred times as long as a look takes, where there is that much to count.
 */
export class BacklogQuota {
  readonly #ports: BacklogPorts;
  readonly #known = new Map<number, { readonly isExceeded: boolean | Promise<boolean>; readonly goodUntil: number }>();

  constructor(ports: BacklogPorts) {
    this.#ports = ports;
  }

  isFull(accountId: number): boolean | Promise<boolean> {
    const { most, clock } = this.#ports;
    if (most === undefined) return false;
    const known = this.#known.get(accountId);
    if (known !== undefined && clock.monotonic() < known.goodUntil) return known.isExceeded;
    // One look at a time: whoever asks meanwhile waits for the same one.
    const looking = this.#count(accountId, most);
    this.#remember(accountId, looking, Number.POSITIVE_INFINITY);
    return looking;
  }

  async #count(accountId: number, most: number): Promise<boolean> {
    const { store, clock, log } = this.#ports;
    const began = clock.monotonic();
    // Where nobody can look, nobody is refused for that.
    const isFull = await hasMorePendingThan(store, accountId, most).catch((err: unknown) => {
      log.error({ event: 'backlog.count_failed', err });
      return false;
    });
    const now = clock.monotonic();
    this.#remember(accountId, isFull, now + Math.max(BELIEVED_MS, (now - began) * SHARE_OF_TIME));
    return isFull;
  }

  #remember(accountId: number, isExceeded: boolean | Promise<boolean>, goodUntil: number): void {
    this.#known.delete(accountId);
    const [oldest] = this.#known.keys();
    if (this.#known.size >= MAX_CACHED_ACCOUNTS && oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(accountId, { isExceeded, goodUntil });
  }
}

/** Counts no further than it has to. What was not told to a hook before it ended is not pending while it is. */
async function hasMorePendingThan({ read }: Pick<Store, 'read'>, accountId: number, most: number): Promise<boolean> {
  const pending = read
    .selectFrom('hooks')
    .innerJoin('pending_deliveries', 'pending_deliveries.hook_id', 'hooks.hook_id')
    .where('hooks.account_id', '=', accountId)
    .where('hooks.date_ended', 'is', null)
    .select('pending_deliveries.delivery_id')
    .limit(most + 1);
  const { count } = await read
    .selectFrom(pending.as('some'))
    .select(sql<number>`count(*)`.as('count'))
    .executeTakeFirstOrThrow();
  return count > most;
}
