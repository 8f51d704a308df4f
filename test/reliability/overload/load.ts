import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { atEnd, type Cleanup } from '../../kit/cleanup.ts';
import type { ServiceProcess } from '../../kit/service/service-process.ts';
import type { BareServer } from './baseline.ts';
import { type LoadParameters, type LoadResult, quantile } from './generator.ts';

const baselineModule = fileURLToPath(new URL('baseline.ts', import.meta.url));
const generatorModule = fileURLToPath(new URL('generator.ts', import.meta.url));

/** Result of a load, and the CPU time of the service during it. */
export type MeasuredLoad = { readonly answered: LoadResult; readonly cpuMs: number };

/** Runs the generator in its own process, so that it does not share an event loop with the service. */
export async function runGenerator(
  context: Cleanup,
  order: LoadParameters,
  service: Pick<ServiceProcess, 'process'>,
): Promise<MeasuredLoad> {
  const child = fork(generatorModule);
  atEnd(context, () => child.kill('SIGKILL'));
  child.send(order);
  await nextMessage(child);
  const before = cpuMsOf(service.process);
  const answered = (await nextMessage(child)) as LoadResult;
  const used = cpuMsOf(service.process) - before;
  child.disconnect();
  return { answered, cpuMs: used };
}

/**
 * Returns the CPU time in microseconds that a minimal server needs to reject a request, with the rate and the
 * number of connections of `order`.
 */
export async function measureRejectionCost(
  context: Cleanup,
  bare: BareServer,
  order: Omit<LoadParameters, 'origin'>,
): Promise<number> {
  const child = fork(baselineModule);
  atEnd(context, () => child.kill('SIGKILL'));
  child.send(bare);
  const origin = `http://127.0.0.1:${await nextMessage(child)}`;
  const { answered, cpuMs } = await runGenerator(context, { ...order, origin }, { process: child });
  child.kill('SIGKILL');
  return (cpuMs * 1_000) / (answered.byStatus[503] ?? 0);
}

/** Merges the results of several consecutive loads. */
export function mergeLoads(all: readonly MeasuredLoad[]): MeasuredLoad {
  const sum = (of: (ran: MeasuredLoad) => number) => all.reduce((total, ran) => total + of(ran), 0);
  const byStatus: Record<string, number> = {};
  for (const { answered } of all) {
    for (const [status, count] of Object.entries(answered.byStatus)) byStatus[status] = (byStatus[status] ?? 0) + count;
  }
  const times = all.flatMap(({ answered }) => answered.times).sort((a, b) => a - b);
  const answered: LoadResult = {
    byStatus,
    withoutRetryAfter: sum(({ answered }) => answered.withoutRetryAfter),
    locations: all.flatMap(({ answered }) => answered.locations),
    unanswered: sum(({ answered }) => answered.unanswered),
    unsent: sum(({ answered }) => answered.unsent),
    times,
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
    perSecond: Math.round(sum(({ answered }) => answered.perSecond) / all.length),
  };
  return { answered, cpuMs: sum(({ cpuMs }) => cpuMs) };
}

async function nextMessage(child: ChildProcess): Promise<unknown> {
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the load generator exited with ${code}`);
  });
  ended.catch(() => undefined);
  const [message] = (await Promise.race([once(child, 'message'), ended])) as [unknown];
  return message;
}

/** Linux counts CPU time in units of this length. */
const CPU_TICK_MS = 10;

/** Returns the CPU time of a process in milliseconds, or the elapsed time on systems without `/proc`. */
function cpuMsOf({ pid }: Pick<ChildProcess, 'pid'>): number {
  const file = `/proc/${pid}/stat`;
  if (!existsSync(file)) return performance.now();
  // The process name may contain anything, so only the fields after it are split: `utime` and `stime` are the 12th
  // and 13th.
  const [, rest = ''] = /\) (.*)$/s.exec(readFileSync(file, 'utf8')) ?? [];
  const fields = rest.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * CPU_TICK_MS;
}

/** Returns the raw requests that a load sends in rotation: a creation and a list. */
export function createLoadRequests({ headers }: Pick<ServiceProcess, 'headers'>): readonly string[] {
  const known = ['host: carillon.test', ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)];
  const body = JSON.stringify({ event_name: 'Tick', start_date: '20270101', due_date: '20270101' });
  const typed = ['content-type: application/json', `content-length: ${body.length}`];
  return [
    `${['POST /v2/events HTTP/1.1', ...known, ...typed].join('\r\n')}\r\n\r\n${body}`,
    `${['GET /v2/events?start_from=20260601&start_to=20260630 HTTP/1.1', ...known].join('\r\n')}\r\n\r\n`,
  ];
}
