import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { SeededRandom } from '../../../packages/chaos-receiver/src/random.ts';
import { withCleanup } from '../../kit/cleanup.ts';
import { eventually } from '../../kit/eventually.ts';
import { createTemporaryFolder } from '../../kit/service/service.ts';
import type { StartedProcess } from '../../kit/service/service-process.ts';
import { type CrashLoop, type LoopResult, START_KILLED_MESSAGE, startCrashLoop } from './crash-loop.ts';
import { countInjectedCalls, databaseFiles, type Injection, inject, injectingCommand } from './strace.ts';

/** System calls to inject faults into, by phase of the service. */
const callsByPhase = {
  'the first start': ['pwrite64', 'fsync', 'openat', 'ftruncate', 'unlink'],
  'a start': ['pwrite64', 'fsync', 'openat', 'ftruncate', 'unlink'],
  'at work': ['pwrite64', 'fsync'],
  'a checkpoint': ['pwrite64', 'fsync'],
  'a stop': ['pwrite64', 'fsync', 'ftruncate', 'unlink'],
} as const;
type Phase = keyof typeof callsByPhase;

/**
 * The effects to inject, with the maximum k and the number of consecutive calls that an effect hits. A disk stays
 * full for a while, so ENOSPC hits several calls.
 */
const effects = [
  { effect: 'signal=SIGKILL', called: 'killed at a call', most: 300, inARow: 1 },
  { effect: 'error=EIO', called: 'calls that failed with EIO', most: 200, inARow: 1 },
  { effect: 'error=ENOSPC', called: 'places with ENOSPC', most: 200, inARow: 5 },
] as const;

/** Number of acknowledged requests after which a call that has not occurred yet is not expected any more. */
const MAX_REQUESTS_BEFORE_CALL = 2_500;
/** Maximum time to wait for the call that is hit. */
const CALL_TIMEOUT_MS = 60_000;
/** Number of acknowledged requests after a fault that show that the service continues. */
const REQUESTS_AFTER_FAULT = 5;
const POLL_MS = 10;

/** Maximum number of faults on one database, so that the final comparison stays small. */
const MAX_FAULTS_PER_DATABASE = 50;
/** Maximum number of client calls on one database, so that the final comparison stays small. */
const MAX_CALLS_PER_DATABASE = 20_000;

export type FaultRow = {
  readonly phase: Phase;
  readonly call: string;
  readonly injected: (typeof effects)[number];
  readonly maxK: number;
};

/**
 * Returns every system call of every phase with every effect. `count` limits the number of occurrences at which a
 * call is hit.
 */
export function faultRows(count: number): FaultRow[] {
  return effects.flatMap((injected) =>
    (Object.keys(callsByPhase) as Phase[]).flatMap((phase) =>
      callsByPhase[phase].map((call) => ({ phase, call, injected, maxK: Math.min(count, injected.most) })),
    ),
  );
}

export const formatRow = ({ phase, call, injected }: FaultRow): string => `${phase}, ${call}, ${injected.effect}`;

/** Runs one row: injects the fault at the first occurrence of the call, then at the second, and so on to the last. */
export async function runRow(row: FaultRow, random: SeededRandom): Promise<LoopResult[]> {
  const found: LoopResult[] = [];
  // A first start needs a new database each time.
  const faultsPerDatabase = row.phase === 'the first start' ? 1 : MAX_FAULTS_PER_DATABASE;
  for (let k = 1, more = true; more && k <= row.maxK; ) {
    const first = k;
    const last = Math.min(row.maxK, first + faultsPerDatabase - 1);
    await withCleanup(async (context) => {
      const database = join(createTemporaryFolder(context), 'carillon.db');
      const loop = await startCrashLoop(context, { database: `sqlite:${database}`, random: random.fork() });
      const fixture: Fixture = { row, loop, database, service: undefined, injectedCount: 0, survivedCount: 0 };
      const one = await loop.runAndCheck(async () => {
        if (row.phase !== 'the first start') await ensureRunning(fixture);
        for (; more && k <= last && loop.observers.calls.length < MAX_CALLS_PER_DATABASE; k += 1) {
          more = await injectors[row.phase](fixture, k);
        }
        await ensureRunning(fixture);
      });
      const counts = {
        [row.injected.called]: fixture.injectedCount,
        'failed calls that the service survived': fixture.survivedCount,
        ...one.counts,
      };
      found.push({ counts, broken: one.broken.map((line) => `${formatRow(row)}, k = ${first} to ${k - 1}: ${line}`) });
    });
  }
  return found;
}

type Fixture = {
  readonly row: FaultRow;
  readonly loop: CrashLoop;
  readonly database: string;
  /** Undefined while no service runs. */
  service: StartedProcess | undefined;
  injectedCount: number;
  survivedCount: number;
};

async function ensureRunning(fixture: Fixture): Promise<StartedProcess> {
  fixture.service ??= await fixture.loop.start();
  return fixture.service;
}

const hasEnded = ({ process }: StartedProcess): boolean => process.exitCode !== null || process.signalCode !== null;

/** The function of each phase that injects the fault at the k-th call. It returns whether that call occurred. */
const injectors: Readonly<Record<Phase, (fixture: Fixture, k: number) => Promise<boolean>>> = {
  'the first start': injectDuringStart,
  'a start': injectDuringStart,
  'at work': injectUnderLoad,
  'a checkpoint': injectUnderLoad,
  'a stop': injectDuringStop,
};

