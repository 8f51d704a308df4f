import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname } from 'node:path';
import { chanceFrom } from '../../kit/random.ts';
import type { ReliabilityTest, Run, RunResult } from '../reliability-test.ts';
import type { LoopResult } from './crash-loop.ts';
import { formatRow, killedAtCommits, rows, runRow } from './fault-points.ts';

/**
 * Count of the smoke run. There the service kills itself at its commits, which needs no tool; larger counts
 * use strace as well.
 */
const QUICK = 20;

/** Later commits repeat what has already been tested. */
const MAX_COMMITS = 200;

/** Maximum faults printed per kind of system call while the test runs. */
const MAX_REPORTED = 5;

export const injection: ReliabilityTest = {
  id: 'R3',
  name: 'injection',
  title: 'C20 SQLite: the process is killed, or the call fails, at the k-th system call',
  promise: 'nothing acknowledged is lost, everything pending is delivered, every restart succeeds',
  unit: 'system calls',
  smoke: QUICK,
  full: 300,
  lacks: injectionLacks,
  execute,
};

async function execute({ count, seed, log }: Run): Promise<RunResult> {
  const random = chanceFrom(seed);
  const atCommits = await killedAtCommits(Math.min(count, MAX_COMMITS), random.fork());
  if (count <= QUICK) return atCommits;
  const counts: Record<string, number> = {};
  const places: Record<string, string> = {};
  const broken: string[] = [];
  const add = (found: LoopResult) => {
    for (const [what, number] of Object.entries(found.counts)) counts[what] = (counts[what] ?? 0) + number;
    broken.push(...found.broken);
  };
  add(atCommits);
  const left = rows(count).map((row) => ({ row, rng: random.fork() }));
  const work = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const { row, rng } = next;
      const all = await runRow(row, rng);
      for (const found of all) add(found);
      const struck = all.reduce((sum, { counts: own }) => sum + (own[row.injected.called] ?? 0), 0);
      const faults = all.flatMap((found) => found.broken).length;
      const kind = `${row.phase}, ${row.injected.called}`;
      places[kind] = [...(places[kind] === undefined ? [] : [places[kind]]), `${row.call} ${struck}`].join(', ');
      log(`${formatRow(row)}: ${struck} places, ${faults} faults; ${left.length} kinds left`);
      for (const line of all.flatMap((found) => found.broken).slice(0, MAX_REPORTED)) log(`  ${line}`);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return { counts: { ...counts, ...inOrder(places) }, broken };
}

/** The rows run concurrently and end in any order. */
function inOrder(places: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(places).sort(([a], [b]) => a.localeCompare(b)));
}

const DETACH_TIMEOUT_MS = 3_000;

/** A fault that strace injects into system calls of the service on its files. */
export type Injection = {
  readonly call: string;
  readonly effect: 'signal=SIGKILL' | 'error=EIO' | 'error=ENOSPC';
  /** First and last call that is hit, counted from 1. */
  readonly from: number;
  readonly to: number;
  readonly files: readonly string[];
  /** strace writes the calls that were hit to this file. */
  readonly log: string;
};

/** Returns what this machine lacks for fault injection, as a sentence; undefined if nothing. */
export function injectionLacks(): string | undefined {
  if (process.platform !== 'linux') return 'system calls can be made to fail on Linux alone';
  const tried = spawnSync('strace', ['-D', '-qq', '-o', '/dev/null', 'true']);
  if (tried.error !== undefined) return 'strace is not installed';
  return tried.status === 0 ? undefined : 'strace may not watch another process here';
}

/** All files of a SQLite database: database, logs, lock file, folder. */
export function filesOf(path: string): string[] {
  const ends = ['', '-wal', '-shm', '-journal', '.lock', '.lock-journal'];
  return [...ends.map((end) => path + end), dirname(path)];
}

function straceArguments({ call, effect, from, to, files, log }: Injection): string[] {
  const inject = `inject=${call}:${effect}:when=${from}..${to}`;
  return ['-f', '-e', `trace=${call}`, '-e', inject, ...files.flatMap((file) => ['-P', file]), '-o', log];
}

/** Command that wraps the service, so that its calls are counted from the start. */
export function injectingFromTheStart(injection: Injection): string[] {
  // `-D`: strace runs as a grandchild, so that the spawned process is the service itself.
  return ['strace', '-D', '-qq', ...straceArguments(injection)];
}

/** Injects the fault into a running service, counting from now on; returns a function that detaches strace. */
export async function inject(service: ChildProcess, injection: Injection): Promise<() => Promise<void>> {
  const strace = spawn('strace', [...straceArguments(injection), '-p', String(service.pid)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(strace, 'exit');
  let said = '';
  strace.stderr.setEncoding('utf8');
  const attached = new Promise<void>((resolve) => {
    strace.stderr.on('data', (text: string) => {
      said += text;
      if (/ attached/.test(said)) resolve();
    });
  });
  await Promise.race([attached, ended]);
  if (!/ attached/.test(said)) throw new Error(`strace does not watch the service: ${said.trim()}`);
  return async () => {
    // SIGINT first: strace then detaches. It never does so from a process that is just exiting, hence the
    // SIGKILL.
    strace.kill('SIGINT');
    const giveUp = setTimeout(() => strace.kill('SIGKILL'), DETACH_TIMEOUT_MS);
    await ended;
    clearTimeout(giveUp);
  };
}

/** Number of calls that failed so far. A kill leaves no entry. */
export function timesHappened({ log }: Injection): number {
  return existsSync(log) ? readFileSync(log, 'utf8').split('(INJECTED)').length - 1 : 0;
}
