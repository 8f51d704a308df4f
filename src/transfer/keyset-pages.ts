import { type RawBuilder, sql } from 'kysely';
import type { Queries } from '../store/store.ts';
import { columnsOf, exportRules, type MovedTable, type Row } from './exported-tables.ts';

/** The scope of a transfer: an account id, or null for the whole service. */
export type Scope = number | null;

/** Number of rows per page. */
const PAGE_SIZE = 2_000;

const list = (columns: readonly string[]) => sql.join(columns.map((column) => sql.ref(column)));

/**
 * Yields the rows of a table within a scope in pages, in the order of the key. Each page starts after the last row of
 * the previous page (keyset pagination). Memory use is constant.
 */
export async function* pagesOf(
  queries: Queries,
  table: MovedTable,
  scope: Scope,
  rowsAPage = PAGE_SIZE,
): AsyncGenerator<readonly Row[]> {
  const key = list(exportRules[table].key);
  const columns = list(columnsOf(table));
  let last: Row | undefined;
  for (;;) {
    const afterLast = last === undefined ? sql`1 = 1` : sql`(${key}) > (${valuesOf(table, last)})`;
    const { rows } = await sql<Row>`
      select ${columns} from ${sql.table(table)} where ${afterLast} and ${within(table, scope)}
      order by ${key} limit ${rowsAPage}`.execute(queries);
    if (rows.length > 0) yield rows;
    if (rows.length < rowsAPage) return;
    last = rows.at(-1);
  }
}

/** Counts the rows of a table within a scope. */
export async function countOf(queries: Queries, table: MovedTable, scope: Scope): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from ${sql.table(table)} where ${within(table, scope)}`.execute(queries);
  return rows[0]?.count ?? 0;
}

/** Builds the SQL condition that a row belongs to the scope. */
export function within(table: MovedTable, scope: Scope): RawBuilder<unknown> {
  if (scope === null) return sql`1 = 1`;
  // If the key does not begin with the account, `+ 0` prevents the use of an index by account, which would require a
  // sort for each page.
  const leads = exportRules[table].key[0] === 'account_id';
  return leads ? sql`account_id = ${scope}` : sql`account_id + 0 = ${scope}`;
}

/** Builds the SQL condition that the key of a row is between the keys of two rows, inclusive. */
export function between(table: MovedTable, first: Row, last: Row): RawBuilder<unknown> {
  const key = list(exportRules[table].key);
  return sql`(${key}) >= (${valuesOf(table, first)}) and (${key}) <= (${valuesOf(table, last)})`;
}

function valuesOf(table: MovedTable, row: Row): RawBuilder<unknown> {
  return sql.join(exportRules[table].key.map((column) => row[column]));
}
