import type pg from 'pg';
import { Listeners } from '../commit-events.ts';
import type { Location, OpenOptions } from '../database-url.ts';
import { type CommitEvents, type Store, StoreError } from '../store.ts';
import {
  asProblem,
  type Extras,
  isConnectionLost,
  isStale,
  isTimeout,
  QUERY_TIMEOUT_MS,
  queriesOver,
  queryFunctionOf,
  readAddress,
  renamed,
  sqlStateOf,
} from './connection.ts';
import { migrateWhenFree } from './migrate.ts';
import { NotifierSession } from './notifier.ts';
import { createPartitions, dropPartitions } from './partitions.ts';
import { Pool } from './pool.ts';
import { QueryBatcher } from './query-batcher.ts';
import { ReadLimiter } from './read-limiter.ts';
import { sequences } from './sequences.ts';
import { snapshot } from './snapshot.ts';
import { WriteBatcher } from './write-batcher.ts';

export { dialect } from './migrate.ts';

const MIN_POSTGRES_VERSION = 15;

/** `idle_in_transaction_session_timeout`: far less than the time after which an unresponsive node is evicted. */
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 4_000;

/** Timeout for closing connections: the network may be cut. */
const CLOSE_TIMEOUT_MS = 2_000;

/** Connections reserved for background writes, which must not wait behind API requests. */
const BACKGROUND_CONNECTIONS = 3;

/**
 * Number of connections that a service opens at its start: one for the session, one for writes, one for reads, two for
 * background writes.
 */
const MIN_CONNECTIONS = 5;

/** The SQLSTATE too_many_connections: the limit of the server, the database or the role is reached. */
const TOO_MANY_CONNECTIONS = '53300';

/** Maximum age of cached callers. Other nodes send a notification when they revoke access, but it may be lost. */
const ACCESS_TTL_MS = 1_000;
/**
 * Maximum age of cached callers with `listen=off`. No notifications are sent, so a revoked key can still read for this
 * time.
 */
const ACCESS_TTL_WITHOUT_NOTIFY_MS = 50;

/** Maximum number of concurrent reading requests per connection: enough to keep each connection busy. */
const READS_PER_CONNECTION = 4;

/** Maximum number of tries of a read whose connection was lost or whose plan is stale. */
const MAX_ATTEMPTS = 3;

type Options = OpenOptions<Extract<Location, { scheme: 'postgres' }>>;

/**
 * Opens and migrates a PostgreSQL database, which any number of nodes may share. Throws `StoreError` with one
 * line for the operator.
 */
export async function openStore(options: Options): Promise<Store> {
  const { address, extras } = readAddress(options.database.url);
  try {
    const pool = new Pool(address, extras, options.log);
    try {
      await check(pool, options.durability ?? 'full');
      await migrateWhenFree(pool, options);
      return await createStore(pool, address, extras, options);
    } catch (error) {
      await pool.end();
      throw error;
    }
  } catch (error) {
    throw asFault(error, extras, options);
  }
}

async function check(pool: Pool, durability: 'full' | 'any'): Promise<void> {
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
  const weak = [...(row.fsync === 'off' ? ['fsync'] : []), ...(row.commits === 'off' ? ['synchronous_commit'] : [])];
  if (weak.length === 0) return;
  throw new StoreError(
    `The database may lose acknowledged writes: ${weak.join(' and ')} off. Turn it on, or set --durability any.`,
  );
}

