import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { atEnd, type Cleanup, withCleanup } from '../../kit/cleanup.ts';
import type { TestStore } from '../../kit/service/stores.ts';
import type { LoadResult } from '../overload/generator.ts';
import { runGenerator } from '../overload/load.ts';
import type { ReliabilityTest, RunParameters, RunResult } from '../reliability-test.ts';
import type { AttackOrder } from './attacker.ts';
import { type Attack, type Attacker, attacks } from './attacks.ts';
import { type AttackFixture, setUp } from './fixture.ts';
import type { AttackCounters as AttackSeen } from './sockets.ts';

/** Rate of the honest calls, which does not decrease under attack. */
const HONEST_PER_SECOND = 40;
/** Maximum number of connections of the honest callers. */
const HONEST_CONNECTIONS = 96;

/** Length of the warm-up with honest calls, by the end of which most of the service is compiled. */
const WARM_UP_MS = 3_000;

/** Time between the first honest call and the attack. */
const LEAD_TIME_MS = 500;

/** Maximum time after the attack until the created events are delivered. */
const DELIVERY_TIMEOUT_MS = 5_000;

/**
 * Limits for the honest calls and for memory. A case of the quick run is so short that its p99 comes from the
 * first connections of the attack.
 */
const LIMITS = {
  long: { p99Ms: 200, succeed: 0.99, residentMiB: 512 },
  quick: { p99Ms: 2_000, succeed: 0.99, residentMiB: 512 },
};

const QUICK_SECONDS = 2;

const attackerModule = fileURLToPath(new URL('attacker.ts', import.meta.url));

export const oneCaller: ReliabilityTest = {
  id: 'R16',
  name: 'one-caller',
  title:
    'one caller attacks: slow bodies, slow readers, huge pages, expensive headers and files, changes of thousands of records, sign-in floods',
  promise:
    'at least 99 % of the calls of others succeed, with a p99 of at most 200 ms; deliveries continue; the service needs at most 512 MiB',
  unit: 'seconds for each attack',
  quick: QUICK_SECONDS,
  full: 120,
  execute,
};

/** One attack, and the attackers that run it one after the other. */
type AttackCase = { readonly attack: Attack; readonly by: readonly Attacker[] };

/** Measurements during one attack. */
export type Measurements = {
  readonly honest: LoadResult;
  readonly attack: AttackSeen;
  /** Number of events that were created during the attack. */
  readonly created: number;
  /** Number of these events that never arrived at the target. */
  readonly undelivered: number;
  /** Peak resident memory of the service; undefined on systems without `/proc`. */
  readonly residentMiB: number | undefined;
};

async function execute(run: RunParameters): Promise<RunResult> {
  const isQuick = run.count <= QUICK_SECONDS;
  const counts: Record<string, number | string> = {};
  const broken: string[] = [];
  const runOn = async (store: TestStore, chosen: readonly AttackCase[]) => {
    const fixture = await setUp(store, run.context);
    await withCleanup((context) => runHonestCalls(context, fixture, WARM_UP_MS));
    for (const { attack, by } of chosen) {
      for (const attacker of by) {
        const seen = await measureAttack(fixture, attack, attacker, (run.count * 1_000) / by.length);
        const name = `${store.name}: ${attack.name}, by ${attacker}`;
        counts[name] = formatMeasurements(seen);
        run.log(`${name}: ${counts[name]}`);
        broken.push(...checkAttack(seen, isQuick ? LIMITS.quick : LIMITS.long).map((line) => `${name}: ${line}`));
      }
    }
    const code = await fixture.service.stop('SIGTERM');
    if (code !== 0) broken.push(`${store.name}: the service ended with exit code ${code}`);
  };
  if (isQuick) {
    await Promise.all(run.stores.map((store, index) => runOn(store, casesFor(index))));
  } else {
    const all = attacks.map((attack) => ({ attack, by: attack.by }));
    for (const store of run.stores) await runOn(store, all);
  }
  return { counts, broken };
}

/**
 * Returns the attacks of the quick run on one database: each attack by one of its attackers, and by another one on the
 * next database. The attackers take turns, so that each of them makes some of the attacks.
 */
export function casesFor(index: number): readonly AttackCase[] {
  return attacks.map((attack, number) => {
    const by = attack.by[(number + index) % attack.by.length];
    return { attack, by: by === undefined ? [] : [by] };
  });
}

function measureAttack(
  fixture: AttackFixture,
  attack: Attack,
  by: Attacker,
  durationMs: number,
): Promise<Measurements> {
  return withCleanup(async (context) => {
    const { service, target } = fixture;
    const resident = samplePeakResident(context, service.process.pid ?? 0);
    const calling = runHonestCalls(context, fixture, LEAD_TIME_MS + durationMs);
    await wait(LEAD_TIME_MS);
    const attacking = runAttack(context, {
      attack: attack.name,
      by,
      origin: service.baseUrl,
      headers: fixture.attackers[by],
      calendar: fixture.calendar,
      task: fixture.tasks[by],
      durationMs,
    });
    const [{ answered }, seen] = await Promise.all([calling, attacking]);
    const undelivered = await countUndelivered(answered.locations, target);
    return { honest: answered, attack: seen, created: answered.locations.length, undelivered, residentMiB: resident() };
  });
}

