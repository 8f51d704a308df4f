import { sql } from 'kysely';
import type { Store } from '../../src/store/store.ts';
import { type Column, columns } from '../../src/store/tables.ts';
import { columnsOf, contents, type MovedTable, type Row, tables } from '../../src/transfer/exported-tables.ts';

/** What a text may be: nothing, what JSON and SQL write in their own way, and what other alphabets have. */
const TEXTS = ['', 'plain', 'Überstunden, 予定 ☃ 😀', '"\\/\b\t\n{},"crc":"00000000"}', "'; drop table events; --"];
const NUMBERS = [0, 1, 100, Number.MAX_SAFE_INTEGER, 1_795_184_107_319];

/** A row that its table can have: what is not given is one or another of the values that its column allows. */
export function rowFor(table: MovedTable, given: Row, turn = 0): Row {
  const cells: Readonly<Record<string, Column>> = columns[table];
  const usual = (column: string, index: number) => {
    const cell = cells[column]?.cell ?? '';
    const at = turn + index;
    if (cell.endsWith('or null') && at % 2 === 0) return null;
    return (cell.startsWith('text') ? TEXTS : NUMBERS)[at % 5] ?? null;
  };
  return Object.fromEntries(columnsOf(table).map((column, index) => [column, given[column] ?? usual(column, index)]));
}

/** The ids of all records of an account in `filled`. */
export type Ids = { readonly accountId: number; readonly first: number; readonly count: number };

/** An account with `count` rows in every table, whose records have the ids from `first` on. */
export async function fillAccount(store: Store, domain: string, { accountId, first, count }: Ids): Promise<void> {
  await store.write(async ({ queries }) => {
    for (const table of tables) {
      const rows = table === 'accounts' || table === 'positions' ? 1 : count;
      for (let turn = 0; turn < rows; turn += 1) {
        const row = rowFor(table, tied(table, domain, accountId, first + turn), turn);
        await queries
          .insertInto(table)
          .values(row as never)
          .execute();
      }
    }
  });
}

/** What ties the rows together, and what must not be there twice. */
function tied(table: MovedTable, domain: string, accountId: number, id: number): Row {
  const own = { domain, account_id: accountId, date_ended: null };
  const ids = Object.fromEntries(
    tables.flatMap((one) => contents[one].key.filter((column) => column.endsWith('_id'))).map((column) => [column, id]),
  );
  const texts = ['email', 'key_hash', 'target', 'target_hash', 'idempotency_key', 'noun', 'token_hash', 'entry_hash'];
  const unique = Object.fromEntries(texts.map((column) => [column, `${column} ${id} ä😀`]));
  // A delivery is pending or settled.
  const delivery = table === 'finalized_deliveries' ? { delivery_id: id - 500 } : {};
  return { ...ids, record_id: id, position: id, ...unique, ...delivery, ...own };
}

/** Every row of every table, in the order of their keys; with the columns that no export has. */
export async function allRows(store: Store): Promise<Readonly<Record<string, readonly Row[]>>> {
  const found: Record<string, readonly Row[]> = {};
  for (const table of tables) {
    const key = sql.join(contents[table].key.map((column) => sql.ref(column)));
    const { rows } = await sql<Row>`select * from ${sql.table(table)} order by ${key}`.execute(store.read);
    found[table] = rows.map((row) => ({ ...row }));
  }
  return found;
}
