import { splitIntoBatches } from '../../async/batches.ts';
import { WriteBehind } from '../../async/write-behind.ts';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { Queries, Store } from '../../store/store.ts';
import { hookKinds, type ResourceType, resourceTypeOf, resourceTypes } from '../outbox/event-kinds.ts';

/** Maximum number of buffered receipts. Further receipts are counted and dropped. */
const MAX_BUFFERED_RECEIPTS = 10_000;

/** Number of receipts per transaction. It is small, so that other writes do not wait long. */
const RECEIPTS_PER_WRITE = 500;

type ReadingUser = { readonly accountId: number; readonly userId: number };

type ReadReceipt = ReadingUser & {
  readonly resourceType: ResourceType;
  readonly recordId: number;
  readonly fetchedAt: number;
};

/** The resource types that a webhook can name, by route path. Records of other resource types get no receipts. */
const resourceTypeByPath: ReadonlyMap<string, ResourceType> = new Map(
  [...new Set(hookKinds.map(resourceTypeOf))].map((resourceType) => [
    `${resourceTypes[resourceType].collection}/{${resourceType}_id}`,
    resourceType,
  ]),
);

/**
 * Read receipts: the time when an API key of a user last fetched a record. With them, the console can show which users
 * got a webhook but never read the record. Best effort: no request waits for a receipt or fails because of one.
 */
export class ReadReceipts {
  readonly #clock: Clock;
  readonly #buffer: WriteBehind<string, ReadReceipt>;

  constructor({ store, clock, log }: { store: Store; clock: Clock; log: Log }) {
    this.#clock = clock;
    this.#buffer = new WriteBehind({
      clock,
      maxEntries: MAX_BUFFERED_RECEIPTS,
      merge: (_olderReceipt, newerReceipt) => newerReceipt,
      async write(receipts, droppedCount) {
        for (const batch of splitIntoBatches([...receipts.values()], RECEIPTS_PER_WRITE))
          await store.writeInBackground(({ queries }) => upsertReceipts(queries, batch.sort(compareByKey)));
        if (droppedCount > 0) log.warn({ event: 'read_receipts.missed', count: droppedCount });
      },
      onWriteFailed: (error) => log.warn({ event: 'read_receipts.failed', err: error }),
    });
  }

  /** Buffers a receipt of a fetched record. `path`: the route's template (`/events/{event_id}`); `ids`: its values. */
  add({ accountId, userId }: ReadingUser, path: string, ids: Readonly<Record<string, number>>): void {
    const resourceType = resourceTypeByPath.get(path);
    const recordId = ids[`${resourceType}_id`];
    if (resourceType === undefined || recordId === undefined) return;
    const receipt = { accountId, userId, resourceType, recordId, fetchedAt: this.#clock.now() };
    this.#buffer.add(`${userId} ${resourceType} ${recordId}`, receipt);
  }

  /** Writes all buffered receipts; called at shutdown. */
  flush(): Promise<void> {
    return this.#buffer.flush();
  }
}

/** Compares receipts by key. Rows are written in this order: a fixed lock order prevents deadlocks between nodes. */
function compareByKey(one: ReadReceipt, other: ReadReceipt): number {
  return (
    one.accountId - other.accountId ||
    one.userId - other.userId ||
    (one.resourceType < other.resourceType ? -1 : Number(one.resourceType > other.resourceType)) ||
    one.recordId - other.recordId
  );
}

/** Inserts or updates receipts. The time of the latest fetch is kept, in whatever order the nodes write. */
async function upsertReceipts(queries: Queries, receipts: readonly ReadReceipt[]): Promise<void> {
  await queries
    .insertInto('read_receipts')
    .values(
      receipts.map(({ accountId, userId, resourceType, recordId, fetchedAt }) => ({
        account_id: accountId,
        user_id: userId,
        resource_type: resourceType,
        record_id: recordId,
        fetched_at: fetchedAt,
      })),
    )
    .onConflict((conflict) =>
      conflict
        .columns(['account_id', 'user_id', 'resource_type', 'record_id'])
        .doUpdateSet({ fetched_at: (eb) => eb.ref('excluded.fetched_at') })
        .whereRef('excluded.fetched_at', '>', 'read_receipts.fetched_at'),
    )
    .execute();
}
