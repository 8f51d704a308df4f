import type { Queries } from '../store/store.ts';
import { tables } from './exported-tables.ts';
import { type End, Tallier } from './format.ts';
import { pagesOf, type Scope } from './keyset-pages.ts';
import type { Progress } from './progress.ts';
import { TransferError } from './transfer-error.ts';

/**
 * Compares what is in the database with what a file says of itself, table by table: how many rows, and their checksum.
 * Throws `TransferFault` with a line for each difference.
 */
export async function verify(
  queries: Queries,
  scope: Scope,
  { rows, tables: said }: End,
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
    const has = tallier.tally;
    const had = said[table];
    if (has.rows !== had?.rows) faults.push(`${table}: ${has.rows} rows in the database, ${had?.rows} in the file.`);
    else if (has.sha256 !== had.sha256) faults.push(`${table}: the rows in the database are not those of the file.`);
  }
  progress.end();
  if (faults.length > 0) throw new TransferError(...faults);
}
