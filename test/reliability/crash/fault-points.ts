import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { within } from '../../kit/cleanup.ts';
import { eventually } from '../../kit/eventually.ts';
import type { SeededRandom } from '../../kit/random.ts';
import { temporaryFolder } from '../../kit/service/service.ts';
import type { Started } from '../../kit/service/service-process.ts';
import { type CrashLoop, KILLED, type LoopResult, startCrashLoop } from './crash-loop.ts';
import { filesOf, type Injection, inject, injectingFromTheStart, timesHappened } from './strace.ts';

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
const MAX_REQUESTS = 2_500;
/** Maximum time to wait for the call that is hit. */
const MAX_RUN_MS = 60_000;
/** Number of acknowledged requests after a fault that show that the service continues. */
const REQUESTS_AFTER_FAULT = 5;
const POLL_MS = 10;

/** Maximum number of faults on one database, so that the final comparison stays small. */
const PLACES_PER_RUN = 50;
/** Maximum number of client calls on one database, so that the final comparison stays small. */
const CALLS_PER_RUN = 20_000;

export type Row = {
  readonly phase: Phase;
  readonly call: string;
  readonly injected: (typeof effects)[number];
  readonly maxK: number;
};

/**
 * Returns every system call of every phase with every effect. `count` limits the number of occurrences at which a
 * call is hit.
 */
export function rows(count: number): Row[] {
  return effects.flatMap((injected) =>
    (Object.keys(callsByPhase) as Phase[]).flatMap((phase) =>
      callsByPhase[phase].map((call) => ({ phase, call, injected, maxK: Math.min(count, injected.most) })),
    ),
  );
}

export const formatRow = ({ phase, call, injected }: Row): string => `${phase}, ${call}, ${injected.effect}`;

