import { type CompiledQuery, type Selectable, sql } from 'kysely';
import { splitIntoBatches } from '../async/batches.ts';
import type { Clock } from '../clock.ts';
import { toSubscriptionRows } from '../delivery/outbox/subscriptions.ts';
import { Problem } from '../problems.ts';
import type { Queries, Store } from '../store/store.ts';
import type { Tables } from '../store/tables.ts';
import { requireNoConflicts } from './conflicts.ts';
import { type ExportedRow, type ExportedTable, exportedColumnsOf } from './exported-tables.ts';
import {
  beginTransfer,
  explainIncompleteTransfer,
  findIncompleteTransfer,
  finishTransfer,
  type IncompleteTransfer,
  recordImportedLines,
  requireNoRunningService,
} from './incomplete-transfers.ts';
import { TransferError, type TransferProgress } from './operator-report.ts';
import { type FileRow, readExport } from './read-export.ts';
import { parseValidatedRow, requireMatchingExport, type ValidatedFile, validateFile } from './validate-file.ts';

/** Number of rows per transaction. */
const IMPORT_ROWS_PER_COMMIT = 5_000;

type ImportDeps = {
  readonly store: Store;
  readonly path: string;
  readonly clock: Clock;
  readonly progress: TransferProgress;
  /** Whether to continue an interrupted import of this file. */
  readonly mayResume: boolean;
  readonly rowsPerCommit?: number;
};

/**
 * Imports an export and keeps its ids. The whole file is validated first, and the database is compared with the file
 * afterwards. No service can start on the database from the first imported row to the end of that comparison. An
 * interrupted import is continued after its last commit. Throws `TransferError`.
 */
export async function importExportFile(deps: ImportDeps): Promise<ValidatedFile> {
  const { store, path, progress } = deps;
  await requireNoRunningService(store);
  const file = await validateFile(path, progress);
  const incompleteTransfer = await findIncompleteTransfer(store.read);
  if (incompleteTransfer === undefined) await startImport(deps, file);
  else requireResumable(deps, file, incompleteTransfer);
  await insertRows(deps, file, incompleteTransfer?.line ?? 0);
  await store
    .readInSnapshot((queries) => requireMatchingExport(queries, file.scope, file.totals, progress))
    .catch(throwWithAdvice);
  await store.write(async (tx) => {
    for (const sequence of await store.sequences.readAll(tx.queries)) {
      const highestIssuedId = file.header.issued[sequence.table] ?? 0;
      if (highestIssuedId > 0) await store.sequences.raise(tx.queries, sequence, highestIssuedId);
    }
    await finishTransfer(tx);
  });
  return file;
}

async function startImport({ store, clock }: ImportDeps, file: ValidatedFile): Promise<void> {
  await requireNoConflicts(store.read, file);
  await beginTransfer(store, {
    work: 'import',
    checksum: file.totals.sha256,
    account_id: file.scope ?? 0,
    begun_at: clock.now(),
  });
}

function requireResumable(
  { mayResume }: ImportDeps,
  file: ValidatedFile,
  incompleteTransfer: IncompleteTransfer,
): void {
  if (incompleteTransfer.work !== 'import' || !mayResume)
    throw new TransferError(explainIncompleteTransfer(incompleteTransfer));
  if (incompleteTransfer.checksum !== file.totals.sha256)
    throw new TransferError(`The incomplete import is of another file than ${file.path}.`);
}

