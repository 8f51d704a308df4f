import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { systemClock } from '../src/clock.ts';
import { record } from '../src/delivery/record.ts';
import { AccountWrite } from '../src/store/account.ts';
import type { Store } from '../src/store/store.ts';
import { openAt } from '../test/harness/database.ts';
import { startPostgres } from '../test/harness/postgres.ts';
import { newPostgresDatabase } from '../test/harness/postgres-databases.ts';
import { latencies, median, moment, quantile, rounded } from './measured.ts';
import { keepStudy } from './results.ts';
import { claimsPerSecond, settledPerSecond, wakeUps } from './scale-floor.ts';
import type { Report } from './scale-node.ts';
import { Processes } from './scale-processes.ts';
import { HOOKS_OF_AN_ACCOUNT, oweToBells, oweToNoisy, seedAccounts, seedNoisy } from './scale-seed.ts';

// Engines, lanes and leases, as the service has them, in one, two and four processes on one PostgreSQL, while the
// accounts and hooks grow. No HTTP: an attempt is a 200, at once or after a delay.
const { values } = parseArgs({ options: { full: { type: 'boolean' } } });
const HOOKS = values.full ? [10_000, 100_000, 1_000_000] : [10_000, 100_000];
const PROCESSES = [1, 2, 4];
const WAKE_UPS = values.full ? 1_000 : 400;
const WAKE_UPS_A_SECOND = 100;
const LANES_CLAIMED = values.full ? 20_000 : 5_000;
const SETTLED_LANES = 500;
const SETTLED_EACH = values.full ? 80 : 30;
const EQUAL_LANES = 400;
const EQUAL_EACH = 20;
const EQUAL_MS = 5;
const NOISY_EACH = 40;
const NOISY_MS = 100;
const FLOOR_WAKE_UPS = 300;

const closing: (() => unknown)[] = [];
const context = { after: (close: () => unknown) => void closing.push(close) };
const server = await startPostgres();
process.env.TEST_DATABASE_URL = server.address;
const database = await newPostgresDatabase(context);
const store = await openAt(context, database);
const client = new pg.Client({ connectionString: database });
await client.connect();

const say = (line: string) => void process.stdout.write(`${line}\n`);

/** When each record's commit was known, by record. */
type Committed = Map<number, number>;

let records = 0;

/** Commits occurrences of accounts chosen evenly, so many a second, each by the way that every change takes. */
async function ring(writer: Store, accounts: number, count: number): Promise<Committed> {
  const committed: Committed = new Map();
  const begun = moment();
  const writes: Promise<void>[] = [];
  for (let turn = 0; turn < count; turn += 1) {
    const waitMs = begun + (turn * 1_000) / WAKE_UPS_A_SECOND - moment();
    if (waitMs > 1) await sleep(waitMs);
    records += 1;
    const recordId = records;
    const accountId = 1 + ((recordId * 7_919) % accounts);
    const write = writer.write(async (tx) => {
      const account = new AccountWrite(tx, accountId, systemClock.now(), 'beside');
      record(account, [{ kind: 'new_event', recordId, userId: accountId }]);
    });
    writes.push(write.then(() => void committed.set(recordId, moment())));
  }
  await Promise.all(writes);
  return committed;
}

/** When nothing was owed any more. */
async function drained(): Promise<number> {
  for (;;) {
    const { rows } = await client.query<{ is_owed: boolean }>('select exists (select 1 from owed) as is_owed');
    if (!rows[0]?.is_owed) return moment();
    await sleep(10);
  }
}

/** From the commit to the beginning of the attempt, milliseconds. */
function waitsOf(committed: Committed, reports: readonly Report[]): number[] {
  return reports.flatMap(({ begun }) =>
    begun.flatMap(([, recordId, at]) => {
      const since = committed.get(recordId);
      return since === undefined ? [] : [Math.max(0, at - since)];
    }),
  );
}

/** When the first attempt began, and when the last one ended. */
function spanOf(reports: readonly Report[]): { first: number; last: number } {
  const busy = reports.filter((report) => report.settled > 0);
  return { first: Math.min(...busy.map((one) => one.firstAt)), last: Math.max(...busy.map((one) => one.lastAt)) };
}

const perSecond = (count: number, fromMs: number, toMs: number) => rounded(count / ((toMs - fromMs) / 1_000));

const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);

async function wakeUp(nodes: Processes, accounts: number) {
  await nodes.reports();
  const committed = await ring(store, accounts, WAKE_UPS);
  await drained();
  const waits = waitsOf(committed, await nodes.reports());
  if (waits.length !== committed.size) throw new Error(`${committed.size} committed, ${waits.length} begun`);
  return latencies(waits);
}

/** Very many lanes with one delivery each: what counts is how fast they are taken. */
async function claim(nodes: Processes, accounts: number) {
  await oweToBells(client, 1, Math.min(LANES_CLAIMED, accounts), 1);
  await drained();
  const reports = await nodes.reports();
  const claimed = sum(reports.map((one) => one.claimed));
  const { first, last } = spanOf(reports);
  return {
    lanes: claimed,
    perSecond: perSecond(claimed, first, last),
    askedInVain: rounded(sum(reports.map((one) => one.missed)) / claimed),
    byProcess: reports.map((one) => one.claimed),
  };
}

