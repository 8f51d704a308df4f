import { type Compilable, type Expression, type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import type { Page, Paging } from '../http/paging.ts';
import type { Given, Parameters } from '../http/query.ts';
import { AccountView } from '../store/account.ts';
import type { Tables } from '../store/tables.ts';
import { type Bound, boundIn, type Filters } from './filters.ts';
import { type ListedNoun, tables } from './listed.ts';
import { behind, cursorOf, keysOf, type Order, ordered, type Place, placeOf, reversed, standOf } from './order.ts';
import { type Counted, totalOf } from './totals.ts';

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
  if (begin.offset >= total) return { rows: [], total };
  const narrowed = [...conditions, ...(begin.place === undefined ? [] : [behind(order, begin.place)])];
  const listing = narrowed.reduce((query, one) => query.where(one), ordered(shown, order));
  const found = await listing
    .limit(paging.limit + 1)
    .offset(begin.offset)
    .execute();
  return { ...pageIn(found, order, paging), total };
}

/** Where a page begins: so many records behind the first one, or right behind a place. */
export function beginOf({ offset, after }: Paging, order: Order): { readonly offset: number; readonly place?: Place } {
  return after === undefined ? { offset } : { offset: 0, place: placeOf(order, after) };
}

/** @param found the records of a page, and the one behind them where there is one */
export function pageIn<Row>(found: readonly Row[], order: Order, { limit }: Paging): Omit<Page<Row>, 'total'> {
  if (found.length <= limit) return { rows: found };
  const rows = found.slice(0, limit);
  return { rows, next: cursorOf(order, rows.at(-1) as object) };
}

/** Shapes of one list that are kept compiled; whoever asks in more ways than that has theirs compiled each time. */
const MOST_SHAPES = 100;

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
  readonly page: (view: AccountView, values: Values) => Promise<Row[]>;
  readonly pageBehind: (view: AccountView, values: Values, place: Place) => Promise<Row[]>;
  /** Where the last record that is passed over stands, in a whole list; undefined where it went meanwhile. */
  readonly lastBefore: (view: AccountView, values: Values, whole: Counted) => Promise<Place | undefined>;
};

/**
 * The list of a noun, narrowed by filters: what is asked often is compiled once for each set of filters that is given.
 *
 * @param shown its records, with everything that is shown of them
 */
export function filtered<F extends Filters, DB, T extends keyof DB, Row>(
  noun: ListedNoun,
  filters: F,
  shown: (view: AccountView) => SelectQueryBuilder<DB, T, Row>,
): (view: AccountView, given: Given<F & Parameters>, paging: Paging, order: Order) => Promise<Page<Row>> {
  const shapes = new Map<string, Shape<Row>>();

  function shapeOf(given: readonly Bound[], order: Order): Shape<Row> {
    const named = given.map(({ name, filter, bound }) => (filter.chooses ? `${name}=${bound}` : name));
    const name = [order.name, ...named].join(' ');
    const known = shapes.get(name) ?? compiled(given, order);
    if (shapes.size < MOST_SHAPES) shapes.set(name, known);
    return known;
  }

  function compiled(given: readonly Bound[], order: Order): Shape<Row> {
    const narrowed = <DB, T extends keyof DB, O>(query: SelectQueryBuilder<DB, T, O>, values: Values) =>
      given.reduce((q, { name, filter, bound }) => q.where(filter.where(filter.chooses ? bound : values[name])), query);
    // What is best depends on the values: a day, or all days.
    const anew = <Row>(build: (view: AccountView, values: Values) => Compilable<Row>) =>
      AccountView.prepared(build, 'anew');
    const bare = (view: AccountView, values: Values) => narrowed(view.selectFrom(tables[noun]), values);
    const whole = (view: AccountView, values: Values) =>
      narrowed(ordered(shown(view), order), values).limit(values.most);
    const keys = anew((view, values) => keysOf(bare(view, values), order).limit(1).offset(values.offset));
    const keysFromEnd = anew((view, values) =>
      keysOf(bare(view, values), reversed(order)).select(positionOf(view)).limit(1).offset(values.offset),
    );
    const count = anew((view, values) => bare(view, values).select(sql<number>`count(*)`.as('total')));
    const behindPlace = anew((view, values) => whole(view, values).where(behind(order, placeIn(values, order))));
    return {
      count: async (view, values) => (await count(view, values))[0]?.total ?? 0,
      page: anew((view, values) => whole(view, values).offset(values.offset)) as Shape<Row>['page'],
      pageBehind: (view, values, place) => behindPlace(view, { ...values, ...placed(place) }) as Promise<Row[]>,
      async lastBefore(view, values, { total, position }) {
        const { offset } = values;
        const [last] = offset > total / 2 ? await keysFromEnd(view, { ...values, offset: total - offset }) : [];
        // Something may have come or gone since it was counted: then it is another one, seen from the end.
        if (last !== undefined && last.as_of === position) return standOf(order, last);
        const [found] = await keys(view, { ...values, offset: offset - 1 });
        return found && standOf(order, found);
      },
    };
  }

  return async (view, given, paging, order) => {
    const bound = boundIn(filters, given);
    const { offset, place: begin } = beginOf(paging, order);
    const filtering = Object.fromEntries(bound.map((one) => [one.name, one.bound]));
    const values: Values = { ...filtering, most: paging.limit + 1, offset };
    const { count, page, pageBehind, lastBefore } = shapeOf(bound, order);
    const whole = bound.length === 0 ? await totalOf(view, noun) : undefined;
    const total = whole?.total ?? (await count(view, values));
    if (offset >= total) return { rows: [], total };
    const isFar = whole !== undefined && offset > FAR && order.isIndexed;
    const place = isFar ? await lastBefore(view, values, whole) : begin;
    const found = await (place === undefined ? page(view, values) : pageBehind(view, values, place));
    return { ...pageIn(found, order, paging), total };
  };
}

/** The position of the account at the moment of a query, as `as_of`. */
const positionOf = (view: AccountView) =>
  sql<number>`(${view.selectFrom('positions').select('positions.position')})`.as('as_of');

const placeName = (index: number) => `place_${index}`;

const placed = (place: Place) => Object.fromEntries(place.map((value, index) => [placeName(index), value]));

const placeIn = (values: Values, { keys }: Order): Place => keys.map((_, index) => values[placeName(index)]);
