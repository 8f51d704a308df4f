import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';

const DETACH_TIMEOUT_MS = 3_000;

/** A fault that strace injects into system calls of the service on its files. */
export type Injection = {
  readonly call: string;
  readonly effect: 'signal=SIGKILL' | 'error=EIO' | 'error=ENOSPC';
  /** First call that is hit, counted from 1. */
  readonly from: number;
  /** Last call that is hit, counted from 1. */
  readonly to: number;
  readonly files: readonly string[];
  /** File to which strace writes the calls that were hit. */
  readonly log: string;
};

/** Returns a sentence that names what this machine lacks for fault injection, or undefined if it lacks nothing. */
export function missingInjectionRequirement(): string | undefined {
  if (process.platform !== 'linux') return 'system calls can be made to fail on Linux alone';
  const tried = spawnSync('strace', ['-D', '-qq', '-o', '/dev/null', 'true']);
  if (tried.error !== undefined) return 'strace is not installed';
  return tried.status === 0 ? undefined : 'strace may not watch another process here';
}

/** Returns the paths of all files of a SQLite database: database, logs, lock file, folder. */
export function databaseFiles(path: string): string[] {
  const ends = ['', '-wal', '-shm', '-journal', '.lock', '.lock-journal'];
  return [...ends.map((end) => path + end), dirname(path)];
}

function straceArguments({ call, effect, from, to, files, log }: Injection): string[] {
  const inject = `inject=${call}:${effect}:when=${from}..${to}`;
  return ['-f', '-e', `trace=${call}`, '-e', inject, ...files.flatMap((file) => ['-P', file]), '-o', log];
}

/** Returns the command that wraps the service, so that its calls are counted from the start. */
export function injectingCommand(injection: Injection): string[] {
  // `-D`: strace runs as a grandchild, so that the spawned process is the service itself.
  return ['strace', '-D', '-qq', ...straceArguments(injection)];
}

/** Injects the fault into a running service, counting from now on; returns a function that detaches strace. */
export async function inject(service: ChildProcess, injection: Injection): Promise<() => Promise<void>> {
  const strace = spawn('strace', [...straceArguments(injection), '-p', String(service.pid)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(strace, 'exit');
  let straceOutput = '';
  strace.stderr.setEncoding('utf8');
  const attached = new Promise<void>((resolve) => {
    strace.stderr.on('data', (text: string) => {
      straceOutput += text;
      if (/ attached/.test(straceOutput)) resolve();
    });
  });
  await Promise.race([attached, ended]);
  if (!/ attached/.test(straceOutput)) throw new Error(`strace does not watch the service: ${straceOutput.trim()}`);
  return async () => {
    // strace detaches at a SIGINT. It never detaches from a process that is just exiting, so a SIGKILL follows.
    strace.kill('SIGINT');
    const giveUp = setTimeout(() => strace.kill('SIGKILL'), DETACH_TIMEOUT_MS);
    await ended;
    clearTimeout(giveUp);
  };
}

/** Returns the number of calls that have failed so far. A kill leaves no entry in the log. */
export function countInjectedCalls({ log }: Injection): number {
  return existsSync(log) ? readFileSync(log, 'utf8').split('(INJECTED)').length - 1 : 0;
}