function toInjection({ row, database }: Fixture, k: number): Injection {
  const { call, injected, phase } = row;
  return {
    call,
    effect: injected.effect,
    from: k,
    to: k + injected.inARow - 1,
    // Only a checkpoint writes to the database file itself.
    files: phase === 'a checkpoint' ? [database] : databaseFiles(database),
    log: `${database}.strace`,
  };
}

async function injectDuringStart(fixture: Fixture, k: number): Promise<boolean> {
  const { loop, row } = fixture;
  if (fixture.service !== undefined) await kill(fixture, 'killed to start anew');
  const injection = toInjection(fixture, k);
  const runBy = injectingCommand(injection);
  const service = await loop.start({ runBy }).catch((error: Error) => {
    assertExpectedExit(fixture, injection, error.message);
    return undefined;
  });
  fixture.service = service;
  const happened = service === undefined || countInjectedCalls(injection) > 0;
  if (happened) fixture.injectedCount += 1;
  if (happened && service !== undefined) fixture.survivedCount += 1;
  await kill(fixture, `${row.call} ${k} of a start`);
  await ensureRunning(fixture);
  await loop.observers.untilAcknowledged(1);
  return happened;
}

/**
 * Asserts why the service did not start: its call failed and it printed one line, or it was killed and printed
 * nothing.
 */
function assertExpectedExit({ row }: Fixture, injection: Injection, said: string): void {
  const isError = row.injected.effect !== 'signal=SIGKILL';
  const isMeant = isError ? countInjectedCalls(injection) > 0 : said === START_KILLED_MESSAGE;
  if (!isMeant || said.includes('\n')) throw new Error(`it ended otherwise than it was made to: ${said}`);
}

async function injectUnderLoad(fixture: Fixture, k: number): Promise<boolean> {
  const { loop, row } = fixture;
  const service = await ensureRunning(fixture);
  const injection = toInjection(fixture, k);
  const release = await inject(service.process, injection);
  const { tally } = loop.observers;
  const [enough, giveUpAt] = [tally.acknowledged + MAX_REQUESTS_BEFORE_CALL, performance.now() + CALL_TIMEOUT_MS];
  const isOver = () =>
    hasEnded(service) || countInjectedCalls(injection) >= row.injected.inARow || tally.acknowledged > enough;
  while (!isOver() && performance.now() < giveUpAt) await wait(POLL_MS);
  // After an error the service continues or exits. strace is detached only after this is known, because detaching
  // during an exit hangs.
  const continues = loop.observers.untilAcknowledged(REQUESTS_AFTER_FAULT);
  const known = new AbortController();
  const ends = once(service.process, 'exit', { signal: known.signal });
  for (const one of [continues, ends]) one.catch(() => undefined);
  if (!hasEnded(service)) await Promise.race([continues, ends]);
  known.abort();
  await release();
  const happened = service.process.signalCode === 'SIGKILL' || countInjectedCalls(injection) > 0;
  if (happened) fixture.injectedCount += 1;
  if (!hasEnded(service)) {
    fixture.survivedCount += Number(happened);
    return happened;
  }
  if (!happened) throw new Error(`the service ended by itself, before ${row.call} ${k}`);
  await kill(fixture, `${row.call} ${k}`);
  return true;
}

async function injectDuringStop(fixture: Fixture, k: number): Promise<boolean> {
  const { loop, row } = fixture;
  const service = await ensureRunning(fixture);
  await loop.observers.untilAcknowledged(REQUESTS_AFTER_FAULT);
  const injection = toInjection(fixture, k);
  const release = await inject(service.process, injection);
  const code = await service.stop('SIGTERM');
  await release();
  const happened = code === null || countInjectedCalls(injection) > 0;
  if (happened) fixture.injectedCount += 1;
  else if (code !== 0) throw new Error(`exit code ${code} before ${row.call} ${k}`);
  if (happened && code === 0) fixture.survivedCount += 1;
  await kill(fixture, `${row.call} ${k} of a stop`);
  return happened;
}

/** Kills the service if it still runs, and records its death. */
async function kill(fixture: Fixture, when: string): Promise<void> {
  await fixture.service?.stop('SIGKILL');
  fixture.service = undefined;
  await fixture.loop.recordCrash(when);
}

const killerModule = new URL('./kill-at-commit.ts', import.meta.url).href;

/** Maximum time until a service under load has made its k-th commit. */
const COMMIT_TIMEOUT_MS = 30_000;

/** Starts services one after the other on one database. The k-th service kills itself at its k-th commit. */
export function killAtCommits(count: number, random: SeededRandom): Promise<LoopResult> {
  return withCleanup(async (context) => {
    const database = `sqlite:${createTemporaryFolder(context)}/carillon.db`;
    const loop = await startCrashLoop(context, { database, random: random.fork() });
    let killed = 0;
    const found = await loop.runAndCheck(async () => {
      for (let commit = 1; commit <= count; commit += 1) {
        const DIES = `${random.pick(['before', 'after'])} ${commit}`;
        const environment = { NODE_OPTIONS: `--import=${killerModule}`, DIES };
        // The first commits are made before the service is ready, so a service that dies at one of them does not
        // start.
        const service = await loop.start({ environment }).catch((error: Error) => {
          if (error.message !== START_KILLED_MESSAGE) throw error;
          return undefined;
        });
        if (service !== undefined) await eventually(() => service.process.signalCode, Boolean, COMMIT_TIMEOUT_MS);
        killed += 1;
        await loop.recordCrash(`killed ${DIES} commits`);
      }
      await loop.start();
    });
    return { ...found, counts: { 'killed before or after a commit': killed, ...found.counts } };
  });
}
