import { existsSync, renameSync, rmSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { schemaVersionOf } from '../migrate.ts';
import { SqliteConnection } from '../sqlite/connection.ts';
import { createFile, fsyncPath, requireSingleName } from '../sqlite/file-lock.ts';
import { type Queries, StoreError } from '../store.ts';

/** `version`: number of the last applied migration. `checkResult`: the value that `checkContents` returned. */
type BackupResult<T> = { readonly bytes: number; readonly version: number; readonly checkResult: T };

/**
 * Writes and verifies a backup of an SQLite database, also while a service is running on it. The database is
 * only read, and not migrated.
 *
 * @param checkContents additional checks of the copy before it gets its final name; throws to reject the copy
 * @throws StoreError with one line for the operator
 */
export async function backUpDatabase<T>(
  path: string,
  backupPath: string,
  checkContents: (queries: Queries) => Promise<T>,
): Promise<BackupResult<T>> {
  if (!existsSync(path)) throw new StoreError(`There is no database ${path}.`);
  let reader: SqliteConnection | undefined;
  try {
    requireSingleName(path);
    reader = new SqliteConnection(path, { readOnly: true, waitsWhenBusy: true });
    const { database } = reader;
    const version = schemaVersionOf(database);
    if (version === 0) throw new StoreError(`${path} is not a database of Carillon.`);
    let checkOutcome: { value: T } | undefined;
    const verify = async (file: string) => {
      checkOutcome = { value: await checkCopy(file, checkContents) };
    };
    const bytes = await copyDatabase({ database, copyPath: backupPath, verify });
    if (checkOutcome === undefined) throw new Error('the copy was not looked at');
    return { bytes, version, checkResult: checkOutcome.value };
  } catch (error) {
    if (error instanceof StoreError) throw error;
    throw new StoreError(`The database ${path} cannot be read: ${error instanceof Error ? error.message : error}.`);
  } finally {
    reader?.close();
  }
}

/** Checks every page and index of a copy, then runs `checkContents` on it. */
export async function checkCopy<T>(file: string, checkContents: (queries: Queries) => Promise<T>): Promise<T> {
  const copy = new SqliteConnection(file, { readOnly: true, waitsWhenBusy: true });
  try {
    const errors = findIntegrityErrors(copy.database, 'integrity_check');
    if (errors.length > 0) throw new StoreError(`${file} is damaged: ${errors[0]}.`);
    return await checkContents(copy.queries);
  } finally {
    copy.close();
  }
}

/**
 * Number of copies so far. It makes temporary file names unique, since two copies of the same database may run
 * concurrently.
 */
let copyCount = 0;

/** Disk space that must remain free after a copy, for concurrent writes. */
const SPARE_BYTES = 16 * 1_024 * 1_024;

export type CopyOptions = {
  readonly database: DatabaseSync;
  readonly copyPath: string;
  /** Verifies the copy before it gets its final name. Throws to reject the copy. */
  readonly verify: (file: string) => Promise<void> | void;
  /** Returns the free space on the disk of a folder, in bytes. Replaced in tests. */
  readonly getFreeBytes?: (folder: string) => number;
};

/**
 * Copies a consistent snapshot of a database (`vacuum into`) to a new file, while other connections continue to write.
 * Only the owner can read the copy. It gets its final name after it is verified and synced to disk, and never replaces
 * a file. Returns its size in bytes.
 */
export async function copyDatabase({
  database,
  copyPath,
  verify,
  getFreeBytes = freeBytesIn,
}: CopyOptions): Promise<number> {
  copyCount += 1;
  const temporaryPath = `${copyPath}.part-${process.pid}-${copyCount}`;
  requireAbsent(copyPath);
  createFile(temporaryPath);
  try {
    requireSpace(copyPath, databaseBytes(database), getFreeBytes(dirname(copyPath)));
    database.prepare('vacuum into ?').run(temporaryPath);
    await verify(temporaryPath);
    fsyncPath(temporaryPath, 'r+');
    requireAbsent(copyPath);
    renameSync(temporaryPath, copyPath);
    fsyncPath(dirname(copyPath), 'r');
    return statSync(copyPath).size;
  } finally {
    rmSync(temporaryPath, { force: true });
  }
}

/** Returns the free space on the disk of a folder for unprivileged users, in bytes. */
export function freeBytesIn(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** Returns the size of a database in bytes, an upper bound for the size of its copy. */
export function databaseBytes(database: DatabaseSync): number {
  const [pageCount] = Object.values(database.prepare('pragma page_count').get() ?? {});
  const [pageSize] = Object.values(database.prepare('pragma page_size').get() ?? {});
  return Number(pageCount) * Number(pageSize);
}

/** Returns the findings of SQLite's integrity check; empty if there are none. */
export function findIntegrityErrors(database: DatabaseSync, pragma: 'integrity_check' | 'quick_check'): string[] {
  const findings = database.prepare(`pragma ${pragma}(20)`).all().flatMap(Object.values).map(String);
  return findings.filter((line) => line !== 'ok');
}

function requireAbsent(copyPath: string): void {
  if (existsSync(copyPath)) throw new StoreError(`${copyPath} already exists and is not overwritten.`);
}

function requireSpace(copyPath: string, neededBytes: number, freeBytes: number): void {
  if (freeBytes >= neededBytes + SPARE_BYTES) return;
  throw new StoreError(
    `${copyPath} may need ${formatMebibytes(neededBytes)}, and ${formatMebibytes(freeBytes)} are free there.`,
  );
}

export function formatMebibytes(bytes: number): string {
  return `${(bytes / 1_024 / 1_024).toFixed(1)} MiB`;
}

/** Formats a timestamp for file names, in UTC: 20270131T235959. */
export function formatFileTimestamp(timestamp: number): string {
  return new Date(timestamp).toISOString().slice(0, 19).replace(/[-:]/g, '');
}
