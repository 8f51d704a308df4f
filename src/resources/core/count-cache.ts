import { type Compilable, sql } from 'kysely';
import { AccountView } from '../../store/account-scope.ts';
import { mapResources, type ResourceName, resourceTables } from './resource-tables.ts';

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

const caches = new WeakMap<object, Map<string, CountAtPosition>>();

/**
 * Returns the exact number of records of a type in an account (C7), without counting them each time. A cached count is
 * valid for a feed position. Each later creation or deletion is an occurrence after that position (C14), so the feed
 * contains the difference. Nothing is written to the database, and the result is right on every node.
 */
export async function countRecords(view: AccountView, resourceType: ResourceName): Promise<CountAtPosition> {
  const source = view.cacheKey;
  if (source === undefined) return (await countQueries[resourceType](view, {}))[0] ?? ZERO_COUNT;
  const cache = caches.get(source) ?? new Map<string, CountAtPosition>();
  caches.set(source, cache);
  const name = `${view.accountId} ${resourceType}`;
  const cached = cache.get(name);
  const current =
    (cached && (await updateCount(view, resourceType, cached))) ?? (await countQueries[resourceType](view, {}))[0];
  if (current === undefined) return ZERO_COUNT;
  cache.delete(name);
  cache.set(name, current);
  if (cache.size > MAX_CACHED_COUNTS) cache.delete(cache.keys().next().value ?? '');
  return current;
}

/**
 * Updates a cached count from the feed. Returns undefined if counting the records is cheaper, or if retention has
 * deleted some of the occurrences.
 */
async function updateCount(
  view: AccountView,
  resourceType: ResourceName,
  cached: CountAtPosition,
): Promise<CountAtPosition | undefined> {
  const upTo = cached.position + Math.max(MIN_SCANNED_ROWS, cached.total);
  const [delta] = await deltaQueries[resourceType](view, { after: cached.position, upTo });
  if (delta === undefined || delta.position - cached.position !== delta.found) return undefined;
  return { position: delta.position, total: cached.total + delta.more };
}

/**
 * Minimum limit of occurrences to scan. The limit is the number of records if that is higher; beyond the limit,
 * counting the records is cheaper.
 */
const MIN_SCANNED_ROWS = 100;

/** Prepares one query for position and count, so that both come from the same snapshot. */
const prepareCount = (resourceType: ResourceName) =>
  AccountView.prepared((view, _: object) => {
    const records = view.selectFrom(resourceTables[resourceType]).select(sql`count(*)`.as('records'));
    return view.selectFrom('positions').select(['positions.position', sql<number>`(${records})`.as('total')]);
  });

const prepareDelta = (resourceType: ResourceName) =>
  AccountView.prepared((view, { after, upTo }: { readonly after: number; readonly upTo: number }) => {
    const more = sql<number>`coalesce(sum(case occurrences.kind
      when ${sql.lit(`new_${resourceType}`)} then 1 when ${sql.lit(`deleted_${resourceType}`)} then -1 else 0 end), 0)`;
    return view
      .selectFrom('positions')
      .leftJoin('occurrences', (join) =>
        join
          .onRef('occurrences.account_id', '=', 'positions.account_id')
          .on('occurrences.position', '>', after)
          .on('occurrences.position', '<=', upTo),
      )
      .groupBy('positions.position')
      .select(({ fn }) => [
        'positions.position',
        fn.count('occurrences.position').as('found'),
        more.as('more'),
      ]) as unknown as Compilable<CountDelta>;
  });

const countQueries = mapResources(prepareCount);
const deltaQueries = mapResources(prepareDelta);
