import type { Clock } from '../clock.ts';
import { getNewestSchemaVersion } from '../store/migrate.ts';
import type { Queries, Store } from '../store/store.ts';
import { version } from '../version.ts';
import { exportedTables, findRowError, isExportedTable } from './exported-tables.ts';
import { type ExportHeader, ExportSerializer, type ExportTotals, FORMAT_VERSION, TableHasher } from './format.ts';
import { countRows, readKeysetPages, type TransferScope } from './keyset-pages.ts';
import { TransferError, type TransferProgress } from './operator-report.ts';

/** Destination of the exported lines. `write` resolves when the destination accepts more (backpressure). */
export type ExportSink = { write(text: string): Promise<void> };

/**
 * Exports one account, or the whole service, from a consistent snapshot, while services continue to run. Memory use is
 * constant. Throws `TransferError` if the account does not exist.
 *
 * @param domain domain of the account; null for the whole service
 */
export async function exportTo(
  sink: ExportSink,
  { store, domain, clock, progress }: { store: Store; domain: string | null; clock: Clock; progress: TransferProgress },
): Promise<ExportTotals> {
  return store.readInSnapshot(async (queries) => {
    const scope = domain === null ? null : await findAccountId(queries, domain);
    const serializer = new ExportSerializer();
    progress.begin('export', await countAllRows(queries, scope));
    await sink.write(
      serializer.serializeHeader({
        carillon: FORMAT_VERSION,
        schema: getNewestSchemaVersion(),
        version,
        exported_at: new Date(clock.now()).toISOString(),
        domain: domain?.toLowerCase() ?? null,
        issued: await findHighestIssuedIds(store, queries),
      }),
    );
    for (const table of exportedTables) {
      const tableHasher = new TableHasher();
      for await (const page of readKeysetPages(queries, table, scope)) {
        const firstRowError = page.map((row) => findRowError(table, row)).find((rowError) => rowError !== undefined);
        if (firstRowError !== undefined)
          throw new TransferError(`The database contains a row that cannot be exported: ${table}${firstRowError}.`);
        await sink.write(serializer.serializeRows(table, page, tableHasher));
        progress.advance(page.length);
      }
      serializer.closeTable(table, tableHasher);
    }
    const { line, totals } = serializer.serializeTotals();
    await sink.write(line);
    progress.end();
    return totals;
  });
}

async function findAccountId(queries: Queries, domain: string): Promise<number> {
  const row = await queries
    .selectFrom('accounts')
    .select('account_id')
    .where('domain', '=', domain.toLowerCase())
    .executeTakeFirst();
  if (row === undefined) throw new TransferError(`There is no account with the domain ${domain}.`);
  return row.account_id;
}

async function countAllRows(queries: Queries, scope: TransferScope): Promise<number> {
  let rowCount = 0;
  for (const table of exportedTables) rowCount += await countRows(queries, table, scope);
  return rowCount;
}

async function findHighestIssuedIds({ sequences }: Store, queries: Queries): Promise<ExportHeader['issued']> {
  const allSequences = await sequences.readAll(queries);
  return Object.fromEntries(
    allSequences.filter(({ table }) => isExportedTable(table)).map(({ table, last }) => [table, last]),
  );
}
