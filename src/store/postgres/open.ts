import type pg from 'pg';
import { FairSemaphore } from '../../async/fair-semaphore.ts';
import { QueryBatcher, registerBatching } from '../batched-queries.ts';
import { CommitListeners } from '../commit-events.ts';
import type { DatabaseLocation, StoreOptions } from '../database-url.ts';
import { type CommitEvents, type Queries, type Store, StoreError } from '../store.ts';
import {
  type AddressOptions,
  createQueries,
  createQueryFunction,
  isConnectionLost,
  isStalePlan,
  isTimeout,
  parseDatabaseAddress,
  QUERY_TIMEOUT_MS,
  sqlStateOf,
  toProblem,
  withNewStatementName,
} from './connection.ts';
import { GroupCommit } from './group-commit.ts';
import { migrateWithRetries } from './migrate.ts';
import { NotifierSession } from './notifier.ts';
import { createPartitions, dropPartitions } from './partitions.ts';
import { Pool } from './pool.ts';
import { sequences } from './sequences.ts';

export { dialect } from './migrate.ts';

const MIN_POSTGRES_VERSION = 15;

/** `idle_in_transaction_session_timeout`: far less than the time after which an unresponsive node is evicted. */
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 4_000;

/** Timeout for closing connections: the network may be cut. */
const CLOSE_TIMEOUT_MS = 2_000;

/** Connections reserved for background writes, which must not wait behind API requests. */
const BACKGROUND_POOL_SIZE = 3;

/**
 * Number of connections that a service opens at its start: one for the session of the node (LISTEN and heartbeat), one
 * for writes, one for reads, two for background writes.
 */
const MIN_CONNECTIONS = 5;

/** The SQLSTATE too_many_connections: the limit of the server, the database or the role is reached. */
const TOO_MANY_CONNECTIONS_SQLSTATE = '53300';

/** Maximum age of cached callers. Other nodes send a message when they revoke access, but the message may be lost. */
const ACCESS_TTL_MS = 1_000;
/**
 * Maximum age of cached callers with `listen=off`. Nodes then send no messages to each other, so a revoked key can
 * still read for this time.
 */
const ACCESS_TTL_WITHOUT_NOTIFY_MS = 50;

/** Maximum number of concurrent reading requests per connection: enough to keep each connection busy. */
const MAX_READS_PER_CONNECTION = 4;

/** Maximum time that a request waits before its first query. */
const MAX_READ_WAIT_MS = 10_000;

/** Maximum number of attempts of a read whose connection was lost or whose plan is stale. */
const MAX_READ_ATTEMPTS = 3;

type PostgresOptions = StoreOptions<Extract<DatabaseLocation, { scheme: 'postgres' }>>;

/**
 * Opens and migrates a PostgreSQL database, which any number of nodes may share. Throws `StoreError` with one
 * line for the operator.
 */
export async function openStore(options: PostgresOptions): Promise<Store> {
  const { address, addressOptions } = parseDatabaseAddress(options.database.url);
  try {
    const pool = new Pool(address, addressOptions, options.log);
    try {
      await requireSupportedServer(pool, options.durability ?? 'full');
      await migrateWithRetries(pool, options);
      return await createStore(pool, address, addressOptions, options);
    } catch (error) {
      await pool.end();
      throw error;
    }
  } catch (error) {
    throw toStoreError(error, addressOptions, options);
  }
}

