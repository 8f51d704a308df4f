import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { Queries, Store } from '../../store/store.ts';
import { hookKinds, type ResourceType, resourceTypeOf, resourceTypes } from '../outbox/event-kinds.ts';

/** How soon what was fetched is written down, all of it together. */
const FLUSH_INTERVAL_MS = 1_000;

/** Records that are remembered until then, at the most; what is fetched beyond them is not noted. */
const MAX_BUFFERED = 10_000;

/** Small enough that no write waits long behind it. */
const WRITE_BATCH_SIZE = 500;

type Reader = { readonly accountId: number; readonly userId: number };

type ReadReceipt = Reader & { readonly resourceType: ResourceType; readonly recordId: number; at: number };

/** The nouns that a notification can name, by the path of their records: nothing else is told and then read. */
const resourceAt: ReadonlyMap<string, ResourceType> = new Map(
  [...new Set(hookKinds.map(resourceTypeOf))].map((resourceType) => [
    `${resourceTypes[resourceType].collection}/{${resourceType}_id}`,
    resourceType,
  ]),
);

/**
 * When a key of a user last fetched a record at its own address, so that it can be seen who was told and never read.
 * Noted in memory, and written down once a second at most: a help for the eye, which no call waits for or fails for.
 */
export class ReadReceipts {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Log;
  #buffered = new Map<string, ReadReceipt>();
  #missed = 0;
  #cancel: (() => void) | undefined;

  constructor({ store, clock, log }: { store: Store; clock: Clock; log: Log }) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
  }

  /** Somebody was answered with a record: `path` as its row has it (`/events/{event_id}`), and the ids in it. */
  add({ accountId, userId }: Reader, path: string, ids: Readonly<Record<string, number>>): void {
    const resourceType = resourceAt.get(path);
    const recordId = ids[`${resourceType}_id`];
    if (resourceType === undefined || recordId === undefined) return;
    const name = `${userId} ${resourceType} ${recordId}`;
    const held = this.#buffered.get(name);
    if (held !== undefined) held.at = this.#clock.now();
    else if (this.#buffered.size >= MAX_BUFFERED) this.#missed += 1;
    else this.#buffered.set(name, { accountId, userId, resourceType, recordId, at: this.#clock.now() });
    this.#cancel ??= this.#clock.after(FLUSH_INTERVAL_MS, () => void this.flush());
  }

  /** Writes down what is held, also at a stop. */
  async flush(): Promise<void> {
    this.#cancel?.();
    this.#cancel = undefined;
    const held = [...this.#buffered.values()].sort(byKey);
    const missed = this.#missed;
    this.#buffered = new Map();
    this.#missed = 0;
    if (missed > 0) this.#log.warn({ event: 'read_receipts.missed', count: missed });
    try {
      for (let first = 0; first < held.length; first += WRITE_BATCH_SIZE) {
        const some = held.slice(first, first + WRITE_BATCH_SIZE);
        await this.#store.writeInBackground(({ queries }) => writeDown(queries, some));
      }
    } catch (error) {
      this.#log.warn({ event: 'read_receipts.failed', err: error });
    }
  }
}

/** Always in this order, so that nodes wait for each other and not for ever. */
function byKey(one: ReadReceipt, other: ReadReceipt): number {
  return (
    one.accountId - other.accountId ||
    one.userId - other.userId ||
    (one.resourceType < other.resourceType ? -1 : Number(one.resourceType > other.resourceType)) ||
    one.recordId - other.recordId
  );
}

/** The latest fetch stands, whichever node writes it down later. */
async function writeDown(queries: Queries, some: readonly ReadReceipt[]): Promise<void> {
  await queries
    .insertInto('read_receipts')
    .values(
      some.map(({ accountId, userId, resourceType, recordId, at }) => ({
        account_id: accountId,
        user_id: userId,
        resource_type: resourceType,
        record_id: recordId,
        fetched_at: at,
      })),
    )
    .onConflict((conflict) =>
      conflict
        .columns(['account_id', 'user_id', 'resource_type', 'record_id'])
        .doUpdateSet({ fetched_at: (set) => set.ref('excluded.fetched_at') })
        .whereRef('excluded.fetched_at', '>', 'read_receipts.fetched_at'),
    )
    .execute();
}
