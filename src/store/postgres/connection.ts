import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from 'kysely';
import pg from 'pg';
import { Problem } from '../../problems.ts';
import { type Planned, runDirectly } from '../prepared-queries.ts';
import type { Queries } from '../store.ts';
import type { Tables } from '../tables.ts';

const INT8 = 20;

/** One for all connections: what was compiled for one of them is for all. */
const adapter = new PostgresAdapter();

/** Whole numbers of ours stay below 2^53, so that they are read as numbers and not as text. */
const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === INT8 && format !== 'binary' ? Number : pg.types.getTypeParser(oid, format ?? 'text'),
};

/** What is said in the query part of `postgres://…?`, for us and not for the database. */
export type Extras = {
  /** Whether statements are prepared once on each connection; `off` behind a pooler that cannot keep them apart. */
  readonly prepared: boolean;
  /** Whether nodes wake each other; `off` behind a pooler that breaks LISTEN. */
  readonly listen: boolean;
  /** The most connections for writes, and again for reads. */
  readonly pool: number;
};

const DEFAULT_POOL = 10;

/**
 * How long a service waits for an answer: then the connection is given up, with whatever else waits on it. A network
 * may be cut without a word.
 */
export const QUERY_TIMEOUT_MS = 15_000;

/** Takes our own words out of a database's address. */
export function readAddress(address: string): { address: string; extras: Extras } {
  const url = new URL(address);
  const take = (name: string) => {
    const value = url.searchParams.get(name);
    url.searchParams.delete(name);
    return value;
  };
  const [prepared, listen, pool] = [take('prepared'), take('listen'), Number(take('pool') ?? DEFAULT_POOL)];
  return {
    address: url.href,
    extras: {
      prepared: prepared !== 'off',
      listen: listen !== 'off',
      pool: Number.isInteger(pool) && pool > 0 ? pool : DEFAULT_POOL,
    },
  };
}

/**
 * A plan that is kept may be of a moment at which hardly anything was pending: the cheapest way was to read the whole table then,
 * and it is the dearest when thousands are pending the moment after. So where plans are kept, none reads the whole of a table that
 * has an index for it; nor is one compiled because it is thought to be dear.
 */
export const BY_INDEX = 'set enable_seqscan = off; set jit = off';

/** How every connection is made: queries are sent without waiting for those before them. */
export function clientOptions(address: string) {
  return {
    connectionString: address,
    application_name: 'carillon',
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    pipeline: true,
    types,
  } as const;
}

/** Anything that runs SQL: a pool, or one connection. */
type Runner = { query(query: pg.QueryConfig): Promise<pg.QueryResult> };

const names = new Map<string, string>();
let named = 0;

/** The same text has the same name on every connection. */
function nameOf(sql: string): string {
  let name = names.get(sql);
  if (name === undefined) {
    named += 1;
    name = `c${named}`;
    names.set(sql, name);
  }
  return name;
}

/** A newer version has changed a table meanwhile, and the plan of a prepared statement does not fit it any more. */
export function isStale(error: unknown): boolean {
  return sqlStateOf(error) === '0A000';
}

/** The same statement under a name of its own from here on, so that every connection plans it anew. */
export function renamed<Q extends pg.QueryConfig>(query: Q): Q {
  if (query.name === undefined) return query;
  if (names.get(query.text) === query.name) names.delete(query.text);
  return { ...query, name: nameOf(query.text) };
}

/** Sends SQL with its values. */
export type QueryFunction = (text: string, values: readonly unknown[], planned: Planned) => Promise<pg.QueryResult>;

/**
 * How SQL is sent to a pool or over one connection. What is planned once is named, so that the database parses it once for
 * each connection.
 *
 * @param failed hears of every error before the caller does, and answers what the caller gets
 * @param longestMs how long an answer is waited for; as long as it takes when left out
 */
export function queryFunctionOf(
  runner: Runner,
  extras: Extras,
  failed: (error: unknown) => unknown,
  longestMs?: number,
): QueryFunction {
  const limit = longestMs === undefined ? {} : { query_timeout: longestMs };
  return (text, values, planned) => {
    const name = extras.prepared && planned !== 'anew' ? { name: nameOf(text) } : {};
    const query = { text, values: [...values], ...name, ...limit };
    return runner.query(query).catch((error: unknown) => {
      if (isStale(error)) renamed(query);
      throw failed(error);
    });
  };
}

/** @param together takes what may be asked together with others, where it can be */
export function queriesOver(
  ask: QueryFunction,
  together?: (text: string, parameters: readonly unknown[]) => Promise<unknown[]>,
): Queries {
  const queries = new Kysely<Tables>({
    dialect: {
      createAdapter: () => adapter,
      createDriver: () => new PipelineDriver(ask),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  });
  runDirectly(queries, async (sql, parameters, planned) => {
    if (planned === 'together' && together !== undefined) return together(sql, parameters);
    const { rows } = await ask(sql, parameters, planned);
    return rows;
  });
  return queries;
}

/** Kysely's way to a runner that needs no acquiring: transactions are the store's business. */
class PipelineDriver implements Driver {
  readonly #connection: DatabaseConnection;

  constructor(ask: QueryFunction) {
    this.#connection = {
      async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
        const { rows, rowCount } = await ask(sql, parameters, 'anew');
        return { rows, numAffectedRows: BigInt(rowCount ?? 0) };
      },
      streamQuery() {
        throw new Error('nothing is streamed');
      },
    };
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection;
  }

  async beginTransaction(): Promise<void> {
    throw new Error('transactions are the store’s business');
  }

  async commitTransaction(): Promise<void> {}

  async rollbackTransaction(): Promise<void> {}

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {}
}

/** The SQLSTATE of an error of PostgreSQL, or undefined for any other error, a lost connection among them. */
export function sqlStateOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return undefined;
  return /^[0-9A-Z]{5}$/.test(error.code) && 'severity' in error ? error.code : undefined;
}

/** It stood still for too long in the middle of a transaction, and the database has closed the connection. */
const STOOD_STILL = '25P03';

/** Classes of SQLSTATE that speak of the database's state and not of the query: connections, room, its operator. */
const UNAVAILABLE = ['08', '25006', STOOD_STILL, '53', '57', '58', 'XX'];

/** Whether the connection itself is gone, or was never there. */
export function isConnectionLost(error: unknown): boolean {
  const state = sqlStateOf(error);
  if (state !== undefined) return state.startsWith('08') || state.startsWith('57P') || state === STOOD_STILL;
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? String(error.code) : '';
  return /^E[A-Z]+$/.test(code) || /connection|terminat|timeout/i.test(error.message);
}

/** Whether nobody answered: to ask once more would be to wait as long once more. */
export function isTimeout(error: unknown): boolean {
  return error instanceof Error && /timeout/i.test(error.message) && sqlStateOf(error) === undefined;
}

/** What PostgreSQL could not do is `storage_unavailable` to a caller; anything else keeps its own meaning. */
export function asProblem(error: unknown): unknown {
  if (error instanceof Problem) return error;
  const state = sqlStateOf(error);
  const unavailable = state === undefined ? isConnectionLost(error) : UNAVAILABLE.some((one) => state.startsWith(one));
  return unavailable ? new Problem('storage_unavailable', { cause: error }) : error;
}
