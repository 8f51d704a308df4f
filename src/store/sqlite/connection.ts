import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { Kysely, type SqliteDatabase, SqliteDialect } from 'kysely';
import { Problem } from '../../problems.ts';
import { runDirectly } from '../prepared-queries.ts';
import type { Tables } from '../tables.ts';

/** Enough for every shape of query we send; beyond it, the statement unused for longest goes. */
const CACHED_STATEMENTS = 400;

/** How long a patient connection waits for others. */
const BUSY_TIMEOUT_MS = 10_000;

/** SQLite's primary result codes that we act on (the low byte of an extended code). */
export const SQLITE_BUSY = 5;
export const SQLITE_IOERR = 10;
export const SQLITE_CORRUPT = 11;

/** The primary result code of an error thrown by SQLite, or undefined for any other error. */
export function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return undefined;
  return error.errcode & 0xff;
}

/** Whether SQLite could not do it; a violated constraint (19) and a statement that is none (1) are faults of ours. */
export function isOfStorage(error: unknown): boolean {
  const code = sqliteCode(error);
  return code !== undefined && code !== 19 && code !== 1;
}

/** What SQLite could not do is `storage_unavailable` to a caller; anything else keeps its own meaning. */
export function asProblem(error: unknown): unknown {
  return isOfStorage(error) ? new Problem('storage_unavailable', { cause: error }) : error;
}

type Failed = (error: unknown) => unknown;

/** One connection to an SQLite file: prepared statements kept by their text, and queries over it. */
export class SqliteConnection {
  readonly database: DatabaseSync;
  readonly queries: Kysely<Tables>;
  readonly #statements = new Map<string, Prepared>();
  readonly #failed: Failed;
  readonly #readsInTurns: boolean;
  readonly #inTransactions: boolean;
  #readSnapshot: NodeJS.Immediate | undefined;

  /**
   * @param options `patient`: waits inside SQLite for others; for a command that has nothing else to do. `failed` hears of
   *   every error before whoever reads does, and answers what they get. `readsInTurns`: what is read in one turn of the
   *   event loop is read in one transaction (see `endTurn`), since to begin one takes longer than a short read.
   *   `inTransactions`: outside of a transaction no query is taken. Where a failure has ended one, what was sent together
   *   with the statement that failed would otherwise be written by itself
   * @param sqlite stands in for SQLite itself
   */
  constructor(
    path: string,
    options: { readOnly: boolean; patient?: true; failed?: Failed; readsInTurns?: true; inTransactions?: true },
    sqlite = DatabaseSync,
  ) {
    this.#failed = options.failed ?? ((error) => error);
    this.#readsInTurns = options.readsInTurns === true;
    this.#inTransactions = options.inTransactions === true;
    // Busy timeout 0: waiting inside SQLite would stop the event loop; the store waits on a timer instead.
    this.database = new sqlite(path, {
      readOnly: options.readOnly,
      timeout: options.patient ? BUSY_TIMEOUT_MS : 0,
      enableForeignKeyConstraints: true,
    });
    this.database.function('fold', { deterministic: true }, (text) => String(text).toLowerCase());
    const dialect: SqliteDatabase = { prepare: (sql) => this.#prepared(sql), close: () => undefined };
    this.queries = new Kysely<Tables>({ dialect: new SqliteDialect({ database: dialect }) });
    runDirectly(this.queries, (sql, parameters) => this.#prepared(sql).all(parameters));
  }

  /** What is read from here on is as it is now. To be said before anything that what was read must not be older than. */
  refreshSnapshot(): void {
    if (this.#readSnapshot === undefined) return;
    clearImmediate(this.#readSnapshot);
    this.#readSnapshot = undefined;
    try {
      this.#endTransaction();
    } catch {
      // Whoever reads next tries again, and hears of it.
    }
  }

  readonly #begin = (): void => {
    if (this.#inTransactions && !this.database.isTransaction) throw new Problem('storage_unavailable');
    if (!this.#readsInTurns || this.#readSnapshot !== undefined) return;
    this.#endTransaction();
    this.exec('begin');
    this.#readSnapshot = setImmediate(() => this.refreshSnapshot());
  };

  /** An error may have ended it already. Nothing was written: there is nothing to commit. */
  #endTransaction(): void {
    if (this.database.isOpen && this.database.isTransaction) this.exec('rollback');
  }

  /** Runs one statement without results. */
  exec(sql: string): void {
    this.#prepared(sql).exec();
  }

  close(): void {
    this.refreshSnapshot();
    this.#statements.clear();
    this.database.close();
  }

  #prepared(sql: string): Prepared {
    const known = this.#statements.get(sql);
    if (known !== undefined) {
      this.#statements.delete(sql);
      this.#statements.set(sql, known);
      return known;
    }
    const prepared = this.#prepare(sql);
    this.#statements.set(sql, prepared);
    if (this.#statements.size > CACHED_STATEMENTS) {
      for (const oldest of this.#statements.keys()) {
        this.#statements.delete(oldest);
        break;
      }
    }
    return prepared;
  }

  #prepare(sql: string): Prepared {
    try {
      return new Prepared(this.database.prepare(sql), this.#failed, this.#begin);
    } catch (error) {
      throw this.#failed(error);
    }
  }
}

/** A prepared statement in the shape that Kysely drives. */
class Prepared {
  readonly reader: boolean;
  readonly #statement: StatementSync;
  readonly #failed: Failed;
  readonly #begin: () => void;
  readonly #columns: readonly string[];

  constructor(statement: StatementSync, failed: Failed, begin: () => void) {
    this.#statement = statement;
    this.#failed = failed;
    this.#begin = begin;
    this.#columns = statement.columns().map(({ name }) => name);
    this.reader = this.#columns.length > 0;
    // The objects that Node makes of rows are dictionaries: to read them takes longer than to make these.
    statement.setReturnArrays(true);
  }

  all(parameters: readonly unknown[]): unknown[] {
    try {
      this.#begin();
      const rows = this.#statement.all(...(parameters as SQLInputValue[])) as unknown as unknown[][];
      return rows.map((row) => this.#named(row));
    } catch (error) {
      throw this.#failed(error);
    }
  }

  exec(): void {
    this.#statement.run();
  }

  run(parameters: readonly unknown[]): { changes: number | bigint; lastInsertRowid: number | bigint } {
    this.#begin();
    return this.#statement.run(...(parameters as SQLInputValue[]));
  }

  *iterate(parameters: readonly unknown[]): IterableIterator<unknown> {
    this.#begin();
    const rows = this.#statement.iterate(...(parameters as SQLInputValue[]));
    for (const row of rows as unknown as Iterable<unknown[]>) yield this.#named(row);
  }

  #named(row: readonly unknown[]): Record<string, unknown> {
    const named: Record<string, unknown> = {};
    for (let index = 0; index < this.#columns.length; index += 1) named[this.#columns[index] as string] = row[index];
    return named;
  }
}
