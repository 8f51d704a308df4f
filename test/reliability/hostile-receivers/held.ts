import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { atEnd, type Cleanup } from '../../kit/cleanup.ts';

const MIB = 2 ** 20;

/** Memory of the process after garbage collection, in MiB. */
export type MemoryUse = { readonly liveMiB: number; readonly residentMiB: number };

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

export function memoryInUse(): MemoryUse {
  collect();
  collect();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { liveMiB: (heapUsed + external) / MIB, residentMiB: rss / MIB };
}

/** Samples the peak resident memory from now on, in MiB. */
export function watchPeak(context: Cleanup): () => number {
  let peak = 0;
  const look = () => {
    peak = Math.max(peak, process.memoryUsage.rss() / MIB);
  };
  const looking = setInterval(look, 20);
  atEnd(context, () => clearInterval(looking));
  return () => peak;
}

/** Counts the open connections of this process to these ports. */
export function watchSockets(context: Cleanup, ports: ReadonlySet<number>): () => number {
  const open = new Set<Socket>();
  const onSocket = (message: unknown) => {
    const { socket } = message as { socket: Socket };
    socket.once('connect', () => {
      if (socket.destroyed || !ports.has(socket.remotePort ?? 0)) return;
      open.add(socket);
      socket.once('close', () => open.delete(socket));
    });
  };
  subscribe('net.client.socket', onSocket);
  atEnd(context, () => unsubscribe('net.client.socket', onSocket));
  return () => open.size;
}

export const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
