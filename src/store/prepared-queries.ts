import {
  type Compilable,
  type CompiledQuery,
  type DatabaseConnection,
  type DialectAdapter,
  type Driver,
  type QueryResult,
  SqliteAdapter,
} from 'kysely';
import { splitIntoBatches } from '../async/batches.ts';
import type { Queries } from './store.ts';

/**
 * A parameter of a compiled query, by name. With `itemIndex`, it is the value of one item of a list, or an array with the
 * values of `all` items.
 */
export class Placeholder {
  readonly name: string;
  readonly itemIndex: number | 'all' | undefined;

  constructor(name: string, itemIndex?: number | 'all') {
    this.name = name;
    this.itemIndex = itemIndex;
  }
}

/**
 * How a statement is executed. `prepared`: as a named prepared statement, which is planned once per connection.
 * `unprepared`: planned at each execution, for queries whose best plan depends on the values.
 */
export type StatementMode = 'prepared' | 'unprepared';

/** Function that runs SQL on one connection and returns its rows. */
type RunStatement = (
  sql: string,
  parameters: readonly unknown[],
  mode: StatementMode,
) => unknown[] | Promise<unknown[]>;

const runnersByQueries = new WeakMap<Queries, RunStatement>();

/** Registers the function that runs compiled queries on a connection without the query builder. */
export function registerRunner(queries: Queries, runStatement: RunStatement): void {
  runnersByQueries.set(queries, runStatement);
}

/** Function that sends a query of the query builder to the database. */
export type SendQuery = (query: CompiledQuery) => Promise<QueryResult<unknown>>;

/**
 * A driver for the query builder that sends all queries with one function. The store itself manages connections and
 * transactions.
 */
export class StatementDriver implements Driver {
  readonly #connection: DatabaseConnection;

  constructor(send: SendQuery) {
    this.#connection = {
      executeQuery: <R>(query: CompiledQuery) => send(query) as Promise<QueryResult<R>>,
      streamQuery() {
        throw new Error('results are not streamed');
      },
    };
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection;
  }

  async beginTransaction(): Promise<void> {
    throw new Error('the store begins transactions');
  }

  async commitTransaction(): Promise<void> {}

  async rollbackTransaction(): Promise<void> {}

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {}
}

/** Whether the database has several concurrent writers (PostgreSQL). SQLite has one writer at a time. */
export function hasConcurrentWriters(queries: Queries): boolean {
  return !(queries.getExecutor().adapter instanceof SqliteAdapter);
}

type LockableQuery = { forNoKeyUpdate(): unknown; skipLocked(): unknown };

/** Adds `for no key update` to a query, so that it locks the rows it finds until the transaction ends. */
export function withRowLocks<Q extends LockableQuery>(queries: Queries, query: Q): Q {
  // With a single writer, rows need no lock.
  return hasConcurrentWriters(queries) ? (query.forNoKeyUpdate() as Q) : query;
}

/** Like `withRowLocks`, but the query skips rows that another transaction has locked instead of waiting for them. */
export function withRowLocksSkipLocked<Q extends LockableQuery>(queries: Queries, query: Q): Q {
  return hasConcurrentWriters(queries) ? ((query.forNoKeyUpdate() as Q).skipLocked() as Q) : query;
}

export type StatementValues = Readonly<Record<string, unknown>>;

/** A query of the query builder. */
export type BuiltQuery<Row> = { compile(queries: Queries): CompiledQuery<Row> };

/** A query that is compiled once per database and runs with the values of each call. */
type RunCompiledStatement<Row> = (
  queries: Queries,
  values: StatementValues,
  items: readonly StatementValues[],
) => Promise<Row[]>;

/** Returns a function that runs a query, which is built and compiled once per database. */
export function compileOnce<Row>(
  build: (queries: Queries) => BuiltQuery<Row>,
  mode: StatementMode,
): RunCompiledStatement<Row> {
  const compiledByAdapter = new WeakMap<DialectAdapter, CompiledQuery<Row>>();
  return async (queries, values, items) => {
    const { adapter } = queries.getExecutor();
    let compiledQuery = compiledByAdapter.get(adapter);
    if (compiledQuery === undefined) {
      compiledQuery = build(queries).compile(queries);
      compiledByAdapter.set(adapter, compiledQuery);
    }
    const parameters = compiledQuery.parameters.map((parameter) => {
      if (!(parameter instanceof Placeholder)) return parameter;
      const { name, itemIndex } = parameter;
      if (itemIndex === undefined) return values[name];
      return itemIndex === 'all' ? items.map((item) => item[name]) : items[itemIndex]?.[name];
    });
    const runStatement = runnersByQueries.get(queries);
    if (runStatement !== undefined) return (await runStatement(compiledQuery.sql, parameters, mode)) as Row[];
    const { rows } = await queries.executeQuery<Row>({ ...compiledQuery, parameters });
    return rows;
  };
}