/** Runs one row: injects the fault at the first occurrence of the call, then at the second, and so on to the last. */
export async function runRow(row: Row, random: SeededRandom): Promise<LoopResult[]> {
  const found: LoopResult[] = [];
  // A first start needs a new database each time.
  const placesPerRun = row.phase === 'the first start' ? 1 : PLACES_PER_RUN;
  for (let k = 1, more = true; more && k <= row.maxK; ) {
    const first = k;
    const last = Math.min(row.maxK, first + placesPerRun - 1);
    await within(async (context) => {
      const database = join(temporaryFolder(context), 'carillon.db');
      const loop = await startCrashLoop(context, { database: `sqlite:${database}`, random: random.fork() });
      const fixture: Fixture = { row, loop, database, service: undefined, injectedCount: 0, survivedCount: 0 };
      const one = await loop.runAndCheck(async () => {
        if (row.phase !== 'the first start') await ensureRunning(fixture);
        for (; more && k <= last && loop.observers.calls.length < CALLS_PER_RUN; k += 1) {
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
  readonly row: Row;
  readonly loop: CrashLoop;
  readonly database: string;
  /** Undefined while no service runs. */
  service: Started | undefined;
  injectedCount: number;
  survivedCount: number;
};

async function ensureRunning(fixture: Fixture): Promise<Started> {
  fixture.service ??= await fixture.loop.start();
  return fixture.service;
}

const hasEnded = ({ process }: Started): boolean => process.exitCode !== null || process.signalCode !== null;

/** The function of each phase that injects the fault at the k-th call. It returns whether that call occurred. */
const injectors: Readonly<Record<Phase, (fixture: Fixture, k: number) => Promise<boolean>>> = {
  'the first start': starting,
  'a start': starting,
  'at work': working,
  'a checkpoint': working,
  'a stop': stopping,
};

function injectionAt({ row, database }: Fixture, k: number): Injection {
  const { call, injected, phase } = row;
  return {
    call,
    effect: injected.effect,
    from: k,
    to: k + injected.inARow - 1,
    // Only a checkpoint writes to the database file itself.
    files: phase === 'a checkpoint' ? [database] : filesOf(database),
    log: `${database}.strace`,
  };
}

async function starting(fixture: Fixture, k: number): Promise<boolean> {
  const { loop, row } = fixture;
  if (fixture.service !== undefined) await kill(fixture, 'killed to start anew');
  const injection = injectionAt(fixture, k);
  const runBy = injectingFromTheStart(injection);
  const service = await loop.start({ runBy }).catch((error: Error) => {
    assertExpectedExit(fixture, injection, error.message);
    return undefined;
  });
  fixture.service = service;
  const happened = service === undefined || timesHappened(injection) > 0;
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
  const isMeant = isError ? timesHappened(injection) > 0 : said === KILLED;
  if (!isMeant || said.includes('\n')) throw new Error(`it ended otherwise than it was made to: ${said}`);
}

async function working(fixture: Fixture, k: number): Promise<boolean> {
  const { loop, row } = fixture;
  const service = await ensureRunning(fixture);
  const injection = injectionAt(fixture, k);
  const release = await inject(service.process, injection);
  const { tally } = loop.observers;
  const [enough, giveUpAt] = [tally.acknowledged + MAX_REQUESTS, performance.now() + MAX_RUN_MS];
  const isOver = () =>
    hasEnded(service) || timesHappened(injection) >= row.injected.inARow || tally.acknowledged > enough;
  while (!isOver() && performance.now() < giveUpAt) await wait(POLL_MS);
  // After an error the service continues or exits. strace is detached only after this is known, because detaching
  // during an exit hangs.
  const goesOn = loop.observers.untilAcknowledged(REQUESTS_AFTER_FAULT);
  const known = new AbortController();
  const ends = once(service.process, 'exit', { signal: known.signal });
  for (const one of [goesOn, ends]) one.catch(() => undefined);
  if (!hasEnded(service)) await Promise.race([goesOn, ends]);
  known.abort();
  await release();
  const happened = service.process.signalCode === 'SIGKILL' || timesHappened(injection) > 0;
  if (happened) fixture.injectedCount += 1;
  if (!hasEnded(service)) {
    fixture.survivedCount += Number(happened);
    return happened;
  }
  if (!happened) throw new Error(`the service ended by itself, before ${row.call} ${k}`);
  await kill(fixture, `${row.call} ${k}`);
  return true;
}

async function stopping(fixture: Fixture, k: number): Promise<boolean> {
  const { loop, row } = fixture;
  const service = await ensureRunning(fixture);
  await loop.observers.untilAcknowledged(REQUESTS_AFTER_FAULT);
  const injection = injectionAt(fixture, k);
  const release = await inject(service.process, injection);
  const code = await service.stop('SIGTERM');
  await release();
  const happened = code === null || timesHappened(injection) > 0;
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
const COMMIT_RUN_MS = 30_000;

/** Starts services one after the other on one database. The k-th service kills itself at its k-th commit. */
export function killedAtCommits(count: number, random: SeededRandom): Promise<LoopResult> {
  return within(async (context) => {
    const database = `sqlite:${temporaryFolder(context)}/carillon.db`;
    const loop = await startCrashLoop(context, { database, random: random.fork() });
    let killed = 0;
    const found = await loop.runAndCheck(async () => {
      for (let commit = 1; commit <= count; commit += 1) {
        const DIES = `${random.one(['before', 'after'])} ${commit}`;
        const environment = { NODE_OPTIONS: `--import=${killerModule}`, DIES };
        // The first commits are made before the service is ready, so a service that dies at one of them does not
        // start.
        const service = await loop.start({ environment }).catch((error: Error) => {
          if (error.message !== KILLED) throw error;
          return undefined;
        });
        if (service !== undefined) await eventually(() => service.process.signalCode, Boolean, COMMIT_RUN_MS);
        killed += 1;
        await loop.recordCrash(`killed ${DIES} commits`);
      }
      await loop.start();
    });
    return { ...found, counts: { 'killed before or after a commit': killed, ...found.counts } };
  });
}
