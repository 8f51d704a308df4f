import type { Queries } from '../store/store.ts';
import { type ExportedRow, type ExportedTable, exportedTables, exportRules, findRowError } from './exported-tables.ts';
import { type ExportHeader, type ExportTotals, TableHasher } from './format.ts';
import { readKeysetPages, type TransferScope } from './keyset-pages.ts';
import { TransferError, type TransferProgress } from './operator-report.ts';
import { type ExportSummary, type FileRow, readDeclaredRowCount, readExport } from './read-export.ts';

/** A validated export: header, totals, and the account that it contains (`scope`; null for a whole service). */
export type ValidatedFile = ExportSummary & { readonly path: string; readonly scope: TransferScope };

/**
 * Validates a whole export before any row is imported: the checksum of every line, the columns of every row and, in the
 * export of one account, that every row belongs to the account. Throws `TransferError` with line and field.
 */
export async function validateFile(path: string, progress: TransferProgress): Promise<ValidatedFile> {
  progress.begin('checking the file', await readDeclaredRowCount(path));
  const validator = new RowValidator();
  const summary = await readExport(path, {
    onHeader: (header) => validator.setHeader(header),
    onRows(table, rows) {
      for (const row of rows) validator.validateRow(table, row);
      progress.advance(rows.length);
    },
  });
  progress.end();
  return { ...summary, path, scope: validator.scope };
}

/** Parses a row that was already validated. */
export function parseValidatedRow({ json }: FileRow): ExportedRow {
  return JSON.parse(json) as ExportedRow;
}

class RowValidator {
  #header: Pick<ExportHeader, 'domain' | 'issued'> = { domain: null, issued: {} };
  #accountId: number | undefined;

  setHeader(header: ExportHeader): void {
    this.#header = header;
  }

  get scope(): TransferScope {
    if (this.#header.domain === null) return null;
    if (this.#accountId === undefined)
      throw new TransferError(`The file does not contain the account ${this.#header.domain}.`);
    return this.#accountId;
  }

  validateRow(table: ExportedTable, { lineNumber, json }: FileRow): void {
    const row = parseJsonLine(lineNumber, json);
    const rowError = findRowError(table, row) ?? this.#findIdError(table, row as ExportedRow);
    if (rowError !== undefined) throw new TransferError(`Line ${lineNumber}: ${table}${rowError}.`);
  }

  /**
   * Returns the error if an id was never issued, or if the row belongs to another account than that of the header. Takes
   * the id of this account from the first matching row of `accounts`.
   */
  #findIdError(table: ExportedTable, row: ExportedRow): string | undefined {
    const { idTable, keyColumns } = exportRules[table];
    const id = row[keyColumns[0] ?? ''];
    if (idTable !== undefined && Number(id) > (this.#header.issued[idTable] ?? 0))
      return `.${keyColumns[0]} is higher than any id that was issued`;
    const { domain } = this.#header;
    if (domain === null) return undefined;
    if (table === 'accounts' && this.#accountId === undefined && row.domain === domain)
      this.#accountId = Number(row.account_id);
    return row.account_id === this.#accountId ? undefined : `.account_id is not that of ${domain}`;
  }
}

function parseJsonLine(lineNumber: number, json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw new TransferError(`Line ${lineNumber} is not JSON.`);
  }
}

/**
 * Compares the row counts and checksums of the database with those of an export, table by table. If they differ, throws
 * `TransferError` with a line for each difference.
 */
export async function requireMatchingExport(
  queries: Queries,
  scope: TransferScope,
  { rows, tables: expectedTotals }: ExportTotals,
  progress: TransferProgress,
): Promise<void> {
  progress.begin('comparing', rows);
  const differences: string[] = [];
  for (const table of exportedTables) {
    const tableHasher = new TableHasher();
    for await (const page of readKeysetPages(queries, table, scope)) {
      tableHasher.addRows(page.map((row) => JSON.stringify(row)));
      progress.advance(page.length);
    }
    const databaseTotals = tableHasher.totals;
    const fileTotals = expectedTotals[table];
    if (databaseTotals.rows !== fileTotals?.rows)
      differences.push(`${table}: ${databaseTotals.rows} rows in the database, ${fileTotals?.rows} in the file.`);
    else if (databaseTotals.sha256 !== fileTotals.sha256)
      differences.push(`${table}: the rows in the database are not those of the file.`);
  }
  progress.end();
  if (differences.length > 0) throw new TransferError(...differences);
}
