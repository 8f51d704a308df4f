import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { atEnd, type Cleanup } from '../test/harness/cleanup.ts';

const LONGEST_START_MS = 20_000;

/** A program of this folder in a process of its own, and where it is, if it listens. */
export type Program = { readonly url: string; readonly process: ChildProcess };

/** Starts one, which says where it is; it ends with whatever it was started for. */
export async function startProgram(context: Cleanup, path: string, words: readonly string[]): Promise<Program> {
  const child = fork(fileURLToPath(new URL(path, import.meta.url)), words, { execArgv: [] });
  atEnd(context, () => child.kill('SIGKILL'));
  const [said] = await once(child, 'message', { signal: AbortSignal.timeout(LONGEST_START_MS) });
  return { url: (said as { url: string }).url, process: child };
}
