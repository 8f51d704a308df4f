import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { parseArgs } from 'node:util';
import { showOn } from '../src/cli/progress.ts';
import { stderr } from '../src/cli/screen.ts';
import { systemClock } from '../src/clock.ts';
import { createAccount } from '../src/resources/accounts/actions.ts';
import { systemChance } from '../src/secrets.ts';
import type { Store } from '../src/store/store.ts';
import { type MovedTable, type Row, tables } from '../src/transfer/contents.ts';
import { exportTo } from '../src/transfer/export.ts';
import { importFrom } from '../src/transfer/import.ts';
import { Inserter } from '../src/transfer/insert.ts';
import { openAt } from '../test/harness/database.ts';
import { rowFor } from '../test/harness/filled.ts';
import { startPostgres } from '../test/harness/postgres.ts';
import { newPostgresDatabase } from '../test/harness/postgres-databases.ts';
import { keepStudy } from './results.ts';

// How long it takes to export and import a service with a million records, each with its occurrence, beside SQLite
// copying the same rows from one file into another by itself.
const { values } = parseArgs({
  options: { records: { type: 'string', default: '1000000' }, postgres: { type: 'boolean' } },
});
const RECORDS = Number(values.records);
const PROJECTS = RECORDS / 1_000;
const SUBTASKS = RECORDS / 10;
const TASKS = (RECORDS * 3) / 10;
const EVENTS = RECORDS - PROJECTS - TASKS - SUBTASKS;
const ROWS_A_WRITE = 5_000;

const closing: (() => unknown)[] = [];
const context = { after: (close: () => unknown) => void closing.push(close) };
const folder = mkdtempSync(join(tmpdir(), 'carillon-bench-'));
context.after(() => rmSync(folder, { recursive: true, force: true }));
const progress = showOn(stderr, systemClock);

async function timed<T>(work: () => Promise<T> | T): Promise<{ seconds: number; value: T }> {
  const begun = performance.now();
  const value = await work();
  return { seconds: Number(((performance.now() - begun) / 1_000).toFixed(2)), value };
}

async function fill(store: Store): Promise<void> {
  await store.write((tx) =>
    createAccount(tx, { domain: 'acme.test', email: 'owner@acme.test' }, systemClock.now(), systemChance),
  );
  const inserter = new Inserter();
  const put = async (table: MovedTable, count: number, make: (id: number) => Row) => {
    const row = (id: number) => rowFor(table, { account_id: 1, user_id: 1, ...make(id) }, id);
    for (let begin = 1; begin <= count; begin += ROWS_A_WRITE) {
      const ids = Array.from({ length: Math.min(ROWS_A_WRITE, count - begin + 1) }, (_, index) => begin + index);
      await store.write((tx) => inserter.insert(tx.queries, table, ids.map(row)));
    }
  };
  const now = systemClock.now();
  const day = (id: number) =>
    `2027-${String((id % 12) + 1).padStart(2, '0')}-${String((id % 28) + 1).padStart(2, '0')} 00:00:00`;
  const parent = (id: number, count: number) => (id % count) + 1;
  await put('projects', PROJECTS, (id) => ({ project_id: id, date_created: now }));
  await put('tasks', TASKS, (id) => ({ task_id: id, project_id: parent(id, PROJECTS), date_created: now }));
  await put('subtasks', SUBTASKS, (id) => ({ subtask_id: id, task_id: parent(id, TASKS), date_created: now }));
  await put('events', EVENTS, (id) => ({
    event_id: id,
    project_id: parent(id, PROJECTS),
    start_date: day(id),
    due_date: day(id),
    date_created: now,
  }));
  await put('occurrences', RECORDS, (id) => ({ position: id, kind: 'new_event', record_id: id, occurred_at: now }));
  await store.write(({ queries }) => queries.updateTable('positions').set({ position: RECORDS }).execute());
}

async function measure(name: string, from: string, to: string) {
  const path = join(folder, `${name}.jsonl`);
  const source = await openAt(context, from);
  await fill(source);
  const exported = await timed(async () => {
    const file = await open(path, 'wx', 0o600);
    const sink = { write: (text: string) => file.writeFile(text) };
    const end = await exportTo(sink, { store: source, domain: null, clock: systemClock, progress });
    await file.close();
    return end;
  });
  await source.close();
  const destination = await openAt(context, to);
  const imported = await timed(() =>
    importFrom({ store: destination, path, clock: systemClock, progress, resume: false }),
  );
  await destination.close();
  return {
    database: name,
    records: RECORDS,
    rows: exported.value.rows,
    megabytes: Math.round(statSync(path).size / 1e6),
    exportSeconds: exported.seconds,
    importSeconds: imported.seconds,
    mostMemoryMegabytes: Math.round(process.resourceUsage().maxRSS / 1_000),
  };
}

/** The floor: SQLite itself, in one transaction. */
async function copySeconds(from: string): Promise<number> {
  const path = join(folder, 'copy.db');
  await (await openAt(context, `sqlite:${path}`)).close();
  const database = new DatabaseSync(path);
  database.exec(`pragma synchronous = full; attach '${from}' as source`);
  const { seconds } = await timed(() => {
    const copies = tables.map((table) => `insert into main.${table} select * from source.${table}`);
    database.exec(`begin; ${copies.join('; ')}; commit`);
  });
  database.close();
  return seconds;
}

const measured: unknown[] = [];
const file = join(folder, 'from.db');
const sqlite = await measure('sqlite', `sqlite:${file}`, `sqlite:${join(folder, 'to.db')}`);
measured.push({ ...sqlite, copySeconds: await copySeconds(file) });
if (values.postgres) {
  const server = await startPostgres();
  process.env.TEST_DATABASE_URL = server.address;
  measured.push(await measure('postgres', await newPostgresDatabase(context), await newPostgresDatabase(context)));
  closing.unshift(server.stop);
}
keepStudy('transfer', { measured });
process.stdout.write(`${JSON.stringify(measured, undefined, 2)}\n`);
for (const close of closing.reverse()) await close();
