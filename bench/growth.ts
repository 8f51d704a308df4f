import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { sql } from 'kysely';
import { systemClock } from '../src/clock.ts';
import { createAccount } from '../src/resources/accounts/actions.ts';
import { systemChance } from '../src/secrets.ts';
import type { Store } from '../src/store/store.ts';
import type { MovedTable, Row } from '../src/transfer/contents.ts';
import { Inserter } from '../src/transfer/insert.ts';
import { openAt } from '../test/harness/database.ts';
import { rowFor } from '../test/harness/filled.ts';
import { startPostgres } from '../test/harness/postgres.ts';
import { newPostgresDatabase } from '../test/harness/postgres-databases.ts';
import { keepStudy } from './results.ts';

// What a row weighs, with all that its indexes need, on either database: what retention costs in bytes.
const { values } = parseArgs({ options: { rows: { type: 'string', default: '100000' } } });
const ROWS = Number(values.rows);
const ROWS_A_WRITE = 5_000;

const closing: (() => unknown)[] = [];
const context = { after: (close: () => unknown) => void closing.push(close) };
const folder = mkdtempSync(join(tmpdir(), 'carillon-bench-'));
const server = await startPostgres();
process.env.TEST_DATABASE_URL = server.address;

const now = systemClock.now();
const day = (id: number) => `2027-${String((id % 12) + 1).padStart(2, '0')}-${String((id % 28) + 1).padStart(2, '0')}`;
const delivery = (id: number) => ({
  delivery_id: id,
  hook_id: 1,
  position: id,
  kind: 'new_event',
  record_id: id,
  owed_at: now,
});

/** Rows as a busy service has them, in the order in which they may refer to each other. */
const made: readonly (readonly [MovedTable, (id: number) => Row])[] = [
  [
    'events',
    (id) => ({
      event_id: id,
      event_name: `Release of version ${id}`,
      start_date: `${day(id)} 00:00:00`,
      due_date: `${day(id)} 00:00:00`,
      project_id: 0,
      date_created: now,
    }),
  ],
  [
    'hooks',
    (id) => ({
      hook_id: id,
      kind: 'new_event',
      target: `https://receiver.example.com/hooks/${String(id).padStart(32, '0')}`,
      date_created: now,
      last_outcome: '200',
      date_ended: null,
      due_at: null,
    }),
  ],
  ['targets', (id) => ({ target_hash: String(id).padStart(64, '0'), hook_id: id })],
  ['occurrences', (id) => ({ position: id, kind: 'new_event', record_id: id, occurred_at: now })],
  ['owed', delivery],
  ['settled', (id) => ({ ...delivery(id), settled_at: now, state: 'delivered' })],
  [
    'attempts',
    (id) => ({
      attempt_id: id,
      hook_id: 1,
      delivery_id: id,
      attempted_at: now,
      outcome: '200',
      milliseconds: 12,
      counted: 0,
      reason: 'answered 200: delivered',
    }),
  ],
];

async function weigh(store: Store, bytes: () => Promise<number>): Promise<Record<string, number>> {
  await store.write((tx) => createAccount(tx, { domain: 'acme.test', email: 'owner@acme.test' }, now, systemChance));
  const inserter = new Inserter();
  const weights: Record<string, number> = {};
  for (const [table, make] of made) {
    const before = await bytes();
    for (let begin = 1; begin <= ROWS; begin += ROWS_A_WRITE) {
      const ids = Array.from({ length: Math.min(ROWS_A_WRITE, ROWS - begin + 1) }, (_, index) => begin + index);
      const rows = ids.map((id) => rowFor(table, { account_id: 1, user_id: 1, ...make(id) }, id));
      await store.write((tx) => inserter.insert(tx.queries, table, rows));
    }
    weights[table] = Math.round(((await bytes()) - before) / ROWS);
    process.stdout.write(`  ${table}: ${weights[table]} bytes a row\n`);
  }
  return weights;
}

process.stdout.write('SQLite\n');
const small = await openAt(context, `sqlite:${join(folder, 'carillon.db')}`);
const sqlite = await weigh(small, async () => {
  const { rows } = await sql<{ bytes: number }>`
    select page_count * page_size as bytes from pragma_page_count(), pragma_page_size()`.execute(small.read);
  return rows[0]?.bytes ?? 0;
});
process.stdout.write('PostgreSQL\n');
const large = await openAt(context, await newPostgresDatabase(context));
const postgres = await weigh(large, async () => {
  const { rows } = await sql<{ bytes: number }>`
    select coalesce(sum(pg_total_relation_size(oid)), 0)::int8 as bytes from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')`.execute(large.read);
  return rows[0]?.bytes ?? 0;
});
keepStudy('growth', { rows: ROWS, bytesARow: { sqlite, postgres } });
for (const close of closing.reverse()) await close();
await server.stop();
rmSync(folder, { recursive: true, force: true });
process.exit(0);
