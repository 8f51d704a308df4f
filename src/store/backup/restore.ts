import { copyFileSync, existsSync, linkSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { trail } from '../commit-events.ts';
import { migrate, versionOf } from '../migrate.ts';
import type { Sequences } from '../sequences.ts';
import { SQLITE_BUSY, SqliteConnection, sqliteCode } from '../sqlite/connection.ts';
import { asFault, makeFolder, takeLock, toDisk, trueName } from '../sqlite/file-lock.ts';
import { dialect } from '../sqlite/open.ts';
import { sequences } from '../sqlite/sequences.ts';
import { StoreError, type Tx } from '../store.ts';
import { lookAt } from './backup.ts';
import { copyDatabase } from './copy-database.ts';

/** How long others, a command above all, may take to let go of the file. */
const BUSY_TIMEOUT_MS = 5_000;

/** What is put in place of what. */
export type Replacing<T> = {
  readonly path: string;
  readonly from: string;
  /** Ends the name under which the old file is kept beside the new one. */
  readonly stamp: string;
  /** Whether there may be an old one. */
  readonly force: boolean;
  /** What is done to the copy, in one transaction, before anybody can open it under its name. */
  readonly prepare: (tx: Pick<Tx, 'queries' | 'withCommit'>, sequences: Sequences) => Promise<T>;
};

export type Replaced<T> = {
  /** The version of the backup, before it was brought up to date. */
  readonly version: number;
  /** Where the old file is; undefined when there was none. */
  readonly kept: string | undefined;
  readonly prepared: T;
};

/**
 * Puts a copy of a backup in the place of a database that no service runs on: copied, verified, brought up to date and
 * prepared under another name; only then it takes its place, and the old file stays beside it. The backup itself is
 * only read.
 *
 * @throws StoreFault with one line for the operator; then the database is as it was
 */
export async function replaceDatabase<T>(replacing: Replacing<T>): Promise<Replaced<T>> {
  const { from, force, stamp } = replacing;
  if (!existsSync(from)) throw new StoreError(`There is no backup ${from}.`);
  makeFolder(dirname(replacing.path));
  const path = trueName(replacing.path);
  if (path === trueName(from)) throw new StoreError(`${from} is the database itself, and no backup of it.`);
  const lock = takeLock(path);
  const made = `${path}.restoring`;
  const kept = `${path}.replaced-${stamp}`;
  try {
    const isThere = existsSync(path);
    if (isThere && !force) {
      throw new StoreError(`There is a database ${path}. With --force it is kept as ${kept}, and replaced.`);
    }
    if (existsSync(kept)) throw new StoreError(`${kept} is there already, and nothing is written over.`);
    // Left behind by a restore that was cut short.
    removeAll(made);
    const version = await copyBackup(from, made);
    const prepared = await bringUp(made, replacing);
    if (isThere) letGo(path, kept);
    changePlaces(path, made, kept);
    return { version, kept: isThere ? kept : undefined, prepared };
  } finally {
    removeAll(made);
    lock.close();
  }
}

async function copyBackup(from: string, to: string): Promise<number> {
  let backup: SqliteConnection | undefined;
  try {
    backup = new SqliteConnection(from, { readOnly: true, patient: true });
    const { database } = backup;
    const version = versionOf(database);
    if (version === 0) throw new StoreError(`${from} is no backup of Carillon.`);
    await copyDatabase({ database, to, verify: (file) => lookAt(file, async () => undefined) });
    return version;
  } catch (error) {
    if (error instanceof StoreError) throw error;
    throw new StoreError(`The backup ${from} cannot be read: ${error instanceof Error ? error.message : error}.`);
  } finally {
    backup?.close();
  }
}

async function bringUp<T>(file: string, { prepare }: Replacing<T>): Promise<T> {
  const copy = new SqliteConnection(file, { readOnly: false });
  try {
    copy.exec('pragma synchronous = full');
    migrate(copy.database, dialect);
    copy.exec('begin immediate');
    const trailing: Promise<unknown>[] = [];
    const withCommit: Tx['withCommit'] = (query) => trail(trailing, copy.queries, query);
    const prepared = await prepare({ queries: copy.queries, withCommit }, sequences);
    await Promise.all(trailing);
    copy.exec('commit');
    return prepared;
  } catch (error) {
    throw asFault(error, file);
  } finally {
    copy.close();
  }
}

/**
 * Makes the old file whole by itself: what stands in its log goes into it, and the log away. What cannot be opened
 * keeps its log beside it, of which SQLite might leave nothing in trying.
 */
function letGo(path: string, kept: string): void {
  const [log, keptLog] = [`${path}-wal`, `${kept}-wal`];
  if (existsSync(log)) copyFileSync(log, keptLog);
  try {
    const old = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
    try {
      old.exec('pragma journal_mode = delete');
    } finally {
      old.close();
    }
    rmSync(keptLog, { force: true });
  } catch (error) {
    if (sqliteCode(error) !== SQLITE_BUSY) return;
    rmSync(keptLog, { force: true });
    throw new StoreError(`Something has ${path} open. End it, and try again.`);
  }
}

const BESIDE = ['-wal', '-shm', '-journal'];

function changePlaces(path: string, made: string, kept: string): void {
  // Before all else: a log of the old file beside the new one would be taken for its own, also where the old file is gone.
  for (const end of BESIDE) if (existsSync(path + end)) renameSync(path + end, kept + end);
  if (existsSync(path)) keepAs(path, kept);
  toDisk(made, 'r+');
  renameSync(made, path);
  toDisk(dirname(path), 'r');
}

/** By a second name where the file system has those, so that at no moment there is no database. */
function keepAs(path: string, kept: string): void {
  try {
    linkSync(path, kept);
  } catch {
    renameSync(path, kept);
  }
}

function removeAll(path: string): void {
  for (const end of ['', ...BESIDE]) rmSync(path + end, { force: true });
}
