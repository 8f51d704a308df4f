import { type Expression, type SqlBool, sql } from 'kysely';
import type { HistoryTable, Store, Tx } from './store.ts';
import type { Tables } from './tables.ts';

/** Maximum number of rows per transaction. It is small, so that other writes do not wait long. */
export const DELETE_BATCH_SIZE = 500;

/** Deletes the next rows, at most DELETE_BATCH_SIZE, and returns their number: a full batch if more may follow. */
export type DeleteBatch = (tx: Tx) => Promise<number>;

/**
 * Deletes rows in batches, with one transaction each, until a batch is not full or `isStopped` returns true. Returns the
 * number of deleted rows.
 */
export async function deleteInBatches(
  write: Store['write'],
  deleteBatch: DeleteBatch,
  isStopped: () => boolean,
): Promise<number> {
  let totalCount = 0;
  while (!isStopped()) {
    const deletedCount = await write(deleteBatch);
    totalCount += deletedCount;
    if (deletedCount < DELETE_BATCH_SIZE) break;
  }
  return totalCount;
}

/** Creates a deleter of the rows that match a condition, in any order. */
export function createRowDeleter<Table extends keyof Tables>(
  table: Table,
  idColumn: keyof Tables[Table] & string,
  condition: Expression<SqlBool>,
): DeleteBatch {
  const [tableRef, idRef] = [sql.table(table), sql.ref(idColumn)];
  return async ({ queries }) => {
    const { numAffectedRows } = await sql`delete from ${tableRef} where ${idRef} in
      (select ${idRef} from ${tableRef} where ${condition} limit ${DELETE_BATCH_SIZE})`.execute(queries);
    return Number(numAffectedRows);
  };
}

/** Creates a deleter of the rows up to a time, oldest first. A batch also includes all rows of its last time. */
export function createOldestRowDeleter<Table extends keyof Tables>(
  table: Table,
  timeColumn: keyof Tables[Table] & string,
  lastTime: number,
): DeleteBatch {
  const [tableRef, timeRef] = [sql.table(table), sql.ref(timeColumn)];
  return async ({ queries }) => {
    const { numAffectedRows } = await sql`delete from ${tableRef} where ${timeRef} <=
      (select max(expired.at) from (select ${timeRef} as at from ${tableRef} where ${timeRef} <= ${lastTime}
        order by ${timeRef} limit ${DELETE_BATCH_SIZE}) as expired)`.execute(queries);
    return Number(numAffectedRows);
  };
}

/** Rows older than `cutoff` are deleted; `now` is the current time. Both are milliseconds since the epoch. */
type RetentionTimes = { readonly cutoff: number; readonly now: number };

/**
 * Deletes old rows of a history table in batches, oldest first. Used for tables, or parts of tables, that are not
 * partitioned by time. Returns the number of rows.
 */
export function deleteOldHistory(
  write: Store['write'],
  table: HistoryTable,
  times: RetentionTimes,
  isStopped: () => boolean,
): Promise<number> {
  return deleteInBatches(write, createBatchDeleterByTable[table](times), isStopped);
}

type CreateBatchDeleter = (times: RetentionTimes) => DeleteBatch;

const createBatchDeleterByTable: Readonly<Record<HistoryTable, CreateBatchDeleter>> = {
  // Ids grow with time, so the oldest attempts have the lowest ids, except those made while the clock was wrong.
  // Attempts with a time in the future are skipped, so that they do not block the deletion of other attempts.
  attempts:
    ({ cutoff, now }) =>
    async ({ queries }) => {
      const oldestRows = await queries
        .selectFrom('attempts')
        .select(['attempt_id', 'attempted_at'])
        .where('attempted_at', '<=', now)
        .orderBy('attempt_id')
        .limit(DELETE_BATCH_SIZE)
        .execute();
      const lastExpiredRow = oldestRows.filter((row) => row.attempted_at < cutoff).at(-1);
      if (lastExpiredRow === undefined) return 0;
      const { numDeletedRows } = await queries
        .deleteFrom('attempts')
        .where('attempt_id', '<=', lastExpiredRow.attempt_id)
        .where('attempted_at', '<', cutoff)
        .executeTakeFirstOrThrow();
      return Number(numDeletedRows);
    },
  finalized_deliveries: ({ cutoff }) =>
    createRowDeleter('finalized_deliveries', 'delivery_id', sql<SqlBool>`finalized_at < ${cutoff}`),
  // Within an account, feed positions ascend with time, so the oldest occurrences can be deleted by position.
  occurrences:
    ({ cutoff }) =>
    async ({ queries }) => {
      const accounts = await queries.selectFrom('accounts').select('account_id').execute();
      for (const { account_id } of accounts) {
        const oldestRows = await queries
          .selectFrom('occurrences')
          .select(['position', 'occurred_at'])
          .where('account_id', '=', account_id)
          .orderBy('position')
          .limit(DELETE_BATCH_SIZE)
          .execute();
        const lastExpiredRow = oldestRows.filter((row) => row.occurred_at < cutoff).at(-1);
        if (lastExpiredRow === undefined) continue;
        await queries
          .deleteFrom('occurrences')
          .where('account_id', '=', account_id)
          .where('position', '<=', lastExpiredRow.position)
          .execute();
        // Report a full batch, so that the caller continues: more old rows may follow, in this account or another.
        return DELETE_BATCH_SIZE;
      }
      return 0;
    },
};
