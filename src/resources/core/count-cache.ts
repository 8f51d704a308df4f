import { type Compilable, sql } from 'kysely';
import { AccountView } from '../../store/account-scope.ts';
import { ofEach, type ResourceName, tables } from './resource-tables.ts';

/** How many records there were at a position of an account. */
export type Counted = { readonly position: number; readonly total: number };

/** Before an account has begun. */
const NOTHING: Counted = { position: 0, total: 0 };

/** What has occurred behind a position: up to where, how many occurrences were found, how many more records there are. */
type Since = { readonly position: number; readonly found: number; readonly more: number };

/** Whole nouns of accounts that are known by heart; beyond it, the one that nobody asked for for longest is forgotten. */
const MAX_CACHED_COUNTS = 10_000;

const knownFrom = new WeakMap<object, Map<string, Counted>>();

/**
 * Exactly how many records of a noun an account has (C7), without counting them each time: a number that was counted holds
 * for the account's position of that moment, and each creation and deletion since is an occurrence behind it (C14). Nothing
 * is written for it, and it holds on all nodes.
 */
export async function totalOf(view: AccountView, resourceType: ResourceName): Promise<Counted> {
  const source = view.committed;
  if (source === undefined) return (await counts[resourceType](view, {}))[0] ?? NOTHING;
  const known = knownFrom.get(source) ?? new Map<string, Counted>();
  knownFrom.set(source, known);
  const name = `${view.accountId} ${resourceType}`;
  const before = known.get(name);
  const now = (before && (await broughtUp(view, resourceType, before))) ?? (await counts[resourceType](view, {}))[0];
  if (now === undefined) return NOTHING;
  known.delete(name);
  known.set(name, now);
  if (known.size > MAX_CACHED_COUNTS) known.delete(known.keys().next().value ?? '');
  return now;
}

/** Undefined where it takes less to count: too much has occurred since, or what has is forgotten by now. */
async function broughtUp(view: AccountView, resourceType: ResourceName, before: Counted): Promise<Counted | undefined> {
  const upTo = before.position + Math.max(MIN_SCANNED_ROWS, before.total);
  const [since] = await sinces[resourceType](view, { after: before.position, upTo });
  if (since === undefined || since.position - before.position !== since.found) return undefined;
  return { position: since.position, total: before.total + since.more };
}

/** So many occurrences are looked at before the records themselves are, however few these are. */
const MIN_SCANNED_ROWS = 100;

/** Both in one query, and so of one moment. */
const countOf = (resourceType: ResourceName) =>
  AccountView.prepared((view, _: object) => {
    const records = view.selectFrom(tables[resourceType]).select(sql`count(*)`.as('records'));
    return view.selectFrom('positions').select(['positions.position', sql<number>`(${records})`.as('total')]);
  });

const sinceOf = (resourceType: ResourceName) =>
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
      ]) as unknown as Compilable<Since>;
  });

const counts = ofEach(countOf);
const sinces = ofEach(sinceOf);
