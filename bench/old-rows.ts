import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { sql } from 'kysely';
import { systemClock } from '../src/clock.ts';
import { openAt } from '../test/harness/database.ts';
import { startPostgres } from '../test/harness/postgres.ts';
import { newPostgresDatabase } from '../test/harness/postgres-databases.ts';
import { startTestService } from '../test/harness/service.ts';
import { keepStudy } from './results.ts';

// Whether the past slows the present: events created and told, without history and with ten million rows of it.
const { values } = parseArgs({ options: { rows: { type: 'string', default: '10000000' } } });
const ROWS = Number(values.rows);
const EVENTS = 2_000;
const RUNS = 5;
const WRITERS = 32;
const DROPPED_FOR_MS = 60_000;
const DAY_MS = 24 * 3_600_000;
const WEEK_MS = 7 * DAY_MS;

const tables = ['attempts', 'settled', 'occurrences'] as const;

const event = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };
const closing: (() => unknown)[] = [];
const context = { after: (close: () => unknown) => void closing.push(close) };
const folder = mkdtempSync(join(tmpdir(), 'carillon-bench-'));
const server = await startPostgres();
process.env.TEST_DATABASE_URL = server.address;

/** Events a second, from the first request until nothing is owed any more. */
async function measure(database: string): Promise<number> {
  const own: (() => unknown)[] = [];
  const attempt = async () => ({ kind: 'answered', status: 200, ms: 1 }) as const;
  const beside = await openAt(context, database, { as: 'command' });
  const service = await startTestService({ after: (close) => void own.push(close) }, database, { ports: { attempt } });
  const owner = await service.account(`bench-${systemClock.now()}.test`);
  await owner.carillon.hooks.create({ target_url: `http://127.0.0.1:9/${systemClock.now()}`, event: 'new_event' });
  const create = async (count: number) => {
    for (let made = 0; made < count; made += 1) await service.call(owner, 'POST', '/v2/events', event);
  };
  // Not by a list of deliveries: its count of all that were would be what is measured.
  const allTold = async () => {
    const isOwed = () => beside.read.selectFrom('owed').select('delivery_id').limit(1).executeTakeFirst();
    while ((await isOwed()) !== undefined) await new Promise<void>((resolve) => setTimeout(resolve, 5));
  };
  await Promise.all(Array.from({ length: WRITERS }, () => create(10)));
  await allTold();
  const began = performance.now();
  await Promise.all(Array.from({ length: WRITERS }, () => create(Math.ceil(EVENTS / WRITERS))));
  await allTold();
  const seconds = (performance.now() - began) / 1_000;
  for (const close of own.reverse()) await close();
  await beside.close();
  return EVENTS / seconds;
}

/**
 * Attempts, settled deliveries and occurrences of a week that is past, in the range that it has on PostgreSQL, of an
 * account that is there, and numbered before all that were made since.
 */
async function fill(database: string, isPostgres: boolean): Promise<void> {
  const store = await openAt(context, database, { as: 'command' });
  const week = Math.floor(systemClock.now() / WEEK_MS) - 8;
  const at = week * WEEK_MS + DAY_MS;
  const { account_id } = await store.read.selectFrom('accounts').select('account_id').executeTakeFirstOrThrow();
  const columns = {
    attempts: 'attempt_id, account_id, hook_id, delivery_id, attempted_at, outcome, milliseconds, counted, reason',
    settled: 'delivery_id, account_id, user_id, hook_id, position, kind, record_id, owed_at, settled_at, state',
    occurrences: 'account_id, position, kind, user_id, record_id, occurred_at',
  };
  const rows = {
    attempts: `n - ${ROWS}, ${account_id}, 1, 1000000000 + n, ${at} + n / 100, '200', 5, 0, 'answered 200: delivered'`,
    settled: `1000000000 + n, ${account_id}, 1, 1, n - ${ROWS}, 'new_event', n, ${at}, ${at} + n / 100, 'delivered'`,
    occurrences: `${account_id}, n - ${ROWS}, 'new_event', 1, n, ${at} + n / 100`,
  };
  const numbers = (from: number, count: number) =>
    isPostgres
      ? `select n from generate_series(${from}, ${from + count - 1}) as n`
      : `with recursive numbers (n) as (select ${from} union all select n + 1 from numbers where n < ${from + count - 1}) select n from numbers`;
  for (const table of tables) {
    if (isPostgres) {
      const range = `from (${week * WEEK_MS}) to (${(week + 1) * WEEK_MS})`;
      const create = `create table ${table}_w${week} partition of ${table} for values ${range}`;
      await store.write(({ queries }) => sql.raw(create).execute(queries));
    }
    const some = Math.min(ROWS, 500_000);
    for (let from = 1; from <= ROWS; from += some) {
      const insert = `insert into ${table} (${columns[table]}) select ${rows[table]} from (${numbers(from, some)}) as numbered`;
      await store.write(({ queries }) => sql.raw(insert).execute(queries));
    }
  }
  await store.close();
}

