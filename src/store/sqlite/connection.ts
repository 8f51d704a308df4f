import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { Kysely, type QueryResult, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely';
import { BoundedMap } from '../../async/bounded-map.ts';
import type { Clock } from '../../clock.ts';
import { Problem } from '../../problems.ts';
import { registerRunner, StatementDriver } from '../prepared-queries.ts';
import type { Tables } from '../tables.ts';

/** Maximum number of prepared statements in the LRU cache: enough for every query of this service. */
const MAX_CACHED_STATEMENTS = 400;

/** Busy timeout of a connection with `waitsWhenBusy`. */
const BUSY_TIMEOUT_MS = 10_000;

/** Primary result codes of SQLite (the low byte of an extended code). */
export const SQLITE_BUSY = 5;
export const SQLITE_IOERR = 10;
export const SQLITE_CORRUPT = 11;

/** Returns the primary result code of an error thrown by SQLite; undefined for any other error. */
export function sqliteResultCodeOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return undefined;
  return error.errcode & 0xff;
}

/**
 * Whether an error is a failure of the storage. Constraint violations (19) and SQL errors (1) are bugs of this service
 * instead.
 */
export function isStorageFailure(error: unknown): boolean {
  const code = sqliteResultCodeOf(error);
  return code !== undefined && code !== 19 && code !== 1;
}

/** Maps storage failures to the problem `storage_unavailable`; returns any other error unchanged. */
export function toProblem(error: unknown): unknown {
  return isStorageFailure(error) ? new Problem('storage_unavailable', { cause: error }) : error;
}

type MapError = (error: unknown) => unknown;

/** Length of a time slice of a transaction. After each slice, the event loop runs an iteration. */
const SLICE_MS = 5;

/**
 * Runs the statements of transactions in order, in time slices. The event loop runs an iteration between two slices,
 * because statements block it, and a transaction of thousands of statements must not delay requests until its commit.
 */
class SlicedStatements {
  readonly #clock: Pick<Clock, 'monotonic'>;
  #sliceEndsAt = 0;
  #waitingStatements: (() => void)[] = [];

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Whether statements wait for an iteration of the event loop. */
  get hasWaitingStatements(): boolean {
    return this.#waitingStatements.length > 0;
  }

  beginSlice(): void {
    this.#sliceEndsAt = this.#clock.monotonic() + SLICE_MS;
  }

