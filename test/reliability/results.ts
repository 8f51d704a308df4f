import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Surroundings, surroundings } from '../kit/surroundings.ts';
import type { ReliabilityTest, RunResult } from './reliability-test.ts';

/** Stored result of a full run: the counters, the machine and the commit. */
export type Result = RunResult &
  Surroundings & {
    readonly count: number;
    readonly seed: number;
    readonly seconds: number;
    /** Reason for which the test could not run. */
    readonly lacks?: string;
  };

/** Total duration of all smoke runs, one after the other, from the last time that all of them passed. */
export type QuickResult = Surroundings & { readonly seconds: number };

/** All results by the id of their test; `quick` is the duration of the smoke runs. */
type Results = Readonly<Record<string, Result>> & { readonly quick?: QuickResult };

const file = fileURLToPath(new URL('results.json', import.meta.url));

const readResults = (): Results => JSON.parse(readFileSync(file, 'utf8'));

function write(id: string, result: Result | QuickResult): void {
  writeFileSync(file, `${JSON.stringify({ ...readResults(), [id]: result }, undefined, 2)}\n`);
}

export function storeSmokeDuration(seconds: number, commit: string): void {
  write('quick', { seconds, ...surroundings(commit) });
}

export function quickResult(): QuickResult | undefined {
  return readResults().quick;
}

/**
 * Stores the result of a full run and replaces the previous one. A run that is impossible on this machine
 * replaces no result.
 */
export function storeResult(
  proof: ReliabilityTest,
  ran: Pick<Result, 'counts' | 'broken' | 'count' | 'seed' | 'seconds' | 'commit'> & { readonly lacks?: string },
): void {
  const previous = resultOf(proof);
  if (ran.lacks !== undefined && previous !== undefined && previous.lacks === undefined) return;
  write(proof.id, { ...ran, ...surroundings(ran.commit) });
}

/** Returns the stored result of a test, or undefined if its full run has never been made. */
export function resultOf({ id }: Pick<ReliabilityTest, 'id'>): Result | undefined {
  return readResults()[id];
}
