import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { arch, cpus, platform, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Figure, Proof } from './proof.ts';

/** What the long form of a proof came to, where, and on which source. */
export type Result = Figure & {
  readonly count: number;
  readonly seed: number;
  readonly seconds: number;
  /** Why it could not be run there. */
  readonly lacks?: string;
  /** The day, `2026-11-20`. */
  readonly date: string;
  readonly commit: string;
  readonly node: string;
  readonly machine: string;
};

const root = fileURLToPath(new URL('..', import.meta.url));
const fileOf = ({ id }: Pick<Proof, 'id'>) => `${root}proof/results/${id}.json`;

/** The commit that the source is of; undefined where it is not as committed, or nothing is known of commits. */
export function sourceNow(): string | undefined {
  const git = (...words: string[]) => execFileSync('git', words, { cwd: root, encoding: 'utf8' }).trim();
  try {
    const isChanged =
      git('status', '--porcelain', '--', 'src', 'demo', 'test', 'proof/*.ts', 'package*.json').length > 0;
    return isChanged ? undefined : git('rev-parse', '--short=12', 'HEAD');
  } catch {
    return undefined;
  }
}

/** Writes down what a long form came to, in place of what it came to before; that it cannot be run here replaces nothing. */
export function keep(
  proof: Proof,
  ran: Pick<Result, 'counts' | 'broken' | 'count' | 'seed' | 'seconds' | 'commit'> & { readonly lacks?: string },
): void {
  const before = resultOf(proof);
  if (ran.lacks !== undefined && before !== undefined && before.lacks === undefined) return;
  const result: Result = {
    ...ran,
    date: new Date().toISOString().slice(0, 10),
    node: process.version,
    machine: `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'processor'}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${platform()} ${arch()}`,
  };
  writeFileSync(fileOf(proof), `${JSON.stringify(result, undefined, 2)}\n`);
}

/** What is kept of a proof; undefined when its long form has never been run. */
export function resultOf(proof: Pick<Proof, 'id'>): Result | undefined {
  const file = fileOf(proof);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
}
