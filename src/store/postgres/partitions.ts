import { sql } from 'kysely';
import { deleteOldHistory } from '../delete-in-batches.ts';
import { type HistoryTable, historyTables, type Queries, type Store } from '../store.ts';
import { sqlStateOf } from './connection.ts';

const WEEK_MS = 7 * 24 * 3_600_000;

/** Number of weekly partitions that are created in advance. */
const WEEKS_AHEAD = 4;

/**
 * Lock timeout for changes of partitions. It is short, because queries queue behind a waiting DDL lock. A failed change
 * is retried at the next run of retention.
 */
const PARTITION_LOCK_TIMEOUT = '2s';

const weekOf = (timestamp: number) => Math.floor(timestamp / WEEK_MS);

const partitionNameOf = (table: HistoryTable, week: number) => `${table}_w${week}`;

/** Returns the weeks for which a table has a partition. */
async function findPartitionWeeks(queries: Queries, table: HistoryTable): Promise<number[]> {
  const { rows } = await sql<{ name: string }>`
    select child.relname as name from pg_inherits
    join pg_class child on child.oid = inhrelid
    where inhparent = ${table}::regclass`.execute(queries);
  const weeks = rows.map(({ name }) => /_w(\d+)$/.exec(name)?.[1]);
  return weeks.filter((week) => week !== undefined).map(Number);
}

/**
 * Creates the weekly partitions of this week and the next ones. Rows without a partition (after a clock error, or if a
 * partition could not be created in time) go to the default partition `<table>_rest`.
 */
export async function createPartitions(store: Pick<Store, 'read' | 'write'>, now: number): Promise<void> {
  for (const table of Object.keys(historyTables) as HistoryTable[]) {
    const existingWeeks = await findPartitionWeeks(store.read, table);
    for (let week = weekOf(now); week <= weekOf(now) + WEEKS_AHEAD; week += 1) {
      if (existingWeeks.includes(week)) continue;
      const rangeSql = `from (${week * WEEK_MS}) to (${(week + 1) * WEEK_MS})`;
      const createSql = `create table if not exists ${partitionNameOf(table, week)} partition of ${table} for values ${rangeSql}`;
      await tryDdl(store, createSql);
    }
  }
}

/** Drops old partitions, and deletes old rows of the default partition in batches. Returns the number of rows. */
export async function dropPartitions(
  store: Pick<Store, 'read' | 'write' | 'readInSnapshot'>,
  table: HistoryTable,
  { cutoff, now }: { readonly cutoff: number; readonly now: number },
  isStopped: () => boolean,
): Promise<number> {
  let droppedCount = 0;
  for (const week of (await findPartitionWeeks(store.read, table)).filter(
    (weekNumber) => (weekNumber + 1) * WEEK_MS <= cutoff,
  )) {
    if (isStopped()) return droppedCount;
    const name = partitionNameOf(table, week);
    const countQuery = sql<{ count: number }>`select count(*) as count from ${sql.table(name)}`;
    // Count in a snapshot, because counting may take longer than the query timeout.
    const { rows } = await store.readInSnapshot((queries) => countQuery.execute(queries));
    if (await tryDdl(store, `drop table ${name}`)) droppedCount += rows[0]?.count ?? 0;
  }
  const { rows } = await sql<{ old: boolean }>`
    select exists (select 1 from ${sql.table(`${table}_rest`)} where ${sql.ref(historyTables[table])} < ${cutoff}) as old`.execute(
    store.read,
  );
  return rows[0]?.old
    ? droppedCount + (await deleteOldHistory(store.write, table, { cutoff, now }, isStopped))
    : droppedCount;
}

/** Runs a DDL statement. Returns false if it cannot be done now. */
async function tryDdl(store: Pick<Store, 'write'>, statement: string): Promise<boolean> {
  try {
    await store.write(async ({ queries }) => {
      await sql.raw(`set local lock_timeout = '${PARTITION_LOCK_TIMEOUT}'`).execute(queries);
      await sql.raw(statement).execute(queries);
    });
    return true;
  } catch (error) {
    // Not now: lock timeout; or the default partition has rows of that week; or another node has already made the
    // change.
    if (['55P03', '23514', '42P01', '42P07'].includes(sqlStateOf(error) ?? '')) return false;
    throw error;
  }
}
