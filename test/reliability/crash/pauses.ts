import type { ChildProcess } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import type { Pause } from '../checker/history.ts';

/** How a service is started that is paused: so that a pause outlasts every attempt in flight, and a proof does not wait long. */
export const PAUSED = { CARILLON_ATTEMPT_TIMEOUT: '5s' } as const;
export const PAUSE_MS = 6_000;

/** Pauses a process in the midst of its work, as a container or a machine is paused. */
export async function pause(process: ChildProcess): Promise<Pause> {
  const from = performance.now();
  process.kill('SIGSTOP');
  // The signal is not obeyed before the process would have had its turn.
  while ((await stateOf(process)) !== 'T') await wait(1);
  const stoppedAt = performance.now();
  await wait(PAUSE_MS);
  const to = performance.now();
  process.kill('SIGCONT');
  return { from, stoppedAt, to };
}

async function stateOf({ pid }: ChildProcess): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3);
}
