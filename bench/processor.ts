import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';

let tick: number | undefined;

/** Seconds of processor that a process has used so far, with all its threads; not a number where the system does not say. */
export function processorSeconds(pid: number | undefined): number {
  const file = `/proc/${pid}/stat`;
  if (!existsSync(file)) return Number.NaN;
  // User and system time are the 12th and 13th.
  const [user = 0, system = 0] = fieldsOf(file).slice(11, 13).map(Number);
  return (user + system) / ticksPerSecond();
}

/** The same of a process with those that it has started, of which some may have ended. */
export function processorSecondsBelow(pid: number): number {
  const file = `/proc/${pid}/stat`;
  if (!existsSync(file)) return Number.NaN;
  const children = readdirSync('/proc').filter((one) => /^\d+$/.test(one) && parentOf(one) === pid);
  const ended = fieldsOf(`/proc/${pid}/stat`).slice(13, 15).map(Number);
  const seconds = ended.reduce((sum, ticks) => sum + ticks, 0) / ticksPerSecond();
  return children.reduce((sum, child) => sum + (processorSeconds(Number(child)) || 0), processorSeconds(pid) + seconds);
}

/** What stands behind the name of a process, which may hold anything; none of one that has ended. */
function fieldsOf(file: string): string[] {
  try {
    return readFileSync(file, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
  } catch {
    return [];
  }
}

const parentOf = (pid: string) => Number(fieldsOf(`/proc/${pid}/stat`)[1] ?? Number.NaN);

function ticksPerSecond(): number {
  tick ??= Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
  return tick;
}

/** Memory that a process has in use at this moment, MiB. */
export function memoryMib(pid: number | undefined): number {
  const file = `/proc/${pid}/status`;
  if (!existsSync(file)) return Number.NaN;
  const [, kib = Number.NaN] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(file, 'utf8')) ?? [];
  return Number(kib) / 1_024;
}
