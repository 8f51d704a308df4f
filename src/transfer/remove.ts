import { sql } from 'kysely';
import type { Clock } from '../clock.ts';
import type { Store } from '../store/store.ts';
import { exportedTables, tablesNotExported } from './exported-tables.ts';
import {
  beginTransfer,
  explainIncompleteTransfer,
  findIncompleteTransfer,
  finishTransfer,
  isUnstartedRemoval,
  markRemovalStarted,
  requireNoRunningService,
} from './incomplete-transfers.ts';
import {
  buildKeyRangeCondition,
  buildScopeCondition,
  countRows,
  readKeysetPages,
  type TransferScope,
} from './keyset-pages.ts';
import { TransferError, type TransferProgress } from './operator-report.ts';
import { requireMatchingExport, type ValidatedFile, validateFile } from './validate-file.ts';

const REMOVAL_ROWS_PER_COMMIT = 2_000;

type RemovalDeps = { readonly store: Store; readonly clock: Clock; readonly progress: TransferProgress };

/** Undoes an interrupted import, or completes an interrupted removal. Returns the number of removed rows. */
export async function undoImport({ store, progress }: RemovalDeps): Promise<number> {
  await requireNoRunningService(store);
  const incompleteTransfer = await findIncompleteTransfer(store.read);
  if (incompleteTransfer === undefined) throw new TransferError('There is no incomplete import.');
  if (isUnstartedRemoval(incompleteTransfer)) {
    await store.write(finishTransfer);
    return 0;
  }
  return removeRows(store, incompleteTransfer.account_id === 0 ? null : incompleteTransfer.account_id, progress);
}

/**
 * Removes an account that was exported, if the export still matches the database row for row, so that no data is lost.
 * Returns the number of removed rows. Throws `TransferError`.
 */
export async function removeExportedAccount(
  { store, clock, progress }: RemovalDeps,
  path: string,
  domain: string,
): Promise<number> {
  await requireNoRunningService(store);
  const file = await validateFile(path, progress);
  const { header, totals, scope } = file;
  if (scope === null || header.domain !== domain.toLowerCase())
    throw new TransferError(`${path} is not an export of ${domain} only.`);
  const incompleteTransfer = await findIncompleteTransfer(store.read);
  if (
    incompleteTransfer !== undefined &&
    (incompleteTransfer.work !== 'removal' || incompleteTransfer.checksum !== totals.sha256)
  )
    throw new TransferError(explainIncompleteTransfer(incompleteTransfer));
  if (incompleteTransfer === undefined)
    await beginTransfer(store, { work: 'removal', checksum: totals.sha256, account_id: scope, begun_at: clock.now() });
  if (incompleteTransfer === undefined || isUnstartedRemoval(incompleteTransfer))
    await requireMatchOrAbortRemoval({ store, progress }, file);
  return removeRows(store, scope, progress);
}

/** Compares the database with the export. If they differ, removes the mark of the transfer and throws. */
async function requireMatchOrAbortRemoval(
  { store, progress }: Omit<RemovalDeps, 'clock'>,
  { scope, totals }: ValidatedFile,
): Promise<void> {
  try {
    await store.readInSnapshot((queries) => requireMatchingExport(queries, scope, totals, progress));
  } catch (error) {
    await store.write(finishTransfer);
    if (!(error instanceof TransferError)) throw error;
    throw new TransferError(
      ...error.lines,
      'Nothing was removed: stop the service, then export and import the account again.',
    );
  }
}

/**
 * Deletes the rows of tables that are not exported. These rows refer to exported rows, so they are deleted first. They
 * are not counted.
 */
async function removeNotExportedRows(store: Store, scope: TransferScope): Promise<void> {
  await store.write(async ({ queries }) => {
    for (const table of tablesNotExported) {
      const deleteQuery = queries.deleteFrom(table);
      await (scope === null ? deleteQuery : deleteQuery.where('account_id', '=', scope)).execute();
    }
  });
}

/**
 * Deletes all rows of a scope in the reverse order of the export, so that rows are deleted before the rows that they
 * refer to.
 */
async function removeRows(store: Store, scope: TransferScope, progress: TransferProgress): Promise<number> {
  await markRemovalStarted(store);
  let totalRowCount = 0;
  for (const table of exportedTables) totalRowCount += await countRows(store.read, table, scope);
  progress.begin('removing', totalRowCount);
  await removeNotExportedRows(store, scope);
  for (const table of exportedTables.toReversed()) {
    for await (const page of readKeysetPages(store.read, table, scope, REMOVAL_ROWS_PER_COMMIT)) {
      const [firstRow, lastRow] = [page[0], page.at(-1)];
      if (firstRow === undefined || lastRow === undefined) continue;
      await store.write(({ queries }) =>
        sql`delete from ${sql.table(table)} where ${buildKeyRangeCondition(table, firstRow, lastRow)} and ${buildScopeCondition(table, scope)}`.execute(
          queries,
        ),
      );
      progress.advance(page.length);
    }
  }
  await store.write(finishTransfer);
  progress.end();
  return totalRowCount;
}
