import { existsSync, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { databaseBytes, findIntegrityErrors, freeBytesIn } from '../backup/backup.ts';
import type { DatabaseLocation } from '../database-url.ts';
import { loadMigrations, schemaVersionOf } from '../migrate.ts';
import type { DatabaseInspection } from '../store.ts';
import { SQLITE_BUSY, SqliteConnection, sqliteResultCodeOf } from './connection.ts';
import { requireSingleName, resolvePath } from './file-lock.ts';
import { dialect } from './open.ts';

/** Network file systems, by their Linux magic number: their locks are not reliable. */
const NETWORK_FILE_SYSTEMS: Readonly<Record<number, string>> = {
  26985: 'NFS',
  20859: 'SMB',
  4266872130: 'SMB',
  4283649346: 'SMB',
  16914839: '9P',
};

export async function inspect({
  path,
}: Extract<DatabaseLocation, { scheme: 'sqlite' }>): Promise<DatabaseInspection | undefined> {
  if (!existsSync(path)) return undefined;
  requireSingleName(path);
  const connection = new SqliteConnection(path, { readOnly: true, waitsWhenBusy: true });
  try {
    const { database, queries } = connection;
    const [engineVersion] = database.prepare('select sqlite_version()').all().flatMap(Object.values);
    const [journalMode] = database.prepare('pragma journal_mode').all().flatMap(Object.values);
    const version = schemaVersionOf(database);
    const isServed = isLocked(`${resolvePath(path)}.lock`);
    const folder = dirname(resolvePath(path));
    const networkFileSystem = NETWORK_FILE_SYSTEMS[statfsSync(folder).type];
    return {
      engine: `SQLite ${engineVersion}`,
      schemaVersion: version,
      newestSchemaVersion: loadMigrations(dialect).length,
      // A service always sets WAL. Another mode while a service is running was set by another program.
      weakSettings: isServed && journalMode !== 'wal' ? [`journal_mode is ${journalMode}`] : [],
      integrityErrors: findIntegrityErrors(database, 'quick_check'),
      sizeBytes: databaseBytes(database),
      freeBytes: freeBytesIn(folder),
      locationProblems:
        networkFileSystem === undefined ? [] : [`it lies on ${networkFileSystem}, whose locks cannot be relied on`],
      clockAheadMs: undefined,
      isServiceRunning: isServed,
      queries,
      close: async () => connection.close(),
    };
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** Whether a service holds the lock. Does not take the lock. */
function isLocked(file: string): boolean {
  if (!existsSync(file)) return false;
  const lock = new DatabaseSync(file, { readOnly: true, timeout: 0 });
  try {
    lock.prepare('select count(*) from sqlite_master').get();
    return false;
  } catch (error) {
    if (sqliteResultCodeOf(error) === SQLITE_BUSY) return true;
    throw error;
  } finally {
    lock.close();
  }
}
