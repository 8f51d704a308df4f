import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { atEnd } from '../../kit/cleanup.ts';
import type { ReliabilityTest, RunParameters, RunResult } from '../reliability-test.ts';
import { EXCLUDED_HOOKS_COUNTER } from './checker.ts';
import { type FaultPoint, faultPoints } from './faults.ts';
import type { SeedReport, SeedTask } from './worker.ts';

/**
 * Reliability test R4: the real service in a simulated world that is derived from one seed, and in which every
 * possible fault occurs.
 */
export const simulation: ReliabilityTest = {
  id: 'R4',
  name: 'simulation',
  title: 'the whole service runs in simulated time on a real database, with injected faults and crashes',
  promise: 'no invariant is violated, and a run with the same seed has the same trace',
  unit: 'seeds',
  quick: 30,
  full: 10_000,
  execute,
};

/** One seed in 20 is replayed to compare the traces. */
const REPLAY_ONE_IN = 20;

/** Minimum number of seeds of a run in which each fault and each counted event must occur at least once. */
const MIN_SEEDS_FOR_COVERAGE = 200;

/** Returns the path of the file with the trace of a failing seed. */
const traceFileOf = (seed: number) =>
  join(process.env.TEST_LASTING_FOLDER ?? tmpdir(), `carillon-simulation-${seed}.txt`);

async function execute({ count, seed, context, log }: RunParameters): Promise<RunResult> {
  // The files are in memory if possible, because the cost of fsync does not matter here.
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'carillon-simulation-'));
  atEnd(context, () => rmSync(folder, { recursive: true, force: true }));
  const workers = Math.min(availableParallelism(), Math.ceil(count / 20));
  const seeds = Array.from({ length: count }, (_, index) => seed + index);
  const broken: string[] = [];
  const hits = new Map<string, number>();
  const totals = new Map<string, number>();
  let replayed = 0;
  let done = 0;
  const add = (report: SeedReport) => {
    done += 1;
    if (report.isReplayed) replayed += 1;
    for (const [point, hit] of report.hits) hits.set(point, (hits.get(point) ?? 0) + hit);
    for (const [what, counted] of Object.entries(report.counts)) totals.set(what, (totals.get(what) ?? 0) + counted);
    if (report.broken.length > 0) {
      writeFileSync(traceFileOf(report.seed), report.trace.join('\n'));
      const replayCommand = `npm run prove -- simulation --count 1 --seed ${report.seed}`;
      for (const what of report.broken) broken.push(`${what} (${replayCommand}; ${traceFileOf(report.seed)})`);
    }
    if (done % 500 === 0) log(`${done} seeds`);
  };
  await Promise.all(
    Array.from({ length: workers }, (_, own) => {
      const mine = seeds.filter((_seed, index) => index % workers === own);
      return runWorker({ seeds: mine, replayOneIn: count === 1 ? 1 : REPLAY_ONE_IN, folder }, add);
    }),
  );
  const points = Object.keys(faultPoints) as FaultPoint[];
  const counts = {
    ...Object.fromEntries(totals),
    'seeds replayed with the same trace': replayed,
    'fault points': points.length,
    ...Object.fromEntries(points.map((point) => [point, hits.get(point) ?? 0])),
  };
  const required = Object.entries(counts).filter(([what]) => what !== EXCLUDED_HOOKS_COUNTER);
  const missed = required.filter(([, counted]) => counted === 0 && count >= MIN_SEEDS_FOR_COVERAGE);
  return { counts, broken: [...broken, ...missed.map(([what]) => `never happened: ${what}`)] };
}

function runWorker(workerData: SeedTask, hear: (report: SeedReport) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    // The worker runs without the preloaded test modules, which would keep it from exiting.
    const worker = new Worker(new URL('./worker.ts', import.meta.url), { workerData, execArgv: [] });
    worker.on('message', hear);
    worker.on('error', reject);
    worker.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`a worker exited with ${code}`))));
  });
}
