import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { CompiledQuery, type KyselyPlugin } from 'kysely';
import { registerRunner } from '../../../src/store/prepared-queries.ts';
import type { Queries } from '../../../src/store/store.ts';

/** A query plugin that delays one result after the database has returned it, or makes queries fail. */
export class QueryInterceptor implements KyselyPlugin {
  #gate: PromiseWithResolvers<void> | undefined;
  #delayStarted = Promise.withResolvers<void>();
  #delayedTable = '';
  readonly #readTables: string[] = [];
  /** Number of the next queries that fail. Tests set it. */
  remainingFailures = 0;

  /** Returns how often this table has been read so far. */
  countReads(table: string): number {
    return this.#readTables.filter((tables) => tables.includes(`"${table}"`)).length;
  }

  /** Delays the next result from this table until `release()` is called. Resolves when the delay begins. */
  delayNext(table: string): Promise<void> {
    this.#gate = Promise.withResolvers();
    this.#delayStarted = Promise.withResolvers();
    this.#delayedTable = table;
    return this.#delayStarted.promise;
  }

  /** Ends the delay that `delayNext` has requested. */
  release(): void {
    this.#gate?.resolve();
    this.#gate = undefined;
  }

  readonly #tablesByQuery = new WeakMap<object, string>();

  transformQuery: KyselyPlugin['transformQuery'] = ({ node, queryId }) => {
    this.#tablesByQuery.set(queryId, JSON.stringify('from' in node ? node.from : ''));
    this.#failIfRequested();
    return node;
  };

  transformResult: KyselyPlugin['transformResult'] = async ({ result, queryId }) => {
    await this.#delayIfGated(this.#tablesByQuery.get(queryId) ?? '');
    return result;
  };

  /** Returns the queries of a store with this plugin installed. */
  installOn(queries: Queries): Queries {
    const read = queries.withPlugin(this);
    registerRunner(read, async (sql, parameters) => {
      this.#failIfRequested();
      const { rows } = await queries.executeQuery(CompiledQuery.raw(sql, [...parameters]));
      await this.#delayIfGated(/ from ("\w+")/.exec(sql)?.[1] ?? '');
      return rows;
    });
    return read;
  }

  #failIfRequested(): void {
    if (this.remainingFailures === 0) return;
    this.remainingFailures -= 1;
    throw new Error('the disk is slow to wake');
  }

  async #delayIfGated(tables: string): Promise<void> {
    this.#readTables.push(tables);
    const gate = this.#gate;
    if (gate === undefined || !tables.includes(`"${this.#delayedTable}"`)) return;
    this.#delayStarted.resolve();
    await gate.promise;
  }
}

/** A query plugin that counts the characters and rows read in one event-loop iteration. */
export class ReadCounter implements KyselyPlugin {
  /** Largest number of characters, and of rows, that one event-loop iteration has read. */
  maximum = { characters: 0, rows: 0 };
  /** Characters and rows read so far in this event-loop iteration. */
  #currentIteration = { characters: 0, rows: 0 };
  #isCounting = false;

  readonly transformQuery: KyselyPlugin['transformQuery'] = ({ node }) => node;

  readonly transformResult: KyselyPlugin['transformResult'] = async ({ result }) => {
    this.#count(result.rows);
    return result;
  };

  /** Returns the queries of a store with this plugin installed. */
  installOn(queries: Queries): Queries {
    const read = queries.withPlugin(this);
    registerRunner(read, async (sql, parameters) => {
      const { rows } = await queries.executeQuery(CompiledQuery.raw(sql, [...parameters]));
      this.#count(rows);
      return rows;
    });
    return read;
  }

  #count(rows: readonly unknown[]): void {
    if (!this.#isCounting) {
      this.#isCounting = true;
      setImmediate(() => {
        this.#isCounting = false;
        this.#currentIteration = { characters: 0, rows: 0 };
      });
    }
    for (const row of rows) {
      this.#currentIteration.rows += 1;
      for (const value of Object.values(row as object)) {
        if (typeof value === 'string') this.#currentIteration.characters += value.length;
      }
    }
    this.maximum = {
      characters: Math.max(this.maximum.characters, this.#currentIteration.characters),
      rows: Math.max(this.maximum.rows, this.#currentIteration.rows),
    };
  }
}

/** The largest number of rows that one statement has returned or changed. */
export type StatementSize = { rows: number };

/**
 * Returns a SQLite driver that records the size of the largest statement. The size matters because a statement blocks
 * the event loop until it has run.
 */
export function createMeasuringSqlite(largest: StatementSize): typeof DatabaseSync {
  const recordRows = (rows: number | bigint) => {
    largest.rows = Math.max(largest.rows, Number(rows));
  };
  return class extends DatabaseSync {
    override prepare(sql: string): StatementSync {
      const statement = super.prepare(sql);
      const { all, run } = statement;
      statement.all = (...values: unknown[]) => {
        const rows = Reflect.apply(all, statement, values);
        recordRows(rows.length);
        return rows;
      };
      statement.run = (...values: unknown[]) => {
        const result = Reflect.apply(run, statement, values);
        recordRows(result.changes);
        return result;
      };
      return statement;
    }
  };
}
