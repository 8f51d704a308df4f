import { DatabaseSync, type StatementSync } from 'node:sqlite';
import pg from 'pg';

/** How often each statement was run in this process, by its text. */
export type Statements = Map<string, number>;

/** What only frames others: the beginning of a transaction, its end, a place to go back to. */
export const isFrame = (sql: string): boolean => /^(begin|commit|rollback|savepoint|release|set )/i.test(sql);

/** An SQLite that counts what it is asked. */
export function countingSqlite(counted: Statements): typeof DatabaseSync {
  return class extends DatabaseSync {
    override prepare(sql: string): StatementSync {
      const statement = super.prepare(sql);
      for (const how of ['all', 'run', 'get', 'iterate'] as const) {
        const original = statement[how].bind(statement) as (...values: unknown[]) => unknown;
        const counting = (...values: unknown[]) => {
          counted.set(sql, (counted.get(sql) ?? 0) + 1);
          return original(...values);
        };
        Object.assign(statement, { [how]: counting });
      }
      return statement;
    }
  };
}

/** From now on everything that this process asks any PostgreSQL is counted; answers how to leave that. */
export function countPostgres(counted: Statements): () => void {
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
