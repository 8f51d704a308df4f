import { type Insertable, type Selectable, sql } from 'kysely';
import { toSubscriptionRows } from '../../../src/delivery/outbox/subscriptions.ts';
import type { Queries, Store } from '../../../src/store/store.ts';
import { type AccountTable, type Column, type Tables, tableColumns } from '../../../src/store/tables.ts';
import {
  type ExportedRow,
  type ExportedTable,
  exportedColumnsOf,
  exportedTables,
  exportRules,
  isExportedTable,
} from '../../../src/transfer/exported-tables.ts';

/** Text values that are hard to escape or encode: empty, JSON and SQL syntax, other alphabets. */
const SAMPLE_TEXTS = [
  '',
  'plain',
  'Überstunden, 予定 ☃ 😀',
  '"\\/\b\t\n{},"crc":"00000000"}',
  "'; drop table events; --",
];
const SAMPLE_NUMBERS = [0, 1, 100, Number.MAX_SAFE_INTEGER, 1_795_184_107_319];

/**
 * Returns a valid row of a table. A column that `givenCells` does not contain gets one of the values that its type
 * allows.
 */
export function createValidRow(table: ExportedTable, givenCells: ExportedRow, offset = 0): ExportedRow {
  const columns: Readonly<Record<string, Column>> = tableColumns[table];
  const defaultValue = (column: string, index: number) => {
    const cell = columns[column]?.storageType ?? '';
    const sampleIndex = offset + index;
    if (cell.endsWith('or null') && sampleIndex % 2 === 0) return null;
    return (cell.startsWith('text') ? SAMPLE_TEXTS : SAMPLE_NUMBERS)[sampleIndex % 5] ?? null;
  };
  return Object.fromEntries(
    exportedColumnsOf(table).map((column, index) => [column, givenCells[column] ?? defaultValue(column, index)]),
  );
}

/** The id of an account that fillAccount() creates, and the range of the record ids in it. */
export type RecordIdRange = { readonly accountId: number; readonly first: number; readonly count: number };

/** Creates an account with `count` rows in every table, with record ids from `first`. */
export async function fillAccount(
  store: Store,
  domain: string,
  { accountId, first, count }: RecordIdRange,
): Promise<void> {
  await store.write(async ({ queries }) => {
    for (const table of exportedTables) {
      const rowCount = table === 'accounts' || table === 'positions' ? 1 : count;
      for (let offset = 0; offset < rowCount; offset += 1) {
        const row = createValidRow(table, linkedColumns(table, domain, accountId, first + offset), offset);
        await queries
          .insertInto(table)
          .values(row as never)
          .execute();
      }
    }
  });
}

/** Returns the values of the columns that reference other rows or must be unique. */
function linkedColumns(table: ExportedTable, domain: string, accountId: number, id: number): ExportedRow {
  const accountColumns = { domain, account_id: accountId, date_ended: null };
  const ids = Object.fromEntries(
    exportedTables
      .flatMap((one) => exportRules[one].keyColumns.filter((column) => column.endsWith('_id')))
      .map((column) => [column, id]),
  );
  const textColumns = ['email', 'key_hash', 'target', 'target_hash', 'idempotency_key', 'token_hash', 'entry_hash'];
  const uniqueTexts = Object.fromEntries(textColumns.map((column) => [column, `${column} ${id} ä😀`]));
  // A delivery is either pending or finalized, so the two tables must not have the same delivery ids.
  const delivery = table === 'finalized_deliveries' ? { delivery_id: id - 500 } : {};
  return { ...ids, record_id: id, position: id, ...uniqueTexts, ...delivery, ...accountColumns };
}

/** Reads all rows of all exported tables, ordered by key, including columns that are not exported. */
export async function readAllRows(store: Store): Promise<Readonly<Record<string, readonly ExportedRow[]>>> {
  const rowsByTable: Record<string, readonly ExportedRow[]> = {};
  for (const table of exportedTables) {
    const key = sql.join(exportRules[table].keyColumns.map((column) => sql.ref(column)));
    const { rows } = await sql<ExportedRow>`select * from ${sql.table(table)} order by ${key}`.execute(store.read);
    rowsByTable[table] = rows.map((row) => ({ ...row }));
  }
  return rowsByTable;
}

const ROWS_PER_STATEMENT = 50;

/**
 * Returns a row in which every column that `givenCells` does not contain has the smallest value: null, 0 or an empty
 * text.
 */
export function createMinimalRow(table: AccountTable, givenCells: ExportedRow): ExportedRow {
  const columns: Readonly<Record<string, Column>> = tableColumns[table];
  const emptyValue = (column: string) => {
    const cell = columns[column]?.storageType ?? 'text';
    if (cell.endsWith('or null')) return null;
    return cell === 'number' ? 0 : '';
  };
  const names = isExportedTable(table) ? exportedColumnsOf(table) : Object.keys(columns);
  return Object.fromEntries(names.map((column) => [column, givenCells[column] ?? emptyValue(column)]));
}

/** Inserts rows directly, without the actions of the resource. */
export async function insertRows(store: Store, table: AccountTable, rows: readonly ExportedRow[]): Promise<void> {
  await store.write(async ({ queries }) => {
    for (let batchStart = 0; batchStart < rows.length; batchStart += ROWS_PER_STATEMENT) {
      const batch = rows.slice(batchStart, batchStart + ROWS_PER_STATEMENT);
      await queries
        .insertInto(table)
        .values(batch.map((row) => createMinimalRow(table, row)) as never)
        .execute();
    }
  });
}

/** Columns of a hook. `events`: the kinds that it reports. */
export type NewHook = Pick<Insertable<Tables['hooks']>, 'account_id' | 'user_id' | 'events' | 'target'> &
  Partial<Insertable<Tables['hooks']>>;

/** Inserts a hook with its subscriptions, without a target check, and returns it. */
export async function insertHook(queries: Queries, hook: NewHook): Promise<Selectable<Tables['hooks']>> {
  const state = { date_created: 0, due_at: null, retry_delivery_id: null, date_ended: null, ended_position: null };
  const row = await queries
    .insertInto('hooks')
    .values({ ...state, ...hook })
    .returningAll()
    .executeTakeFirstOrThrow();
  const subscriptions = toSubscriptionRows(row).map((one) => ({ ...one, account_id: row.account_id }));
  if (row.date_ended === null) await queries.insertInto('subscriptions').values(subscriptions).execute();
  return row;
}
