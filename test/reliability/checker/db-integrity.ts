import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { findIntegrityErrors } from '../../../src/store/backup/backup.ts';

/** Checks every table of a PostgreSQL database with amcheck. `verify_heapam` returns faults as rows. */
const CHECK_TABLES_SQL = `
  select c.relname || ': ' || wrong.msg as wrong from pg_class c, verify_heapam(c.oid) wrong where c.relkind = 'r'`;
/** Checks every B-tree index of a PostgreSQL database with amcheck. `bt_index_check` throws at a fault. */
const CHECK_INDEXES_SQL = `
  select bt_index_check(i.indexrelid, true) from pg_index i join pg_class c on c.oid = i.indexrelid
  where c.relkind = 'i' and c.relam = (select oid from pg_am where amname = 'btree') and i.indisvalid`;

/**
 * Checks the integrity of a database that no service has open: pages, rows, indexes.
 *
 * @param work is called with the faults and the address of a readable database. For SQLite that is a copy, so
 *   that the next service is the first to open and recover the original file.
 */
export async function inspectDatabase(
  database: string,
  work: (wrong: string[], readable: string) => Promise<void>,
): Promise<void> {
  if (!database.startsWith('sqlite:')) {
    await work(await findFaultsOnServer(database), database);
    return;
  }
  const folder = mkdtempSync(join(tmpdir(), 'carillon-looked-at-'));
  try {
    const [path, copy] = [database.slice('sqlite:'.length), join(folder, 'carillon.db')];
    // The -shm file is not copied. It is an index of the log in shared memory, which a power failure loses and every
    // start rebuilds.
    for (const end of ['', '-journal', '-wal']) if (existsSync(path + end)) copyFileSync(path + end, copy + end);
    await work(findFaultsInFile(copy), `sqlite:${copy}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function findFaultsInFile(file: string): string[] {
  const database = new DatabaseSync(file);
  try {
    return findIntegrityErrors(database, 'integrity_check');
  } catch (error) {
    return [String(error)];
  } finally {
    database.close();
  }
}

async function findFaultsOnServer(address: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: address });
  await client.connect();
  try {
    await client.query('create extension if not exists amcheck');
    const { rows } = await client.query<{ wrong: string }>(CHECK_TABLES_SQL);
    const found = rows.map(({ wrong }) => wrong);
    return await client.query(CHECK_INDEXES_SQL).then(
      () => found,
      (error: Error) => [...found, error.message],
    );
  } finally {
    await client.end();
  }
}