async function createStore(pool: Pool, address: string, extras: Extras, options: Options): Promise<Store> {
  const { clock, log } = options;
  const readers = new Pool(address, extras, log);
  const background = new Pool(address, extras, log, BACKGROUND_CONNECTIONS);
  const committed = new Listeners();
  const groupListeners: ((writes: number, seconds: number) => void)[] = [];
  let accessChanges = 0;
  const session = new NotifierSession({
    address,
    extras,
    clock,
    log,
    onEvents(events) {
      if (events.access) accessChanges += 1;
      committed.publish(events)?.catch((error: unknown) => log.error({ event: 'notifier.failed', err: error }));
    },
    // If the network was cut for the session, it was cut for the pooled connections as well.
    onReconnected() {
      pool.renew();
      readers.renew();
      background.renew();
    },
  });
  if (options.as === 'service') {
    await session.open();
    await openOneEach([pool, readers, background, background]).catch(async (error: unknown) => {
      await Promise.allSettled([session.close(), readers.end(), background.end()]);
      throw error;
    });
  }
  const limits =
    options.as === 'service'
      ? { answerMs: QUERY_TIMEOUT_MS, idleInTransactionMs: IDLE_IN_TRANSACTION_TIMEOUT_MS }
      : undefined;
  const accessTtlMs = extras.listen ? ACCESS_TTL_MS : ACCESS_TTL_WITHOUT_NOTIFY_MS;
  const listeners = {
    onCommitted(events: CommitEvents) {
      if (options.as === 'service') session.publish(events);
      return committed.publish(events);
    },
    onGroup: (count: number, seconds: number) => {
      for (const listener of groupListeners) listener(count, seconds);
    },
  };
  const writes = new WriteBatcher(pool, extras, limits, listeners);
  const backgroundWrites = new WriteBatcher(background, extras, limits, listeners);
  const send = queryFunctionOf(withRetries(readers), extras, asProblem, limits?.answerMs);
  // Batch the reads of one event-loop iteration.
  const batcher = new QueryBatcher((text, values) => send(text, values, 'prepared'), setImmediate);
  const read = queriesOver(send, (text, parameters) => batcher.ask(text, parameters));
  const reads = new ReadLimiter(extras.pool * READS_PER_CONNECTION, clock);
  const store: Store = {
    read,
    limitedRead: (work) => reads.run(work),
    sessions: session,
    write: (work, writer) => writes.write(work, writer),
    writeInBackground: (work) => backgroundWrites.write(work),
    snapshot: (work) => snapshot(readers, extras, work),
    sequences,
    onCommitted: (listener) => committed.add(listener),
    onGroup: (listener) => groupListeners.push(listener),
    externalVersion: () => accessChanges + Math.floor(clock.monotonic() / accessTtlMs),
    refreshSnapshot: () => false,
    async dropPartitions(table, before, isStopped) {
      const now = clock.now();
      await createPartitions(store, now);
      return dropPartitions(store, table, { before, now }, isStopped);
    },
    async probe() {
      const row = { probe_id: 1, bytes: '' };
      await writes.write(({ queries }) =>
        queries
          .insertInto('probes')
          .values(row)
          .onConflict((of) => of.column('probe_id').doUpdateSet(row))
          .execute(),
      );
    },
    async close() {
      const closed = session.close().then(() => Promise.all([pool.end(), readers.end(), background.end()]));
      const { promise, resolve } = Promise.withResolvers<void>();
      const cancel = clock.after(CLOSE_TIMEOUT_MS, resolve);
      await Promise.race([closed, promise]).finally(cancel);
    },
  };
  await createPartitions(store, clock.now());
  return store;
}

/**
 * Opens one connection in each of the pools, so that a `max_connections` that is too low is found at the start and not
 * by a request.
 */
async function openOneEach(pools: readonly Pool[]): Promise<void> {
  const opened = await Promise.allSettled(pools.map((pool) => pool.connect()));
  for (const result of opened) if (result.status === 'fulfilled') result.value.release();
  for (const result of opened) if (result.status === 'rejected') throw result.reason;
}

/**
 * Returns a pool that retries reads: on another connection after a lost one, and with a new plan after a schema change.
 */
function withRetries(pool: Pool): { query(query: pg.QueryConfig): Promise<pg.QueryResult> } {
  return {
    async query(query) {
      for (let tries = 1; ; tries += 1) {
        try {
          return await pool.query(tries === 1 ? query : renamed(query));
        } catch (error) {
          const isRetryable = isStale(error) || (isConnectionLost(error) && !isTimeout(error));
          if (!isRetryable || tries === MAX_ATTEMPTS) throw error;
        }
      }
    },
  };
}

function asFault(error: unknown, { pool }: Extras, { as }: Options): StoreError {
  if (error instanceof StoreError) return error;
  if (sqlStateOf(error) === TOO_MANY_CONNECTIONS) {
    const needs =
      as === 'service' ? `a service needs ${MIN_CONNECTIONS} to start and opens up to` : 'a command opens up to';
    const max = 2 * pool + BACKGROUND_CONNECTIONS + 1;
    return new StoreError(
      `The database has too few connections left: ${needs} ${max}. Raise max_connections, or the limit of the database or its role; or give --database a smaller pool, such as postgres://…?pool=2.`,
    );
  }
  const cause = error instanceof AggregateError ? error.errors[0] : error;
  return new StoreError(`The database cannot be opened: ${cause instanceof Error ? cause.message : cause}.`);
}
