import { type Compilable, type SelectQueryBuilder, sql } from 'kysely';
import { resourceTypes } from '../../delivery/outbox/event-kinds.ts';
import type { Page, PageRequest } from '../../http/routes/pagination.ts';
import type { ParsedParameters, QueryParameters } from '../../http/routes/query-parameters.ts';
import { AccountView, type DynamicQuery, type DynamicTables } from '../../store/account-scope.ts';
import { type CountAtPosition, countRecords } from './count-cache.ts';
import { type BoundFilter, bindFilters, type Filters } from './filters.ts';
import { pageStartOf, toPage } from './pagination.ts';
import { idColumnOf, resourceTables, type StandardResourceType } from './resource-tables.ts';
import { createSlicedPage, type SizedKey, totalByteLengthSql } from './sliced-page.ts';
import {
  addOrderBy,
  buildKeysetCondition,
  type ListOrder,
  reverseOrder,
  type SortKeyValues,
  selectSortKeys,
  sortKeyOf,
} from './sorting.ts';

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

/**
 * Creates the list function of a resource. Queries are compiled once for each combination of filters and order.
 *
 * @param buildRecordQuery builds the query for the records with all response fields
 * @param longTextColumns columns that may hold long texts; if there are any, pages are loaded in slices
 */
export function createListFunction<F extends Filters, Row extends object>(
  resourceType: StandardResourceType,
  filters: F,
  buildRecordQuery: (view: AccountView) => DynamicQuery<Row>,
  longTextColumns: readonly string[],
): (
  view: AccountView,
  parameterValues: ParsedParameters<F & QueryParameters>,
  paging: PageRequest,
  order: ListOrder,
) => Promise<Page<Row>> {
  const loadByIds = AccountView.prepareQueryByIds((view, ids) =>
    buildRecordQuery(view).where(idColumnOf(resourceType), 'in', ids),
  );
  const recordQueries = { resourceType, buildRecordQuery, longTextColumns, loadByIds };
  const queriesByName = new Map<string, PreparedListQueries<Row>>();
  function getOrPrepareQueries(boundFilters: readonly BoundFilter[], order: ListOrder): PreparedListQueries<Row> {
    const filterNames = boundFilters.map(({ name, filter, boundValue }) =>
      filter.isPreparedPerValue ? `${name}=${boundValue}` : name,
    );
    const queryName = [order.name, ...filterNames].join(' ');
    const listQueries = queriesByName.get(queryName) ?? prepareListQueries(recordQueries, boundFilters, order);
    if (queriesByName.size < MAX_CACHED_QUERIES) queriesByName.set(queryName, listQueries);
    return listQueries;
  }
  return async (view, parameterValues, paging, order) => {
    const boundFilters = bindFilters(filters, parameterValues);
    const { offset, sortKey: cursorKey } = pageStartOf(paging, order);
    const filterValues = Object.fromEntries(
      boundFilters.map((boundFilter) => [boundFilter.name, boundFilter.boundValue]),
    );
    const values: ListQueryValues = { ...filterValues, rowLimit: paging.limit + 1, offset };
    const { countRows, fetchPage, findKeyBefore } = getOrPrepareQueries(boundFilters, order);
    if (boundFilters.length > 0) {
      const [total, foundPage] = await Promise.all([countRows(view, values), fetchPage(view, values, cursorKey)]);
      return { ...foundPage, total };
    }
    const recordCount = await countRecords(view, resourceType);
    const { total } = recordCount;
    if (offset >= total) return { slices: [], total };
    const isDeepPage = offset > MIN_DEEP_OFFSET && order.isIndexed;
    const afterKey = isDeepPage ? await findKeyBefore(view, values, recordCount) : cursorKey;
    return { ...(await fetchPage(view, values, afterKey)), total };
  };
}

/** Parameters of a list query: LIMIT (`rowLimit`), OFFSET, the filter values and the sort key values. */
type ListQueryValues = Readonly<Record<string, unknown>> & { readonly rowLimit: number; readonly offset: number };

/** The queries of a list for one set of filters and one order. Each query is compiled at its first use. */
type PreparedListQueries<Row> = {
  readonly countRows: (view: AccountView, values: ListQueryValues) => Promise<number>;
  /** Loads the page after a sort key, or the page at the offset if no sort key is given. */
  readonly fetchPage: (
    view: AccountView,
    values: ListQueryValues,
    afterKey: SortKeyValues | undefined,
  ) => Promise<Omit<Page<Row>, 'total'>>;
  /**
   * Finds the sort key of the last record before the offset in an unfiltered list. Returns undefined if that record was
   * deleted meanwhile.
   */
  readonly findKeyBefore: (
    view: AccountView,
    values: ListQueryValues,
    recordCount: CountAtPosition,
  ) => Promise<SortKeyValues | undefined>;
};

/** Queries for the records of a resource, with all fields that its list returns. */
type RecordQueries<Row> = {
  readonly resourceType: StandardResourceType;
  readonly buildRecordQuery: (view: AccountView) => ListQuery<Row>;
  readonly longTextColumns: readonly string[];
  readonly loadByIds: (view: AccountView, ids: readonly number[]) => Promise<Row[]>;
};

type ListQuery<Row> = SelectQueryBuilder<DynamicTables, string, Row>;
type BuildQuery<Row> = (view: AccountView, values: ListQueryValues) => ListQuery<Row>;
type ApplyFilters = <Row>(query: ListQuery<Row>, values: ListQueryValues) => ListQuery<Row>;

