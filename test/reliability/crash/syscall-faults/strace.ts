import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';

const DETACH_TIMEOUT_MS = 3_000;

/** What becomes of a system call of the service on its files. */
export type Injection = {
  readonly call: string;
  readonly effect: 'signal=SIGKILL' | 'error=EIO' | 'error=ENOSPC';
  /** The first call that it happens to, from 1, and the last one. */
  readonly from: number;
  readonly to: number;
  readonly files: readonly string[];
  /** What has been seen of it is written here. */
  readonly log: string;
};

/** What is missing for this, in words; undefined when nothing is. */
export function injectionLacks(): string | undefined {
  if (process.platform !== 'linux') return 'system calls can be made to fail on Linux alone';
  const tried = spawnSync('strace', ['-D', '-qq', '-o', '/dev/null', 'true']);
  if (tried.error !== undefined) return 'strace is not installed';
  return tried.status === 0 ? undefined : 'strace may not watch another process here';
}

/** Whatever SQLite keeps of a database: the file, its logs, what is around them, the folder. */
export function filesOf(path: string): string[] {
  const ends = ['', '-wal', '-shm', '-journal', '.lock', '.lock-journal'];
  return [...ends.map((end) => path + end), dirname(path)];
}

function straceArguments({ call, effect, from, to, files, log }: Injection): string[] {
  const inject = `inject=${call}:${effect}:when=${from}..${to}`;
  return ['-f', '-e', `trace=${call}`, '-e', inject, ...files.flatMap((file) => ['-P', file]), '-o', log];
}

/** What stands before the command of a service that this happens to from its first call on. */
export function injectingFromTheStart(injection: Injection): string[] {
  // As a grandchild (-D), so that the service is the process that was started.
  return ['strace', '-D', '-qq', ...straceArguments(injection)];
}

/** Has it happen to a service that runs, counted from now; answers how to leave it alone again. */
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
    // Not SIGKILL at first: it takes its hands off. It never does that of a service that is just ending.
    strace.kill('SIGINT');
    const giveUp = setTimeout(() => strace.kill('SIGKILL'), DETACH_TIMEOUT_MS);
    await ended;
    clearTimeout(giveUp);
  };
}

/** How often a call has failed by now; of a kill nothing is seen but the end. */
export function timesHappened({ log }: Injection): number {
  return existsSync(log) ? readFileSync(log, 'utf8').split('(INJECTED)').length - 1 : 0;
}
