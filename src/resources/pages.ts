import { type Expression, type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import type { Page, Paging } from '../http/paging.ts';
import type { Tables } from '../store/tables.ts';

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
