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

const resultsFile = fileURLToPath(new URL('results.json', import.meta.url));

/** Returns all results by the id of their test. */
const readResults = (): Readonly<Record<string, StoredResult>> => JSON.parse(readFileSync(resultsFile, 'utf8'));

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
  const results = { ...readResults(), [reliabilityTest.id]: { ...run, ...readMeasurementEnvironment(run.commit) } };
  writeFileSync(resultsFile, `${JSON.stringify(results, undefined, 2)}\n`);
}

/** Returns the stored result of a test, or undefined if its full run has never been made. */
export function resultOf({ id }: Pick<ReliabilityTest, 'id'>): StoredResult | undefined {
  return readResults()[id];
}