function runHonestCalls(context: Cleanup, { service, honest }: AttackFixture, durationMs: number) {
  const load = { connections: HONEST_CONNECTIONS, rate: HONEST_PER_SECOND, durationMs };
  return runGenerator(context, { origin: service.baseUrl, requests: honest, ...load }, service);
}

async function runAttack(context: Cleanup, orders: AttackOrder): Promise<AttackSeen> {
  const child = fork(attackerModule);
  atEnd(context, () => child.kill('SIGKILL'));
  child.send(orders);
  return receiveCounters(child);
}

async function receiveCounters(child: ChildProcess): Promise<AttackSeen> {
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the attack ended with exit code ${code}`);
  });
  ended.catch(() => undefined);
  const [seen] = await Promise.race([once(child, 'message'), ended]);
  return seen as AttackSeen;
}

/** Returns how many of the created records did not arrive at the target in time. */
async function countUndelivered(created: readonly string[], { received }: AttackFixture['target']): Promise<number> {
  const giveUpAt = performance.now() + DELIVERY_TIMEOUT_MS;
  for (;;) {
    const arrived = new Set(received.map(({ resourceUrl }) => resourceUrl));
    const missing = created.filter((address) => !arrived.has(address)).length;
    if (missing === 0 || performance.now() > giveUpAt) return missing;
    await wait(50);
  }
}

/** Returns the violations of the limits. */
export function checkAttack(
  { honest, attack, created, undelivered, residentMiB = 0 }: Measurements,
  bounds = LIMITS.long,
): string[] {
  const broken: string[] = [];
  const succeeded = successShareOf(honest);
  if (attack.connections === 0) broken.push('the attack opened no connection');
  if (!(succeeded >= bounds.succeed)) broken.push(`${percent(succeeded)} of the honest calls succeeded`);
  if (!(honest.p99 <= bounds.p99Ms)) broken.push(`p99 of the honest calls was ${honest.p99} ms`);
  if (created === 0) broken.push('no event was created');
  if (undelivered > 0) broken.push(`${undelivered} of ${created} events were not delivered`);
  if (residentMiB > bounds.residentMiB) broken.push(`${residentMiB} MiB were resident`);
  return broken;
}

/** Returns the share of calls that succeeded. Calls that could not even be sent count as failed. */
function successShareOf({ byStatus, unanswered, unsent }: LoadResult): number {
  const good = (byStatus[200] ?? 0) + (byStatus[201] ?? 0);
  const all = Object.values(byStatus).reduce((sum, count) => sum + count, unanswered + unsent);
  return good / all;
}

function formatMeasurements({ honest, attack, created, undelivered, residentMiB }: Measurements): string {
  const answered = Object.entries(attack.byStatus).map(([status, count]) => `${count} × ${status || 'broken off'}`);
  const failed = Object.entries(honest.byStatus).filter(([status]) => status !== '200' && status !== '201');
  return [
    `${percent(successShareOf(honest))} succeeded`,
    ...failed.map(([status, count]) => `${count} × ${status}`),
    ...(honest.unanswered > 0 ? [`${honest.unanswered} without a response`] : []),
    ...(honest.unsent > 0 ? [`${honest.unsent} not sent`] : []),
    `p50 ${honest.p50} ms`,
    `p99 ${honest.p99} ms`,
    `${created - undelivered} of ${created} delivered`,
    `${residentMiB ?? '–'} MiB`,
    `attack: ${[`${attack.connections} connections`, ...answered].join(', ')}`,
  ].join('; ');
}

function percent(share: number): string {
  return `${Math.round(share * 1_000) / 10} %`;
}

const SAMPLE_INTERVAL_MS = 100;

/**
 * Samples the resident memory of a process and its children from now on. The returned function returns the peak in
 * MiB, or undefined on systems without `/proc`.
 */
function samplePeakResident(context: Cleanup, pid: number): () => number | undefined {
  if (!existsSync(`/proc/${pid}/status`)) return () => undefined;
  let peak = 0;
  const sampling = setInterval(() => {
    peak = Math.max(peak, residentMibOf(pid));
  }, SAMPLE_INTERVAL_MS);
  atEnd(context, () => clearInterval(sampling));
  return () => Math.round(peak);
}

/**
 * Returns the resident memory of a process and its children, in MiB. A child maps the same files as its parent,
 * above all the Node binary, so only its own memory is added. A child that has not yet executed its program shares the
 * memory of its parent, and adds nothing.
 */
function residentMibOf(pid: number, field: 'VmRSS' | 'RssAnon' = 'VmRSS'): number {
  const [, kib = '0'] = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(readProcFile(`/proc/${pid}/status`)) ?? [];
  const children = readProcFile(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);
  const commandLine = readProcFile(`/proc/${pid}/cmdline`);
  return children
    .filter((child) => readProcFile(`/proc/${child}/cmdline`) !== commandLine)
    .reduce((sum, child) => sum + residentMibOf(child, 'RssAnon'), Number(kib) / 1_024);
}

/** Returns the content of a file, or an empty text for a process that has ended meanwhile. */
function readProcFile(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
