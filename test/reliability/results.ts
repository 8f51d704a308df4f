import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type MeasurementEnvironment, readMeasurementEnvironment } from '../kit/surroundings.ts';
import type { ReliabilityTest, RunResult } from './reliability-test.ts';

/** Stored result of a full run: the counters, the machine and the commit. */
export type StoredResult = RunResult &
  MeasurementEnvironment & {
    readonly count: number;
    readonly seed: number;
    readonly seconds: number;
    /** Reason for which the test could not run. */
    readonly lacks?: string;
  };

/** Total duration of all smoke runs, one after the other, from the last time that all of them passed. */
export type SmokeResult = MeasurementEnvironment & { readonly seconds: number };

/** All results by the id of their test; `quick` is the duration of the smoke runs. */
type StoredResults = Readonly<Record<string, StoredResult>> & { readonly quick?: SmokeResult };

const resultsFile = fileURLToPath(new URL('results.json', import.meta.url));

const readResults = (): StoredResults => JSON.parse(readFileSync(resultsFile, 'utf8'));

function writeResult(id: string, result: StoredResult | SmokeResult): void {
  writeFileSync(resultsFile, `${JSON.stringify({ ...readResults(), [id]: result }, undefined, 2)}\n`);
}

export function storeSmokeDuration(seconds: number, commit: string): void {
  writeResult('quick', { seconds, ...readMeasurementEnvironment(commit) });
}

export function smokeResult(): SmokeResult | undefined {
  return readResults().quick;
}

/**
 * Stores the result of a full run and replaces the previous one. A run that is impossible on this machine
 * replaces no result.
 */
export function storeResult(
  reliabilityTest: ReliabilityTest,
  run: Pick<StoredResult, 'counts' | 'broken' | 'count' | 'seed' | 'seconds' | 'commit'> & { readonly lacks?: string },
): void {
  const previous = resultOf(reliabilityTest);
  if (run.lacks !== undefined && previous !== undefined && previous.lacks === undefined) return;
  writeResult(reliabilityTest.id, { ...run, ...readMeasurementEnvironment(run.commit) });
}

/** Returns the stored result of a test, or undefined if its full run has never been made. */
export function resultOf({ id }: Pick<ReliabilityTest, 'id'>): StoredResult | undefined {
  return readResults()[id];
}
