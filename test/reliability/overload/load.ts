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

/** What came of an order, and how long the service had a processor meanwhile. */
export type Ran = { readonly answered: Answered; readonly processorMs: number };

/** Lets a process of its own ask, so that whoever asks takes no time from whoever answers. */
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
 * What it costs at the least to refuse a request, in microseconds of a processor: by one who does nothing else, asked as
 * often over as many connections.
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

/** What came of several orders, one after the other, as if they had been one. */
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
    throw new Error(`the load generator ended with ${code}`);
  });
  ended.catch(() => undefined);
  const [message] = (await Promise.race([once(child, 'message'), ended])) as [unknown];
  return message;
}

/** A hundredth of a second, in which Linux counts. */
const TICK_MS = 10;

/** How long a process has had a processor; where the system does not log, how long the clock has run. */
function processorMsOf({ pid }: Pick<ChildProcess, 'pid'>): number {
  const file = `/proc/${pid}/stat`;
  if (!existsSync(file)) return performance.now();
  // Behind the name, which may hold anything: `utime` and `stime` are the 12th and 13th.
  const [, rest = ''] = /\) (.*)$/s.exec(readFileSync(file, 'utf8')) ?? [];
  const fields = rest.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}
