import { hash } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { makeTemplate } from './template.ts';
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
for (const seed of seeds) parentPort?.postMessage(await reportOf(seed));

async function reportOf(seed: number): Promise<Report> {
  const twice = seed % twiceEvery === 0;
  try {
    const { broken, hits, counts, trace } = await live(seed, template, folder);
    const again = twice ? (await live(seed, template, folder)).trace : trace;
    const differs = trace.findIndex((line, index) => line !== again[index]);
    const other = `another trace the second time, from line ${differs + 1} on: ${trace[differs]} | ${again[differs]}`;
    const all = digest(trace) === digest(again) ? broken : [...broken, other];
    return { seed, broken: all, hits: [...hits], counts, twice, trace: all.length > 0 ? trace : [] };
  } catch (error) {
    const broken = [`broke off: ${error instanceof Error ? error.stack : error}`];
    return { seed, broken, hits: [], counts: {}, twice, trace: [] };
  }
}

function digest(trace: readonly string[]): string {
  return hash('sha256', trace.join('\n'));
}
