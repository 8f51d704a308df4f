import { type Expression, type SqlBool, sql } from 'kysely';
import type { Page, PageRequest } from '../../http/routes/pagination.ts';
import type { DynamicQuery } from '../../store/account-scope.ts';
import {
  addOrderBy,
  buildKeysetCondition,
  decodePageCursor,
  encodePageCursor,
  type ListOrder,
  type SortKeyValues,
} from './sorting.ts';

/**
 * Loads one page of a query and the exact total of records (C7).
 *
 * @param baseQuery the query to count: without a selection and without joins that only add columns
 * @param recordQuery the same query with all response fields
 */
export async function loadPage<Row>(
  baseQuery: DynamicQuery<object>,
  recordQuery: DynamicQuery<Row>,
  order: ListOrder,
  conditions: readonly Expression<SqlBool>[],
  paging: PageRequest,
): Promise<Page<Row>> {
  const pageStart = pageStartOf(paging, order);
  const filteredQuery = conditions.reduce((query, condition) => query.where(condition), baseQuery);
  const countRow = await filteredQuery.select(sql<number>`count(*)`.as('total')).executeTakeFirstOrThrow();
  const { total } = countRow as { total: number };
  if (pageStart.offset >= total) return { slices: [], total };
  const pageConditions = [
    ...conditions,
    ...(pageStart.sortKey === undefined ? [] : [buildKeysetCondition(order, pageStart.sortKey)]),
  ];
  const pageQuery = pageConditions.reduce((query, condition) => query.where(condition), addOrderBy(recordQuery, order));
  const foundRecords = await pageQuery
    .limit(paging.limit + 1)
    .offset(pageStart.offset)
    .execute();
  return { ...toPage(foundRecords, order, paging.limit), total };
}

/** Returns where a page starts: at an offset, or after a sort key. */
export function pageStartOf(
  { offset, after }: PageRequest,
  order: ListOrder,
): { readonly offset: number; readonly sortKey?: SortKeyValues } {
  return after === undefined ? { offset } : { offset: 0, sortKey: decodePageCursor(order, after) };
}

/**
 * Builds a page with a single slice. `foundRecords` are the records of the page, plus one more if there is a next page.
 */
export function toPage<Row>(foundRecords: readonly Row[], order: ListOrder, limit: number): Omit<Page<Row>, 'total'> {
  const rows = foundRecords.slice(0, limit);
  const cursorAfter = (index: number) => encodePageCursor(order, rows[index] as object);
  const hasMore = foundRecords.length > limit;
  return { slices: [{ rows, cursorAfter }], next: hasMore ? cursorAfter(limit - 1) : undefined };
}
