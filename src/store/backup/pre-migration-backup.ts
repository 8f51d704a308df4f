import { existsSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { schemaVersionOf } from '../migrate.ts';
import { SQLITE_BUSY, sqliteResultCodeOf } from '../sqlite/connection.ts';
import { resolvePath } from '../sqlite/file-lock.ts';
import { StoreError } from '../store.ts';
import { type CopyOptions, copyDatabase, findIntegrityErrors, formatFileTimestamp } from './backup.ts';

/** Maximum number of pre-migration backups. Older ones are deleted. */
const MAX_BACKUPS = 3;

const TIMESTAMP_LENGTH = '20270131T235959'.length;

type PreMigrationBackupOptions = Pick<CopyOptions, 'getFreeBytes'> & {
  readonly path: string;
  /** The version to which the database will be migrated. */
  readonly newestVersion: number;
  readonly clock: Clock;
  readonly log: Log;
};

/**
 * Backs up the database before a migration: migrations are forward only, so this copy is the only way back.
 * Does nothing for a new or current database. Throws if there is no space for the copy; then nothing is
 * migrated.
 */
export async function backUpBeforeMigration(
  database: DatabaseSync,
  { path, newestVersion, clock, log, getFreeBytes }: PreMigrationBackupOptions,
): Promise<void> {
  const version = schemaVersionOf(database);
  if (version === 0 || version >= newestVersion) return;
  const prefix = `${resolvePath(path)}.before-${String(version + 1).padStart(4, '0')}-`;
  const backupPath = prefix + formatFileTimestamp(clock.now());
  const bytes = await copyUnlessMigrated(database, backupPath, version, getFreeBytes);
  // `bytes` is undefined if another process has just made the backup, or has already migrated the database.
  if (bytes === undefined) return;
  log.info({ event: 'database.kept', file: backupPath, version, bytes });
  deleteOldBackups(resolvePath(path));
}

async function copyUnlessMigrated(
  database: DatabaseSync,
  backupPath: string,
  version: number,
  getFreeBytes: CopyOptions['getFreeBytes'],
): Promise<number | undefined> {
  const verify = (file: string) => verifyCopy(file, version);
  try {
    return await copyDatabase({
      database,
      copyPath: backupPath,
      verify,
      ...(getFreeBytes === undefined ? {} : { getFreeBytes }),
    });
  } catch (error) {
    // The caller retries while the database is busy.
    if (sqliteResultCodeOf(error) === SQLITE_BUSY) throw error;
    if (existsSync(backupPath) || schemaVersionOf(database) !== version) return undefined;
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreError(`The database is at version ${version} and is not migrated without a copy of it: ${reason}`);
  }
}

function verifyCopy(file: string, version: number): void {
  const copy = new DatabaseSync(file, { readOnly: true });
  try {
    const errors = findIntegrityErrors(copy, 'quick_check');
    if (errors.length > 0) throw new StoreError(`the copy is damaged: ${errors[0]}`);
    if (schemaVersionOf(copy) !== version) throw new StoreError(`the copy is at version ${schemaVersionOf(copy)}`);
  } finally {
    copy.close();
  }
}

function deleteOldBackups(path: string): void {
  const [folder, name] = [dirname(path), basename(path)];
  const backupFiles = readdirSync(folder)
    .filter((file) => file.startsWith(name) && /^\.before-\d{4}-\d{8}T\d{6}$/.test(file.slice(name.length)))
    .sort((one, other) => (one.slice(-TIMESTAMP_LENGTH) < other.slice(-TIMESTAMP_LENGTH) ? 1 : -1));
  for (const file of backupFiles.slice(MAX_BACKUPS)) rmSync(join(folder, file), { force: true });
}
