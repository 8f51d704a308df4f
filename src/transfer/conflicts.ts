import { sql } from 'kysely';
import type { Queries } from '../store/store.ts';
import { type ExportedRow, type ExportedTable, exportedTables, exportRules } from './exported-tables.ts';
import { readExport } from './read-export.ts';
import { TransferError } from './transfer-error.ts';
import { parseRow, type ValidatedFile } from './validate-file.ts';

const MAX_LISTED = 5;
const QUERY_BATCH_SIZE = 1_000;

/** A column whose imported values must not exist in the database yet. `description` names these values in the error. */
type UniqueColumn = { readonly in: ExportedTable; readonly column: string; readonly description: string };

function uniqueColumnsOf(table: ExportedTable): readonly UniqueColumn[] {
  const { idTable, key } = exportRules[table];
  const [column = ''] = key;
  // A delivery keeps its id when it moves from pending to finalized, so both tables are checked.
  const idTables: readonly ExportedTable[] =
    idTable === 'pending_deliveries' ? ['pending_deliveries', 'finalized_deliveries'] : [table];
  const idColumns =
    idTable === undefined ? [] : idTables.map((name) => ({ in: name, column, description: `the ids in ${table}` }));
  switch (table) {
    case 'accounts':
      return [...idColumns, { in: table, column: 'domain', description: 'the domain' }];
    case 'api_keys':
      return [...idColumns, { in: table, column: 'key_hash', description: 'the keys with the hash' }];
    case 'targets':
      return [{ in: table, column: 'target_hash', description: 'the targets with the hash' }];
    default:
      return idColumns;
  }
}

/**
 * Throws if a file cannot be imported into this database, with one line for each conflict. A whole service requires an
 * empty database. An account requires that its ids, keys, targets and domain are not in use. Called before anything is
 * written.
 */
export async function requireNoConflicts(read: Queries, file: ValidatedFile): Promise<void> {
  const existingContents = await describeContents(read);
  if (existingContents === undefined) return;
  if (file.scope === null)
    throw new TransferError(
      `The database is not empty (${existingContents}): a whole service can only be imported into an empty one.`,
    );
  const takenValues = new Map<string, string[]>();
  await readExport(file.path, {
    async onRows(table, rows) {
      const uniqueColumns = uniqueColumnsOf(table);
      if (uniqueColumns.length > 0) await addTakenValues(read, uniqueColumns, rows.map(parseRow), takenValues);
    },
  });
  if (takenValues.size === 0) return;
  const lines = [...takenValues].map(
    ([description, values]) => `Taken in this database: ${description} ${formatList(values)}.`,
  );
  throw new TransferError(...lines, 'Ids are kept, so this account needs an empty database.');
}

/** Describes the contents of the database; undefined if it is empty. */
async function describeContents(read: Queries): Promise<string | undefined> {
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
  for (const { in: table, column, description } of uniqueColumns) {
    for (let begin = 0; begin < rows.length; begin += QUERY_BATCH_SIZE) {
      const values = rows.slice(begin, begin + QUERY_BATCH_SIZE).map((row) => row[column]);
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

function formatList(values: readonly string[]): string {
  const moreCount = values.length - MAX_LISTED;
  const listedValues = values.slice(0, MAX_LISTED).join(', ');
  return moreCount > 0 ? `${listedValues} and ${moreCount} more` : listedValues;
}
