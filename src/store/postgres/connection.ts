import { Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely';
import pg from 'pg';
import { Problem } from '../../problems.ts';
import { QueryBatcher, registerBatching } from '../batched-queries.ts';
import { registerRunner, type SendQuery, StatementDriver, type StatementMode } from '../prepared-queries.ts';
import type { Queries } from '../store.ts';
import type { Tables } from '../tables.ts';

const INT8_OID = 20;

/** Shared by all connections, so that queries are compiled once for all of them. */
const adapter = new PostgresAdapter();

/** Reads int8 as a number instead of text: all our integers are below 2^53. */
const typeParsers = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === INT8_OID && format !== 'binary' ? Number : pg.types.getTypeParser(oid, format ?? 'text'),
};

/** Options of Carillon in the query string of `postgres://…?`, which are not passed to PostgreSQL. */
export type AddressOptions = {
  /**
   * Whether statements are prepared once per connection. Off behind a pooler that does not support prepared statements.
   */
  readonly usesPreparedStatements: boolean;
  /** Whether nodes use LISTEN/NOTIFY. Off behind a pooler that does not support it. */
  readonly usesListenNotify: boolean;
  /** Maximum number of connections for writes, and also for reads. */
  readonly poolSize: number;
};

const DEFAULT_POOL_SIZE = 10;

/**
 * Query timeout of a service. A connection whose query timed out is closed, which fails all its queries: the network
 * may have been cut silently.
 */
export const QUERY_TIMEOUT_MS = 15_000;

/** Separates the options of Carillon from a database address. */
export function parseDatabaseAddress(address: string): { address: string; addressOptions: AddressOptions } {
  const url = new URL(address);
  const takeParameter = (name: string) => {
    const value = url.searchParams.get(name);
    url.searchParams.delete(name);
    return value;
  };
  const [prepared, listen, pool] = [
    takeParameter('prepared'),
    takeParameter('listen'),
    Number(takeParameter('pool') ?? DEFAULT_POOL_SIZE),
  ];
  return {
    address: url.href,
    addressOptions: {
      usesPreparedStatements: prepared !== 'off',
      usesListenNotify: listen !== 'off',
      poolSize: Number.isInteger(pool) && pool > 0 ? pool : DEFAULT_POOL_SIZE,
    },
  };
}

/**
 * Settings for cached plans: always use an index where there is one, and never compile with JIT. Otherwise a plan that
 * was made while a table was almost empty would choose a sequential scan, and keep it when thousands of deliveries are
 * pending.
 */
export const PREFER_INDEX_PLANS_SQL = 'set enable_seqscan = off; set jit = off';

/**
 * Returns the driver options of every connection. With `pipeline`, a query is sent without waiting for the results of
 * earlier queries.
 */
export function createClientOptions(address: string) {
  return {
    connectionString: address,
    application_name: 'carillon',
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    pipeline: true,
    types: typeParsers,
  } as const;
}

/** An object that runs SQL: a pool or a connection. */
type QueryRunner = { query(query: pg.QueryConfig): Promise<pg.QueryResult> };

const statementNames = new Map<string, string>();
let statementCount = 0;

/** Returns the name of the prepared statement for an SQL text, which is the same on every connection. */
function statementNameOf(sql: string): string {
  let name = statementNames.get(sql);
  if (name === undefined) {
    statementCount += 1;
    name = `c${statementCount}`;
    statementNames.set(sql, name);
  }
  return name;
}

/** Whether the cached plan of a prepared statement is no longer valid, because a migration has changed a table. */
export function isStalePlan(error: unknown): boolean {
  return sqlStateOf(error) === '0A000';
}

/** Gives a statement a new name, so that every connection plans it again. */
export function withNewStatementName<Q extends pg.QueryConfig>(query: Q): Q {
  if (query.name === undefined) return query;
  if (statementNames.get(query.text) === query.name) statementNames.delete(query.text);
  return { ...query, name: statementNameOf(query.text) };
}

