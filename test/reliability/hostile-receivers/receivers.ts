import { spawn } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Behaviour } from '../../../packages/chaos-receiver/src/behaviour.ts';
import { behaviours } from '../../../packages/chaos-receiver/src/behaviours.ts';
import { atEnd, type Cleanup } from '../../kit/cleanup.ts';
import { createTemporaryFolder } from '../../kit/service/service.ts';

const main = fileURLToPath(new URL('../../../packages/chaos-receiver/src/main.ts', import.meta.url));

/** The report of the receiver about one connection, after its end. */
export type ConnectionReport = {
  readonly behaviour: string | null;
  readonly request: { readonly method: string; readonly path: string } | null;
  readonly ms: number;
  readonly bytesWritten: number;
};

export type HostileReceiver = Behaviour & {
  /** Base URL, without a query. */
  readonly url: string;
  readonly port: number;
};

/** Starts the chaos receiver with `--each` in its own process, so that its memory is not counted. */
export async function startHostileReceivers(
  context: Cleanup,
  { deadlineMs, seed, onVisit }: { deadlineMs: number; seed: number; onVisit: (visit: ConnectionReport) => void },
): Promise<{ readonly all: readonly HostileReceiver[]; readonly certificate: string }> {
  const caFile = join(createTemporaryFolder(context), 'ca.pem');
  const flags = ['--each', '--port', '0', '--json', '--pace', '20ms', '--ca-file', caFile];
  const own = ['--deadline', `${deadlineMs}ms`, '--seed', String(seed)];
  const child = spawn(process.execPath, [main, ...flags, ...own], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  atEnd(context, async () => {
    child.kill('SIGTERM');
    await exited;
  });
  const urls = new Map<string, string>();
  const ready = Promise.withResolvers<void>();
  createInterface(child.stdout).on('line', (line) => {
    const message = JSON.parse(line);
    if (message.listening === undefined) onVisit(message);
    else urls.set(message.behaviour, message.listening);
    if (urls.size === behaviours.length) ready.resolve();
  });
  await Promise.race([ready.promise, exited.then(() => Promise.reject(new Error('the receiver ended')))]);
  const all = behaviours.map((one) => {
    const url = urls.get(one.slug) ?? '';
    return { ...one, url, port: Number(new URL(url).port) };
  });
  return { all, certificate: readFileSync(caFile, 'utf8') };
}

const MIB = 2 ** 20;

/** Memory of the process after garbage collection, in MiB. */
export type MemoryUse = { readonly liveMiB: number; readonly residentMiB: number };

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

export function measureMemory(): MemoryUse {
  collectGarbage();
  collectGarbage();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { liveMiB: (heapUsed + external) / MIB, residentMiB: rss / MIB };
}

/** Samples the resident memory from now on. The returned function returns the peak in MiB. */
export function watchPeak(context: Cleanup): () => number {
  let peak = 0;
  const sample = () => {
    peak = Math.max(peak, process.memoryUsage.rss() / MIB);
  };
  const sampling = setInterval(sample, 20);
  atEnd(context, () => clearInterval(sampling));
  return () => peak;
}

/**
 * Observes the connections of this process to these ports. The returned function returns the number of open
 * connections.
 */
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

export const countTimers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

export type HealthyTarget = {
  readonly url: string;
  /** Resolves with the arrival of the next notification; monotonic milliseconds. */
  nextNotification(): Promise<number>;
};

/** Starts a target that answers 200 immediately. It stores nothing, because the memory of this process is measured. */
export async function startHealthyTarget(context: Cleanup): Promise<HealthyTarget> {
  let nextArrival = Promise.withResolvers<number>();
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.end();
      nextArrival.resolve(performance.now());
      nextArrival = Promise.withResolvers();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(context, () => {
    server.close();
    server.closeAllConnections();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    nextNotification: () => nextArrival.promise,
  };
}
