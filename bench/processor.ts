import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

let tick: number | undefined;

/** Seconds of processor that a process has used so far, with all its threads; not a number where the system does not say. */
export function processorSeconds(pid: number | undefined): number {
  const file = `/proc/${pid}/stat`;
  if (!existsSync(file)) return Number.NaN;
  tick ??= Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
  // Behind the name, which may hold anything, user and system time are the 12th and 13th.
  const [user = 0, system = 0] = readFileSync(file, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
    .slice(11, 13)
    .map(Number);
  return (user + system) / tick;
}

/** Memory that a process has in use at this moment, MiB. */
export function memoryMib(pid: number | undefined): number {
  const file = `/proc/${pid}/status`;
  if (!existsSync(file)) return Number.NaN;
  const [, kib = Number.NaN] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(file, 'utf8')) ?? [];
  return Number(kib) / 1_024;
}
