import { type Compilable, sql } from 'kysely';
import { AccountView } from '../../store/account-scope.ts';
import { mapResources, type ResourceName, tables } from './resource-tables.ts';

/** Number of records at a position of the account's feed. */
export type Counted = { readonly position: number; readonly total: number };

/** Count of an account that has no row in `positions` yet. */
const NOTHING: Counted = { position: 0, total: 0 };

/** Occurrences after a position: the current position, how many were found, and creations minus deletions among them. */
type Delta = { readonly position: number; readonly found: number; readonly more: number };

/** Cached counts per database; the least recently used one is evicted. */
const MAX_CACHED_COUNTS = 10_000;

const caches = new WeakMap<object, Map<string, Counted>>();

/**
 * Exact number of records of a type in an account (C7), without counting them each time. A cached count holds for a
 * position; every creation and deletion since is an occurrence after it (C14), so the difference is read from the feed.
 * Nothing is written, and the result is right on every node.
 */
export async function totalOf(view: AccountView, resourceType: ResourceName): Promise<Counted> {
  const source = view.committed;
  if (source === undefined) return (await counts[resourceType](view, {}))[0] ?? NOTHING;
  const cache = caches.get(source) ?? new Map<string, Counted>();
  caches.set(source, cache);
  const name = `${view.accountId} ${resourceType}`;
  const cached = cache.get(name);
  const current = (cached && (await updated(view, resourceType, cached))) ?? (await counts[resourceType](view, {}))[0];
  if (current === undefined) return NOTHING;
  cache.delete(name);
  cache.set(name, current);
  if (cache.size > MAX_CACHED_COUNTS) cache.delete(cache.keys().next().value ?? '');
  return current;
}

/** Brings a cached count up to date; undefined if counting is cheaper, or if occurrences since were deleted by retention. */
async function updated(view: AccountView, resourceType: ResourceName, cached: Counted): Promise<Counted | undefined> {
  const upTo = cached.position + Math.max(MIN_SCANNED_ROWS, cached.total);
  const [delta] = await deltas[resourceType](view, { after: cached.position, upTo });
  if (delta === undefined || delta.position - cached.position !== delta.found) return undefined;
  return { position: delta.position, total: cached.total + delta.more };
}

/** Occurrences scanned before the records are counted instead, even if there are fewer records than this. */
const MIN_SCANNED_ROWS = 100;

/** Position and count in one query, so both come from the same snapshot. */
const countOf = (resourceType: ResourceName) =>
  AccountView.prepared((view, _: object) => {
    const records = view.selectFrom(tables[resourceType]).select(sql`count(*)`.as('records'));
    return view.selectFrom('positions').select(['positions.position', sql<number>`(${records})`.as('total')]);
  });

const deltaOf = (resourceType: ResourceName) =>
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
      ]) as unknown as Compilable<Delta>;
  });

const counts = mapResources(countOf);
const deltas = mapResources(deltaOf);
