import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { StoreError } from '../store.ts';
import { SQLITE_BUSY, sqliteCode } from './connection.ts';

/** Makes a file that only its owner may read, unless it is there; SQLite gives those beside it the same mode. */
export function makeFile(path: string): void {
  try {
    makeFolder(dirname(path));
    // Never opened when it is there: closing it again would let go of every lock that this process has on it.
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (!isThere(error)) throw asFault(error, path);
  }
}

function isThere(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EEXIST';
}

/** One folder after the other: Node's own recursive way never ends where the system takes no folders, as in /proc. */
export function makeFolder(path: string): void {
  if (existsSync(path)) return;
  if (!existsSync(dirname(path))) makeFolder(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process that starts at the same moment has just made it.
    if (!isThere(error)) throw error;
  }
}

/**
 * Holds the file against a second service for as long as this process lives, however it ends: an exclusive lock on a
 * small file beside it, which the operating system takes back with the process.
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

/** Where a path leads to: by a link to the file one comes to the same. The file itself may be missing. */
export function trueName(path: string): string {
  return existsSync(path) ? realpathSync(path) : join(realpathSync(dirname(path)), basename(path));
}

/** Makes sure that what a file or a folder holds outlives a power failure. */
export function toDisk(path: string, how: 'r' | 'r+'): void {
  // Windows has no such thing for a folder.
  if (how === 'r' && process.platform === 'win32') return;
  const handle = openSync(path, how);
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** What could not be done, in one line for the operator. */
export function asFault(error: unknown, path: string): StoreError {
  if (error instanceof StoreError) return error;
  return new StoreError(`The database ${path} cannot be opened: ${error instanceof Error ? error.message : error}.`);
}
