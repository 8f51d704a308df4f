import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { atEnd, type Cleanup } from '../test/kit/cleanup.ts';

const START_TIMEOUT_MS = 20_000;

/** A program of this folder in a process of its own; where it is, if it listens; and which process does the work. */
export type Program = { readonly url: string; readonly pid: number | undefined; readonly process: ChildProcess };

/** Starts one, which says where it is; it ends with whatever it was started for. */
export async function startProgram(context: Cleanup, path: string, words: readonly string[]): Promise<Program> {
  const child = fork(fileURLToPath(new URL(path, import.meta.url)), words, {
    execArgv: [],
    // What it prints is for nobody; what goes wrong is.
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  atEnd(context, () => child.kill('SIGKILL'));
  const [said] = await once(child, 'message', { signal: AbortSignal.timeout(START_TIMEOUT_MS) });
  const { url, pid = child.pid } = said as { url: string; pid?: number };
  if (pid !== undefined && pid !== child.pid) atEnd(context, () => process.kill(pid, 'SIGKILL'));
  return { url, pid, process: child };
}
