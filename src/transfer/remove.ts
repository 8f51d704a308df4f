import { sql } from 'kysely';
import type { Clock } from '../clock.ts';
import type { Store } from '../store/store.ts';
import { exportedTables, tablesNotExported } from './exported-tables.ts';
import {
  beginTransfer,
  findIncompleteTransfer,
  finishTransfer,
  hasNotStarted,
  incompleteTransferText,
  markRemovalStarted,
  requireNoService,
} from './incomplete-transfers.ts';
import { countRows, keyRangeCondition, keysetPages, scopeCondition, type TransferScope } from './keyset-pages.ts';
import type { TransferProgress } from './progress.ts';
import { TransferError } from './transfer-error.ts';
import { compareWithExport, type ValidatedFile, validateFile } from './validate-file.ts';

const ROWS_PER_COMMIT = 2_000;

type RemovalPorts = { readonly store: Store; readonly clock: Clock; readonly progress: TransferProgress };

/** Undoes an interrupted import, or completes an interrupted removal. Returns the number of removed rows. */
export async function undoImport({ store, progress }: RemovalPorts): Promise<number> {
  await requireNoService(store);
  const unfinished = await findIncompleteTransfer(store.read);
  if (unfinished === undefined) throw new TransferError('There is no incomplete import.');
  if (hasNotStarted(unfinished)) {
    await store.write(finishTransfer);
    return 0;
  }
  return removeRows(store, unfinished.account_id === 0 ? null : unfinished.account_id, progress);
}

/**
 * Removes an account that was exported, if the export still matches the database row for row, so that no data is lost.
 * Returns the number of removed rows. Throws `TransferError`.
 */
export async function removeExported(
  { store, clock, progress }: RemovalPorts,
  path: string,
  domain: string,
): Promise<number> {
  await requireNoService(store);
  const file = await validateFile(path, progress);
  const { header, end, scope } = file;
  if (scope === null || header.domain !== domain.toLowerCase())
    throw new TransferError(`${path} is not an export of ${domain} only.`);
  const unfinished = await findIncompleteTransfer(store.read);
  if (unfinished !== undefined && (unfinished.work !== 'removal' || unfinished.checksum !== end.sha256))
    throw new TransferError(incompleteTransferText(unfinished));
  if (unfinished === undefined)
    await beginTransfer(store, { work: 'removal', checksum: end.sha256, account_id: scope, begun_at: clock.now() });
  if (unfinished === undefined || hasNotStarted(unfinished)) await requireUnchanged({ store, progress }, file);
  return removeRows(store, scope, progress);
}

/** Compares the database with the export. If they differ, removes the mark of the transfer and throws. */
async function requireUnchanged(
  { store, progress }: Omit<RemovalPorts, 'clock'>,
  { scope, end }: ValidatedFile,
): Promise<void> {
  try {
    await store.snapshot((queries) => compareWithExport(queries, scope, end, progress));
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
 * Deletes the rows of tables that are not exported. They refer to exported rows, so they are deleted first. They are
 * not counted.
 */
async function removeNotExported(store: Store, scope: TransferScope): Promise<void> {
  await store.write(async ({ queries }) => {
    for (const table of tablesNotExported) {
      const all = queries.deleteFrom(table);
      await (scope === null ? all : all.where('account_id', '=', scope)).execute();
    }
  });
}

/**
 * Deletes all rows of a scope in the reverse order of the export, so that rows are deleted before the rows that they
 * refer to.
 */
async function removeRows(store: Store, scope: TransferScope, progress: TransferProgress): Promise<number> {
  await markRemovalStarted(store);
  let total = 0;
  for (const table of exportedTables) total += await countRows(store.read, table, scope);
  progress.begin('removing', total);
  await removeNotExported(store, scope);
  for (const table of exportedTables.toReversed()) {
    for await (const page of keysetPages(store.read, table, scope, ROWS_PER_COMMIT)) {
      const [first, last] = [page[0], page.at(-1)];
      if (first === undefined || last === undefined) continue;
      await store.write(({ queries }) =>
        sql`delete from ${sql.table(table)} where ${keyRangeCondition(table, first, last)} and ${scopeCondition(table, scope)}`.execute(
          queries,
        ),
      );
      progress.advance(page.length);
    }
  }
  await store.write(finishTransfer);
  progress.end();
  return total;
}
