import { type Expression, type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import type { Page, Paging } from '../http/paging.ts';
import type { Given, Parameters } from '../http/query.ts';
import { AccountView } from '../store/account.ts';
import type { Tables } from '../store/tables.ts';
import { type Bound, boundIn, type Filters } from './filters.ts';
import { type ListedNoun, tables } from './listed.ts';
import { behind, cursorOf, type Order, ordered, type Place, placeOf } from './order.ts';
import { totalOf } from './totals.ts';

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

type Values = Readonly<Record<string, unknown>>;

/** One shape of a list, compiled: by which filters, in which order, from where on. */
type Shape<Row> = {
  readonly count: (view: AccountView, values: Values) => Promise<number>;
  readonly page: (view: AccountView, values: Values) => Promise<Row[]>;
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

  function shapeOf(given: readonly Bound[], order: Order, isBehind: boolean): Shape<Row> {
    const named = given.map(({ name, filter, bound }) => (filter.chooses ? `${name}=${bound}` : name));
    const name = [order.name, isBehind, ...named].join(' ');
    const known = shapes.get(name) ?? compiled(given, order, isBehind);
    if (shapes.size < MOST_SHAPES) shapes.set(name, known);
    return known;
  }

  function compiled(given: readonly Bound[], order: Order, isBehind: boolean): Shape<Row> {
    const conditions = (values: Values) =>
      given.map(({ name, filter, bound }) => filter.where(filter.chooses ? bound : values[name]));
    const narrowed = (values: Values) =>
      isBehind ? [...conditions(values), behind(order, placeIn(values, order))] : conditions(values);
    const count = AccountView.prepared((view, values: Values) => {
      const counting = conditions(values).reduce((query, one) => query.where(one), view.selectFrom(tables[noun]));
      return counting.select(sql<number>`count(*)`.as('total'));
      // What is best depends on the values: a day, or all days.
    }, 'anew');
    return {
      count: async (view, values) =>
        given.length === 0 ? totalOf(view, noun) : ((await count(view, values))[0]?.total ?? 0),
      page: AccountView.prepared(
        (view, values: Values & { readonly most: number; readonly offset: number }) =>
          narrowed(values)
            .reduce((query, one) => query.where(one), ordered(shown(view), order))
            .limit(values.most)
            .offset(values.offset),
        'anew',
      ) as Shape<Row>['page'],
    };
  }

  return async (view, given, paging, order) => {
    const bound = boundIn(filters, given);
    const { offset, place } = beginOf(paging, order);
    const values = Object.fromEntries(bound.map((one) => [one.name, one.bound]));
    const { count, page } = shapeOf(bound, order, place !== undefined);
    const total = await count(view, values);
    if (offset >= total) return { rows: [], total };
    const found = await page(view, { ...values, ...placed(place ?? []), most: paging.limit + 1, offset });
    return { ...pageIn(found, order, paging), total };
  };
}

const placeName = (index: number) => `place_${index}`;

const placed = (place: Place): Values => Object.fromEntries(place.map((value, index) => [placeName(index), value]));

const placeIn = (values: Values, { keys }: Order): Place => keys.map((_, index) => values[placeName(index)]);
