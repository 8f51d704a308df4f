import { mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startProcess } from '../demo/started.ts';
import { systemClock } from '../src/clock.ts';
import { createAccount, type NewAccount } from '../src/resources/accounts/actions.ts';
import { systemChance } from '../src/secrets.ts';
import { openAt } from '../test/harness/database.ts';
import { startPostgres } from '../test/harness/postgres.ts';
import { newPostgresDatabase } from '../test/harness/postgres-databases.ts';
import { createEvent } from './load/calls.ts';
import { callsPerSecond } from './load/closed-loop.ts';
import { wired } from './load/connection.ts';
import { median, rounded } from './measured.ts';
import { keepStudy } from './results.ts';

// How many events per second one, two and four services create on one PostgreSQL, each call with its key and on disk
// before its 201, beside bare inserts into the same table in the same run.
const CONNECTIONS = 64;
const ACCOUNTS = 64;
const ROUNDS = 5;
const ROUND_MS = 3_000;
const WARM_UP_MS = 1_000;
const BARE_CONNECTIONS = 20;
const PROCESSES = [1, 2, 4];

const closing: (() => unknown)[] = [];
const context = { after: (close: () => unknown) => void closing.push(close) };
const folder = mkdtempSync(join(tmpdir(), 'carillon-bench-'));
const log = openSync(join(folder, 'log'), 'w');
const server = await startPostgres();
process.env.TEST_DATABASE_URL = server.address;
const database = await newPostgresDatabase(context);
const store = await openAt(context, database);
const accounts: NewAccount[] = [];
for (let turn = 1; turn <= ACCOUNTS; turn += 1) {
  const account = { domain: `a${turn}.test`, email: `owner@a${turn}.test` };
  accounts.push(await store.write((tx) => createAccount(tx, account, systemClock.now(), systemChance)));
}

/** Each service gets its part of the connections, and of the accounts. */
async function services(count: number): Promise<number> {
  const options = { CARILLON_DATABASE: database, CARILLON_PORT: '0', CARILLON_LOG_LEVEL: 'info' };
  const started = await Promise.all(Array.from({ length: count }, () => startProcess(options, log)));
  const share = CONNECTIONS / count;
  const ask = async (forMs: number) => {
    const rates = started.map(({ baseUrl }, index) => {
      const calls = accounts
        .slice(index * share, (index + 1) * share)
        .map((account) => wired(baseUrl, createEvent(account)));
      const [first, ...more] = calls;
      if (first === undefined) throw new Error('no account is left');
      return callsPerSecond(baseUrl, [first, ...more], { connections: share, forMs });
    });
    return (await Promise.all(rates)).reduce((total, one) => total + one, 0);
  };
  await ask(WARM_UP_MS);
  const perSecond = await ask(ROUND_MS);
  await Promise.all(started.map((one) => one.stop('SIGTERM')));
  return perSecond;
}

/** The floor: one row, one commit, again and again. */
async function bareInserts(): Promise<number> {
  const pool = new pg.Pool({ connectionString: database, max: BARE_CONNECTIONS });
  let count = 0;
  const begun = performance.now();
  const keepInserting = async () => {
    while (performance.now() - begun < ROUND_MS) {
      await pool.query(
        "insert into events (account_id, event_name, start_date, due_date, project_id, date_created, user_id) values (1, 'Release', '2027-01-01 00:00:00', '2027-01-02 00:00:00', 0, 0, 1)",
      );
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: BARE_CONNECTIONS }, keepInserting));
  const seconds = (performance.now() - begun) / 1_000;
  await pool.end();
  return count / seconds;
}

const runs = [
  { name: 'bare', run: bareInserts },
  ...PROCESSES.map((count) => ({ name: String(count), run: () => services(count) })),
];
const rounds: Record<string, number>[] = [];
for (let round = 0; round < ROUNDS; round += 1) {
  const measured: Record<string, number> = {};
  // In another order each time, so that none is always first.
  const turn = round % runs.length;
  for (const { name, run } of [...runs.slice(turn), ...runs.slice(0, turn)]) measured[name] = await run();
  rounds.push(measured);
  const said = Object.entries(measured).map(([name, rate]) => `${name} ${rate.toFixed(0)}/s`);
  process.stdout.write(`round ${round + 1}: ${said.sort().join(', ')}\n`);
}

const figures = runs.map(({ name }) => {
  const rates = rounds.map((one) => one[name] ?? Number.NaN);
  const ratios = rounds.map((one) => (one[name] ?? Number.NaN) / (one['1'] ?? Number.NaN));
  return {
    run: name === 'bare' ? 'bare inserts' : `${name} ${name === '1' ? 'process' : 'processes'}`,
    perSecond: rounded(median(rates)),
    ratioToOne: rounded(median(ratios)),
    ratios: [rounded(Math.min(...ratios)), rounded(Math.max(...ratios))],
  };
});
keepStudy('nodes', { connections: CONNECTIONS, accounts: ACCOUNTS, figures, rounds });
for (const { run, perSecond, ratioToOne, ratios } of figures)
  process.stdout.write(`${run}: ${perSecond}/s, ${ratioToOne} of one process (${ratios.join(' to ')})\n`);
for (const close of closing.reverse()) await close();
await server.stop();
rmSync(folder, { recursive: true, force: true });
process.exit(0);
