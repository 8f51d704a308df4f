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

/** How long a transaction of a service may wait for its next query: far less than a silent node is waited for. */
const KEEPALIVE_TIMEOUT_MS = 4_000;

/** How long the end of connections is waited for that may be cut already. */
const CLOSE_TIMEOUT_MS = 2_000;

/** Of a node's own, for what must not wait behind its callers. */
const CONNECTIONS_ASIDE = 3;

/** What a service opens before it starts: its session, one connection each to write and to read, and two aside. */
const MIN_CONNECTIONS = 5;

/** SQLSTATE too_many_connections: of the server, the database or the role. */
const TOO_MANY_CONNECTIONS = '53300';

/**
 * How long a node remembers whom it let in. Others tell it when they take access away, but a message may be lost; where
 * none is sent (`listen=off`), this alone is how long a revoked key may still read here.
 */
const ACCESS_TTL_MS = 1_000;
const UNHEARD_ACCESS_TTL_MS = 50;

/** Calls that read at once, for each connection: there is always one that has a query to ask. */
const READS_PER_CONNECTION = 4;

/** How often a read is asked. */
const MAX_ATTEMPTS = 3;

type Options = OpenOptions<Extract<Location, { scheme: 'postgres' }>>;

/**
 * Opens, and brings up to date, a PostgreSQL that any number of nodes may share. Throws `StoreFault` with one line for
 * the operator.
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
  if (row === undefined) throw new StoreError('The database does not say what it is.');
  if (row.version < MIN_POSTGRES_VERSION) {
    throw new StoreError(`The database is PostgreSQL ${row.version}; Carillon needs ${MIN_POSTGRES_VERSION} or newer.`);
  }
  if (row.encoding !== 'UTF8')
    throw new StoreError(`The database keeps text as ${row.encoding}; Carillon needs one that was made with UTF8.`);
  if (durability === 'any') return;
  const weak = [...(row.fsync === 'off' ? ['fsync'] : []), ...(row.commits === 'off' ? ['synchronous_commit'] : [])];
  if (weak.length === 0) return;
  throw new StoreError(
    `The database may lose what it has confirmed: ${weak.join(' and ')} off. Turn it on, or say --durability any.`,
  );
}

async function createStore(pool: Pool, address: string, extras: Extras, options: Options): Promise<Store> {
  const { clock, log } = options;
  const readers = new Pool(address, extras, log);
  const aside = new Pool(address, extras, log, CONNECTIONS_ASIDE);
  const committed = new Listeners();
  const grouped: ((writes: number, seconds: number) => void)[] = [];
  let accessChanges = 0;
  const session = new NotifierSession({
    address,
    extras,
    clock,
    log,
    onEvents(news) {
      if (news.access) accessChanges += 1;
      committed.publish(news)?.catch((error: unknown) => log.error({ event: 'notifier.failed', err: error }));
    },
    // What has befallen one connection has befallen the others.
    onReconnected() {
      pool.renew();
      readers.renew();
      aside.renew();
    },
  });
  if (options.as === 'service') {
    await session.open();
    await reach([pool, readers, aside, aside]).catch(async (error: unknown) => {
      await Promise.allSettled([session.close(), readers.end(), aside.end()]);
      throw error;
    });
  }
  const limits = options.as === 'service' ? { answerMs: QUERY_TIMEOUT_MS, stillMs: KEEPALIVE_TIMEOUT_MS } : undefined;
  const accessTtlMs = extras.listen ? ACCESS_TTL_MS : UNHEARD_ACCESS_TTL_MS;
  const listeners = {
    onCommitted(news: CommitEvents) {
      if (options.as === 'service') session.publish(news);
      return committed.publish(news);
    },
    onGroup: (count: number, seconds: number) => {
      for (const listener of grouped) listener(count, seconds);
    },
  };
  const writes = new WriteBatcher(pool, extras, limits, listeners);
  const writesAside = new WriteBatcher(aside, extras, limits, listeners);
  const ask = queryFunctionOf(again(readers), extras, asProblem, limits?.answerMs);
  // Whatever is heard in one turn of the event loop.
  const together = new QueryBatcher((text, values) => ask(text, values, 'once'), setImmediate);
  const read = queriesOver(ask, (text, parameters) => together.ask(text, parameters));
  const reads = new ReadLimiter(extras.pool * READS_PER_CONNECTION, clock);
  const store: Store = {
    read,
    limitedRead: (work) => reads.run(work),
    sessions: session,
    write: (work, whose) => writes.write(work, whose),
    writeInBackground: (work) => writesAside.write(work),
    snapshot: (work) => snapshot(readers, extras, work),
    sequences,
    onCommitted: (listener) => committed.add(listener),
    onGroup: (listener) => grouped.push(listener),
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
      const closed = session.close().then(() => Promise.all([pool.end(), readers.end(), aside.end()]));
      const { promise, resolve } = Promise.withResolvers<void>();
      const cancel = clock.after(CLOSE_TIMEOUT_MS, resolve);
      await Promise.race([closed, promise]).finally(cancel);
    },
  };
  await createPartitions(store, clock.now());
  return store;
}

/** Opens a connection of each, so that a database that has too few of them is found at the start, and not by a caller. */
async function reach(pools: readonly Pool[]): Promise<void> {
  const opened = await Promise.allSettled(pools.map((pool) => pool.connect()));
  for (const one of opened) if (one.status === 'fulfilled') one.value.release();
  for (const one of opened) if (one.status === 'rejected') throw one.reason;
}

/** A read whose connection was lost is asked again on another one, and one whose plan is stale with a new plan. */
function again(pool: Pool): { query(query: pg.QueryConfig): Promise<pg.QueryResult> } {
  return {
    async query(query) {
      for (let tries = 1; ; tries += 1) {
        try {
          return await pool.query(tries === 1 ? query : renamed(query));
        } catch (error) {
          const passes = isStale(error) || (isConnectionLost(error) && !isTimeout(error));
          if (!passes || tries === MAX_ATTEMPTS) throw error;
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
    const most = 2 * pool + CONNECTIONS_ASIDE + 1;
    return new StoreError(
      `The database has too few connections left: ${needs} ${most}. Raise max_connections, or the limit of the database or its role; or give --database a smaller pool, such as postgres://…?pool=2.`,
    );
  }
  const said = error instanceof AggregateError ? error.errors[0] : error;
  return new StoreError(`The database cannot be opened: ${said instanceof Error ? said.message : said}.`);
}
