import { existsSync, lstatSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseLost, StoreError } from '../store.ts';
import { trueName } from './file-lock.ts';

const MOUNTS = '/proc/self/mountinfo';

/**
 * Refuses to begin a new database where the log of an old one lies: SQLite would delete the log, which may be all that
 * is left of acknowledged writes.
 */
export function refuseLogAlone(path: string): void {
  const log = `${path}-wal`;
  if (existsSync(path) || (statSync(log, { throwIfNoEntry: false })?.size ?? 0) === 0) return;
  throw new StoreError(
    `The database ${path} is missing, but its log ${log} is there. Put the database back, restore a backup, or move the log away to begin a new one.`,
  );
}

/**
 * Refuses a database file that can be reached by a second name. SQLite names its log after the path, and so does our
 * lock: two processes that come by different names would not see each other, and one would write over the other.
 */
export function refuseSecondName(path: string): void {
  const name = trueName(path);
  const { nlink, ino } = statSync(name, { bigint: true });
  // The links of a folder are its subfolders; SQLite itself says that it is no file.
  if (nlink > 1n && statSync(name).isFile()) {
    const others = readdirSync(dirname(name)).filter((file) => file !== basename(name) && inodeOf(name, file) === ino);
    const shown = others.length > 0 ? `, ${others.join(', ')} among them` : '';
    throw new StoreError(
      `The database ${path} has ${nlink} names (hard links${shown}): whoever opened it by another one would overwrite it. Keep one name; cp makes a copy.`,
    );
  }
  if (mountPoints().includes(name)) {
    throw new StoreError(
      `The database ${path} is mounted as a single file: its log and its lock would lie outside the mount. Mount its folder.`,
    );
  }
}

function inodeOf(name: string, neighbour: string): bigint | undefined {
  return lstatSync(join(dirname(name), neighbour), { bigint: true, throwIfNoEntry: false })?.ino;
}

/** Where something is mounted, as Linux says it; empty on systems that cannot mount a single file. */
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

/** Which file stands at a path: device and inode; undefined when none does. */
function fileAt(path: string): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
}

/**
 * The files of an open database. As long as they are those that stand at their paths, what is committed will be found at
 * the next start.
 */
export class OpenFiles {
  readonly #files: readonly { readonly path: string; readonly opened: string | undefined }[];

  /** @param ends the ends of the names of the files beside the database that are held open with it */
  constructor(path: string, ends: readonly string[]) {
    const name = trueName(path);
    // The path as it was given: a link in it may come to lead elsewhere.
    this.#files = [path, ...ends.map((end) => name + end)].map((file) => ({ path: file, opened: fileAt(file) }));
  }

  /** What has become of them; undefined while all are in place. */
  lost(): DatabaseLost | undefined {
    for (const { path, opened } of this.#files) {
      const now = look(path);
      if (now instanceof Error)
        return new DatabaseLost(`The open file ${path} can no longer be looked at: ${now.message}.`);
      if (now !== opened)
        return new DatabaseLost(`The open file ${path} was ${now === undefined ? 'removed' : 'replaced'}.`);
    }
    return undefined;
  }
}

function look(path: string): string | undefined | Error {
  try {
    return fileAt(path);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
