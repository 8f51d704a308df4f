import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { whatIsWrong } from '../../../src/store/backup/copy-database.ts';

/** Every row of every table of a PostgreSQL, and every index against its table; the second throws what it finds. */
const TABLES = `
  select c.relname || ': ' || wrong.msg as wrong from pg_class c, verify_heapam(c.oid) wrong where c.relkind = 'r'`;
const INDEXES = `
  select bt_index_check(i.indexrelid, true) from pg_index i join pg_class c on c.oid = i.indexrelid
  where c.relkind = 'i' and c.relam = (select oid from pg_am where amname = 'btree') and i.indisvalid`;

/**
 * Finds out what is wrong with a database that nobody serves: pages, rows, indexes.
 *
 * @param work takes what was found, and where to read: of an SQLite file a copy, so that whoever starts on it next is the
 *   first to open what was left
 */
export async function inspectDatabase(
  database: string,
  work: (wrong: string[], readable: string) => Promise<void>,
): Promise<void> {
  if (!database.startsWith('sqlite:')) {
    await work(await faultsOnServer(database), database);
    return;
  }
  const folder = mkdtempSync(join(tmpdir(), 'carillon-looked-at-'));
  try {
    const [path, copy] = [database.slice('sqlite:'.length), join(folder, 'carillon.db')];
    // Not the index of the log in memory (-shm): a power failure takes it along, and everybody makes it anew.
    for (const end of ['', '-journal', '-wal']) if (existsSync(path + end)) copyFileSync(path + end, copy + end);
    await work(faultsInFile(copy), `sqlite:${copy}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function faultsInFile(file: string): string[] {
  const database = new DatabaseSync(file);
  try {
    return whatIsWrong(database, 'integrity_check');
  } catch (error) {
    return [String(error)];
  } finally {
    database.close();
  }
}

async function faultsOnServer(address: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: address });
  await client.connect();
  try {
    await client.query('create extension if not exists amcheck');
    const { rows } = await client.query<{ wrong: string }>(TABLES);
    const found = rows.map(({ wrong }) => wrong);
    return await client.query(INDEXES).then(
      () => found,
      (error: Error) => [...found, error.message],
    );
  } finally {
    await client.end();
  }
}
