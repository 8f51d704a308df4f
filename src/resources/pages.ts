import { type Compilable, type Expression, type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import type { Page, Paging } from '../http/paging.ts';
import type { Given, Parameters } from '../http/query.ts';
import { AccountView } from '../store/account.ts';
import type { Tables } from '../store/tables.ts';
import { type Bound, boundIn, type Filters } from './filters.ts';

/**
 * One page of a query, and exactly how many records there are in all (C7).
 *
 * @param bare the query without joins that only show, and without a selection: what is counted
 * @param shown the same query with everything that is shown, in its order
 */
export async function pageOf<DB extends Tables, T extends keyof DB, ShownDB, ShownT extends keyof ShownDB, Row>(
  bare: SelectQueryBuilder<DB, T, object>,
  shown: SelectQueryBuilder<ShownDB, ShownT, Row>,
  conditions: readonly Expression<SqlBool>[],
  { limit, offset }: Paging,
): Promise<Page<Row>> {
  const counting = conditions.reduce((query, one) => query.where(one), bare);
  const counted = await counting.select(sql<number>`count(*)`.as('total')).executeTakeFirstOrThrow();
  const { total } = counted as { total: number };
  if (offset >= total) return { rows: [], total };
  const listing = conditions.reduce((query, one) => query.where(one), shown);
  return { rows: await listing.limit(limit).offset(offset).execute(), total };
}

/** Shapes of one list that are kept compiled; whoever asks in more ways than that has theirs compiled each time. */
const MOST_SHAPES = 100;

type Values = Readonly<Record<string, unknown>>;

/** One shape of a list, compiled: by which filters, in which order. */
type Shape<Row> = {
  readonly count: (view: AccountView, values: Values) => Promise<{ total: number }[]>;
  readonly page: (view: AccountView, values: Values & Paging) => Promise<Row[]>;
};

/**
 * A list that is narrowed by filters: what is asked often is compiled once for each set of filters that is given.
 *
 * @param bare the records without joins that only show, and without a selection: what is counted
 * @param shown the same with everything that is shown, in an order
 */
export function filtered<F extends Filters, BareDB, BareT extends keyof BareDB, DB, T extends keyof DB, Row>(
  filters: F,
  bare: (view: AccountView) => SelectQueryBuilder<BareDB, BareT, object>,
  shown: (view: AccountView, order: string) => SelectQueryBuilder<DB, T, Row>,
): (view: AccountView, given: Given<F & Parameters>, paging: Paging, order?: string) => Promise<Page<Row>> {
  const shapes = new Map<string, Shape<Row>>();

  function shapeOf(given: readonly Bound[], order: string): Shape<Row> {
    const named = given.map(({ name, filter, bound }) => (filter.chooses ? `${name}=${bound}` : name));
    const name = [order, ...named].join(' ');
    const known = shapes.get(name) ?? compiled(given, order);
    if (shapes.size < MOST_SHAPES) shapes.set(name, known);
    return known;
  }

  function compiled(given: readonly Bound[], order: string): Shape<Row> {
    const conditions = (values: Values) =>
      given.map(({ name, filter, bound }) => filter.where(filter.chooses ? bound : values[name]));
    return {
      // What is best depends on the values: a day, or all days.
      count: AccountView.prepared((view, values: Values) => {
        const counting = conditions(values).reduce((query, one) => query.where(one), bare(view));
        // Kysely cannot follow a table that is a type parameter.
        return counting.select(sql<number>`count(*)`.as('total')) as unknown as Compilable<{ total: number }>;
      }, 'anew'),
      page: AccountView.prepared(
        (view, values: Values & Paging) =>
          conditions(values)
            .reduce((query, one) => query.where(one), shown(view, order))
            .limit(values.limit)
            .offset(values.offset),
        'anew',
      ),
    };
  }

  return async (view, given, paging, order = '') => {
    const bound = boundIn(filters, given);
    const values = Object.fromEntries(bound.map((one) => [one.name, one.bound]));
    const { count, page } = shapeOf(bound, order);
    const [counted] = await count(view, values);
    const total = counted?.total ?? 0;
    if (paging.offset >= total) return { rows: [], total };
    return { rows: await page(view, { ...values, limit: paging.limit, offset: paging.offset }), total };
  };
}
