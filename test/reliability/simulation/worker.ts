import { hash } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { ProcessEnded } from './disk.ts';
import { makeTemplate } from './seed-database.ts';
import { runSeed } from './world.ts';

/** The seeds of a worker. One seed in `replayOneIn` is replayed. */
export type Task = {
  readonly seeds: readonly number[];
  readonly replayOneIn: number;
  readonly folder: string;
};

/** Result of one seed. */
export type Report = {
  readonly seed: number;
  readonly broken: readonly string[];
  readonly hits: readonly (readonly [point: string, count: number])[];
  readonly counts: Readonly<Record<string, number>>;
  /** Whether the seed was replayed. */
  readonly isReplayed: boolean;
  /** Trace of the run, if it has violations. */
  readonly trace: readonly string[];
};

const { seeds, replayOneIn, folder }: Task = workerData;
const template = await makeTemplate();
/** Uncaught errors, which would have ended a real process. */
let uncaught: string[] = [];
for (const way of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(way, (error: unknown) => {
    if (!(error instanceof ProcessEnded)) uncaught.push(`${way}: ${error instanceof Error ? error.stack : error}`);
  });
}
for (const seed of seeds) parentPort?.postMessage(await reportOf(seed));

async function reportOf(seed: number): Promise<Report> {
  const isReplayed = seed % replayOneIn === 0;
  uncaught = [];
  try {
    const { broken, hits, counts, trace } = await runSeed(seed, template, folder);
    const again = isReplayed ? (await runSeed(seed, template, folder)).trace : trace;
    const differs = trace.findIndex((line, index) => line !== again[index]);
    const other = `the traces of two runs differ from line ${differs + 1} on: ${trace[differs]} | ${again[differs]}`;
    const all = [...broken, ...uncaught, ...(digest(trace) === digest(again) ? [] : [other])];
    return { seed, broken: all, hits: [...hits], counts, isReplayed, trace: all.length > 0 ? trace : [] };
  } catch (error) {
    const broken = [`aborted: ${error instanceof Error ? error.stack : error}`];
    return { seed, broken, hits: [], counts: {}, isReplayed, trace: [] };
  }
}

function digest(trace: readonly string[]): string {
  return hash('sha256', trace.join('\n'));
}
