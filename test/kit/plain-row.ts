import type { Store } from '../../src/store/store.ts';
import { type AccountTable, type Column, columns } from '../../src/store/tables.ts';
import { columnsOf, isTable, type Row } from '../../src/transfer/exported-tables.ts';

const ROWS_PER_STATEMENT = 50;

/** A row with the smallest value in every column that is not given: null, 0 or an empty text. */
export function plainRow(table: AccountTable, given: Row): Row {
  const cells: Readonly<Record<string, Column>> = columns[table];
  const emptyValue = (column: string) => {
    const cell = cells[column]?.cell ?? 'text';
    if (cell.endsWith('or null')) return null;
    return cell === 'number' ? 0 : '';
  };
  const names = isTable(table) ? columnsOf(table) : Object.keys(cells);
  return Object.fromEntries(names.map((column) => [column, given[column] ?? emptyValue(column)]));
}

/** Inserts rows directly, without the actions of the resource. */
export async function insertRows(store: Store, table: AccountTable, rows: readonly Row[]): Promise<void> {
  await store.write(async ({ queries }) => {
    for (let begin = 0; begin < rows.length; begin += ROWS_PER_STATEMENT) {
      const some = rows.slice(begin, begin + ROWS_PER_STATEMENT);
      await queries
        .insertInto(table)
        .values(some.map((row) => plainRow(table, row)) as never)
        .execute();
    }
  });
}
