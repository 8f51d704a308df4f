import { type CompiledQuery, sql } from 'kysely';
import type { Queries } from '../store/store.ts';
import { columnsOf, type MovedTable, type Row } from './exported-tables.ts';

/** Rows per statement: far below the databases' limits of parameters. */
const ROWS_PER_STATEMENT = 100;

/** Bulk inserts; each statement is compiled once. */
export class Inserter {
  readonly #compiled = new Map<string, CompiledQuery>();

  async insert(queries: Queries, table: MovedTable, rows: readonly Row[]): Promise<void> {
    for (let begin = 0; begin < rows.length; begin += ROWS_PER_STATEMENT) {
      const batch = rows.slice(begin, begin + ROWS_PER_STATEMENT);
      // Validated rows have their values in the order of the columns.
      const parameters = batch.flatMap((row) => Object.values(row));
      await queries.executeQuery({ ...this.#statement(queries, table, batch.length), parameters });
    }
  }

  #statement(queries: Queries, table: MovedTable, count: number): CompiledQuery {
    const key = `${table} ${count}`;
    const cached = this.#compiled.get(key);
    if (cached !== undefined) return cached;
    const columns = columnsOf(table);
    const row = sql`(${sql.join(columns.map(() => 0))})`;
    const compiled = sql`
      insert into ${sql.table(table)} (${sql.join(columns.map((column) => sql.ref(column)))})
      values ${sql.join(Array.from({ length: count }, () => row))}`.compile(queries);
    this.#compiled.set(key, compiled);
    return compiled;
  }
}
