import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { Kysely, type SqliteDatabase, SqliteDialect } from 'kysely';
import { Problem } from '../../problems.ts';
import { runDirectly } from '../prepared-queries.ts';
import type { Tables } from '../tables.ts';

/** Size of the LRU cache of prepared statements: enough for every query of this service. */
const CACHED_STATEMENTS = 400;

/** Busy timeout of a `patient` connection. */
const BUSY_TIMEOUT_MS = 10_000;

/** Primary result codes of SQLite (the low byte of an extended code). */
export const SQLITE_BUSY = 5;
export const SQLITE_IOERR = 10;
export const SQLITE_CORRUPT = 11;

/** The primary result code of an error thrown by SQLite, or undefined for any other error. */
export function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return undefined;
  return error.errcode & 0xff;
}

/** Whether the storage failed. Constraint violations (19) and SQL errors (1) are bugs of this service instead. */
export function isOfStorage(error: unknown): boolean {
  const code = sqliteCode(error);
  return code !== undefined && code !== 19 && code !== 1;
}

/** Maps storage failures to the problem `storage_unavailable`; returns any other error unchanged. */
export function asProblem(error: unknown): unknown {
  return isOfStorage(error) ? new Problem('storage_unavailable', { cause: error }) : error;
}

type Failed = (error: unknown) => unknown;

/** A connection to an SQLite file, with a cache of prepared statements. */
export class SqliteConnection {
  readonly database: DatabaseSync;
  readonly queries: Kysely<Tables>;
  readonly #statements = new Map<string, Prepared>();
  readonly #failed: Failed;
  readonly #snapshotPerTick: boolean;
  readonly #inTransactions: boolean;
  #readSnapshot: NodeJS.Immediate | undefined;

  /**
   * @param options `patient`: a blocking busy timeout, for commands that have nothing else to do. `failed`:
   *   maps errors of reads. `readsInTurns`: reads of one event-loop iteration share a transaction (a read
   *   snapshot), since beginning one takes longer than a short read. `inTransactions`: rejects queries outside
   *   a transaction; otherwise, after a failure that ended the transaction, statements that were sent together
   *   with the failed one would be committed on their own
   * @param sqlite replaces SQLite in simulations
   */
  constructor(
    path: string,
    options: { readOnly: boolean; patient?: true; failed?: Failed; readsInTurns?: true; inTransactions?: true },
    sqlite = DatabaseSync,
  ) {
    this.#failed = options.failed ?? ((error) => error);
    this.#snapshotPerTick = options.readsInTurns === true;
    this.#inTransactions = options.inTransactions === true;
    // Busy timeout 0: waiting inside SQLite would block the event loop; the store retries on a timer instead.
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

  /** Ends the read snapshot. Call it before a read that must see the latest commit. */
  refreshSnapshot(): void {
    if (this.#readSnapshot === undefined) return;
    clearImmediate(this.#readSnapshot);
    this.#readSnapshot = undefined;
    try {
      this.#endTransaction();
    } catch {
      // The next read tries again and reports the error.
    }
  }

  readonly #begin = (): void => {
    if (this.#inTransactions && !this.database.isTransaction) throw new Problem('storage_unavailable');
    if (!this.#snapshotPerTick || this.#readSnapshot !== undefined) return;
    this.#endTransaction();
    this.exec('begin');
    this.#readSnapshot = setImmediate(() => this.refreshSnapshot());
  };

  /** Ends a read transaction; an error may have ended it already. */
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
    const cached = this.#statements.get(sql);
    if (cached !== undefined) {
      this.#statements.delete(sql);
      this.#statements.set(sql, cached);
      return cached;
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
    // Node's row objects are in dictionary mode and slow to read; arrays converted by `#named` are faster.
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
