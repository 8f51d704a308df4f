import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { StoreError } from '../store.ts';
import { SQLITE_BUSY, sqliteCode } from './connection.ts';

/** Creates a file with mode 0600 unless it exists; SQLite gives its side files the same mode. */
export function makeFile(path: string): void {
  try {
    makeFolder(dirname(path));
    // Never opens an existing file: closing it would release every POSIX lock that this process has on it.
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (!isAlreadyThere(error)) throw asFault(error, path);
  }
}

function isAlreadyThere(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EEXIST';
}

/** Creates a folder and its parents. Node's `recursive` option never returns where none can be created, as in /proc. */
export function makeFolder(path: string): void {
  if (existsSync(path)) return;
  if (!existsSync(dirname(path))) makeFolder(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process that starts concurrently has just created it.
    if (!isAlreadyThere(error)) throw error;
  }
}

/**
 * Locks a database against a second service: an exclusive lock on a separate file, which the operating system releases
 * when the process ends, even if it is killed.
 */
export function takeLock(path: string): DatabaseSync {
  let lock: DatabaseSync | undefined;
  const name = `${trueName(path)}.lock`;
  makeFile(name);
  try {
    lock = new DatabaseSync(name, { timeout: 0 });
    lock.exec('pragma locking_mode = exclusive; begin exclusive; create table if not exists held (by text); commit');
    return lock;
  } catch (error) {
    lock?.close();
    if (sqliteCode(error) === SQLITE_BUSY) throw new StoreError(`Another service is running on ${path}.`);
    throw asFault(error, name);
  }
}

/** Resolves symbolic links. The file itself may be missing. */
export function trueName(path: string): string {
  return existsSync(path) ? realpathSync(path) : join(realpathSync(dirname(path)), basename(path));
}

/** Syncs a file or a folder to disk (fsync). */
export function toDisk(path: string, how: 'r' | 'r+'): void {
  // Windows cannot sync a folder.
  if (how === 'r' && process.platform === 'win32') return;
  const handle = openSync(path, how);
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Converts an error to a `StoreError` with one line for the operator. */
export function asFault(error: unknown, path: string): StoreError {
  if (error instanceof StoreError) return error;
  return new StoreError(`The database ${path} cannot be opened: ${error instanceof Error ? error.message : error}.`);
}
