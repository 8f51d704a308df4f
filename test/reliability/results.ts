import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Surroundings, surroundings } from '../kit/surroundings.ts';
import type { ReliabilityTest, RunResult } from './reliability-test.ts';

/** What the long form of a proof came to, where, and on which source. */
export type Result = RunResult &
  Surroundings & {
    readonly count: number;
    readonly seed: number;
    readonly seconds: number;
    /** Why it could not be run there. */
    readonly lacks?: string;
  };

/** How long all quick forms took, one after the other with nothing beside them, the last time that all of them held. */
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

/** Writes down what a long form came to, in place of what it came to before; that it cannot be run here replaces nothing. */
export function storeResult(
  proof: ReliabilityTest,
  ran: Pick<Result, 'counts' | 'broken' | 'count' | 'seed' | 'seconds' | 'commit'> & { readonly lacks?: string },
): void {
  const previous = resultOf(proof);
  if (ran.lacks !== undefined && previous !== undefined && previous.lacks === undefined) return;
  const result: Result = { ...ran, ...surroundings(ran.commit) };
  writeFileSync(fileOf(proof), `${JSON.stringify(result, undefined, 2)}\n`);
}

/** What is kept of a proof; undefined when its long form has never been run. */
export function resultOf(proof: Pick<ReliabilityTest, 'id'>): Result | undefined {
  const file = fileOf(proof);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
}
