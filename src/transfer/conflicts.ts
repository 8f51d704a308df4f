import { sql } from 'kysely';
import type { Queries } from '../store/store.ts';
import { contents, type MovedTable, type Row, tables } from './exported-tables.ts';
import { readExport } from './read-export.ts';
import { TransferError } from './transfer-error.ts';
import { type Checked, rowOf } from './validate-file.ts';

const MAX_LISTED = 5;
const QUERY_BATCH_SIZE = 1_000;

/** What must be new where rows come to others, and how it is called when it is not. */
type Unique = { readonly in: MovedTable; readonly column: string; readonly says: string };

function uniques(table: MovedTable): readonly Unique[] {
  const { idsOf, key } = contents[table];
  const [column = ''] = key;
  // A delivery has its id for good, whether it is still pending or settled.
  const places: readonly MovedTable[] =
    idsOf === 'pending_deliveries' ? ['pending_deliveries', 'finalized_deliveries'] : [table];
  const ids = idsOf === undefined ? [] : places.map((place) => ({ in: place, column, says: `the ids in ${table}` }));
  switch (table) {
    case 'accounts':
      return [...ids, { in: table, column: 'domain', says: 'the domain' }];
    case 'api_keys':
      return [...ids, { in: table, column: 'key_hash', says: 'the keys with the hash' }];
    case 'targets':
      return [{ in: table, column: 'target_hash', says: 'the targets with the hash' }];
    default:
      return ids;
  }
}

/**
 * Refuses a file that would not find its place: a whole service goes into an empty database, and an account to others
 * where none has an id, the domain or a target of it. One line for each; nothing was written.
 */
export async function refuseCollisions(read: Queries, file: Checked): Promise<void> {
  const there = await firstThere(read);
  if (there === undefined) return;
  if (file.scope === null)
    throw new TransferError(`The database is not empty (${there}): a whole service goes into an empty one.`);
  const taken = new Map<string, string[]>();
  await readExport(file.path, {
    async rows(table, rows) {
      const unique = uniques(table);
      if (unique.length > 0) await look(read, unique, rows.map(rowOf), taken);
    },
  });
  if (taken.size === 0) return;
  const lines = [...taken].map(([says, values]) => `Taken in this database: ${says} ${named(values)}.`);
  throw new TransferError(...lines, 'Ids are kept: this account goes into an empty database of its own.');
}

/** Whether anything is there, and what it is. */
async function firstThere(read: Queries): Promise<string | undefined> {
  const accounts = await read.selectFrom('accounts').select('domain').orderBy('account_id').limit(3).execute();
  if (accounts.length > 0) return `it has ${accounts.map(({ domain }) => domain).join(', ')}`;
  for (const table of tables) {
    const { rows } = await sql`select 1 as one from ${sql.table(table)} limit 1`.execute(read);
    if (rows.length > 0) return `it has rows in ${table}`;
  }
  return undefined;
}

async function look(
  read: Queries,
  unique: readonly Unique[],
  rows: readonly Row[],
  taken: Map<string, string[]>,
): Promise<void> {
  for (const { in: table, column, says } of unique) {
    for (let begin = 0; begin < rows.length; begin += QUERY_BATCH_SIZE) {
      const values = rows.slice(begin, begin + QUERY_BATCH_SIZE).map((row) => row[column]);
      const found = await sql<{ value: string | number }>`
        select ${sql.ref(column)} as value from ${sql.table(table)}
        where ${sql.ref(column)} in (${sql.join(values)}) order by ${sql.ref(column)}`.execute(read);
      if (found.rows.length === 0) continue;
      taken.set(says, [...(taken.get(says) ?? []), ...found.rows.map(({ value }) => String(value))]);
    }
  }
}

function named(values: readonly string[]): string {
  const more = values.length - MAX_LISTED;
  const first = values.slice(0, MAX_LISTED).join(', ');
  return more > 0 ? `${first} and ${more} more` : first;
}
