import {
  type Compilable,
  type CompiledQuery,
  type DatabaseConnection,
  type DialectAdapter,
  type Driver,
  type QueryResult,
  SqliteAdapter,
} from 'kysely';
import type { Queries } from './store.ts';

/** A parameter of a compiled query, by name. `item` is the index in the list of `preparedForItems`. */
class Placeholder {
  readonly name: string;
  readonly item: number | undefined;

  constructor(name: string, item?: number) {
    this.name = name;
    this.item = item;
  }
}

/**
 * How a statement is executed. `prepared`: a named prepared statement, planned once per connection. `unprepared`: planned
 * at each execution, for queries whose best plan depends on the values. `batched`: as `prepared`, and concurrent
 * executions of the same text may be merged into one round trip (see `QueryBatcher`); only for selects by
 * number or text, whose row order does not matter, and for inserts of one row with a generated id.
 */
export type StatementMode = 'prepared' | 'unprepared' | 'batched';

/** Function that runs SQL on one connection and returns its rows. */
export type RunStatement = (
  sql: string,
  parameters: readonly unknown[],
  mode: StatementMode,
) => unknown[] | Promise<unknown[]>;

const runners = new WeakMap<Queries, RunStatement>();

/** Registers the function that runs compiled queries on a connection without the query builder. */
export function registerRunner(queries: Queries, run: RunStatement): void {
  runners.set(queries, run);
}

/** Function that sends a query of the query builder to the database. */
export type SendQuery = (query: CompiledQuery) => Promise<QueryResult<unknown>>;

/** A driver of the query builder over one function. The store manages connections and transactions itself. */
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

type Lockable = { forNoKeyUpdate(): unknown; skipLocked(): unknown };

/** Adds `for no key update` to a query, which locks the rows that it finds until the transaction ends. */
export function withRowLocks<Q extends Lockable>(queries: Queries, query: Q): Q {
  // With a single writer, rows need no lock.
  return hasConcurrentWriters(queries) ? (query.forNoKeyUpdate() as Q) : query;
}

/** Like `withRowLocks`, but the query skips rows that another transaction has locked instead of waiting for them. */
export function withRowLocksOrSkipped<Q extends Lockable>(queries: Queries, query: Q): Q {
  return hasConcurrentWriters(queries) ? ((query.forNoKeyUpdate() as Q).skipLocked() as Q) : query;
}

type StatementValues = Readonly<Record<string, unknown>>;

type BuiltQuery<Row> = { compile(queries: Queries): CompiledQuery<Row> };

/** A query that is compiled once per database and runs with the values of each call. */
type CompiledStatement<Row> = (
  queries: Queries,
  values: StatementValues,
  items: readonly StatementValues[],
) => Promise<Row[]>;

function compileOnce<Row>(build: (queries: Queries) => BuiltQuery<Row>, mode: StatementMode): CompiledStatement<Row> {
  const compiledFor = new WeakMap<DialectAdapter, CompiledQuery<Row>>();
  return async (queries, values, items) => {
    const { adapter } = queries.getExecutor();
    let compiled = compiledFor.get(adapter);
    if (compiled === undefined) {
      compiled = build(queries).compile(queries);
      compiledFor.set(adapter, compiled);
    }
    const parameters = compiled.parameters.map((parameter) => {
      if (!(parameter instanceof Placeholder)) return parameter;
      return parameter.item === undefined ? values[parameter.name] : items[parameter.item]?.[parameter.name];
    });
    const run = runners.get(queries);
    if (run !== undefined) return (await run(compiled.sql, parameters, mode)) as Row[];
    const { rows } = await queries.executeQuery<Row>({ ...compiled, parameters });
    return rows;
  };
}

/**
 * Prepares a query for the hot path: it is built and compiled once per database, and runs with the values of each call.
 * `build` gets placeholders instead of values. It must pass them to the builder and never inspect them.
 */