/** How long the past takes to go, what of it is left after the time that it has, and what a write beside it waits for at most. */
async function drop(database: string): Promise<{ seconds: number; rowsLeft: number; slowestWriteMs: number }> {
  const store = await openAt(context, database, { as: 'service' });
  let slowestWriteMs = 0;
  let done = false;
  const beside = (async () => {
    while (!done) {
      const began = performance.now();
      await store.probe();
      slowestWriteMs = Math.max(slowestWriteMs, performance.now() - began);
    }
  })();
  const began = performance.now();
  const past = systemClock.now() - 30 * DAY_MS;
  const isOver = () => performance.now() - began > DROPPED_FOR_MS;
  let dropped = 0;
  for (const table of tables) dropped += await store.dropBefore(table, past, isOver);
  const seconds = (performance.now() - began) / 1_000;
  done = true;
  await beside;
  await store.close();
  const rowsLeft = Math.max(0, ROWS * tables.length - dropped);
  return { seconds: Math.round(seconds * 10) / 10, rowsLeft, slowestWriteMs: Math.round(slowestWriteMs) };
}

/** What a service that has been running has had from PostgreSQL itself, whatever stands in its tables. */
async function vacuum(database: string): Promise<void> {
  const store = await openAt(context, database, { as: 'command' });
  for (const word of ['vacuum analyze', 'checkpoint']) await sql.raw(word).execute(store.read);
  await store.close();
}

const results: Record<string, unknown> = {};
try {
  const sqlite = (name: string) => `sqlite:${join(folder, name)}`;
  for (const [name, without, beside] of [
    ['sqlite', sqlite('without.db'), sqlite('beside.db')],
    ['postgres', await newPostgresDatabase(context), await newPostgresDatabase(context)],
  ] as const) {
    for (const database of [without, beside]) await measure(database);
    await fill(beside, name === 'postgres');
    if (name === 'postgres') for (const database of [without, beside]) await vacuum(database);
    const rates = new Map<string, number[]>([
      [without, []],
      [beside, []],
    ]);
    for (let run = 0; run < RUNS; run += 1) {
      const order = run % 2 === 0 ? [without, beside] : [beside, without];
      for (const database of order) rates.get(database)?.push(Math.round(await measure(database)));
    }
    const ratesOf = (database: string) => rates.get(database) ?? [];
    const middle = (database: string) => ratesOf(database).toSorted((a, b) => a - b)[RUNS >> 1] ?? 0;
    results[name] = {
      eventsASecondWithout: ratesOf(without),
      eventsASecondBeside: ratesOf(beside),
      ratio: Math.round((middle(beside) / middle(without)) * 1_000) / 1_000,
      dropped: await drop(beside),
    };
    process.stdout.write(`${name}: ${JSON.stringify(results[name])}\n`);
  }
  keepStudy('old-rows', { rows: ROWS, tables, ...results });
} finally {
  for (const close of closing.reverse()) await close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
process.exit(0);
