import type { Side } from '../bench.ts';
import { processorSeconds } from '../environment.ts';
import type { Contender } from '../rounds.ts';
import { type Call, callsPerSecond, wired } from './load-generator.ts';

export const CONNECTIONS = 64;

/** A closed loop for one round: requests per second, and the CPU time that each costs the process. */
export function busy(
  name: string,
  { url, pid }: { readonly url: string; readonly pid: number | undefined },
  calls: readonly [Call, ...Call[]],
  roundMs: number,
  side: Side = 'ours',
): Contender {
  const [first, ...others] = calls;
  const bytes = [wired(url, first), ...others.map((call) => wired(url, call))] as const;
  return {
    name,
    side,
    async measure() {
      const before = processorSeconds(pid);
      const perSecond = await callsPerSecond(url, bytes, { connections: CONNECTIONS, forMs: roundMs });
      const seconds = processorSeconds(pid) - before;
      return { '/s': perSecond, 'µs of CPU per request': (seconds * 1e9) / (perSecond * roundMs) };
    },
  };
}
