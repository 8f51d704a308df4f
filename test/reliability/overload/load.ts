import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { atEnd, type Cleanup } from '../../kit/cleanup.ts';
import type { ServiceProcess } from '../../kit/process.ts';
import type { Bare } from './baseline.ts';
import { type Answered, type Order, shareOf } from './generator.ts';

const refuser = fileURLToPath(new URL('baseline.ts', import.meta.url));
const generator = fileURLToPath(new URL('generator.ts', import.meta.url));

/** Result of a load, and the CPU time of the service during it. */
export type Ran = { readonly answered: Answered; readonly processorMs: number };

/** Runs the generator in its own process, so that it does not share an event loop with the service. */
export async function runGenerator(
  context: Cleanup,
  order: Order,
  service: Pick<ServiceProcess, 'process'>,
): Promise<Ran> {
  const child = fork(generator);
  atEnd(context, () => child.kill('SIGKILL'));
  child.send(order);
  await heard(child);
  const before = processorMsOf(service.process);
  const answered = (await heard(child)) as Answered;
  const used = processorMsOf(service.process) - before;
  child.disconnect();
  return { answered, processorMs: used };
}

/**
 * CPU time in microseconds that a minimal server needs to reject a request, at the same rate and over as many
 * connections.
 */
export async function costOfRefusing(context: Cleanup, bare: Bare, order: Omit<Order, 'origin'>): Promise<number> {
  const child = fork(refuser);
  atEnd(context, () => child.kill('SIGKILL'));
  child.send(bare);
  const origin = `http://127.0.0.1:${await heard(child)}`;
  const { answered, processorMs } = await runGenerator(context, { ...order, origin }, { process: child });
  child.kill('SIGKILL');
  return (processorMs * 1_000) / (answered.byStatus[503] ?? 0);
}

/** Merges the results of several consecutive loads. */
export function together(all: readonly Ran[]): Ran {
  const sum = (of: (ran: Ran) => number) => all.reduce((total, ran) => total + of(ran), 0);
  const byStatus: Record<string, number> = {};
  for (const { answered } of all) {
    for (const [status, count] of Object.entries(answered.byStatus)) byStatus[status] = (byStatus[status] ?? 0) + count;
  }
  const times = all.flatMap(({ answered }) => answered.times).sort((a, b) => a - b);
  const answered: Answered = {
    byStatus,
    withoutRetryAfter: sum(({ answered }) => answered.withoutRetryAfter),
    made: all.flatMap(({ answered }) => answered.made),
    unanswered: sum(({ answered }) => answered.unanswered),
    unsent: sum(({ answered }) => answered.unsent),
    times,
    p50: shareOf(times, 0.5),
    p99: shareOf(times, 0.99),
    perSecond: Math.round(sum(({ answered }) => answered.perSecond) / all.length),
  };
  return { answered, processorMs: sum(({ processorMs }) => processorMs) };
}

async function heard(child: ChildProcess): Promise<unknown> {
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the load generator exited with ${code}`);
  });
  ended.catch(() => undefined);
  const [message] = (await Promise.race([once(child, 'message'), ended])) as [unknown];
  return message;
}

/** Linux counts CPU time in hundredths of a second. */
const TICK_MS = 10;

/** CPU time of a process in milliseconds; elapsed time on systems without `/proc`. */
function processorMsOf({ pid }: Pick<ChildProcess, 'pid'>): number {
  const file = `/proc/${pid}/stat`;
  if (!existsSync(file)) return performance.now();
  // The fields after the process name, which may contain anything: `utime` and `stime` are the 12th and 13th.
  const [, rest = ''] = /\) (.*)$/s.exec(readFileSync(file, 'utf8')) ?? [];
  const fields = rest.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}
