import { hash } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { ProcessEnded } from './disk.ts';
import { createTemplate } from './seed-database.ts';
import { runSeed } from './world.ts';

/** The seeds of a worker. One seed in `replayOneIn` is replayed. */
export type SeedTask = {
  readonly seeds: readonly number[];
  readonly replayOneIn: number;
  readonly folder: string;
};

/** Result of one seed. */
export type SeedReport = {
  readonly seed: number;
  readonly broken: readonly string[];
  readonly hits: readonly (readonly [point: string, count: number])[];
  readonly counts: Readonly<Record<string, number>>;
  /** Whether the seed was replayed. */
  readonly isReplayed: boolean;
  /** Trace of the run, if it has violations. */
  readonly trace: readonly string[];
};

const { seeds, replayOneIn, folder }: SeedTask = workerData;
const template = await createTemplate();
/** Uncaught errors, which would have ended a real process. */
let uncaught: string[] = [];
for (const way of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(way, (error: unknown) => {
    if (!(error instanceof ProcessEnded)) uncaught.push(`${way}: ${error instanceof Error ? error.stack : error}`);
  });
}
for (const seed of seeds) parentPort?.postMessage(await runAndReport(seed));

async function runAndReport(seed: number): Promise<SeedReport> {
  const isReplayed = seed % replayOneIn === 0;
  uncaught = [];
  try {
    const { broken, hits, counts, trace } = await runSeed(seed, template, folder);
    const replayedTrace = isReplayed ? (await runSeed(seed, template, folder)).trace : trace;
    const differs = trace.findIndex((line, index) => line !== replayedTrace[index]);
    const other = `the traces of two runs differ from line ${differs + 1} on: ${trace[differs]} | ${replayedTrace[differs]}`;
    const all = [...broken, ...uncaught, ...(digest(trace) === digest(replayedTrace) ? [] : [other])];
    return { seed, broken: all, hits: [...hits], counts, isReplayed, trace: all.length > 0 ? trace : [] };
  } catch (error) {
    const broken = [`aborted: ${error instanceof Error ? error.stack : error}`];
    return { seed, broken, hits: [], counts: {}, isReplayed, trace: [] };
  }
}

function digest(trace: readonly string[]): string {
  return hash('sha256', trace.join('\n'));
}