function prepareListQueries<Row extends object>(
  recordQueries: RecordQueries<Row>,
  boundFilters: readonly BoundFilter[],
  order: ListOrder,
): PreparedListQueries<Row> {
  const applyFilters: ApplyFilters = (query, values) =>
    boundFilters.reduce(
      (q, { name, filter, boundValue }) =>
        q.where(filter.buildCondition(filter.isPreparedPerValue ? boundValue : values[name])),
      query,
    );
  const buildBaseQuery: BuildQuery<object> = (view, values) =>
    applyFilters(view.selectFromDynamic(resourceTables[recordQueries.resourceType]), values);
  const loadCount = prepareReplannedQuery((view, values) =>
    buildBaseQuery(view, values).select(sql<number>`count(*)`.as('total')),
  );
  const hasLongTexts = recordQueries.longTextColumns.length > 0;
  return {
    countRows: async (view, values) => (await loadCount(view, values))[0]?.total ?? 0,
    fetchPage: hasLongTexts
      ? prepareSlicedPage(recordQueries, buildBaseQuery, order)
      : prepareSingleSlicePage(recordQueries, applyFilters, order),
    findKeyBefore: prepareFindKeyBefore(buildBaseQuery, order),
  };
}

function prepareSingleSlicePage<Row>(
  { buildRecordQuery }: RecordQueries<Row>,
  applyFilters: ApplyFilters,
  order: ListOrder,
): PreparedListQueries<Row>['fetchPage'] {
  const loadRows = prepareRowLoader(order, (view, values) =>
    applyFilters(addOrderBy(buildRecordQuery(view), order), values),
  );
  return async (view, values, afterKey) => toPage(await loadRows(view, values, afterKey), order, values.rowLimit - 1);
}

/** Selects and sorts only the keys. The records are loaded in slices while the response is written. */
function prepareSlicedPage<Row extends object>(
  recordQueries: RecordQueries<Row>,
  buildBaseQuery: BuildQuery<object>,
  order: ListOrder,
): PreparedListQueries<Row>['fetchPage'] {
  const { resourceType, longTextColumns, loadByIds } = recordQueries;
  const loadKeys = prepareRowLoader(order, (view, values) => {
    const sizedKeyQuery = selectSortKeys(buildBaseQuery(view, values), order).select(
      totalByteLengthSql(longTextColumns).as('size'),
    );
    return sizedKeyQuery as ListQuery<SizedKey>;
  });
  return async (view, values, afterKey) => {
    const pageOptions = { order, limit: values.rowLimit - 1, idColumnName: resourceTypes[resourceType].key };
    return createSlicedPage(await loadKeys(view, values, afterKey), pageOptions, (ids) => loadByIds(view, ids));
  };
}

/** Returns a function that loads the rows of a page, after a sort key or at the offset. */
function prepareRowLoader<Row>(order: ListOrder, buildQuery: BuildQuery<Row>) {
  const loadAtOffset = prepareReplannedQuery((view, values) =>
    buildQuery(view, values).limit(values.rowLimit).offset(values.offset),
  );
  const loadAfterKey = prepareReplannedQuery((view, values) =>
    buildQuery(view, values)
      .limit(values.rowLimit)
      .where(buildKeysetCondition(order, readSortKey(values, order))),
  );
  return (view: AccountView, values: ListQueryValues, afterKey: SortKeyValues | undefined): Promise<Row[]> =>
    afterKey === undefined
      ? loadAtOffset(view, values)
      : loadAfterKey(view, { ...values, ...toSortKeyParameters(afterKey) });
}

function prepareFindKeyBefore(
  buildBaseQuery: BuildQuery<object>,
  order: ListOrder,
): PreparedListQueries<never>['findKeyBefore'] {
  const loadKeyAtOffset = prepareReplannedQuery((view, values) =>
    selectSortKeys(buildBaseQuery(view, values), order).limit(1).offset(values.offset),
  );
  const loadKeyFromEnd = prepareReplannedQuery((view, values) =>
    selectSortKeys(buildBaseQuery(view, values), reverseOrder(order))
      .select(selectFeedPosition(view))
      .limit(1)
      .offset(values.offset),
  );
  return async (view, values, { total, position }) => {
    const { offset } = values;
    const [keyRowFromEnd] = offset > total / 2 ? await loadKeyFromEnd(view, { ...values, offset: total - offset }) : [];
    // Counting from the end is right only if no record was added or deleted since the total was counted.
    if (keyRowFromEnd !== undefined && keyRowFromEnd.as_of === position) return sortKeyOf(order, keyRowFromEnd);
    const [keyRow] = await loadKeyAtOffset(view, { ...values, offset: offset - 1 });
    return keyRow && sortKeyOf(order, keyRow);
  };
}

/**
 * Prepares a query that the database plans at each execution, because the best plan depends on the values, such as a
 * range of one day or of all days.
 */
const prepareReplannedQuery = <Row>(buildQuery: (view: AccountView, values: ListQueryValues) => Compilable<Row>) =>
  AccountView.prepareQuery(buildQuery, 'unprepared');

/** Selects the feed position of the account, as `as_of`, in the snapshot of the query. */
const selectFeedPosition = (view: AccountView) =>
  sql<number>`(${view.selectFrom('positions').select('positions.position')})`.as('as_of');

const sortKeyParameterName = (index: number) => `sort_key_${index}`;

const toSortKeyParameters = (sortKey: SortKeyValues) =>
  Object.fromEntries(sortKey.map((value, index) => [sortKeyParameterName(index), value]));

const readSortKey = (values: ListQueryValues, { keys }: ListOrder): SortKeyValues =>
  keys.map((_, index) => values[sortKeyParameterName(index)]);
