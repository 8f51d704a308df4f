import { copyFileSync, existsSync, linkSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { addPipelinedQuery } from '../commit-events.ts';
import { migrate, schemaVersionOf } from '../migrate.ts';
import type { Sequences } from '../sequences.ts';
import { SQLITE_BUSY, SqliteConnection, sqliteResultCodeOf } from '../sqlite/connection.ts';
import { createFolder, fsyncPath, lockDatabase, resolvePath, toStoreError } from '../sqlite/file-lock.ts';
import { dialect } from '../sqlite/open.ts';
import { sequences } from '../sqlite/sequences.ts';
import { StoreError, type Tx } from '../store.ts';
import { checkCopy, copyDatabase } from './backup.ts';

/** Maximum time to wait until other processes close the old database. */
const CHECKPOINT_TIMEOUT_MS = 5_000;

type RestoreOptions<T> = {
  readonly path: string;
  readonly backupPath: string;
  /** Suffix of the file name under which the old database is kept. */
  readonly keptSuffix: string;
  /** Whether an existing database may be replaced. */
  readonly mayReplaceExisting: boolean;
  /** Changes the copy in one transaction, before it gets its final name. */
  readonly prepareCopy: (tx: Pick<Tx, 'queries' | 'sendWithCommit'>, sequences: Sequences) => Promise<T>;
};

type RestoreResult<T> = {
  /** The version of the backup before its migration. */
  readonly version: number;
  /** Path of the old database; undefined if there was none. */
  readonly keptPath: string | undefined;
  readonly prepareResult: T;
};

/**
 * Restores a backup over a database that no service uses. The backup is copied, verified, migrated and prepared under a
 * temporary name, then renamed into place; the old file is kept. The backup itself is only read.
 *
 * @throws StoreError with one line for the operator; the database is then unchanged
 */
export async function restoreBackup<T>(options: RestoreOptions<T>): Promise<RestoreResult<T>> {
  const { backupPath, mayReplaceExisting, keptSuffix } = options;
  if (!existsSync(backupPath)) throw new StoreError(`There is no backup ${backupPath}.`);
  createFolder(dirname(options.path));
  const path = resolvePath(options.path);
  if (path === resolvePath(backupPath))
    throw new StoreError(`${backupPath} is the database itself, not a backup of it.`);
  const lock = lockDatabase(path);
  const temporaryPath = `${path}.restoring`;
  const keptPath = `${path}.replaced-${keptSuffix}`;
  try {
    const databaseExists = existsSync(path);
    if (databaseExists && !mayReplaceExisting) {
      throw new StoreError(`There is a database ${path}. With --force it is replaced, and kept as ${keptPath}.`);
    }
    if (existsSync(keptPath)) throw new StoreError(`${keptPath} already exists and is not overwritten.`);
    // Remove the files of an interrupted restore.
    removeDatabaseFiles(temporaryPath);
    const version = await copyBackup(backupPath, temporaryPath);
    const prepareResult = await migrateAndPrepare(temporaryPath, options);
    if (databaseExists) checkpointWal(path, keptPath);
    swapFiles(path, temporaryPath, keptPath);
    return { version, keptPath: databaseExists ? keptPath : undefined, prepareResult };
  } finally {
    removeDatabaseFiles(temporaryPath);
    lock.close();
  }
}

/** Copies and verifies the backup; returns the number of its last applied migration. */
async function copyBackup(backupPath: string, copyPath: string): Promise<number> {
  let backup: SqliteConnection | undefined;
  try {
    backup = new SqliteConnection(backupPath, { readOnly: true, waitsWhenBusy: true });
    const { database } = backup;
    const version = schemaVersionOf(database);
    if (version === 0) throw new StoreError(`${backupPath} is not a backup of Carillon.`);
    await copyDatabase({ database, copyPath, verify: (file) => checkCopy(file, async () => undefined) });
    return version;
  } catch (error) {
    if (error instanceof StoreError) throw error;
    throw new StoreError(`The backup ${backupPath} cannot be read: ${error instanceof Error ? error.message : error}.`);
  } finally {
    backup?.close();
  }
}

async function migrateAndPrepare<T>(file: string, { prepareCopy }: RestoreOptions<T>): Promise<T> {
  const copy = new SqliteConnection(file, { readOnly: false });
  try {
    copy.exec('pragma synchronous = full');
    migrate(copy.database, dialect);
    copy.exec('begin immediate');
    const pipelinedQueries: Promise<unknown>[] = [];
    const sendWithCommit: Tx['sendWithCommit'] = (query) => addPipelinedQuery(pipelinedQueries, copy.queries, query);
    const result = await prepareCopy({ queries: copy.queries, sendWithCommit }, sequences);
    await Promise.all(pipelinedQueries);
    copy.exec('commit');
    return result;
  } catch (error) {
    throw toStoreError(error, file);
  } finally {
    copy.close();
  }
}

/**
 * Checkpoints the old database, so that its file is complete without its WAL. If it cannot be opened, a copy of
 * the WAL is kept, since SQLite may delete the WAL in the attempt.
 */
function checkpointWal(path: string, keptPath: string): void {
  const [walPath, keptWalPath] = [`${path}-wal`, `${keptPath}-wal`];
  if (existsSync(walPath)) copyFileSync(walPath, keptWalPath);
  try {
    const oldDatabase = new DatabaseSync(path, { timeout: CHECKPOINT_TIMEOUT_MS });
    try {
      oldDatabase.exec('pragma journal_mode = delete');
    } finally {
      oldDatabase.close();
    }
    rmSync(keptWalPath, { force: true });
  } catch (error) {
    if (sqliteResultCodeOf(error) !== SQLITE_BUSY) return;
    rmSync(keptWalPath, { force: true });
    throw new StoreError(`Another process has ${path} open. End it, and try again.`);
  }
}

const SIDE_FILE_SUFFIXES = ['-wal', '-shm', '-journal'];

function swapFiles(path: string, temporaryPath: string, keptPath: string): void {
  // The side files are moved first: SQLite would apply a leftover WAL of the old database to the new one, even if the
  // old file is missing.
  for (const suffix of SIDE_FILE_SUFFIXES) if (existsSync(path + suffix)) renameSync(path + suffix, keptPath + suffix);
  if (existsSync(path)) keepOldDatabase(path, keptPath);
  fsyncPath(temporaryPath, 'r+');
  renameSync(temporaryPath, path);
  fsyncPath(dirname(path), 'r');
}

/**
 * Gives the old database the name under which it is kept. Uses a hard link where the file system supports it, so that a
 * database exists at `path` until the new one replaces it.
 */
function keepOldDatabase(path: string, keptPath: string): void {
  try {
    linkSync(path, keptPath);
  } catch {
    renameSync(path, keptPath);
  }
}

function removeDatabaseFiles(path: string): void {
  for (const suffix of ['', ...SIDE_FILE_SUFFIXES]) rmSync(path + suffix, { force: true });
}