  /** Runs a statement now, or after the statements that wait. */
  run<T>(statement: () => T): T | Promise<T> {
    // No statement can overtake a waiting one: while statements wait, the time slice is over.
    if (this.#isWithinSlice()) return statement();
    return new Promise((resolve, reject) => {
      if (!this.hasWaitingStatements) setImmediate(this.#resume);
      this.#waitingStatements.push(() => {
        try {
          resolve(statement());
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  #isWithinSlice(): boolean {
    return this.#clock.monotonic() < this.#sliceEndsAt;
  }

  readonly #resume = (): void => {
    this.beginSlice();
    let ranCount = 0;
    do {
      this.#waitingStatements[ranCount]?.();
      ranCount += 1;
    } while (ranCount < this.#waitingStatements.length && this.#isWithinSlice());
    this.#waitingStatements = this.#waitingStatements.slice(ranCount);
    if (this.hasWaitingStatements) setImmediate(this.#resume);
  };
}

/**
 * An adapter that makes the query builder send each query immediately. With the default adapter, the query builder
 * would queue queries, and a query could leave the queue after its write was rolled back.
 */
class QueuelessSqliteAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}

/** Shared by all connections, so that queries are compiled once for all of them. */
const adapter = new QueuelessSqliteAdapter();

/** A connection to an SQLite file, with a cache of prepared statements. */
export class SqliteConnection {
  readonly database: DatabaseSync;
  readonly queries: Kysely<Tables>;
  readonly #statements = new BoundedMap<string, PreparedStatement>(MAX_CACHED_STATEMENTS);
  readonly #mapError: MapError;
  readonly #slicedStatements: SlicedStatements | undefined;

  /**
   * @param options `waitsWhenBusy`: a blocking busy timeout, for commands that have nothing else to do. `mapError`:
   *   maps errors of reads. `transactionClock`: for the connection that writes. Its queries are rejected outside a
   *   transaction, and long transactions run in time slices by this clock
   * @param sqlite replaces SQLite in simulations
   */
  constructor(
    path: string,
    options: {
      readOnly: boolean;
      waitsWhenBusy?: true;
      mapError?: MapError;
      transactionClock?: Pick<Clock, 'monotonic'>;
    },
    sqlite = DatabaseSync,
  ) {
    this.#mapError = options.mapError ?? ((error) => error);
    this.#slicedStatements = options.transactionClock && new SlicedStatements(options.transactionClock);
    // By default the busy timeout is 0: waiting inside SQLite would block the event loop. The store retries on a timer
    // instead.
    this.database = new sqlite(path, {
      readOnly: options.readOnly,
      timeout: options.waitsWhenBusy ? BUSY_TIMEOUT_MS : 0,
      enableForeignKeyConstraints: true,
    });
    this.database.function('fold', { deterministic: true }, (text) => String(text).toLowerCase());
    this.queries = new Kysely<Tables>({
      dialect: {
        createAdapter: () => adapter,
        createDriver: () => new StatementDriver((query) => this.#execute(query)),
        createIntrospector: (db) => new SqliteIntrospector(db),
        createQueryCompiler: () => new SqliteQueryCompiler(),
      },
    });
    registerRunner(this.queries, (sql, parameters) => this.#runInOrder(() => this.#getStatement(sql).all(parameters)));
  }

  /** Whether statements wait for an iteration of the event loop. */
  get hasWaitingStatements(): boolean {
    return this.#slicedStatements?.hasWaitingStatements === true;
  }

  /** Resolves when no statement waits. */
  async waitUntilDrained(): Promise<void> {
    while (this.hasWaitingStatements) await this.#runInOrder(() => undefined);
  }

  /** Begins a write transaction. */
  begin(): void {
    this.exec('begin immediate');
    this.#slicedStatements?.beginSlice();
  }

  async #execute({ sql, parameters }: { sql: string; parameters: readonly unknown[] }): Promise<QueryResult<unknown>> {
    return this.#runInOrder(() => this.#getStatement(sql).runWithResult(parameters));
  }

  #runInOrder<T>(statement: () => T): T | Promise<T> {
    return this.#slicedStatements === undefined ? statement() : this.#slicedStatements.run(statement);
  }

  /** Runs before each statement: the writer must be in a transaction. */
  readonly #requireTransaction = (): void => {
    // If a failure has ended the transaction, a statement that was sent together with the failed one would be committed
    // on its own.
    if (this.#slicedStatements !== undefined && !this.database.isTransaction) throw new Problem('storage_unavailable');
  };

  /** Runs one statement without results. */
  exec(sql: string): void {
    this.#getStatement(sql).runWithoutResult();
  }

  close(): void {
    this.#statements.clear();
    this.database.close();
  }

  #getStatement(sql: string): PreparedStatement {
    const statement = this.#statements.get(sql) ?? this.#prepare(sql);
    // Set at each use, so that the least recently used statement is evicted.
    this.#statements.set(sql, statement);
    return statement;
  }

  #prepare(sql: string): PreparedStatement {
    try {
      return new PreparedStatement(this.database.prepare(sql), this.#mapError, this.#requireTransaction);
    } catch (error) {
      throw this.#mapError(error);
    }
  }
}

/** A prepared statement of a connection. `beforeRun` is called before each run, except by `runWithoutResult`. */
class PreparedStatement {
  readonly #statement: StatementSync;
  readonly #mapError: MapError;
  readonly #beforeRun: () => void;
  readonly #columns: readonly string[];

  constructor(statement: StatementSync, mapError: MapError, beforeRun: () => void) {
    this.#statement = statement;
    this.#mapError = mapError;
    this.#beforeRun = beforeRun;
    this.#columns = statement.columns().map(({ name }) => name);
    // Node's row objects are in dictionary mode and slow to read. Arrays that are converted by `#toObject` are faster.
    statement.setReturnArrays(true);
  }

  all(parameters: readonly unknown[]): unknown[] {
    try {
      this.#beforeRun();
      const rows: readonly unknown[] = this.#statement.all(...(parameters as SQLInputValue[]));
      return rows.map((row) => this.#toObject(row as unknown[]));
    } catch (error) {
      throw this.#mapError(error);
    }
  }

  runWithoutResult(): void {
    this.#statement.run();
  }

  /** Runs the statement, and returns its result in the form of the query builder. */
  runWithResult(parameters: readonly unknown[]): QueryResult<unknown> {
    if (this.#columns.length > 0) return { rows: this.all(parameters) };
    this.#beforeRun();
    const { changes, lastInsertRowid } = this.#statement.run(...(parameters as SQLInputValue[]));
    return { rows: [], insertId: BigInt(lastInsertRowid), numAffectedRows: BigInt(changes) };
  }

  #toObject(row: readonly unknown[]): Record<string, unknown> {
    const rowObject: Record<string, unknown> = {};
    for (let index = 0; index < this.#columns.length; index += 1)
      rowObject[this.#columns[index] as string] = row[index];
    return rowObject;
  }
}