export function prepared<Given extends StatementValues, Row>(
  build: (queries: Queries, values: Given) => BuiltQuery<Row>,
  mode: StatementMode = 'prepared',
): (queries: Queries, values: Given) => Promise<Row[]> {
  const run = compileOnce((queries) => build(queries, createPlaceholders<Given>()), mode);
  return (queries, values) => run(queries, values, []);
}

/**
 * Maximum length of the list of one statement. Each length is a statement of its own, and their number is kept small.
 */
const MAX_PIECE_LENGTH = 128;

/**
 * Like `prepared`, for a list of items. The list is split into pieces whose lengths are powers of two, so that a few
 * statements serve lists of any length. All pieces are pipelined, in the order of the list.
 */
export function preparedForItems<Item extends StatementValues, Given extends StatementValues, Row>(
  build: (queries: Queries, items: readonly Item[], values: Given) => BuiltQuery<Row>,
): (queries: Queries, items: readonly Item[], values: Given) => Promise<Row[]> {
  const compiledFor = compileByLength(build);
  return async (queries, items, values) => {
    const results = splitIntoPieces(items).map((piece) => compiledFor(piece.length)(queries, values, piece));
    return (await Promise.all(results)).flat();
  };
}

/** Maximum number of ids per statement. */
const MAX_IDS_PER_STATEMENT = 1_024;

/**
 * Like `prepared`, for records by id, in any order. Up to MAX_IDS_PER_STATEMENT ids are one statement: the last id is
 * repeated until the length is a power of two.
 */
export function preparedByIds<Given extends StatementValues, Row>(
  build: (queries: Queries, ids: readonly number[], values: Given) => BuiltQuery<Row>,
): (queries: Queries, ids: readonly number[], values: Given) => Promise<Row[]> {
  const compiledFor = compileByLength((queries, items: readonly { readonly id: number }[], values: Given) => {
    const ids = items.map(({ id }) => id);
    return build(queries, ids, values);
  });
  const runPadded = (queries: Queries, ids: readonly number[], values: Given) => {
    const length = 2 ** Math.ceil(Math.log2(ids.length));
    const items = Array.from({ length }, (_, index) => ({ id: ids[index] ?? ids.at(-1) }));
    return compiledFor(length)(queries, values, items);
  };
  return async (queries, ids, values) => {
    const results: Promise<Row[]>[] = [];
    for (let begin = 0; begin < ids.length; begin += MAX_IDS_PER_STATEMENT)
      results.push(runPadded(queries, ids.slice(begin, begin + MAX_IDS_PER_STATEMENT), values));
    return (await Promise.all(results)).flat();
  };
}

function compileByLength<Item extends StatementValues, Given extends StatementValues, Row>(
  build: (queries: Queries, items: readonly Item[], values: Given) => BuiltQuery<Row>,
): (length: number) => CompiledStatement<Row> {
  const byLength = new Map<number, CompiledStatement<Row>>();
  return (length) => {
    const known = byLength.get(length);
    if (known !== undefined) return known;
    const items = Array.from({ length }, (_, item) => createPlaceholders<Item>(item));
    const compiled = compileOnce((queries) => build(queries, items, createPlaceholders<Given>()), 'prepared');
    byLength.set(length, compiled);
    return compiled;
  };
}

function splitIntoPieces<Item>(items: readonly Item[]): (readonly Item[])[] {
  const pieces: (readonly Item[])[] = [];
  let begin = 0;
  for (let length = MAX_PIECE_LENGTH; begin < items.length; ) {
    if (length > items.length - begin) length /= 2;
    else {
      pieces.push(items.slice(begin, begin + length));
      begin += length;
    }
  }
  return pieces;
}

/** Compiles and sends a query immediately, so that it runs before all queries that are sent later. */
export async function sendPipelined<Row>(queries: Queries, query: Compilable<Row>): Promise<Row[]> {
  const run = runners.get(queries);
  if (run === undefined) throw new Error('this connection takes no compiled queries');
  const { sql, parameters } = query.compile();
  return (await run(sql, parameters, 'prepared')) as Row[];
}

function createPlaceholders<Given>(item?: number): Given {
  const named = new Proxy({}, { get: (_, name) => new Placeholder(String(name), item) });
  return named as Given;
}