/** Fewer lanes with much to tell: what counts is how fast it is written down. */
async function settle(nodes: Processes) {
  await oweToBells(client, 1, SETTLED_LANES, SETTLED_EACH);
  const end = await drained();
  const reports = await nodes.reports();
  const settled = sum(reports.map((one) => one.settled));
  return {
    deliveries: settled,
    perSecond: perSecond(settled, spanOf(reports).first, end),
    byProcess: reports.map((one) => one.settled),
  };
}

/** Lanes with the same work, targets with the same delay: how long the slowest waits beside the middle one. */
async function equalLanes(nodes: Processes) {
  await nodes.delay(EQUAL_MS);
  await oweToBells(client, 1, EQUAL_LANES, EQUAL_EACH);
  await drained();
  await nodes.delay(0);
  const begun = (await nodes.reports()).flatMap((report) => report.begun);
  const first = Math.min(...begun.map(([, , at]) => at));
  const waits = new Map<number, number[]>();
  for (const [hookId, , at] of begun) waits.set(hookId, [...(waits.get(hookId) ?? []), at - first]);
  const means = [...waits.values()].map((all) => sum(all) / all.length);
  const ends = [...waits.values()].map((all) => Math.max(...all));
  return {
    lanes: waits.size,
    each: EQUAL_EACH,
    medianWaitMs: rounded(median(means)),
    mostToMedian: rounded(quantile(means, 1) / median(means)),
    lastToMedian: rounded(quantile(ends, 1) / median(ends)),
  };
}

/** Quiet accounts, alone and beside one whose thousand slow hooks all have work. */
async function besideNoise(nodes: Processes, accounts: number, noisy: { from: number; to: number }) {
  const alone = await wakeUp(nodes, accounts);
  await nodes.delay(0, [{ ...noisy, ms: NOISY_MS }]);
  await oweToNoisy(client, NOISY_EACH);
  while (!(await nodes.reports()).some((report) => report.settled > 0)) await sleep(20);
  const committed = await ring(store, accounts, WAKE_UPS);
  const { rows } = await client.query<{ left: number }>(
    'select count(*)::int as left from owed where account_id = $1',
    [1_000_000_000],
  );
  const reports = await nodes.reports();
  await nodes.delay(0);
  await drained();
  const waits = waitsOf(committed, [...reports, ...(await nodes.reports())]);
  return {
    alone,
    beside: latencies(waits),
    noise: { owed: NOISY_EACH * 1_000, leftWhenQuietWereThrough: rows[0]?.left ?? 0 },
  };
}

const wakeUpMs: object[] = [];
const seeded: object[] = [];
let noisy = { from: 0, to: 0 };
let accounts = 0;
const throughput: object[] = [];
const fairness: object[] = [];
const floor: Record<string, unknown> = {};
for (const hooks of HOOKS) {
  const begun = performance.now();
  await seedAccounts(client, accounts + 1, hooks / HOOKS_OF_AN_ACCOUNT);
  accounts = hooks / HOOKS_OF_AN_ACCOUNT;
  const isLast = hooks === HOOKS.at(-1);
  if (isLast) noisy = await seedNoisy(client);
  seeded.push({ hooks, accounts, seconds: rounded((performance.now() - begun) / 1_000) });
  say(`${hooks} hooks of ${accounts} accounts`);
  const bare = await wakeUps(database, accounts, FLOOR_WAKE_UPS);
  say(`  bare SQL: woken, a lane taken and read in ${bare.p50} ms (p50), ${bare.p99} ms (p99)`);
  wakeUpMs.push({ hooks, processes: 0, bareSql: bare });
  if (isLast) {
    floor.claimsPerSecond = await claimsPerSecond(database, Math.min(LANES_CLAIMED, accounts));
    await oweToBells(client, 1, SETTLED_LANES, SETTLED_EACH);
    floor.settledPerSecond = await settledPerSecond(database);
    say(`  bare SQL on one connection: ${floor.claimsPerSecond} lanes/s taken, ${floor.settledPerSecond}/s settled`);
  }
  for (const count of PROCESSES) {
    const nodes = await Processes.start(database, count);
    const waits = await wakeUp(nodes, accounts);
    wakeUpMs.push({ hooks, processes: count, ...waits });
    say(`  ${count} processes: woken after ${waits.p50} ms (p50), ${waits.p95} ms (p95), ${waits.p99} ms (p99)`);
    if (isLast) {
      await nodes.stop();
      const fresh = await Processes.start(database, count);
      const claims = await claim(fresh, accounts);
      const settled = await settle(fresh);
      throughput.push({ processes: count, claims, settled });
      say(`    ${claims.perSecond} lanes/s claimed, ${settled.perSecond} deliveries/s settled`);
      const equal = await equalLanes(fresh);
      const noise = await besideNoise(fresh, accounts, noisy);
      fairness.push({ processes: count, equal, noise });
      say(
        `    equal lanes: the longest wait is ${equal.mostToMedian} of the middle one; quiet accounts beside a noisy one ` +
          `wait ${noise.beside.p50} ms (p50), ${noise.beside.p99} ms (p99), alone ${noise.alone.p50} and ${noise.alone.p99} ms`,
      );
      await fresh.stop();
    } else await nodes.stop();
  }
}
const { rows: state } = await client.query(
  "select deadlocks::int, xact_rollback::int as rollbacks, current_setting('server_version') as postgres from pg_stat_database where datname = current_database()",
);
keepStudy(values.full ? 'scale' : 'scale-small', {
  ...state[0],
  form: values.full ? 'full' : 'small',
  seeded,
  floor,
  wakeUpMs,
  throughput,
  fairness,
});
await client.end();
for (const close of closing.reverse()) await close();
await server.stop();
process.exit(0);