async function requireSupportedServer(pool: Pool, durability: 'full' | 'any'): Promise<void> {
  const { rows } = await pool.query<{ version: number; encoding: string; fsync: string; commits: string }>(`
    select current_setting('server_version_num')::int / 10000 as version, current_setting('server_encoding') as encoding,
      current_setting('fsync') as fsync, current_setting('synchronous_commit') as commits`);
  const [row] = rows;
  if (row === undefined) throw new StoreError('The database did not return its version.');
  if (row.version < MIN_POSTGRES_VERSION) {
    throw new StoreError(`The database is PostgreSQL ${row.version}; Carillon needs ${MIN_POSTGRES_VERSION} or newer.`);
  }
  if (row.encoding !== 'UTF8')
    throw new StoreError(`The database has the encoding ${row.encoding}; Carillon needs UTF8.`);
  if (durability === 'any') return;
  const weakSettings = [
    ...(row.fsync === 'off' ? ['fsync'] : []),
    ...(row.commits === 'off' ? ['synchronous_commit'] : []),
  ];
  if (weakSettings.length === 0) return;
  throw new StoreError(
    `The database may lose acknowledged writes: ${weakSettings.join(' and ')} off. Turn it on, or set --durability any.`,
  );
}

async function createStore(
  pool: Pool,
  address: string,
  addressOptions: AddressOptions,
  options: PostgresOptions,
): Promise<Store> {
  const { clock, log } = options;
  const readPool = new Pool(address, addressOptions, log);
  const backgroundPool = new Pool(address, addressOptions, log, BACKGROUND_POOL_SIZE);
  const commitListeners = new CommitListeners();
  const groupCommitListeners: ((writeCount: number, durationS: number) => void)[] = [];
  let accessChangeCount = 0;
  const notifierSession = new NotifierSession({
    address,
    addressOptions,
    clock,
    log,
    onEventsFromPeers(events) {
      if (events.hasAccessChanged) accessChangeCount += 1;
      commitListeners.publish(events)?.catch((error: unknown) => log.error({ event: 'notifier.failed', err: error }));
    },
    // If the network was cut for the session, it was cut for the pooled connections as well.
    onReconnected() {
      pool.replaceConnections();
      readPool.replaceConnections();
      backgroundPool.replaceConnections();
    },
  });
  if (options.openAs === 'service') {
    await notifierSession.open();
    await openOneConnectionEach([pool, readPool, backgroundPool, backgroundPool]).catch(async (error: unknown) => {
      await Promise.allSettled([notifierSession.close(), readPool.end(), backgroundPool.end()]);
      throw error;
    });
  }
  const timeouts =
    options.openAs === 'service'
      ? { queryMs: QUERY_TIMEOUT_MS, idleInTransactionMs: IDLE_IN_TRANSACTION_TIMEOUT_MS }
      : undefined;
  const accessTtlMs = addressOptions.usesListenNotify ? ACCESS_TTL_MS : ACCESS_TTL_WITHOUT_NOTIFY_MS;
  const listeners = {
    onCommitted(events: CommitEvents) {
      if (options.openAs === 'service') notifierSession.publish(events);
      return commitListeners.publish(events);
    },
    onGroupCommitted: (writeCount: number, durationS: number) => {
      for (const listener of groupCommitListeners) listener(writeCount, durationS);
    },
  };
  const groupCommit = new GroupCommit(pool, addressOptions, timeouts, listeners);
  const backgroundGroupCommit = new GroupCommit(backgroundPool, addressOptions, timeouts, listeners);
  const sendRead = createQueryFunction(createRetryingReader(readPool), addressOptions, toProblem, timeouts?.queryMs);
  // Batch the reads of one event-loop iteration.
  const readBatcher = new QueryBatcher(createQueries(sendRead), setImmediate);
  const read = createQueries(sendRead);
  registerBatching(read, (query, values) => readBatcher.run(query, values));
  // A request waits before its first query instead of between its queries, so that running requests finish sooner, and
  // other queries, such as authentication, wait for a few requests instead of all.
  const readSemaphore = new FairSemaphore<'read'>({
    maxActive: addressOptions.poolSize * MAX_READS_PER_CONNECTION,
    timeout: { maxWaitMs: MAX_READ_WAIT_MS, clock },
  });
  const store: Store = {
    read,
    readWithLimit: (work) => readSemaphore.runWithPermit('read', work),
    clusterSession: notifierSession,
    write: (work, accountLock) => groupCommit.write(work, accountLock),
    writeInBackground: (work) => backgroundGroupCommit.write(work),
    readInSnapshot: (work) => readInSnapshot(readPool, addressOptions, work),
    sequences,
    onCommitted: (listener) => commitListeners.add(listener),
    onGroupCommit: (listener) => groupCommitListeners.push(listener),
    getExternalChangeNumber: () => accessChangeCount + Math.floor(clock.monotonic() / accessTtlMs),
    async dropOldRows(table, cutoff, isStopped) {
      const now = clock.now();
      await createPartitions(store, now);
      return dropPartitions(store, table, { cutoff, now }, isStopped);
    },
    async probe() {
      const row = { probe_id: 1, bytes: '' };
      await groupCommit.write(({ queries }) =>
        queries
          .insertInto('probes')
          .values(row)
          .onConflict((conflict) => conflict.column('probe_id').doUpdateSet(row))
          .execute(),
      );
    },
    async close() {
      const allClosed = notifierSession
        .close()
        .then(() => Promise.all([pool.end(), readPool.end(), backgroundPool.end()]));
      const { promise, resolve } = Promise.withResolvers<void>();
      const cancelTimeout = clock.after(CLOSE_TIMEOUT_MS, resolve);
      await Promise.race([allClosed, promise]).finally(cancelTimeout);
    },
  };
  await createPartitions(store, clock.now());
  return store;
}

