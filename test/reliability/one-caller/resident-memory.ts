import { existsSync, readFileSync } from 'node:fs';
import { atEnd, type Cleanup } from '../../kit/cleanup.ts';

const INTERVAL_MS = 100;

/**
 * Samples the peak resident memory, in MiB, of a process and its children from now on; undefined on systems
 * without `/proc`.
 */
export function watchResident(context: Cleanup, pid: number): () => number | undefined {
  if (!existsSync(`/proc/${pid}/status`)) return () => undefined;
  let peak = 0;
  const sampling = setInterval(() => {
    peak = Math.max(peak, residentOf(pid));
  }, INTERVAL_MS);
  atEnd(context, () => clearInterval(sampling));
  return () => Math.round(peak);
}

function residentOf(pid: number): number {
  const [, kib = '0'] = /^VmRSS:\s+(\d+) kB$/m.exec(textOf(`/proc/${pid}/status`)) ?? [];
  const children = textOf(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);
  return Number(kib) / 1_024 + children.reduce((sum, child) => sum + residentOf(child), 0);
}

/** Empty for a process that has ended meanwhile. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
