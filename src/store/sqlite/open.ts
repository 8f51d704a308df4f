import { DatabaseSync } from 'node:sqlite';
import { sql } from 'kysely';
import { startInterval, systemClock } from '../../clock.ts';
import { backUpBeforeMigration } from '../backup/pre-migration-backup.ts';
import { CommitListeners } from '../commit-events.ts';
import type { DatabaseLocation, StoreOptions } from '../database-url.ts';
import { deleteOldHistory } from '../delete-in-batches.ts';
import { type Dialect, loadMigrations, migrate } from '../migrate.ts';
import { type Queries, type Store, StoreError } from '../store.ts';
import { SQLITE_BUSY, SqliteConnection, sqliteResultCodeOf, toProblem } from './connection.ts';
import {
  createFile,
  lockDatabase,
  OpenFiles,
  rejectWalWithoutDatabase,
  requireSingleName,
  toStoreError,
} from './file-lock.ts';
import { GroupCommit } from './group-commit.ts';
import { sequences } from './sequences.ts';

/** The oldest supported version of SQLite: 3.51.3 fixed a rare corruption at a WAL reset. */
const MIN_SQLITE_VERSION = [3, 51, 3] as const;

/** The values of the templates in migrations on SQLite. */
export const dialect: Dialect = {
  name: 'sqlite',
  templateValues: {
    id: 'integer primary key autoincrement',
    int: 'integer',
    text: 'text',
    table: 'strict',
    clustered: 'strict, without rowid',
  },
};

/** Number of bytes that a probe writes: as many as the largest request body, more than most writes. */
const PROBE_BYTES = 64 * 1_024;

/** Interval of the check that the open files are still at their paths, in addition to each commit. */
const FILE_CHECK_INTERVAL_MS = 1_000;

type SqliteOptions = StoreOptions<Extract<DatabaseLocation, { scheme: 'sqlite' }>>;

/**
 * Opens and migrates the database in an SQLite file: WAL, `synchronous=FULL`, one writer with group commit, one
 * connection for reads. Throws `StoreError` with one line for the operator.
 */
export async function openStore(options: SqliteOptions): Promise<Store> {
  requireSqliteVersion();
  const { path } = options.database;
  try {
    rejectWalWithoutDatabase(path);
    createFile(path);
    requireSingleName(path);
  } catch (error) {
    throw toStoreError(error, path);
  }
  const lock = options.openAs === 'service' ? lockDatabase(path) : undefined;
  let writer: SqliteConnection | undefined;
  try {
    const connection = new SqliteConnection(
      path,
      { readOnly: false, transactionClock: options.realClock ?? systemClock },
      options.sqlite,
    );
    writer = connection;
    const newestVersion = loadMigrations(dialect).length;
    await retryWhileBusy(() => backUpBeforeMigration(connection.database, { ...options, path, newestVersion }));
    await retryWhileBusy(() => configureAndMigrate(connection, options));
    const reader = new SqliteConnection(path, { readOnly: true, mapError: toProblem }, options.sqlite);
    return createStore(connection, reader, lock, options);
  } catch (error) {
    writer?.close();
    lock?.close();
    throw toStoreError(error, path);
  }
}

function configureAndMigrate(writer: SqliteConnection, options: SqliteOptions): void {
  writer.exec('pragma journal_mode = wal');
  writer.exec('pragma synchronous = full');
  // 32 MiB page cache and a checkpoint every 16 MiB of WAL: fewer reads and fewer checkpoints under load.
  writer.exec('pragma cache_size = -32768');
  writer.exec('pragma wal_autocheckpoint = 4000');
  migrate(writer.database, dialect);
  if (options.maxPages !== undefined) writer.exec(`pragma max_page_count = ${options.maxPages}`);
}

