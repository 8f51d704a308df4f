import {
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { DatabaseLostError, StoreError } from '../store.ts';
import { SQLITE_BUSY, sqliteResultCodeOf } from './connection.ts';

/** Creates a file with mode 0600, unless it exists. SQLite gives its side files the same mode. */
export function createFile(path: string): void {
  try {
    createFolder(dirname(path));
    // Never open an existing file: closing it would release every POSIX lock that this process has on it.
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (!isAlreadyExistsError(error)) throw toStoreError(error, path);
  }
}

function isAlreadyExistsError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EEXIST';
}

/**
 * Creates a folder and its parents. Node's `recursive` option is not used, because it never returns where no folder can
 * be created, such as in /proc.
 */
export function createFolder(path: string): void {
  if (existsSync(path)) return;
  if (!existsSync(dirname(path))) createFolder(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // A process that starts concurrently has just created the folder.
    if (!isAlreadyExistsError(error)) throw error;
  }
}

/**
 * Locks a database against a second service: an exclusive lock on a separate file, which the operating system releases
 * when the process ends, even if it is killed. Returns the open lock file; closing it releases the lock.
 */
export function lockDatabase(path: string): DatabaseSync {
  let lock: DatabaseSync | undefined;
  const lockPath = `${resolvePath(path)}.lock`;
  createFile(lockPath);
  try {
    lock = new DatabaseSync(lockPath, { timeout: 0 });
    lock.exec('pragma locking_mode = exclusive; begin exclusive; create table if not exists held (by text); commit');
    return lock;
  } catch (error) {
    lock?.close();
    if (sqliteResultCodeOf(error) === SQLITE_BUSY) throw new StoreError(`Another service is running on ${path}.`);
    throw toStoreError(error, lockPath);
  }
}

/** Resolves the symbolic links of a path. The file itself may be missing. */
export function resolvePath(path: string): string {
  return existsSync(path) ? realpathSync(path) : join(realpathSync(dirname(path)), basename(path));
}

/** Syncs a file or a folder to disk (fsync). */
export function fsyncPath(path: string, openFlags: 'r' | 'r+'): void {
  // Windows cannot sync a folder.
  if (openFlags === 'r' && process.platform === 'win32') return;
  const handle = openSync(path, openFlags);
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Converts an error to a `StoreError` with one line for the operator. */
export function toStoreError(error: unknown, path: string): StoreError {
  if (error instanceof StoreError) return error;
  return new StoreError(`The database ${path} cannot be opened: ${error instanceof Error ? error.message : error}.`);
}

const MOUNT_INFO_PATH = '/proc/self/mountinfo';

/**
 * Throws if the database is missing but its WAL exists: SQLite would create a new database and delete the WAL,
 * which may hold the only copy of acknowledged writes.
 */
export function rejectWalWithoutDatabase(path: string): void {
  const walPath = `${path}-wal`;
  if (existsSync(path) || (statSync(walPath, { throwIfNoEntry: false })?.size ?? 0) === 0) return;
  throw new StoreError(
    `The database ${path} is missing, but its log ${walPath} is there. Put the database back, restore a backup, or move the log away to begin a new one.`,
  );
}

/**
 * Throws if a database file has a second name (hard link) or is mounted as a single file. The WAL and the lock are
 * named after the path: two processes that open the file by different names would not see each other's WAL and lock,
 * and would corrupt the database.
 */
export function requireSingleName(path: string): void {
  const realPath = resolvePath(path);
  const { nlink, ino } = statSync(realPath, { bigint: true });
  // Folders have several links because of their subfolders; SQLite reports them as not a file.
  if (nlink > 1n && statSync(realPath).isFile()) {
    const otherNames = readdirSync(dirname(realPath)).filter(
      (file) => file !== basename(realPath) && inodeOf(realPath, file) === ino,
    );
    const otherNamesText = otherNames.length > 0 ? `, ${otherNames.join(', ')} among them` : '';
    throw new StoreError(
      `The database ${path} has ${nlink} names (hard links${otherNamesText}): opening it by different names would corrupt it. Keep one name; cp makes a copy.`,
    );
  }
  if (readMountPoints().includes(realPath)) {
    throw new StoreError(
      `The database ${path} is mounted as a single file: its log and its lock would lie outside the mount. Mount its folder.`,
    );
  }
}

function inodeOf(databasePath: string, sibling: string): bigint | undefined {
  return lstatSync(join(dirname(databasePath), sibling), { bigint: true, throwIfNoEntry: false })?.ino;
}

/** Returns all mount points, from /proc. Empty on systems other than Linux, which cannot mount a single file. */
export function readMountPoints(readMountInfo: () => string = () => readFileSync(MOUNT_INFO_PATH, 'utf8')): string[] {
  let mountInfo: string;
  try {
    mountInfo = readMountInfo();
  } catch {
    return [];
  }
  const unescapeField = (field: string) =>
    field.replace(/\\(\d{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8)));
  return mountInfo.split('\n').map((line) => unescapeField(line.split(' ')[4] ?? ''));
}

/** Returns the identity of the file at a path: device and inode; undefined if there is no file. */
function fileIdentityAt(path: string): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
}

/**
 * The files of an open database. While the same files are at their paths, the next start finds all committed data.
 */
export class OpenFiles {
  readonly #files: readonly { readonly path: string; readonly openedIdentity: string | undefined }[];

  /** @param suffixes suffixes of the side files that are open together with the database */
  constructor(path: string, suffixes: readonly string[]) {
    const realPath = resolvePath(path);
    // The path is kept as given, not resolved: a symbolic link in it may be changed.
    this.#files = [path, ...suffixes.map((suffix) => realPath + suffix)].map((file) => ({
      path: file,
      openedIdentity: fileIdentityAt(file),
    }));
  }

  /** Returns an error that names the first file that was removed or replaced; undefined while all are in place. */
  findLostFileError(): DatabaseLostError | undefined {
    for (const { path, openedIdentity } of this.#files) {
      const currentIdentity = tryFileIdentityAt(path);
      if (currentIdentity instanceof Error)
        return new DatabaseLostError(`The open file ${path} can no longer be read: ${currentIdentity.message}.`);
      if (currentIdentity !== openedIdentity)
        return new DatabaseLostError(
          `The open file ${path} was ${currentIdentity === undefined ? 'removed' : 'replaced'}.`,
        );
    }
    return undefined;
  }
}

function tryFileIdentityAt(path: string): string | undefined | Error {
  try {
    return fileIdentityAt(path);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
