import type { Clock } from '../clock.ts';
import { newestVersion } from '../store/migrate.ts';
import type { Queries, Store } from '../store/store.ts';
import { version } from '../version.ts';
import { isTable, rowError, tables } from './exported-tables.ts';
import { FORMAT, type Header, LineWriter, TableHasher, type Totals } from './format.ts';
import { countOf, pagesOf, type Scope } from './keyset-pages.ts';
import type { Progress } from './progress.ts';
import { TransferError } from './transfer-error.ts';

/** Destination of the exported lines. `write` resolves when the destination accepts more (backpressure). */
export type Sink = { write(text: string): Promise<void> };

/**
 * Exports one account, or the whole service, from a consistent snapshot, while services continue to run. Memory use is
 * constant. Throws `TransferError` if the account does not exist.
 *
 * @param domain domain of the account; null for the whole service
 */
export async function exportTo(
  sink: Sink,
  { store, domain, clock, progress }: { store: Store; domain: string | null; clock: Clock; progress: Progress },
): Promise<Totals> {
  return store.snapshot(async (queries) => {
    const scope = domain === null ? null : await accountOf(queries, domain);
    const writer = new LineWriter();
    progress.begin('export', await countAll(queries, scope));
    await sink.write(
      writer.header({
        carillon: FORMAT,
        schema: newestVersion(),
        version,
        exported_at: new Date(clock.now()).toISOString(),
        domain: domain?.toLowerCase() ?? null,
        issued: await issuedBy(store, queries),
      }),
    );
    for (const table of tables) {
      const tallier = new TableHasher();
      for await (const page of pagesOf(queries, table, scope)) {
        const wrong = page.map((row) => rowError(table, row)).find((fault) => fault !== undefined);
        if (wrong !== undefined)
          throw new TransferError(`The database contains a row that cannot be exported: ${table}${wrong}.`);
        await sink.write(writer.rows(table, page, tallier));
        progress.advance(page.length);
      }
      writer.close(table, tallier);
    }
    const { line, end } = writer.end();
    await sink.write(line);
    progress.end();
    return end;
  });
}

async function accountOf(queries: Queries, domain: string): Promise<number> {
  const row = await queries
    .selectFrom('accounts')
    .select('account_id')
    .where('domain', '=', domain.toLowerCase())
    .executeTakeFirst();
  if (row === undefined) throw new TransferError(`There is no account with the domain ${domain}.`);
  return row.account_id;
}

async function countAll(queries: Queries, scope: Scope): Promise<number> {
  let count = 0;
  for (const table of tables) count += await countOf(queries, table, scope);
  return count;
}

async function issuedBy({ sequences }: Store, queries: Queries): Promise<Header['issued']> {
  const all = await sequences.all(queries);
  return Object.fromEntries(all.filter(({ table }) => isTable(table)).map(({ table, last }) => [table, last]));
}
