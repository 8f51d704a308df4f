import { existsSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { versionOf } from '../migrate.ts';
import { SQLITE_BUSY, sqliteCode } from '../sqlite/connection.ts';
import { trueName } from '../sqlite/file-lock.ts';
import { StoreError } from '../store.ts';
import { type Copying, copyDatabase, stampOf, whatIsWrong } from './copy-database.ts';

/** How many of them are kept beside a database. */
const KEPT = 3;

const STAMP_LENGTH = '20270131T235959'.length;

export type Keeping = Pick<Copying, 'freeBytes'> & {
  readonly path: string;
  /** Up to which version this Carillon will bring the database. */
  readonly newest: number;
  readonly clock: Clock;
  readonly log: Log;
};

/**
 * Keeps a database as it is before it is brought up to date: there is no way back but this copy. A new database, and
 * one that is up to date, is left alone. Without room for the copy nothing is migrated.
 */
export async function keepOldVersion(
  database: DatabaseSync,
  { path, newest, clock, log, freeBytes }: Keeping,
): Promise<void> {
  const version = versionOf(database);
  if (version === 0 || version >= newest) return;
  const begin = `${trueName(path)}.before-${String(version + 1).padStart(4, '0')}-`;
  const to = begin + stampOf(clock.now());
  const bytes = await copyOf(database, to, version, freeBytes);
  // Somebody else has just kept it, or even brought it up to date.
  if (bytes === undefined) return;
  log.info({ event: 'database.kept', file: to, version, bytes });
  dropOlder(trueName(path));
}

async function copyOf(
  database: DatabaseSync,
  to: string,
  version: number,
  freeBytes: Copying['freeBytes'],
): Promise<number | undefined> {
  const verify = (file: string) => mustBe(file, version);
  try {
    return await copyDatabase({ database, to, verify, ...(freeBytes === undefined ? {} : { freeBytes }) });
  } catch (error) {
    // Busy: it is tried again.
    if (sqliteCode(error) === SQLITE_BUSY) throw error;
    if (existsSync(to) || versionOf(database) !== version) return undefined;
    const why = error instanceof Error ? error.message : String(error);
    throw new StoreError(
      `The database is at version ${version} and is not brought up to date without a copy of it: ${why}`,
    );
  }
}

function mustBe(file: string, version: number): void {
  const copy = new DatabaseSync(file, { readOnly: true });
  try {
    const wrong = whatIsWrong(copy, 'quick_check');
    if (wrong.length > 0) throw new StoreError(`the copy is not sound: ${wrong[0]}`);
    if (versionOf(copy) !== version) throw new StoreError(`the copy is at version ${versionOf(copy)}`);
  } finally {
    copy.close();
  }
}

function dropOlder(path: string): void {
  const [folder, name] = [dirname(path), basename(path)];
  const stamped = readdirSync(folder)
    .filter((file) => file.startsWith(name) && /^\.before-\d{4}-\d{8}T\d{6}$/.test(file.slice(name.length)))
    .sort((one, other) => (one.slice(-STAMP_LENGTH) < other.slice(-STAMP_LENGTH) ? 1 : -1));
  for (const file of stamped.slice(KEPT)) rmSync(join(folder, file), { force: true });
}