/**
 * Opens one connection in each of the pools, so that a `max_connections` that is too low is found at the start and not
 * by a request.
 */
async function openOneConnectionEach(pools: readonly Pool[]): Promise<void> {
  const connectionResults = await Promise.allSettled(pools.map((pool) => pool.connect()));
  for (const result of connectionResults) if (result.status === 'fulfilled') result.value.release();
  for (const result of connectionResults) if (result.status === 'rejected') throw result.reason;
}

/**
 * Returns a pool that retries a read if its connection was lost (on another connection), or if a schema change has
 * invalidated its cached plan.
 */
function createRetryingReader(pool: Pool): { query(query: pg.QueryConfig): Promise<pg.QueryResult> } {
  return {
    async query(query) {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await pool.query(attempt === 1 ? query : withNewStatementName(query));
        } catch (error) {
          const isRetryable = isStalePlan(error) || (isConnectionLost(error) && !isTimeout(error));
          if (!isRetryable || attempt === MAX_READ_ATTEMPTS) throw error;
        }
      }
    },
  };
}

function toStoreError(error: unknown, { poolSize }: AddressOptions, { openAs }: PostgresOptions): StoreError {
  if (error instanceof StoreError) return error;
  if (sqlStateOf(error) === TOO_MANY_CONNECTIONS_SQLSTATE) {
    const requirementText =
      openAs === 'service' ? `a service needs ${MIN_CONNECTIONS} to start and opens up to` : 'a command opens up to';
    const maxConnections = 2 * poolSize + BACKGROUND_POOL_SIZE + 1;
    return new StoreError(
      `The database has too few connections left: ${requirementText} ${maxConnections}. Raise max_connections, or the limit of the database or its role; or give --database a smaller pool, such as postgres://…?pool=2.`,
    );
  }
  const cause = error instanceof AggregateError ? error.errors[0] : error;
  return new StoreError(`The database cannot be opened: ${cause instanceof Error ? cause.message : cause}.`);
}

/** Runs `work` in a repeatable-read transaction: it sees the database as of its first query. */
async function readInSnapshot<T>(
  pool: Pool,
  addressOptions: AddressOptions,
  work: (queries: Queries) => Promise<T>,
): Promise<T> {
  const client = await pool.connect().catch((error: unknown) => {
    throw toProblem(error);
  });
  let hasFailed = true;
  try {
    await client.query('begin isolation level repeatable read, read only');
    const value = await work(createQueries(createQueryFunction(client, addressOptions, toProblem)));
    await client.query('commit');
    hasFailed = false;
    return value;
  } finally {
    // After an error the connection is closed, which ends the transaction.
    client.release(hasFailed);
  }
}
