import { type Compilable, type Expression, type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import { resourceTypes } from '../../delivery/outbox/event-kinds.ts';
import type { Page, Paging } from '../../http/routes/pagination.ts';
import type { Given, Parameters } from '../../http/routes/query-parameters.ts';
import { AccountView } from '../../store/account-scope.ts';
import type { Tables } from '../../store/tables.ts';
import { type Counted, totalOf } from './count-cache.ts';
import { type Bound, boundIn, type Filters } from './filters.ts';
import { idColumnOf, type ListedTable, type ResourceName, tables } from './resource-tables.ts';
import { pageOfKeys, type SizedKey, sizeOf } from './sized-pages.ts';
import {
  after,
  cursorOf,
  decodeCursor,
  keysOf,
  type Order,
  ordered,
  reversed,
  type SortKey,
  sortKeyOf,
} from './sorting.ts';

/**
 * One page of a query, and exactly how many records there are in all (C7).
 *
 * @param bare the query without joins that only show, and without a selection: what is counted
 * @param shown the same query with everything that is shown
 */
export async function pageOf<DB extends Tables, T extends keyof DB, ShownDB, ShownT extends keyof ShownDB, Row>(
  bare: SelectQueryBuilder<DB, T, object>,
  shown: SelectQueryBuilder<ShownDB, ShownT, Row>,
  order: Order,
  conditions: readonly Expression<SqlBool>[],
  paging: Paging,
): Promise<Page<Row>> {
  const begin = beginOf(paging, order);
  const counting = conditions.reduce((query, one) => query.where(one), bare);
  const counted = await counting.select(sql<number>`count(*)`.as('total')).executeTakeFirstOrThrow();
  const { total } = counted as { total: number };
  if (begin.offset >= total) return { slices: [], total };
  const narrowed = [...conditions, ...(begin.place === undefined ? [] : [after(order, begin.place)])];
  const listing = narrowed.reduce((query, one) => query.where(one), ordered(shown, order));
  const found = await listing
    .limit(paging.limit + 1)
    .offset(begin.offset)
    .execute();
  return { ...pageIn(found, order, paging.limit), total };
}

/** Where a page begins: so many records behind the first one, or right behind a place. */
export function beginOf(
  { offset, after }: Paging,
  order: Order,
): { readonly offset: number; readonly place?: SortKey } {
  return after === undefined ? { offset } : { offset: 0, place: decodeCursor(order, after) };
}

/** A page that is loaded at once. `found`: its records, and the one behind them where there is one. */
export function pageIn<Row>(found: readonly Row[], order: Order, limit: number): Omit<Page<Row>, 'total'> {
  const rows = found.slice(0, limit);
  const cursorAfter = (index: number) => cursorOf(order, rows[index] as object);
  const isMore = found.length > limit;
  return { slices: [{ rows, cursorAfter }], next: isMore ? cursorAfter(limit - 1) : undefined };
}

/** Shapes of one list that are kept compiled; whoever asks in more ways than that has theirs compiled each time. */
const MAX_CACHED_QUERIES = 100;

/**
 * With more records of a whole list before a page than this, and an index that has their order, the last one of them is
 * looked up by itself, from the nearer end: to pass over keys alone takes that index, to pass over whole records takes each.
 */
const FAR = 1_000;

/** What a list is asked with: how many records at most, how many it passes over, and the values of the filters and of a place. */
type Values = Readonly<Record<string, unknown>> & { readonly most: number; readonly offset: number };

/** One shape of a list, each query of it compiled when it is first asked: by which filters, in which order. */
type Shape<Row> = {
  readonly count: (view: AccountView, values: Values) => Promise<number>;
  /** The page at the offset, or behind a place. */
  readonly page: (view: AccountView, values: Values, place: SortKey | undefined) => Promise<Omit<Page<Row>, 'total'>>;
  /** Where the last record that is passed over stands, in a whole list; undefined where it went meanwhile. */
  readonly lastBefore: (view: AccountView, values: Values, whole: Counted) => Promise<SortKey | undefined>;
};

type Query<Row> = SelectQueryBuilder<Tables, ListedTable, Row>;
type Build<Row> = (view: AccountView, values: Values) => Query<Row>;
type Narrow = <Row>(query: Query<Row>, values: Values) => Query<Row>;

/** What is best depends on the values: a day, or all days. */
const anew = <Row>(build: (view: AccountView, values: Values) => Compilable<Row>) =>
  AccountView.prepared(build, 'anew');

/** The rows of a page, at its offset or behind a place. */
function rowsOf<Row>(order: Order, build: Build<Row>) {
  const atOffset = anew((view, values) => build(view, values).limit(values.most).offset(values.offset));
  const behindPlace = anew((view, values) =>
    build(view, values)
      .limit(values.most)
      .where(after(order, placeIn(values, order))),
  );
  return (view: AccountView, values: Values, place: SortKey | undefined): Promise<Row[]> =>
    place === undefined ? atOffset(view, values) : behindPlace(view, { ...values, ...placed(place) });
}

function lastBeforeOf(bare: Build<object>, order: Order): Shape<never>['lastBefore'] {
  const keys = anew((view, values) => keysOf(bare(view, values), order).limit(1).offset(values.offset));
  const keysFromEnd = anew((view, values) =>
    keysOf(bare(view, values), reversed(order)).select(positionOf(view)).limit(1).offset(values.offset),
  );
  return async (view, values, { total, position }) => {
    const { offset } = values;
    const [last] = offset > total / 2 ? await keysFromEnd(view, { ...values, offset: total - offset }) : [];
    // Something may have come or gone since it was counted: then it is another one, seen from the end.
    if (last !== undefined && last.as_of === position) return sortKeyOf(order, last);
    const [found] = await keys(view, { ...values, offset: offset - 1 });
    return found && sortKeyOf(order, found);
  };
}

/** The records of a noun, as a list shows them. */
type Records<Row> = {
  readonly resourceType: ResourceName;
  readonly shown: (view: AccountView) => Query<Row>;
  readonly longTexts: readonly string[];
  readonly byIds: (view: AccountView, ids: readonly number[]) => Promise<Row[]>;
};

function pageAtOnce<Row>({ shown }: Records<Row>, narrow: Narrow, order: Order): Shape<Row>['page'] {
  const rows = rowsOf(order, (view, values) => narrow(ordered(shown(view), order), values));
  return async (view, values, place) => pageIn(await rows(view, values, place), order, values.most - 1);
}

/** Keys are looked for and sorted; the records are loaded a few at a time while they are written. */
function pageInPieces<Row extends object>(
  records: Records<Row>,
  bare: Build<object>,
  order: Order,
): Shape<Row>['page'] {
  const { resourceType, longTexts, byIds } = records;
  const keys = rowsOf(order, (view, values) => {
    const sized = keysOf(bare(view, values), order).select(sizeOf(longTexts).as('size'));
    return sized as Query<SizedKey>;
  });
  return async (view, values, place) => {
    const wanted = { order, limit: values.most - 1, id: resourceTypes[resourceType].key };
    return pageOfKeys(await keys(view, values, place), wanted, (ids) => byIds(view, ids));
  };
}

function shapeOf<Row extends object>(records: Records<Row>, given: readonly Bound[], order: Order): Shape<Row> {
  const narrow: Narrow = (query, values) =>
    given.reduce((q, { name, filter, bound }) => q.where(filter.where(filter.chooses ? bound : values[name])), query);
  const bare: Build<object> = (view, values) =>
    narrow(view.selectFrom(tables[records.resourceType]) as Query<object>, values);
  const count = anew((view, values) => bare(view, values).select(sql<number>`count(*)`.as('total')));
  const isLong = records.longTexts.length > 0;
  return {
    count: async (view, values) => (await count(view, values))[0]?.total ?? 0,
    page: isLong ? pageInPieces(records, bare, order) : pageAtOnce(records, narrow, order),
    lastBefore: lastBeforeOf(bare, order),
  };
}

/**
 * The list of a noun, narrowed by filters: what is asked often is compiled once for each set of filters that is given.
 *
 * @param find its records with everything that is shown of them
 * @param longTexts its columns of long texts; where there are any, a page is loaded in pieces
 */
export function pagedQuery<F extends Filters, DB, T extends keyof DB, Row extends object>(
  resourceType: ResourceName,
  filters: F,
  find: (view: AccountView) => SelectQueryBuilder<DB, T, Row>,
  longTexts: readonly string[],
): (view: AccountView, given: Given<F & Parameters>, paging: Paging, order: Order) => Promise<Page<Row>> {
  const shown = find as unknown as Records<Row>['shown'];
  const byIds = AccountView.preparedByIds((view, ids) =>
    shown(view).where(idColumnOf(resourceType) as never, 'in', ids as never),
  );
  const records = { resourceType, shown, longTexts, byIds };
  const shapes = new Map<string, Shape<Row>>();
  function knownShape(given: readonly Bound[], order: Order): Shape<Row> {
    const named = given.map(({ name, filter, bound }) => (filter.chooses ? `${name}=${bound}` : name));
    const name = [order.name, ...named].join(' ');
    const known = shapes.get(name) ?? shapeOf(records, given, order);
    if (shapes.size < MAX_CACHED_QUERIES) shapes.set(name, known);
    return known;
  }
  return async (view, given, paging, order) => {
    const bound = boundIn(filters, given);
    const { offset, place: begin } = beginOf(paging, order);
    const filtering = Object.fromEntries(bound.map((one) => [one.name, one.bound]));
    const values: Values = { ...filtering, most: paging.limit + 1, offset };
    const { count, page, lastBefore } = knownShape(bound, order);
    if (bound.length > 0) {
      const [total, found] = await Promise.all([count(view, values), page(view, values, begin)]);
      return { ...found, total };
    }
    const whole = await totalOf(view, resourceType);
    const { total } = whole;
    if (offset >= total) return { slices: [], total };
    const isFar = offset > FAR && order.isIndexed;
    const place = isFar ? await lastBefore(view, values, whole) : begin;
    return { ...(await page(view, values, place)), total };
  };
}

/** The position of the account at the moment of a query, as `as_of`. */
const positionOf = (view: AccountView) =>
  sql<number>`(${view.selectFrom('positions').select('positions.position')})`.as('as_of');

const placeName = (index: number) => `place_${index}`;

const placed = (place: SortKey) => Object.fromEntries(place.map((value, index) => [placeName(index), value]));

const placeIn = (values: Values, { keys }: Order): SortKey => keys.map((_, index) => values[placeName(index)]);
