import { execFileSync } from 'node:child_process';
import { arch, cpus, platform, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The environment in which a measurement was taken. */
export type MeasurementEnvironment = {
  /** The day, as `2026-11-20`. */
  readonly date: string;
  readonly commit: string;
  readonly node: string;
  readonly machine: string;
};

/** Returns the commit of the source; undefined if the source has uncommitted changes or is not in Git. */
export function currentCommit(): string | undefined {
  const git = (...words: string[]) => execFileSync('git', words, { cwd: root, encoding: 'utf8' }).trim();
  try {
    const sourcePaths = ['src', 'packages', 'demo', 'test', 'bench/*.ts', 'package*.json'];
    const isChanged = git('status', '--porcelain', '--', ...sourcePaths).length > 0;
    return isChanged ? undefined : git('rev-parse', '--short=12', 'HEAD');
  } catch {
    return undefined;
  }
}

/** Returns the environment of a measurement that is taken now, on this machine. */
export function readMeasurementEnvironment(commit: string): MeasurementEnvironment {
  const processor = cpus()[0]?.model.trim() ?? 'processor';
  const memory = Math.round(totalmem() / 2 ** 30);
  return {
    date: new Date().toISOString().slice(0, 10),
    commit,
    node: process.version,
    machine: `${cpus().length} × ${processor}, ${memory} GiB, ${platform()} ${arch()}`,
  };
}
