import { sql } from 'kysely';
import { splitIntoBatches } from '../async/batches.ts';
import type { Queries } from '../store/store.ts';
import { type ExportedRow, type ExportedTable, exportedTables, exportRules } from './exported-tables.ts';
import { TransferError } from './operator-report.ts';
import { readExport } from './read-export.ts';
import { parseValidatedRow, type ValidatedFile } from './validate-file.ts';

const MAX_LISTED_VALUES = 5;
const VALUES_PER_QUERY = 1_000;

/** A column whose imported values must not exist in the database yet. `description` names these values in the error. */
type UniqueColumn = { readonly table: ExportedTable; readonly column: string; readonly description: string };

function uniqueColumnsOf(table: ExportedTable): readonly UniqueColumn[] {
  const { idTable, keyColumns } = exportRules[table];
  const [column = ''] = keyColumns;
  // A delivery keeps its id when it moves from pending to finalized, so both tables are checked.
  const idTables: readonly ExportedTable[] =
    idTable === 'pending_deliveries' ? ['pending_deliveries', 'finalized_deliveries'] : [table];
  const idColumns =
    idTable === undefined ? [] : idTables.map((name) => ({ table: name, column, description: `the ids in ${table}` }));
  switch (table) {
    case 'accounts':
      return [...idColumns, { table, column: 'domain', description: 'the domain' }];
    case 'api_keys':
      return [...idColumns, { table, column: 'key_hash', description: 'the keys with the hash' }];
    case 'targets':
      return [{ table, column: 'target_hash', description: 'the targets with the hash' }];
    default:
      return idColumns;
  }
}

/**
 * Throws if a file cannot be imported into this database, with one line for each conflict. The export of a whole
 * service requires an empty database. The export of one account requires that its ids, keys, targets and domain are not
 * in use. Called before the import writes any row.
 */
export async function requireNoConflicts(read: Queries, file: ValidatedFile): Promise<void> {
  const existingContents = await describeDatabase(read);
  if (existingContents === undefined) return;
  if (file.scope === null)
    throw new TransferError(
      `The database is not empty (${existingContents}): a whole service can only be imported into an empty one.`,
    );
  const takenValues = new Map<string, string[]>();
  await readExport(file.path, {
    async onRows(table, rows) {
      const uniqueColumns = uniqueColumnsOf(table);
      if (uniqueColumns.length > 0) await addTakenValues(read, uniqueColumns, rows.map(parseValidatedRow), takenValues);
    },
  });
  if (takenValues.size === 0) return;
  const lines = [...takenValues].map(
    ([description, values]) => `Taken in this database: ${description} ${formatValueList(values)}.`,
  );
  throw new TransferError(...lines, 'Ids are kept, so this account needs an empty database.');
}

/** Describes the contents of the database; undefined if it is empty. */
async function describeDatabase(read: Queries): Promise<string | undefined> {
  const accounts = await read.selectFrom('accounts').select('domain').orderBy('account_id').limit(3).execute();
  if (accounts.length > 0) return `it has ${accounts.map(({ domain }) => domain).join(', ')}`;
  for (const table of exportedTables) {
    const { rows } = await sql`select 1 as one from ${sql.table(table)} limit 1`.execute(read);
    if (rows.length > 0) return `it has rows in ${table}`;
  }
  return undefined;
}

async function addTakenValues(
  read: Queries,
  uniqueColumns: readonly UniqueColumn[],
  rows: readonly ExportedRow[],
  takenValues: Map<string, string[]>,
): Promise<void> {
  for (const { table, column, description } of uniqueColumns) {
    for (const batch of splitIntoBatches(rows, VALUES_PER_QUERY)) {
      const values = batch.map((row) => row[column]);
      const queryResult = await sql<{ value: string | number }>`
        select ${sql.ref(column)} as value from ${sql.table(table)}
        where ${sql.ref(column)} in (${sql.join(values)}) order by ${sql.ref(column)}`.execute(read);
      if (queryResult.rows.length === 0) continue;
      takenValues.set(description, [
        ...(takenValues.get(description) ?? []),
        ...queryResult.rows.map(({ value }) => String(value)),
      ]);
    }
  }
}

function formatValueList(values: readonly string[]): string {
  const unlistedCount = values.length - MAX_LISTED_VALUES;
  const listedValues = values.slice(0, MAX_LISTED_VALUES).join(', ');
  return unlistedCount > 0 ? `${listedValues} and ${unlistedCount} more` : listedValues;
}
