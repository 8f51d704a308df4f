import type { Side } from '../bench.ts';
import { processorSeconds } from '../processor.ts';
import type { Contender } from '../rounds.ts';
import { callsPerSecond } from './closed-loop.ts';
import { type Call, wired } from './connection.ts';

export const CONNECTIONS = 64;

/** Kept as busy as it can be for a round: how many calls a second, and what one costs its process. */
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
      return { '/s': perSecond, 'µs of processor a call': (seconds * 1e9) / (perSecond * roundMs) };
    },
  };
}
