import { existsSync, lstatSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseLost, StoreError } from '../store.ts';
import { trueName } from './file-lock.ts';

const MOUNTS = '/proc/self/mountinfo';

/**
 * Throws if the database is missing but its WAL exists: SQLite would create a new database and delete the WAL,
 * which may hold the only copy of acknowledged writes.
 */
export function refuseLogAlone(path: string): void {
  const log = `${path}-wal`;
  if (existsSync(path) || (statSync(log, { throwIfNoEntry: false })?.size ?? 0) === 0) return;
  throw new StoreError(
    `The database ${path} is missing, but its log ${log} is there. Put the database back, restore a backup, or move the log away to begin a new one.`,
  );
}

/**
 * Throws if a database file has a second name (hard link) or is mounted as a single file. The WAL and the lock
 * are named after the path: two processes that open it by different names would not see each other's and
 * corrupt the database.
 */
export function refuseSecondName(path: string): void {
  const name = trueName(path);
  const { nlink, ino } = statSync(name, { bigint: true });
  // Folders have several links because of their subfolders; SQLite reports them as not a file.
  if (nlink > 1n && statSync(name).isFile()) {
    const others = readdirSync(dirname(name)).filter((file) => file !== basename(name) && inodeOf(name, file) === ino);
    const listed = others.length > 0 ? `, ${others.join(', ')} among them` : '';
    throw new StoreError(
      `The database ${path} has ${nlink} names (hard links${listed}): opening it by different names would corrupt it. Keep one name; cp makes a copy.`,
    );
  }
  if (mountPoints().includes(name)) {
    throw new StoreError(
      `The database ${path} is mounted as a single file: its log and its lock would lie outside the mount. Mount its folder.`,
    );
  }
}

function inodeOf(name: string, sibling: string): bigint | undefined {
  return lstatSync(join(dirname(name), sibling), { bigint: true, throwIfNoEntry: false })?.ino;
}

/** All mount points, from /proc; empty on systems other than Linux, which cannot mount a single file. */
export function mountPoints(read: () => string = () => readFileSync(MOUNTS, 'utf8')): string[] {
  let table: string;
  try {
    table = read();
  } catch {
    return [];
  }
  const unescaped = (field: string) =>
    field.replace(/\\(\d{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8)));
  return table.split('\n').map((line) => unescaped(line.split(' ')[4] ?? ''));
}

/** Identity of the file at a path: device and inode; undefined if there is none. */
function fileAt(path: string): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
}

/**
 * The files of an open database. While they are still at their paths, committed data will be found at the next start.
 */
export class OpenFiles {
  readonly #files: readonly { readonly path: string; readonly opened: string | undefined }[];

  /** @param suffixes of the side files that are open together with the database */
  constructor(path: string, suffixes: readonly string[]) {
    const name = trueName(path);
    // The path as given, not resolved: a symbolic link in it may be changed.
    this.#files = [path, ...suffixes.map((suffix) => name + suffix)].map((file) => ({
      path: file,
      opened: fileAt(file),
    }));
  }

  /** Describes the first file that was removed or replaced; undefined while all are in place. */
  lost(): DatabaseLost | undefined {
    for (const { path, opened } of this.#files) {
      const now = identityOf(path);
      if (now instanceof Error) return new DatabaseLost(`The open file ${path} can no longer be read: ${now.message}.`);
      if (now !== opened)
        return new DatabaseLost(`The open file ${path} was ${now === undefined ? 'removed' : 'replaced'}.`);
    }
    return undefined;
  }
}

function identityOf(path: string): string | undefined | Error {
  try {
    return fileAt(path);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
