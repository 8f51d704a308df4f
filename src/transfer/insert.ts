import { type CompiledQuery, sql } from 'kysely';
import type { Queries } from '../store/store.ts';
import { columnsOf, type MovedTable, type Row } from './exported-tables.ts';

/** Enough that a statement costs little, and far below the number of values that one can carry. */
const ROWS_PER_STATEMENT = 100;

/** Inserts many rows of one database; each shape of statement is compiled once. */
export class Inserter {
  readonly #compiled = new Map<string, CompiledQuery>();

  async insert(queries: Queries, table: MovedTable, rows: readonly Row[]): Promise<void> {
    for (let begin = 0; begin < rows.length; begin += ROWS_PER_STATEMENT) {
      const some = rows.slice(begin, begin + ROWS_PER_STATEMENT);
      // The values of a row that was checked stand in the order of the columns.
      const parameters = some.flatMap((row) => Object.values(row));
      await queries.executeQuery({ ...this.#statement(queries, table, some.length), parameters });
    }
  }

  #statement(queries: Queries, table: MovedTable, count: number): CompiledQuery {
    const name = `${table} ${count}`;
    const known = this.#compiled.get(name);
    if (known !== undefined) return known;
    const columns = columnsOf(table);
    const row = sql`(${sql.join(columns.map(() => 0))})`;
    const compiled = sql`
      insert into ${sql.table(table)} (${sql.join(columns.map((column) => sql.ref(column)))})
      values ${sql.join(Array.from({ length: count }, () => row))}`.compile(queries);
    this.#compiled.set(name, compiled);
    return compiled;
  }
}
