import { type SqlBool, sql } from 'kysely';
import { AccountView } from '../../store/account-scope.ts';
import { DELIVERY_BUCKET_SIZE, DELIVERY_ID_BUCKET_SQL } from './select-deliveries.ts';

/** Finalized deliveries of a hook that became pending from `from` on and before `until`, milliseconds. */
type DeliveryInterval = {
  readonly userId: number;
  readonly hookId: number;
  readonly from: number;
  readonly until: number;
};

/**
 * Maximum time by which a delivery may have an earlier creation time than one with a smaller id: the machine's clock was
 * set back, or another node's clock is behind.
 */
const MAX_DISORDER_MS = 3_600_000;

/** Number of buckets per statement. A statement on SQLite blocks the event loop until it has read all their rows. */
const BUCKETS_PER_STATEMENT = 4;

/**
 * Returns the ids of the finalized deliveries of an interval, in order, or of at least `limit` of them. No index has the
 * creation time. But ids ascend with it, so a bisection finds the ids between which the deliveries must be, and only the
 * deliveries of the hook between these ids are read.
 */
export async function findDeliveriesOfInterval(
  view: AccountView,
  interval: DeliveryInterval,
  limit: number,
): Promise<number[]> {
  const { userId, from, until } = interval;
  const [last] = await selectLastDelivery(view, { userId });
  if (last === undefined) return [];
  const end = last.delivery_id + 1;
  const firstId = await findFirstIdSince(view, userId, from - MAX_DISORDER_MS, end);
  const endId = await findFirstIdSince(view, userId, until + MAX_DISORDER_MS, end);
  const lastBucket = bucketOf(endId - 1);
  const ids: number[] = [];
  for (let bucket = bucketOf(firstId); bucket <= lastBucket && ids.length < limit; bucket += BUCKETS_PER_STATEMENT) {
    const bucketCount = Math.min(BUCKETS_PER_STATEMENT, lastBucket - bucket + 1);
    const buckets = Array.from({ length: bucketCount }, (_, index) => bucket + index);
    const rows = await selectInBuckets(view, interval, buckets)
      .limit(limit - ids.length)
      .execute();
    ids.push(...rows.map(({ delivery_id }) => delivery_id));
  }
  return ids.sort((one, other) => one - other);
}

const bucketOf = (deliveryId: number) => Math.floor(deliveryId / DELIVERY_BUCKET_SIZE);

const selectLastDelivery = AccountView.prepareQuery((view, { userId }: { readonly userId: number }) =>
  view
    .selectFrom('finalized_deliveries')
    .where('finalized_deliveries.user_id', '=', userId)
    .select('finalized_deliveries.delivery_id')
    .orderBy('finalized_deliveries.delivery_id', 'desc')
    .limit(1),
);

const selectNextDelivery = AccountView.prepareQuery(
  (view, { userId, firstId }: { readonly userId: number; readonly firstId: number }) =>
    view
      .selectFrom('finalized_deliveries')
      .where('finalized_deliveries.user_id', '=', userId)
      .where('finalized_deliveries.delivery_id', '>=', firstId)
      .select(['finalized_deliveries.delivery_id', 'finalized_deliveries.created_at'])
      .orderBy('finalized_deliveries.delivery_id')
      .limit(1),
);

/**
 * Bisects the finalized deliveries of a user, all with ids before `end`: of those before the returned id, the last was
 * created before `time`; of the others, the first was not.
 */
async function findFirstIdSince(view: AccountView, userId: number, time: number, end: number): Promise<number> {
  let [low, high] = [0, end];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [next] = await selectNextDelivery(view, { userId, firstId: middle });
    if (next === undefined || next.delivery_id >= high || next.created_at >= time) high = middle;
    else low = next.delivery_id + 1;
  }
  return low;
}

function selectInBuckets(view: AccountView, { hookId, from, until }: DeliveryInterval, buckets: readonly number[]) {
  return (
    view
      .selectFrom('finalized_deliveries')
      .where(sql<SqlBool>`${sql.raw(DELIVERY_ID_BUCKET_SQL)} in (${sql.join(buckets)})`)
      .where('finalized_deliveries.hook_id', '=', hookId)
      // Not a test.
      .where('finalized_deliveries.position', 'is not', null)
      .where('finalized_deliveries.created_at', '>=', from)
      .where('finalized_deliveries.created_at', '<', until)
      .select('finalized_deliveries.delivery_id')
  );
}
