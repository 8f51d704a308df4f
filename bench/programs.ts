import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { atEnd, type Cleanup } from '../test/kit/cleanup.ts';

const START_TIMEOUT_MS = 20_000;

/** A program in a child process. `url` is its address if it listens, `pid` the process that does the work. */
export type Program = { readonly url: string; readonly pid: number | undefined; readonly process: ChildProcess };

/** Starts a program and waits for its message with the address. The program is killed when the context ends. */
export async function startProgram(context: Cleanup, path: string, words: readonly string[]): Promise<Program> {
  const child = fork(fileURLToPath(new URL(path, import.meta.url)), words, {
    execArgv: [],
    // Only errors are printed.
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  atEnd(context, () => child.kill('SIGKILL'));
  const [message] = await once(child, 'message', { signal: AbortSignal.timeout(START_TIMEOUT_MS) });
  const { url, pid = child.pid } = message as { url: string; pid?: number };
  if (pid !== undefined && pid !== child.pid) atEnd(context, () => process.kill(pid, 'SIGKILL'));
  return { url, pid, process: child };
}
