import { DatabaseSync } from 'node:sqlite';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { buildResourceUrl, type OccurrenceKind } from '../../../src/delivery/outbox/event-kinds.ts';
import { statusOf } from '../checker/delivery-checker.ts';
import type { Crash, DatabaseContent } from '../checker/history.ts';

type SqlRow = Readonly<Record<string, unknown>>;
type SqlQuery = (sql: string) => Promise<readonly SqlRow[]>;

/** Maximum time for which the last statements of a dead process may keep running in the database. */
const AFTERMATH_TIMEOUT_MS = 10_000;

/** Maximum time without progress in deliveries after the load has stopped. */
const SILENCE_TIMEOUT_MS = 30_000;

/**
 * Runs `work` with a function that queries one snapshot of a database, without the service. `address` is a value
 * of `--database`: `sqlite:…` or `postgres:…`.
 */
export async function withSnapshot<T>(address: string, work: (query: SqlQuery) => Promise<T>): Promise<T> {
  if (address.startsWith('sqlite:')) {
    const database = new DatabaseSync(address.slice('sqlite:'.length), { readOnly: true });
    try {
      database.exec('begin');
      return await work(async (sql) => database.prepare(sql).all());
    } finally {
      database.close();
    }
  }
  const client = new pg.Client({ connectionString: address, application_name: 'observer' });
  await client.connect();
  try {
    await client.query('begin isolation level repeatable read read only');
    return await work(async (sql) => (await client.query(sql)).rows);
  } finally {
    await client.end();
  }
}

/** Counts the pending deliveries of live hooks. */
const COUNT_PENDING =
  'select count(*) as count from pending_deliveries join hooks on hooks.hook_id = pending_deliveries.hook_id where hooks.date_ended is null';

/** Reads the final content of a database, for the checker. Records are identified by their address below `base`. */
export function readDatabase(address: string, base: string): Promise<DatabaseContent> {
  return withSnapshot(address, async (query) => {
    const records = await query(`
      select 'new_event' as kind, event_id as id, event_name as word from events
      union all select 'new_client', client_id, client_name from clients`);
    const occurrences = await query('select kind, user_id, record_id from occurrences');
    const [pending] = await query(COUNT_PENDING);
    const addressOf = (kind: unknown, id: unknown) =>
      buildResourceUrl(base, String(kind) as OccurrenceKind, Number(id));
    return {
      records: new Map(records.map(({ kind, id, word }) => [addressOf(kind, id), String(word)])),
      occurrences: occurrences.map(({ kind, user_id, record_id }) => ({
        kind: String(kind),
        userId: String(user_id),
        record: addressOf(kind, record_id),
      })),
      hooks: (await query('select * from hooks order by hook_id')).map((row) => ({
        path: targetPath(row),
        kind: String(row.events),
        userId: String(row.user_id),
        endedReason: row.date_ended === null ? null : String(row.ended_reason),
      })),
      pending: Number(pending?.count),
    };
  });
}

/**
 * Reads the state that a dead process left: the pending deliveries, and the status of all hooks or of those with
 * matching paths.
 */
export function readCrash(
  address: string,
  isIncluded: (path: string) => boolean = () => true,
): Promise<Omit<Crash, 'at'>> {
  return withSnapshot(address, async (query) => {
    const pending = await query('select delivery_id from pending_deliveries');
    const hooks = await query('select target, failures, ended_reason from hooks');
    const fates = hooks.filter((row) => row.ended_reason !== 'deleted' && isIncluded(targetPath(row)));
    return {
      pending: new Set(pending.map((row) => String(row.delivery_id))),
      fates: new Map(fates.map((row) => [targetPath(row), statusOf(row)])),
    };
  });
}

/**
 * Waits until nothing is pending, or until deliveries make no more progress. The checker reports deliveries that
 * are left.
 */
export async function untilDelivered(address: string): Promise<void> {
  let left = Number.POSITIVE_INFINITY;
  for (
    let progressAt = performance.now();
    left > 0 && performance.now() < progressAt + SILENCE_TIMEOUT_MS;
    await wait(20)
  ) {
    const [row] = await withSnapshot(address, (query) => query(COUNT_PENDING));
    const now = Number(row?.count);
    if (now < left) progressAt = performance.now();
    left = now;
  }
}

/**
 * Resolves when no statement of a dead or paused process runs in its database any more. PostgreSQL completes the
 * last statement that it received. SQLite has no server to wait for.
 *
 * @param name `application_name` of the connections of the process; all connections if left out
 */
export async function untilDatabaseQuiet(address: string, name?: string): Promise<void> {
  if (address.startsWith('sqlite:')) return;
  const whose = name === undefined ? "application_name <> 'observer'" : `application_name = '${name}'`;
  await waitForNoActivity(address, `${whose} and state = 'active'`);
}

/** Resolves when a live process with this `application_name` has no open transaction in PostgreSQL. */
export function untilBetweenTransactions(address: string, name: string): Promise<void> {
  return waitForNoActivity(address, `application_name = '${name}' and state <> 'idle'`);
}

async function waitForNoActivity(address: string, which: string): Promise<void> {
  for (const giveUpAt = performance.now() + AFTERMATH_TIMEOUT_MS; performance.now() < giveUpAt; await wait(5)) {
    const sql = `select count(*) as count from pg_stat_activity
      where datname = current_database() and backend_type = 'client backend' and ${which}`;
    const [row] = await withSnapshot(address, (query) => query(sql));
    if (Number(row?.count) === 0) return;
  }
  throw new Error('something is still at work in the database');
}

const targetPath = ({ target }: SqlRow): string => new URL(String(target)).pathname;
