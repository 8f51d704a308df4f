import type { ChildProcess } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import type { Pause } from '../checker/history.ts';

/** Options of a service that is paused: a pause outlasts every attempt in flight, and the test does not wait long. */
export const PAUSED = { CARILLON_ATTEMPT_TIMEOUT: '5s' } as const;
export const PAUSE_MS = 6_000;

/** Pauses a process in the middle of its work, as a container or a virtual machine is paused. */
export async function pause(process: ChildProcess): Promise<Pause> {
  const from = performance.now();
  process.kill('SIGSTOP');
  // SIGSTOP takes effect only when the process is scheduled.
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