/** Function that sends SQL over one connection, or over any connection of a pool. */
type QueryFunction = (text: string, values: readonly unknown[], mode: StatementMode) => Promise<pg.QueryResult>;

/**
 * Returns the function that sends SQL to a pool or over one connection. Queries that are planned once are named
 * prepared statements.
 *
 * @param mapError called with every error; returns the error that the caller gets
 * @param timeoutMs query timeout in milliseconds; no timeout if omitted
 */
export function createQueryFunction(
  runner: QueryRunner,
  addressOptions: AddressOptions,
  mapError: (error: unknown) => unknown,
  timeoutMs?: number,
): QueryFunction {
  const timeoutOption = timeoutMs === undefined ? {} : { query_timeout: timeoutMs };
  return (text, values, mode) => {
    const nameOption =
      addressOptions.usesPreparedStatements && mode !== 'unprepared' ? { name: statementNameOf(text) } : {};
    const query = { text, values: [...values], ...nameOption, ...timeoutOption };
    return runner.query(query).catch((error: unknown) => {
      if (isStalePlan(error)) withNewStatementName(query);
      throw mapError(error);
    });
  };
}

/** Creates a query builder that sends its SQL with the given function. */
export function createQueries(send: QueryFunction): Queries {
  const sendQuery: SendQuery = async ({ sql, parameters }) => {
    const { rows, rowCount } = await send(sql, parameters, 'unprepared');
    return { rows, numAffectedRows: BigInt(rowCount ?? 0) };
  };
  const queries = new Kysely<Tables>({
    dialect: {
      createAdapter: () => adapter,
      createDriver: () => new StatementDriver(sendQuery),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  });
  registerRunner(queries, async (sql, parameters, mode) => (await send(sql, parameters, mode)).rows);
  return queries;
}

/** Timeouts of a service, milliseconds. */
export type TransactionTimeouts = {
  /** Query timeout, milliseconds. */
  readonly queryMs: number;
  /**
   * Value of `idle_in_transaction_session_timeout`. A paused process would keep its locks, so the database ends its
   * transactions. The timeout is shorter than the time after which other nodes evict an unresponsive node.
   */
  readonly idleInTransactionMs: number;
};

/**
 * The queries of one member of a group transaction. `hasWritten` is set when the member has sent a statement other than
 * a select.
 */
export type MemberSession = { readonly queries: Queries; hasWritten: boolean };

/**
 * A connection that runs transactions. `failure` is the first error of the current transaction; later errors are
 * consequences of it.
 */
export class TransactionConnection {
  readonly client: pg.PoolClient;
  readonly queries: Queries;
  readonly #addressOptions: AddressOptions;
  readonly #timeouts: TransactionTimeouts | undefined;
  readonly #batcher: QueryBatcher;
  readonly #sessions: MemberSession[] = [];
  failure: unknown;
  /** The session of the member whose query failed first; undefined if a query of the transaction itself failed. */
  failedSession: MemberSession | undefined;

  constructor(client: pg.PoolClient, addressOptions: AddressOptions, timeouts: TransactionTimeouts | undefined) {
    this.client = client;
    this.#addressOptions = addressOptions;
    this.#timeouts = timeouts;
    const send = createQueryFunction(client, addressOptions, (error) => this.#recordFailure(error), timeouts?.queryMs);
    this.queries = createQueries(send);
    // Batches the queries that the members of a group send in the same tick.
    this.#batcher = new QueryBatcher(this.queries, process.nextTick);
    // While the connection is checked out, the pool does not handle its errors, and an error without a listener ends
    // the process.
    client.on('error', (error) => this.#recordFailure(error));
  }

  /** Begins a transaction of `memberCount` members. Returns a session for each of them. */
  begin(memberCount: number): { beginQuery: Promise<unknown>; sessions: readonly MemberSession[] } {
    this.failure = undefined;
    this.failedSession = undefined;
    while (this.#sessions.length < memberCount) this.#sessions.push(this.#createSession());
    const sessions = this.#sessions.slice(0, memberCount);
    for (const session of sessions) session.hasWritten = false;
    const timeoutSql =
      this.#timeouts && `; set local idle_in_transaction_session_timeout = ${this.#timeouts.idleInTransactionMs}`;
    return { beginQuery: this.send(`begin${timeoutSql ?? ''}`), sessions };
  }

  /**
   * Sends a statement of the transaction itself, not of a member. An error is stored in `failure` even if the result is
   * not awaited.
   */
  send(text: string, values: readonly unknown[] = []): Promise<pg.QueryResult> {
    const timeoutOption = this.#timeouts === undefined ? {} : { query_timeout: this.#timeouts.queryMs };
    const sentQuery = this.client.query({ text, values: [...values], ...timeoutOption }).catch((error: unknown) => {
      throw this.#recordFailure(error);
    });
    sentQuery.catch(() => undefined);
    return sentQuery;
  }

  #createSession(): MemberSession {
    const recordFailure = (error: unknown) => this.#recordFailure(error, session);
    const sendNow = createQueryFunction(this.client, this.#addressOptions, recordFailure, this.#timeouts?.queryMs);
    const queries = createQueries((text, values, mode) => {
      if (!text.startsWith('select')) session.hasWritten = true;
      return sendNow(text, values, mode);
    });
    registerBatching(queries, (query, values) => {
      if (query.isWrite) session.hasWritten = true;
      return this.#batcher.run(query, values);
    });
    const session: MemberSession = { queries, hasWritten: false };
    return session;
  }

  #recordFailure(error: unknown, session?: MemberSession): unknown {
    if (this.failure === undefined) {
      this.failure = error;
      this.failedSession = session;
    }
    return error;
  }
}

/** Returns the SQLSTATE of an error from PostgreSQL; undefined for any other error, including a lost connection. */
export function sqlStateOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return undefined;
  return /^[0-9A-Z]{5}$/.test(error.code) && 'severity' in error ? error.code : undefined;
}

/**
 * SQLSTATE of idle_in_transaction_session_timeout: this process was paused in a transaction, so the database closed the
 * connection.
 */
const IDLE_IN_TRANSACTION_SQLSTATE = '25P03';

/**
 * SQLSTATEs, or their prefixes, that concern the state of the database instead of the query: connections, resources,
 * operator intervention.
 */
const UNAVAILABLE_SQLSTATES = ['08', '25006', IDLE_IN_TRANSACTION_SQLSTATE, '53', '57', '58', 'XX'];

/** Whether the connection was lost or could not be opened. */
export function isConnectionLost(error: unknown): boolean {
  const sqlState = sqlStateOf(error);
  if (sqlState !== undefined)
    return sqlState.startsWith('08') || sqlState.startsWith('57P') || sqlState === IDLE_IN_TRANSACTION_SQLSTATE;
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? String(error.code) : '';
  return /^E[A-Z]+$/.test(code) || /connection|terminat|timeout/i.test(error.message);
}

/** Whether a query timed out. Such a query is not retried, since the retry would probably time out as well. */
export function isTimeout(error: unknown): boolean {
  return error instanceof Error && /timeout/i.test(error.message) && sqlStateOf(error) === undefined;
}

/** Maps database failures to the problem `storage_unavailable`; returns any other error unchanged. */
export function toProblem(error: unknown): unknown {
  if (error instanceof Problem) return error;
  const sqlState = sqlStateOf(error);
  const isUnavailable =
    sqlState === undefined
      ? isConnectionLost(error)
      : UNAVAILABLE_SQLSTATES.some((prefix) => sqlState.startsWith(prefix));
  return isUnavailable ? new Problem('storage_unavailable', { cause: error }) : error;
}
