import { existsSync } from 'node:fs';
import { versionOf } from '../migrate.ts';
import { SqliteConnection } from '../sqlite/connection.ts';
import { refuseSecondName } from '../sqlite/file-identity.ts';
import { type Queries, StoreError } from '../store.ts';
import { copyDatabase, whatIsWrong } from './copy-database.ts';

export type BackedUp<T> = { readonly bytes: number; readonly version: number; readonly found: T };

/**
 * Writes and verifies a backup of an SQLite database, also while a service is running on it. The database is
 * only read, and not migrated.
 *
 * @param check additional checks of the copy before it gets its final name; throws to reject the copy
 * @throws StoreError with one line for the operator
 */
export async function backUp<T>(
  path: string,
  to: string,
  check: (queries: Queries) => Promise<T>,
): Promise<BackedUp<T>> {
  if (!existsSync(path)) throw new StoreError(`There is no database ${path}.`);
  let reader: SqliteConnection | undefined;
  try {
    refuseSecondName(path);
    reader = new SqliteConnection(path, { readOnly: true, patient: true });
    const { database } = reader;
    const version = versionOf(database);
    if (version === 0) throw new StoreError(`${path} is not a database of Carillon.`);
    let found: { value: T } | undefined;
    const verify = async (file: string) => {
      found = { value: await lookAt(file, check) };
    };
    const bytes = await copyDatabase({ database, to, verify });
    if (found === undefined) throw new Error('the copy was not looked at');
    return { bytes, version, found: found.value };
  } catch (error) {
    if (error instanceof StoreError) throw error;
    throw new StoreError(`The database ${path} cannot be read: ${error instanceof Error ? error.message : error}.`);
  } finally {
    reader?.close();
  }
}

/** Checks every page and index of a copy, then runs `check` on it. */
export async function lookAt<T>(file: string, check: (queries: Queries) => Promise<T>): Promise<T> {
  const copy = new SqliteConnection(file, { readOnly: true, patient: true });
  try {
    const wrong = whatIsWrong(copy.database, 'integrity_check');
    if (wrong.length > 0) throw new StoreError(`${file} is damaged: ${wrong[0]}.`);
    return await check(copy.queries);
  } finally {
    copy.close();
  }
}