/** @param importedLineCount number of lines that are already imported */
async function insertRows(deps: ImportDeps, { path, totals }: ValidatedFile, importedLineCount: number): Promise<void> {
  const { store, progress, rowsPerCommit = IMPORT_ROWS_PER_COMMIT } = deps;
  const inserter = new BulkInserter();
  let lastImportedLine = importedLineCount;
  async function insertBatch(table: ExportedTable, rows: readonly FileRow[]): Promise<void> {
    const batchEndLine = rows.at(-1)?.lineNumber ?? lastImportedLine;
    const parsedRows = rows.map(parseValidatedRow);
    await store.write(async (tx) => {
      await inserter.insert(tx.queries, table, parsedRows);
      if (table === 'hooks') await insertSubscriptionsOfHooks(tx.queries, parsedRows);
      await recordImportedLines(tx, totals.sha256, lastImportedLine, batchEndLine);
    });
    lastImportedLine = batchEndLine;
    progress.advance(rows.length);
  }
  progress.begin('import', totals.rows);
  const exportSummary = await readExport(path, {
    async onRows(table, rows) {
      const remainingRows = rows.filter((row) => row.lineNumber > importedLineCount);
      progress.advance(rows.length - remainingRows.length);
      for (const batch of splitIntoBatches(remainingRows, rowsPerCommit))
        await insertBatch(table, batch).catch(createRowErrorHandler(batch, table));
    },
  });
  if (exportSummary.totals.sha256 !== totals.sha256) throw new TransferError(`${path} has changed while it was read.`);
  progress.end();
}

/** Inserts the subscriptions of the live hooks among these rows. */
async function insertSubscriptionsOfHooks(queries: Queries, hookRows: readonly ExportedRow[]): Promise<void> {
  const hooks = hookRows as unknown as readonly Selectable<Tables['hooks']>[];
  const subscriptions = hooks
    .filter((hook) => hook.date_ended === null)
    .flatMap((hook) => toSubscriptionRows(hook).map((row) => ({ ...row, account_id: hook.account_id })));
  for (const batch of splitIntoBatches(subscriptions, ROWS_PER_STATEMENT))
    await queries.insertInto('subscriptions').values(batch).execute();
}

/** Creates an error handler that adds line numbers to an error of the database, such as a duplicate row. */
function createRowErrorHandler(rows: readonly FileRow[], table: ExportedTable): (error: unknown) => never {
  return (error) => {
    if (error instanceof TransferError || error instanceof Problem || !(error instanceof Error)) throw error;
    const [firstLine, lastLine] = [rows[0]?.lineNumber, rows.at(-1)?.lineNumber];
    throw new TransferError(
      `Lines ${firstLine} to ${lastLine}: the database rejects these ${table}: ${error.message}.`,
    );
  };
}

function throwWithAdvice(error: unknown): never {
  if (!(error instanceof TransferError)) throw error;
  throw new TransferError(
    ...error.lines,
    'No service can start on this database: carillon import --undo removes the import.',
  );
}

/** Number of rows per statement. It is far below the parameter limits of both databases. */
const ROWS_PER_STATEMENT = 100;

/** Inserts rows in bulk. The statement for each table and number of rows is compiled once. */
export class BulkInserter {
  readonly #compiledStatements = new Map<string, CompiledQuery>();

  async insert(queries: Queries, table: ExportedTable, rows: readonly ExportedRow[]): Promise<void> {
    for (const batch of splitIntoBatches(rows, ROWS_PER_STATEMENT)) {
      // The values of a validated row are in the order of the columns.
      const parameters = batch.flatMap((row) => Object.values(row));
      await queries.executeQuery({ ...this.#compileStatement(queries, table, batch.length), parameters });
    }
  }

  #compileStatement(queries: Queries, table: ExportedTable, rowCount: number): CompiledQuery {
    const statementKey = `${table} ${rowCount}`;
    const cachedStatement = this.#compiledStatements.get(statementKey);
    if (cachedStatement !== undefined) return cachedStatement;
    const columns = exportedColumnsOf(table);
    const placeholderRow = sql`(${sql.join(columns.map(() => 0))})`;
    const statement = sql`
      insert into ${sql.table(table)} (${sql.join(columns.map((column) => sql.ref(column)))})
      values ${sql.join(Array.from({ length: rowCount }, () => placeholderRow))}`.compile(queries);
    this.#compiledStatements.set(statementKey, statement);
    return statement;
  }
}
