import { sql } from 'kysely';
import { BoundedMap } from '../../async/bounded-map.ts';
import { AccountView } from '../../store/account-scope.ts';
import { mapResources, resourceTables, type StandardResourceType } from './resource-tables.ts';

/** The number of records as of a position in the feed of the account. */
export type CountAtPosition = { readonly position: number; readonly total: number };

/** The count for an account that has no row in `positions` yet. */
const ZERO_COUNT: CountAtPosition = { position: 0, total: 0 };

/**
 * Summary of the occurrences after a position: the current feed position (`position`), how many occurrences were found
 * (`found`), and the creations minus the deletions among them (`more`).
 */
type CountDelta = { readonly position: number; readonly found: number; readonly more: number };

/** Maximum number of cached counts per database. The least recently used count is evicted. */
const MAX_CACHED_COUNTS = 10_000;

/** For each database (`AccountView.cacheKey`), the cached counts by account and resource type. */
const countCaches = new WeakMap<object, Map<string, CountAtPosition>>();

/**
 * Returns the exact number of records of a type in an account (C7), without counting them each time. A cached count is
 * valid for a feed position. Each later creation or deletion is an occurrence after that position (C14), so the feed
 * contains the difference. Nothing is written to the database, and the result is right on every node.
 */
export async function countRecords(view: AccountView, resourceType: StandardResourceType): Promise<CountAtPosition> {
  const cacheKey = view.cacheKey;
  if (cacheKey === undefined) return (await countQueries[resourceType](view, {}))[0] ?? ZERO_COUNT;
  const cache = countCaches.get(cacheKey) ?? new BoundedMap<string, CountAtPosition>(MAX_CACHED_COUNTS);
  countCaches.set(cacheKey, cache);
  const countKey = `${view.accountId} ${resourceType}`;
  const cachedCount = cache.get(countKey);
  const currentCount =
    (cachedCount && (await updateCount(view, resourceType, cachedCount))) ??
    (await countQueries[resourceType](view, {}))[0];
  if (currentCount === undefined) return ZERO_COUNT;
  cache.set(countKey, currentCount);
  return currentCount;
}

/**
 * Updates a cached count from the feed. Returns undefined if counting the records is cheaper, or if retention has
 * deleted some of the occurrences.
 */
async function updateCount(
  view: AccountView,
  resourceType: StandardResourceType,
  cachedCount: CountAtPosition,
): Promise<CountAtPosition | undefined> {
  const upToPosition = cachedCount.position + Math.max(MIN_SCAN_LIMIT, cachedCount.total);
  const [countDelta] = await countDeltaQueries[resourceType](view, {
    afterPosition: cachedCount.position,
    upToPosition,
  });
  if (countDelta === undefined || countDelta.position - cachedCount.position !== countDelta.found) return undefined;
  return { position: countDelta.position, total: cachedCount.total + countDelta.more };
}

/**
 * Minimum of the scan limit. To update a count, the number of scanned occurrences is limited to the cached number of
 * records: with more occurrences, counting the records is cheaper.
 */
const MIN_SCAN_LIMIT = 100;

/** Prepares one query for position and count, so that both come from the same snapshot. */
const prepareCountQuery = (resourceType: StandardResourceType) =>
  AccountView.prepareQuery((view, _: object) => {
    const recordCountQuery = view.selectFrom(resourceTables[resourceType]).select(sql`count(*)`.as('records'));
    return view.selectFrom('positions').select(['positions.position', sql<number>`(${recordCountQuery})`.as('total')]);
  });

const prepareCountDeltaQuery = (resourceType: StandardResourceType) =>
  AccountView.prepareQuery(
    (view, { afterPosition, upToPosition }: { readonly afterPosition: number; readonly upToPosition: number }) => {
      const netCreationsSql = sql<number>`coalesce(sum(case occurrences.kind
      when ${sql.lit(`new_${resourceType}`)} then 1 when ${sql.lit(`deleted_${resourceType}`)} then -1 else 0 end), 0)`;
      return view
        .selectFrom('positions')
        .leftJoin('occurrences', (join) =>
          join
            .onRef('occurrences.account_id', '=', 'positions.account_id')
            .on('occurrences.position', '>', afterPosition)
            .on('occurrences.position', '<=', upToPosition),
        )
        .groupBy('positions.position')
        .select(({ fn }) => [
          'positions.position',
          fn.count('occurrences.position').as('found'),
          netCreationsSql.as('more'),
        ])
        .$castTo<CountDelta>();
    },
  );

const countQueries = mapResources(prepareCountQuery);
const countDeltaQueries = mapResources(prepareCountDeltaQuery);