/**
 * Prepares a query for the hot path: it is built and compiled once per database, and runs with the values of each call.
 * `build` gets placeholders instead of values. It must pass them to the builder and never inspect them.
 */
export function prepareQuery<Values extends StatementValues, Row>(
  build: (queries: Queries, values: Values) => BuiltQuery<Row>,
  mode: StatementMode = 'prepared',
): (queries: Queries, values: Values) => Promise<Row[]> {
  const runCompiled = compileOnce((queries) => build(queries, createPlaceholders<Values>()), mode);
  return (queries, values) => runCompiled(queries, values, []);
}

/**
 * Maximum number of items per statement. Each length of the list needs a statement of its own, so the maximum also
 * limits the number of statements.
 */
const MAX_CHUNK_LENGTH = 128;

/**
 * Like `prepareQuery`, for a list of items. The list is split into chunks whose lengths are powers of two, so that a
 * few statements serve lists of any length. All chunks are pipelined, in the order of the list.
 */
export function prepareQueryForItems<Item extends StatementValues, Values extends StatementValues, Row>(
  build: (queries: Queries, items: readonly Item[], values: Values) => BuiltQuery<Row>,
): (queries: Queries, items: readonly Item[], values: Values) => Promise<Row[]> {
  const compileForLength = compileByLength(build);
  return async (queries, items, values) => {
    const runningQueries = splitIntoChunks(items).map((chunk) =>
      compileForLength(chunk.length)(queries, values, chunk),
    );
    return (await Promise.all(runningQueries)).flat();
  };
}

/** Maximum number of ids per statement. */
const MAX_IDS_PER_STATEMENT = 1_024;

/**
 * Like `prepareQuery`, for records by id, in any order. A statement takes up to MAX_IDS_PER_STATEMENT ids. The last id
 * is repeated until the number of ids is a power of two, so that few statements are needed.
 */
export function prepareQueryByIds<Values extends StatementValues, Row>(
  build: (queries: Queries, ids: readonly number[], values: Values) => BuiltQuery<Row>,
): (queries: Queries, ids: readonly number[], values: Values) => Promise<Row[]> {
  const compileForLength = compileByLength((queries, items: readonly { readonly id: number }[], values: Values) => {
    const ids = items.map(({ id }) => id);
    return build(queries, ids, values);
  });
  const runPadded = (queries: Queries, ids: readonly number[], values: Values) => {
    const paddedLength = 2 ** Math.ceil(Math.log2(ids.length));
    const items = Array.from({ length: paddedLength }, (_, index) => ({ id: ids[index] ?? ids.at(-1) }));
    return compileForLength(paddedLength)(queries, values, items);
  };
  return async (queries, ids, values) => {
    const batches = [...splitIntoBatches(ids, MAX_IDS_PER_STATEMENT)];
    return (await Promise.all(batches.map((batch) => runPadded(queries, batch, values)))).flat();
  };
}

function compileByLength<Item extends StatementValues, Values extends StatementValues, Row>(
  build: (queries: Queries, items: readonly Item[], values: Values) => BuiltQuery<Row>,
): (length: number) => RunCompiledStatement<Row> {
  const statementsByLength = new Map<number, RunCompiledStatement<Row>>();
  return (length) => {
    const cachedStatement = statementsByLength.get(length);
    if (cachedStatement !== undefined) return cachedStatement;
    const items = Array.from({ length }, (_, itemIndex) => createPlaceholders<Item>(itemIndex));
    const compiledStatement = compileOnce((queries) => build(queries, items, createPlaceholders<Values>()), 'prepared');
    statementsByLength.set(length, compiledStatement);
    return compiledStatement;
  };
}

function splitIntoChunks<Item>(items: readonly Item[]): (readonly Item[])[] {
  const chunks: (readonly Item[])[] = [];
  let start = 0;
  for (let length = MAX_CHUNK_LENGTH; start < items.length; ) {
    if (length > items.length - start) length /= 2;
    else {
      chunks.push(items.slice(start, start + length));
      start += length;
    }
  }
  return chunks;
}

/** Compiles and sends a query immediately, so that it runs before all queries that are sent later. */
export async function sendPipelined<Row>(queries: Queries, query: Compilable<Row>): Promise<Row[]> {
  const runStatement = runnersByQueries.get(queries);
  if (runStatement === undefined) throw new Error('this connection takes no compiled queries');
  const { sql, parameters } = query.compile();
  return (await runStatement(sql, parameters, 'prepared')) as Row[];
}

function createPlaceholders<Values>(itemIndex?: number): Values {
  const placeholders = new Proxy({}, { get: (_, name) => new Placeholder(String(name), itemIndex) });
  return placeholders as Values;
}
