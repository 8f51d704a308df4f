import type { Queries } from '../store/store.ts';
import { tables } from './exported-tables.ts';
import { type End, Tallier } from './format.ts';
import { pagesOf, type Scope } from './keyset-pages.ts';
import type { Progress } from './progress.ts';
import { TransferError } from './transfer-error.ts';

/**
 * Compares the row counts and checksums of the database with those of an export, table by table. Throws `TransferError`
 * with a line for each difference.
 */
export async function verify(
  queries: Queries,
  scope: Scope,
  { rows, tables: expected }: End,
  progress: Progress,
): Promise<void> {
  progress.begin('comparing', rows);
  const faults: string[] = [];
  for (const table of tables) {
    const tallier = new Tallier();
    for await (const page of pagesOf(queries, table, scope)) {
      tallier.add(page.map((row) => JSON.stringify(row)));
      progress.advance(page.length);
    }
    const actual = tallier.tally;
    const inFile = expected[table];
    if (actual.rows !== inFile?.rows)
      faults.push(`${table}: ${actual.rows} rows in the database, ${inFile?.rows} in the file.`);
    else if (actual.sha256 !== inFile.sha256)
      faults.push(`${table}: the rows in the database are not those of the file.`);
  }
  progress.end();
  if (faults.length > 0) throw new TransferError(...faults);
}
