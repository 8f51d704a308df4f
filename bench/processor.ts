import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';

let tick: number | undefined;

/** CPU seconds of a process up to now, including all threads; NaN where /proc is missing. */
export function processorSeconds(pid: number | undefined): number {
  const file = `/proc/${pid}/stat`;
  if (!existsSync(file)) return Number.NaN;
  // utime and stime, fields 14 and 15 of /proc/PID/stat.
  const [user = 0, system = 0] = fieldsOf(file).slice(11, 13).map(Number);
  return (user + system) / ticksPerSecond();
}

/** CPU seconds of a process and of its children, including ended ones. */
export function processorSecondsBelow(pid: number): number {
  const file = `/proc/${pid}/stat`;
  if (!existsSync(file)) return Number.NaN;
  const children = readdirSync('/proc').filter((one) => /^\d+$/.test(one) && parentOf(one) === pid);
  const ended = fieldsOf(`/proc/${pid}/stat`).slice(13, 15).map(Number);
  const seconds = ended.reduce((sum, ticks) => sum + ticks, 0) / ticksPerSecond();
  return children.reduce((sum, child) => sum + (processorSeconds(Number(child)) || 0), processorSeconds(pid) + seconds);
}

/** The fields after the command name, which may contain spaces; empty for an ended process. */
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

/** Resident memory of a process in MiB. */
export function memoryMib(pid: number | undefined): number {
  const file = `/proc/${pid}/status`;
  if (!existsSync(file)) return Number.NaN;
  const [, kib = Number.NaN] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(file, 'utf8')) ?? [];
  return Number(kib) / 1_024;
}
