import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Surroundings, surroundings } from '../kit/surroundings.ts';
import type { ReliabilityTest, RunResult } from './reliability-test.ts';

/** Stored result of a full run: the counters, the machine and the commit. */
export type Result = RunResult &
  Surroundings & {
    readonly count: number;
    readonly seed: number;
    readonly seconds: number;
    /** Reason for which it could not run. */
    readonly lacks?: string;
  };

/** Duration of all smoke runs, one after the other, the last time that all of them held. */
export type QuickResult = Surroundings & { readonly seconds: number };

const root = fileURLToPath(new URL('../..', import.meta.url));
const fileOf = ({ id }: Pick<ReliabilityTest, 'id'>) => `${root}test/reliability/results/${id}.json`;

const smokeFile = `${root}test/reliability/results/quick.json`;

export function storeSmokeDuration(seconds: number, commit: string): void {
  const result: QuickResult = { seconds, ...surroundings(commit) };
  writeFileSync(smokeFile, `${JSON.stringify(result, undefined, 2)}\n`);
}

export function quickResult(): QuickResult | undefined {
  return existsSync(smokeFile) ? JSON.parse(readFileSync(smokeFile, 'utf8')) : undefined;
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
  const result: Result = { ...ran, ...surroundings(ran.commit) };
  writeFileSync(fileOf(proof), `${JSON.stringify(result, undefined, 2)}\n`);
}

/** The stored result; undefined if the full run has never been made. */
export function resultOf(proof: Pick<ReliabilityTest, 'id'>): Result | undefined {
  const file = fileOf(proof);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
}
