import { type RawBuilder, sql } from 'kysely';
import type { Queries } from '../store/store.ts';
import { buildExportedColumns, type ExportedRow, type ExportedTable, exportRules } from './exported-tables.ts';

/** The scope of a transfer: an account id, or null for the whole service. */
export type TransferScope = number | null;

/** Number of rows per page. */
const ROWS_PER_PAGE = 2_000;

const buildColumnList = (columns: readonly string[]) => sql.join(columns.map((column) => sql.ref(column)));

/**
 * Yields the rows of a table within a scope in pages, in the order of the key. Each page starts after the last row of
 * the previous page (keyset pagination). Memory use is constant.
 */
export async function* readKeysetPages(
  queries: Queries,
  table: ExportedTable,
  scope: TransferScope,
  rowsPerPage = ROWS_PER_PAGE,
): AsyncGenerator<readonly ExportedRow[]> {
  const keyColumns = buildColumnList(exportRules[table].keyColumns);
  const columns = buildExportedColumns(table);
  let lastRow: ExportedRow | undefined;
  for (;;) {
    const afterLastCondition =
      lastRow === undefined ? sql`1 = 1` : sql`(${keyColumns}) > (${keyValuesOf(table, lastRow)})`;
    const { rows } = await sql<ExportedRow>`
      select ${columns} from ${sql.table(table)} where ${afterLastCondition} and ${buildScopeCondition(table, scope)}
      order by ${keyColumns} limit ${rowsPerPage}`.execute(queries);
    if (rows.length > 0) yield rows;
    if (rows.length < rowsPerPage) return;
    lastRow = rows.at(-1);
  }
}

/** Counts the rows of a table within a scope. */
export async function countRows(queries: Queries, table: ExportedTable, scope: TransferScope): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from ${sql.table(table)} where ${buildScopeCondition(table, scope)}`.execute(queries);
  return rows[0]?.count ?? 0;
}

/** Builds the SQL condition that a row belongs to the scope. */
export function buildScopeCondition(table: ExportedTable, scope: TransferScope): RawBuilder<unknown> {
  if (scope === null) return sql`1 = 1`;
  // If the key does not begin with the account, `+ 0` prevents the use of an index by account, which would require a
  // sort for each page.
  const keyStartsWithAccount = exportRules[table].keyColumns[0] === 'account_id';
  return keyStartsWithAccount ? sql`account_id = ${scope}` : sql`account_id + 0 = ${scope}`;
}

/** Builds the SQL condition that the key of a row is between the keys of two rows, inclusive. */
export function buildKeyRangeCondition(
  table: ExportedTable,
  firstRow: ExportedRow,
  lastRow: ExportedRow,
): RawBuilder<unknown> {
  const keyColumns = buildColumnList(exportRules[table].keyColumns);
  return sql`(${keyColumns}) >= (${keyValuesOf(table, firstRow)}) and (${keyColumns}) <= (${keyValuesOf(table, lastRow)})`;
}

function keyValuesOf(table: ExportedTable, row: ExportedRow): RawBuilder<unknown> {
  return sql.join(exportRules[table].keyColumns.map((column) => row[column]));
}
