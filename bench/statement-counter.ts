import { DatabaseSync, type StatementSync } from 'node:sqlite';
import pg from 'pg';

/** The number of executions of each statement in this process, by text. */
export type StatementCounts = Map<string, number>;

/** Whether a statement only controls a transaction or a setting: begin, commit, rollback, savepoint, release or set. */
export const isControlStatement = (sql: string): boolean =>
  /^(begin|commit|rollback|savepoint|release|set )/i.test(sql);

/** Returns a subclass of DatabaseSync that counts its statements. */
export function createCountingSqlite(counted: StatementCounts): typeof DatabaseSync {
  return class extends DatabaseSync {
    override prepare(sql: string): StatementSync {
      const statement = super.prepare(sql);
      for (const method of ['all', 'run', 'get', 'iterate'] as const) {
        const original = statement[method].bind(statement) as (...values: unknown[]) => unknown;
        const counting = (...values: unknown[]) => {
          counted.set(sql, (counted.get(sql) ?? 0) + 1);
          return original(...values);
        };
        Object.assign(statement, { [method]: counting });
      }
      return statement;
    }
  };
}

/** Counts all PostgreSQL statements of this process from now on. Returns a function that stops counting. */
export function countPostgresStatements(counted: StatementCounts): () => void {
  const { query } = pg.Client.prototype;
  const counting = function (this: pg.Client, ...words: unknown[]) {
    const [first] = words;
    const sql = typeof first === 'string' ? first : String((first as { text?: string }).text);
    for (const one of sql.split(';')) counted.set(one.trim(), (counted.get(one.trim()) ?? 0) + 1);
    return Reflect.apply(query, this, words);
  };
  Object.assign(pg.Client.prototype, { query: counting });
  return () => void Object.assign(pg.Client.prototype, { query });
}
