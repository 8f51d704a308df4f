import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { Queries, Store } from '../store/store.ts';
import { hookKinds, type Noun, nounOf, nouns } from './kinds.ts';

/** How soon what was fetched is written down, all of it together. */
const WRITE_AFTER_MS = 1_000;

/** Records that are remembered until then, at the most; what is fetched beyond them is not noted. */
const MOST_HELD = 10_000;

/** Small enough that no write waits long behind it. */
const ROWS_A_WRITE = 500;

type Fetcher = { readonly accountId: number; readonly userId: number };

type Fetched = Fetcher & { readonly noun: Noun; readonly recordId: number; at: number };

/** The nouns that a notification can name, by the path of their records: nothing else is told and then read. */
const nounAt: ReadonlyMap<string, Noun> = new Map(
  [...new Set(hookKinds.map(nounOf))].map((noun) => [`${nouns[noun].collection}/{${noun}_id}`, noun]),
);

/**
 * When a key of a user last fetched a record at its own address, so that it can be seen who was told and never read.
 * Noted in memory, and written down once a second at most: a help for the eye, which no call waits for or fails for.
 */
export class Fetches {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Log;
  #held = new Map<string, Fetched>();
  #missed = 0;
  #cancel: (() => void) | undefined;

  constructor({ store, clock, log }: { store: Store; clock: Clock; log: Log }) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
  }

  /** Somebody was answered with a record: `path` as its row has it (`/events/{event_id}`), and the ids in it. */
  add({ accountId, userId }: Fetcher, path: string, ids: Readonly<Record<string, number>>): void {
    const noun = nounAt.get(path);
    const recordId = ids[`${noun}_id`];
    if (noun === undefined || recordId === undefined) return;
    const name = `${userId} ${noun} ${recordId}`;
    const held = this.#held.get(name);
    if (held !== undefined) held.at = this.#clock.now();
    else if (this.#held.size >= MOST_HELD) this.#missed += 1;
    else this.#held.set(name, { accountId, userId, noun, recordId, at: this.#clock.now() });
    this.#cancel ??= this.#clock.after(WRITE_AFTER_MS, () => void this.flush());
  }

  /** Writes down what is held, also at a stop. */
  async flush(): Promise<void> {
    this.#cancel?.();
    this.#cancel = undefined;
    const held = [...this.#held.values()].sort(byKey);
    const missed = this.#missed;
    this.#held = new Map();
    this.#missed = 0;
    if (missed > 0) this.#log.warn({ event: 'fetches.missed', count: missed });
    try {
      for (let first = 0; first < held.length; first += ROWS_A_WRITE) {
        const some = held.slice(first, first + ROWS_A_WRITE);
        await this.#store.writeAside(({ queries }) => writeDown(queries, some));
      }
    } catch (error) {
      this.#log.warn({ event: 'fetches.failed', err: error });
    }
  }
}

/** Always in this order, so that nodes wait for each other and not for ever. */
function byKey(one: Fetched, other: Fetched): number {
  return (
    one.accountId - other.accountId ||
    one.userId - other.userId ||
    (one.noun < other.noun ? -1 : Number(one.noun > other.noun)) ||
    one.recordId - other.recordId
  );
}

/** The latest fetch stands, whichever node writes it down later. */
async function writeDown(queries: Queries, some: readonly Fetched[]): Promise<void> {
  await queries
    .insertInto('fetches')
    .values(
      some.map(({ accountId, userId, noun, recordId, at }) => ({
        account_id: accountId,
        user_id: userId,
        noun,
        record_id: recordId,
        fetched_at: at,
      })),
    )
    .onConflict((conflict) =>
      conflict
        .columns(['account_id', 'user_id', 'noun', 'record_id'])
        .doUpdateSet({ fetched_at: (set) => set.ref('excluded.fetched_at') })
        .whereRef('excluded.fetched_at', '>', 'fetches.fetched_at'),
    )
    .execute();
}
