import { hash } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { Ended } from './disk.ts';
import { makeTemplate } from './seed-database.ts';
import { live } from './world.ts';

/** Which seeds a worker takes, and of which it takes every so many twice. */
export type Task = {
  readonly seeds: readonly number[];
  readonly twiceEvery: number;
  readonly folder: string;
};

/** What a worker says of one seed. */
export type Report = {
  readonly seed: number;
  readonly broken: readonly string[];
  readonly hits: readonly (readonly [point: string, count: number])[];
  readonly counts: Readonly<Record<string, number>>;
  /** Whether it was lived through twice. */
  readonly twice: boolean;
  /** What happened, where something is broken. */
  readonly trace: readonly string[];
};

const { seeds, twiceEvery, folder }: Task = workerData;
const template = await makeTemplate();
/** What nobody caught would have been the end of the process. */
let uncaught: string[] = [];
for (const way of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(way, (error: unknown) => {
    if (!(error instanceof Ended)) uncaught.push(`${way}: ${error instanceof Error ? error.stack : error}`);
  });
}
for (const seed of seeds) parentPort?.postMessage(await reportOf(seed));

async function reportOf(seed: number): Promise<Report> {
  const twice = seed % twiceEvery === 0;
  uncaught = [];
  try {
    const { broken, hits, counts, trace } = await live(seed, template, folder);
    const again = twice ? (await live(seed, template, folder)).trace : trace;
    const differs = trace.findIndex((line, index) => line !== again[index]);
    const other = `another trace the second time, from line ${differs + 1} on: ${trace[differs]} | ${again[differs]}`;
    const all = [...broken, ...uncaught, ...(digest(trace) === digest(again) ? [] : [other])];
    return { seed, broken: all, hits: [...hits], counts, twice, trace: all.length > 0 ? trace : [] };
  } catch (error) {
    const broken = [`broke off: ${error instanceof Error ? error.stack : error}`];
    return { seed, broken, hits: [], counts: {}, twice, trace: [] };
  }
}

function digest(trace: readonly string[]): string {
  return hash('sha256', trace.join('\n'));
}