function createStore(
  writer: SqliteConnection,
  reader: SqliteConnection,
  lock: DatabaseSync | undefined,
  { database: { path }, clock, realClock = systemClock, onFatal, sqlite }: SqliteOptions,
): Store {
  const openFiles = new OpenFiles(path, lock === undefined ? ['-wal', '-shm'] : ['-wal', '-shm', '.lock']);
  const commitListeners = new CommitListeners();
  const groupCommitListeners: ((writeCount: number, durationS: number) => void)[] = [];
  const groupCommit = new GroupCommit(writer, realClock, {
    openFiles,
    commitListeners,
    onGroupCommitted: (writeCount, durationS) => {
      for (const listener of groupCommitListeners) listener(writeCount, durationS);
    },
    onFatal,
  });
  // Simulations do not watch their files: nothing else touches them, and each timer costs a round of the simulation.
  const isWatched = lock !== undefined && sqlite === undefined;
  const stopWatching = isWatched
    ? startInterval(realClock, FILE_CHECK_INTERVAL_MS, () => groupCommit.checkForLostFiles())
    : () => undefined;
  const dataVersionStatement = writer.database.prepare('pragma data_version');
  let cachedDataVersion: number | undefined;
  return {
    read: reader.queries,
    // Queries are synchronous, so no limit is needed. Other requests run between the slices of a large page (see
    // http/routes/pagination.ts).
    readWithLimit: (work) => work(),
    clusterSession: undefined,
    dropOldRows: (table, cutoff, isStopped) =>
      deleteOldHistory((work) => groupCommit.write(work), table, { cutoff, now: clock.now() }, isStopped),
    getExternalChangeNumber() {
      if (cachedDataVersion === undefined) {
        cachedDataVersion = Number(dataVersionStatement.get()?.data_version);
        setImmediate(() => {
          cachedDataVersion = undefined;
        });
      }
      return cachedDataVersion;
    },
    write: (work, accountLock) => groupCommit.write(work, accountLock),
    writeInBackground: (work) => groupCommit.write(work),
    readInSnapshot: (work) => readInSnapshot(path, work),
    sequences,
    onCommitted: (listener) => commitListeners.add(listener),
    onGroupCommit: (listener) => groupCommitListeners.push(listener),
    async probe() {
      await groupCommit.write(async ({ queries }) => {
        // Insert before deleting, so that free pages and space in the WAL are really needed.
        const lastProbe = await queries
          .selectFrom('probes')
          .select('probe_id')
          .orderBy('probe_id', 'desc')
          .executeTakeFirst();
        const probe_id = (lastProbe?.probe_id ?? 0) + 1;
        const bytes = sql<string>`hex(zeroblob(${PROBE_BYTES / 2}))`;
        await queries.insertInto('probes').values({ probe_id, bytes }).execute();
        await queries.deleteFrom('probes').where('probe_id', '<', probe_id).execute();
      });
    },
    async close() {
      stopWatching();
      await groupCommit.close();
      // On close, SQLite would delete the WAL at its path, which may now belong to another database.
      if (openFiles.findLostFileError() !== undefined) return;
      reader.close();
      writer.close();
      lock?.close();
    },
  };
}

/**
 * Runs `work` in a read transaction, which sees the database as of its first query, whatever is committed meanwhile.
 */
async function readInSnapshot<T>(path: string, work: (queries: Queries) => Promise<T>): Promise<T> {
  const connection = new SqliteConnection(path, { readOnly: true });
  try {
    connection.exec('begin');
    connection.exec('select 1 from migrations limit 1');
    return await work(connection.queries);
  } finally {
    connection.close();
  }
}

function requireSqliteVersion(): void {
  const database = new DatabaseSync(':memory:');
  const row = database.prepare('select sqlite_version() as version').get();
  database.close();
  const version = String(row?.version);
  const versionParts = version.split('.').map(Number);
  for (const [index, minPart] of MIN_SQLITE_VERSION.entries()) {
    const part = versionParts[index] ?? 0;
    if (part > minPart) return;
    if (part < minPart) {
      throw new StoreError(
        `This Node includes SQLite ${version}; Carillon needs ${MIN_SQLITE_VERSION.join('.')} or newer.`,
      );
    }
  }
}

const OPEN_TIMEOUT_MS = 10_000;

/** Retries while another process is opening or migrating the same file. */
async function retryWhileBusy(run: () => Promise<void> | void): Promise<void> {
  const giveUpAt = performance.now() + OPEN_TIMEOUT_MS;
  for (;;) {
    try {
      await run();
      return;
    } catch (error) {
      if (sqliteResultCodeOf(error) !== SQLITE_BUSY || performance.now() > giveUpAt) throw error;
    }
    await new Promise<void>((resolve) => setTimeout(resolve, 10));
  }
}
