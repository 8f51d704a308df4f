import { type Compilable, type Expression, type RawBuilder, type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import { resourceTypes } from '../../delivery/outbox/event-kinds.ts';
import { MAX_SLICE_BYTES, MAX_SLICE_ROWS } from '../../http/routes/page-slices.ts';
import type { Page, PageRequest, PageSlice } from '../../http/routes/pagination.ts';
import type { ParsedParameters, QueryParameters } from '../../http/routes/query-parameters.ts';
import { AccountView } from '../../store/account-scope.ts';
import type { Tables } from '../../store/tables.ts';
import { type CountAtPosition, countRecords } from './count-cache.ts';
import { type BoundFilter, bindFilters, type Filters } from './filters.ts';
import { idColumnOf, type ListedTable, type ResourceName, resourceTables } from './resource-tables.ts';
import {
  afterSortKey,
  decodeCursor,
  encodeCursor,
  type ListOrder,
  orderQuery,
  reverseOrder,
  type SortKeyValues,
  selectSortKeys,
  sortKeyOf,
} from './sorting.ts';

/**
 * Loads one page of a query and the exact total of records (C7).
 *
 * @param bare the query to count: without a selection and without joins that only add columns
 * @param shown the same query with all response fields
 */
export async function loadPage<DB extends Tables, T extends keyof DB, ShownDB, ShownT extends keyof ShownDB, Row>(
  bare: SelectQueryBuilder<DB, T, object>,
  shown: SelectQueryBuilder<ShownDB, ShownT, Row>,
  order: ListOrder,
  conditions: readonly Expression<SqlBool>[],
  paging: PageRequest,
): Promise<Page<Row>> {
  const start = pageStartOf(paging, order);
  const counting = conditions.reduce((query, one) => query.where(one), bare);
  const counted = await counting.select(sql<number>`count(*)`.as('total')).executeTakeFirstOrThrow();
  const { total } = counted as { total: number };
  if (start.offset >= total) return { slices: [], total };
  const narrowed = [...conditions, ...(start.sortKey === undefined ? [] : [afterSortKey(order, start.sortKey)])];
  const listing = narrowed.reduce((query, one) => query.where(one), orderQuery(shown, order));
  const found = await listing
    .limit(paging.limit + 1)
    .offset(start.offset)
    .execute();
  return { ...toPage(found, order, paging.limit), total };
}

/** Returns where a page starts: at an offset, or after a sort key. */
export function pageStartOf(
  { offset, after }: PageRequest,
  order: ListOrder,
): { readonly offset: number; readonly sortKey?: SortKeyValues } {
  return after === undefined ? { offset } : { offset: 0, sortKey: decodeCursor(order, after) };
}

/** Builds a page with a single slice. `found` holds the records of the page, plus one more if there is a next page. */
export function toPage<Row>(found: readonly Row[], order: ListOrder, limit: number): Omit<Page<Row>, 'total'> {
  const rows = found.slice(0, limit);
  const cursorAfter = (index: number) => encodeCursor(order, rows[index] as object);
  const isMore = found.length > limit;
  return { slices: [{ rows, cursorAfter }], next: isMore ? cursorAfter(limit - 1) : undefined };
}

/**
 * Maximum number of compiled queries kept per list. Further combinations of filters and order are compiled on each
 * request.
 */
const MAX_CACHED_QUERIES = 100;

/**
 * Minimum offset, in records, of a deep page. The record before a deep page is looked up first, from the nearer end of
 * an index in list order. This lookup skips keys in the index only; an SQL offset over whole records would read each
 * record.
 */
const MIN_DEEP_OFFSET = 1_000;

/** Parameters of a list query: LIMIT (`max`), OFFSET, the filter values and the sort key values. */
type ListQueryValues = Readonly<Record<string, unknown>> & { readonly max: number; readonly offset: number };

/** The queries of a list for one set of filters and one order. Each query is compiled at its first use. */
type ListQueries<Row> = {
  readonly count: (view: AccountView, values: ListQueryValues) => Promise<number>;
  /** Loads the page after a sort key, or the page at the offset if no sort key is given. */
  readonly page: (
    view: AccountView,
    values: ListQueryValues,
    start: SortKeyValues | undefined,
  ) => Promise<Omit<Page<Row>, 'total'>>;
  /**
   * Finds the sort key of the last record before the offset in an unfiltered list. Returns undefined if that record was
   * deleted meanwhile.
   */
  readonly findKeyBefore: (
    view: AccountView,
    values: ListQueryValues,
    counted: CountAtPosition,
  ) => Promise<SortKeyValues | undefined>;
};

type ListQuery<Row> = SelectQueryBuilder<Tables, ListedTable, Row>;
type BuildQuery<Row> = (view: AccountView, values: ListQueryValues) => ListQuery<Row>;
type ApplyFilters = <Row>(query: ListQuery<Row>, values: ListQueryValues) => ListQuery<Row>;

/**
 * Prepares a query that the database plans at each execution, because the best plan depends on the values, such as a
 * range of one day or of all days.
 */
const prepareCustom = <Row>(build: (view: AccountView, values: ListQueryValues) => Compilable<Row>) =>
  AccountView.prepared(build, 'unprepared');

/** Returns a function that loads the rows of a page, after a sort key or at the offset. */
function prepareRows<Row>(order: ListOrder, build: BuildQuery<Row>) {
  const atOffset = prepareCustom((view, values) => build(view, values).limit(values.max).offset(values.offset));
  const afterKey = prepareCustom((view, values) =>
    build(view, values)
      .limit(values.max)
      .where(afterSortKey(order, sortKeyIn(values, order))),
  );
  return (view: AccountView, values: ListQueryValues, start: SortKeyValues | undefined): Promise<Row[]> =>
    start === undefined ? atOffset(view, values) : afterKey(view, { ...values, ...sortKeyValues(start) });
}

function prepareKeyBefore(bare: BuildQuery<object>, order: ListOrder): ListQueries<never>['findKeyBefore'] {
  const keys = prepareCustom((view, values) =>
    selectSortKeys(bare(view, values), order).limit(1).offset(values.offset),
  );
  const keysFromEnd = prepareCustom((view, values) =>
    selectSortKeys(bare(view, values), reverseOrder(order)).select(feedPosition(view)).limit(1).offset(values.offset),
  );
  return async (view, values, { total, position }) => {
    const { offset } = values;
    const [last] = offset > total / 2 ? await keysFromEnd(view, { ...values, offset: total - offset }) : [];
    // Counting from the end is right only if no record was added or deleted since the total was counted.
    if (last !== undefined && last.as_of === position) return sortKeyOf(order, last);
    const [found] = await keys(view, { ...values, offset: offset - 1 });
    return found && sortKeyOf(order, found);
  };
}

/** Queries for the records of a resource, as its list returns them. */
type RecordQueries<Row> = {
  readonly resourceType: ResourceName;
  readonly shown: (view: AccountView) => ListQuery<Row>;
  readonly longTexts: readonly string[];
  readonly byIds: (view: AccountView, ids: readonly number[]) => Promise<Row[]>;
};

function prepareSinglePage<Row>(
  { shown }: RecordQueries<Row>,
  narrow: ApplyFilters,
  order: ListOrder,
): ListQueries<Row>['page'] {
  const rows = prepareRows(order, (view, values) => narrow(orderQuery(shown(view), order), values));
  return async (view, values, start) => toPage(await rows(view, values, start), order, values.max - 1);
}

/** Selects and sorts only the keys. The records are loaded in slices while the response is written. */
function prepareSlicedPage<Row extends object>(
  records: RecordQueries<Row>,
  bare: BuildQuery<object>,
  order: ListOrder,
): ListQueries<Row>['page'] {
  const { resourceType, longTexts, byIds } = records;
  const keys = prepareRows(order, (view, values) => {
    const sized = selectSortKeys(bare(view, values), order).select(totalByteLength(longTexts).as('size'));
    return sized as ListQuery<SizedKey>;
  });
  return async (view, values, start) => {
    const shape = { order, limit: values.max - 1, id: resourceTypes[resourceType].key };
    return loadSlices(await keys(view, values, start), shape, (ids) => byIds(view, ids));
  };
}

function prepareListQueries<Row extends object>(
  records: RecordQueries<Row>,
  given: readonly BoundFilter[],
  order: ListOrder,
): ListQueries<Row> {
  const narrow: ApplyFilters = (query, values) =>
    given.reduce(
      (q, { name, filter, bound }) => q.where(filter.where(filter.isPreparedPerValue ? bound : values[name])),
      query,
    );
  const bare: BuildQuery<object> = (view, values) =>
    narrow(view.selectFrom(resourceTables[records.resourceType]) as ListQuery<object>, values);
  const count = prepareCustom((view, values) => bare(view, values).select(sql<number>`count(*)`.as('total')));
  const isLong = records.longTexts.length > 0;
  return {
    count: async (view, values) => (await count(view, values))[0]?.total ?? 0,
    page: isLong ? prepareSlicedPage(records, bare, order) : prepareSinglePage(records, narrow, order),
    findKeyBefore: prepareKeyBefore(bare, order),
  };
}

/**
 * Creates the list function of a resource. Queries are compiled once for each combination of filters and order.
 *
 * @param find the query for the records with all response fields
 * @param longTexts columns that may hold long texts; if there are any, pages are loaded in slices
 */
export function createListFunction<F extends Filters, DB, T extends keyof DB, Row extends object>(
  resourceType: ResourceName,
  filters: F,
  find: (view: AccountView) => SelectQueryBuilder<DB, T, Row>,
  longTexts: readonly string[],
): (
  view: AccountView,
  given: ParsedParameters<F & QueryParameters>,
  paging: PageRequest,
  order: ListOrder,
) => Promise<Page<Row>> {
  const shown = find as unknown as RecordQueries<Row>['shown'];
  const byIds = AccountView.preparedByIds((view, ids) =>
    shown(view).where(idColumnOf(resourceType) as never, 'in', ids as never),
  );
  const records = { resourceType, shown, longTexts, byIds };
  const shapes = new Map<string, ListQueries<Row>>();
  function cachedShape(given: readonly BoundFilter[], order: ListOrder): ListQueries<Row> {
    const filterNames = given.map(({ name, filter, bound }) => (filter.isPreparedPerValue ? `${name}=${bound}` : name));
    const name = [order.name, ...filterNames].join(' ');
    const shape = shapes.get(name) ?? prepareListQueries(records, given, order);
    if (shapes.size < MAX_CACHED_QUERIES) shapes.set(name, shape);
    return shape;
  }
  return async (view, given, paging, order) => {
    const bound = bindFilters(filters, given);
    const { offset, sortKey: cursor } = pageStartOf(paging, order);
    const filterValues = Object.fromEntries(bound.map((one) => [one.name, one.bound]));
    const values: ListQueryValues = { ...filterValues, max: paging.limit + 1, offset };
    const { count, page, findKeyBefore } = cachedShape(bound, order);
    if (bound.length > 0) {
      const [total, found] = await Promise.all([count(view, values), page(view, values, cursor)]);
      return { ...found, total };
    }
    const counted = await countRecords(view, resourceType);
    const { total } = counted;
    if (offset >= total) return { slices: [], total };
    const isDeep = offset > MIN_DEEP_OFFSET && order.isIndexed;
    const start = isDeep ? await findKeyBefore(view, values, counted) : cursor;
    return { ...(await page(view, values, start)), total };
  };
}

/** Selects the feed position of the account, as `as_of`, in the snapshot of the query. */
const feedPosition = (view: AccountView) =>
  sql<number>`(${view.selectFrom('positions').select('positions.position')})`.as('as_of');

const sortKeyName = (index: number) => `sort_key_${index}`;

const sortKeyValues = (key: SortKeyValues) =>
  Object.fromEntries(key.map((value, index) => [sortKeyName(index), value]));

const sortKeyIn = (values: ListQueryValues, { keys }: ListOrder): SortKeyValues =>
  keys.map((_, index) => values[sortKeyName(index)]);

/** Sort key of a record, including its id, and the size of its long texts in bytes. */
type SizedKey = Readonly<Record<string, unknown>> & { readonly size: number };

/** SQL for the total size of text columns in bytes. The database computes the size without reading the texts. */
export const totalByteLength = (columns: readonly string[]): RawBuilder<number> =>
  sql<number>`${sql.join(
    columns.map((column) => sql`octet_length(${sql.ref(column)})`),
    sql` + `,
  )}`;

/**
 * Loads the records of a page in slices, by keys that one query has found. The keys fix the contents and the order of
 * the page: a record that changes its place in the list meanwhile is neither missed nor returned twice. A deleted
 * record is left out.
 *
 * @param keys the keys of the page's records, plus one more if there is a next page
 * @param load loads records by id, in any order
 */
function loadSlices<Row extends object>(
  keys: readonly SizedKey[],
  { order, limit, id }: { readonly order: ListOrder; readonly limit: number; readonly id: string },
  load: (ids: readonly number[]) => Promise<readonly Row[]>,
): Omit<Page<Row>, 'total'> {
  const pageKeys = keys.slice(0, limit);
  const last = pageKeys.at(-1);
  const idOf = (row: object) => Number(Reflect.get(row, id));
  async function sliceOf(piece: readonly SizedKey[]): Promise<PageSlice<Row>> {
    const rows = new Map((await load(piece.map(idOf))).map((row) => [idOf(row), row]));
    const found = piece.flatMap((key) => {
      const row = rows.get(idOf(key));
      return row === undefined ? [] : [{ key, row }];
    });
    return {
      rows: found.map(({ row }) => row),
      cursorAfter: (index) => encodeCursor(order, found[index]?.key ?? {}),
    };
  }
  async function* slices() {
    for (const piece of splitBySize(pageKeys)) yield await sliceOf(piece);
  }
  const bytes = pageKeys.reduce((sum, { size }) => sum + size, 0);
  return {
    slices: slices(),
    isLarge: bytes > MAX_SLICE_BYTES,
    next: last !== undefined && keys.length > limit ? encodeCursor(order, last) : undefined,
  };
}

/** Splits records into slices of at most MAX_SLICE_ROWS rows and MAX_SLICE_BYTES bytes, at least one row in each. */
export function splitBySize<Sized extends { readonly size: number }>(
  all: readonly Sized[],
): readonly (readonly Sized[])[] {
  const pieces: Sized[][] = [];
  let room = 0;
  for (const one of all) {
    const piece = pieces.at(-1);
    if (piece !== undefined && one.size <= room && piece.length < MAX_SLICE_ROWS) {
      piece.push(one);
      room -= one.size;
      continue;
    }
    pieces.push([one]);
    room = MAX_SLICE_BYTES - one.size;
  }
  return pieces;
}
