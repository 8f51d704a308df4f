import { availableParallelism } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { openStoreAt } from '../../kit/database/database.ts';
import { readStoredEventPaths } from '../../kit/service/load.ts';
import type { ServiceProcess } from '../../kit/service/service-process.ts';
import type { TestStore } from '../../kit/service/stores.ts';
import type { ReliabilityTest, RunParameters, RunResult } from '../reliability-test.ts';
import type { LoadParameters, LoadResult } from './generator.ts';
import { createLoadRequests, type MeasuredLoad, measureRejectionCost, mergeLoads, runGenerator } from './load.ts';
import { checkNoise, measureNoise } from './noisy-neighbour.ts';

/** Offered load, as a multiple of the peak throughput. */
const OVERLOAD_FACTOR = 4;

/**
 * Limits of a run. `used` is the minimum goodput per CPU second, relative to the peak. `clock` is the minimum
 * goodput per elapsed second, of which the load generator takes its share. `recoveryMs` is the maximum time to
 * recover. The quick run is too short to limit its elapsed time.
 */
const LIMITS = {
  long: { used: 0.8, clock: 0.6, recoveryMs: 5_000 },
  quick: { used: 0.5, clock: 0, recoveryMs: 60_000 },
};

/** Peak and overload alternate in rounds of this length, so that drift of the machine affects both. */
const ROUND_MS = 10_000;

/** Fraction of a round in which the peak is measured. */
const PEAK_SHARE = 1 / 4;
/** Minimum time in which the peak is measured. */
const MIN_PEAK_MS = 2_000;

/** Maximum number of attempts to find a load that exceeds the capacity of the service. */
const MAX_ATTEMPTS = 4;

/** Number of connections at which the throughput of the service peaks. */
const PEAK_CONNECTIONS = 64;

/**
 * Number of connections of the overload. It exceeds the number of requests that the service processes
 * concurrently, so that excess requests are rejected and do not queue in front of the service.
 */
const CONNECTIONS = 2_000;

/** Number of events in the month that is listed, as in a busy account. */
const EVENTS_PER_MONTH = 400;

export const overload: ReliabilityTest = {
  id: 'R12',
  name: 'overload',
  title: 'clients send four times more requests than the service can answer',
  promise:
    'throughput per CPU second stays at 80 % of its best or more, further requests get 503 with Retry-After, no acknowledged change is lost, latency is normal within 5 s afterwards, an account beyond its rate limits raises the p99 of others by at most a fifth',
  unit: 'seconds of overload',
  quick: 6,
  full: 120,
  heldBack:
    'Under overload, throughput per CPU second falls below 80 % of its best. Reading and rejecting requests takes CPU time, mostly in node:http, that the accepted requests then lack. On PostgreSQL, a thousand waiting calls also fill the heap; a lower --max-requests helps.',
  execute,
};

async function execute(run: RunParameters): Promise<RunResult> {
  const counts: Record<string, number | string> = {};
  const broken: string[] = [];
  for (const store of run.stores) {
    const bounds = run.count < overload.full ? LIMITS.quick : LIMITS.long;
    const seen = await measureOverload(store, run, bounds.recoveryMs);
    for (const [what, counted] of Object.entries(countsOf(seen))) counts[`${store.name}: ${what}`] = counted;
    broken.push(...checkOverload(seen, bounds).map((line) => `${store.name}: ${line}`));
    // A p99 needs many calls, so only full runs measure it.
    if (run.count < overload.full) continue;
    Object.assign(counts, await compareWithBareServers(store, run, seen));
    const noise = await measureNoise(store, run.context, run.count);
    counts[`${store.name}: rate limits of each account`] = noise.limits;
    counts[`${store.name}: noisy account, per second`] =
      `${noise.noisy.answered} answered, ${noise.noisy.refused} refused with 429`;
    counts[`${store.name}: p99 of the other accounts, ms`] =
      `${noise.withoutNoise.p99}; beside a noisy account ${noise.withNoise.p99}`;
    counts[`${store.name}: p99 beside the noisy account, of the p99 without it`] = percent(
      noise.withNoise.p99 / noise.withoutNoise.p99,
    );
    broken.push(...checkNoise(noise).map((line) => `${store.name}: ${line}`));
  }
  return { counts, broken };
}

/** Compares the CPU time per rejected request, in microseconds, of the service and of minimal servers. */
async function compareWithBareServers(
  { name }: TestStore,
  { context }: RunParameters,
  { peak, overload }: Measurements,
): Promise<RunResult['counts']> {
  const requests = createLoadRequests({ headers: { key: 'k'.repeat(40), domain: 'carillon.test' } });
  const order = {
    requests,
    connections: CONNECTIONS,
    rate: peak.answered.perSecond * OVERLOAD_FACTOR,
    durationMs: ROUND_MS,
  };
  const [http, socket] = [
    await measureRejectionCost(context, 'node:http', order),
    await measureRejectionCost(context, 'socket', order),
  ];
  const goodputWithCost = (cost: number) =>
    percent(1 / (1 + (cost * rejectionsOf(overload)) / successesOf(overload.answered) / costPerSuccess(peak)));
  return {
    [`${name}: CPU per rejected request, µs`]: `${costPerRejection(peak, overload).toFixed(0)}; of a node:http that does nothing else ${http.toFixed(0)}, of a socket that is answered unread ${socket.toFixed(0)}`,
    [`${name}: goodput per CPU second, if rejecting cost as much as these`]: `${goodputWithCost(http)}, ${goodputWithCost(socket)}`,
  };
}

/** Measurements of one service. */
export type Measurements = {
  readonly peak: MeasuredLoad;
  readonly overload: MeasuredLoad & { readonly asked: number };
  /** Milliseconds until calls were as fast as before the overload. */
  readonly recoveredMs: number;
  /** Addresses of records that were acknowledged in any phase and are missing in the database. */
  readonly lostRecords: readonly string[];
};

async function measureOverload(
  store: TestStore,
  { count, context, stores, log }: RunParameters,
  recoveryMs: number,
): Promise<Measurements> {
  const durationMs = (count / stores.length) * 1_000;
  const service = await store.serviceProcess(context);
  await fillMonth(service);
  const load = { origin: service.baseUrl, requests: createLoadRequests(service) };
  const run = (order: Omit<LoadParameters, 'origin' | 'requests'>) =>
    runGenerator(context, { ...load, ...order }, service);
  const closed = { connections: PEAK_CONNECTIONS };
  const warm = await run({ ...closed, durationMs: 1_000 });
  const before = await run({ connections: 2, durationMs: 500 });
  const rounds = Math.max(1, Math.round(durationMs / ROUND_MS));
  const roundMs = durationMs / rounds;
  const peaks: MeasuredLoad[] = [];
  const overloads: MeasuredLoad[] = [];
  const answeredInFull: MeasuredLoad[] = [];
  let asked = 0;
  for (let round = 0; round < rounds; round += 1) {
    const peak = await run({ ...closed, durationMs: Math.max(MIN_PEAK_MS, roundMs * PEAK_SHARE) });
    const ask = (rate: number) => run({ connections: CONNECTIONS, durationMs: roundMs, rate });
    const { over, rate, inFull } = await offerOverload(ask, peak.answered.perSecond);
    answeredInFull.push(...inFull);
    log(`${store.name}: ${peak.answered.perSecond}/s at peak, ${over.answered.perSecond}/s of ${rate}/s asked`);
    asked += Math.round((rate * roundMs) / 1_000);
    peaks.push(peak);
    overloads.push(over);
  }
  const [peak, over] = [mergeLoads(peaks), { ...mergeLoads(overloads), asked }];
  const began = performance.now();
  const after: MeasuredLoad[] = [];
  while (performance.now() - began < 2 * recoveryMs) {
    after.push(await run({ connections: 2, durationMs: 300 }));
    if (hasRecovered(after.at(-1)?.answered, before.answered)) break;
    await wait(50);
  }
  const recoveredMs = Math.round(performance.now() - began);
  await service.stop('SIGTERM');
  const database = await openStoreAt(context, service.database, { openAs: 'command' });
  const stored = await readStoredEventPaths(database);
  await database.close();
  const made = [warm, before, peak, over, ...answeredInFull, ...after].flatMap(({ answered }) => answered.locations);
  return {
    peak,
    overload: over,
    recoveredMs,
    lostRecords: made.filter((address) => !stored.has(new URL(address).pathname)),
  };
}

/**
 * Offers four times the peak throughput. If everything is answered, the peak was measured too low, because other
 * processes used the CPUs. The new throughput then becomes the peak, and the load is offered again.
 *
 * @returns the last result with its rate, and the earlier results in which everything was answered
 */
export async function offerOverload(
  ask: (rate: number) => Promise<MeasuredLoad>,
  best: number,
): Promise<{ over: MeasuredLoad; rate: number; inFull: readonly MeasuredLoad[] }> {
  const inFull: MeasuredLoad[] = [];
  let rate = best * OVERLOAD_FACTOR;
  let over = await ask(rate);
  while (isFullyAnswered(over) && inFull.length < MAX_ATTEMPTS - 1) {
    inFull.push(over);
    rate = over.answered.perSecond * OVERLOAD_FACTOR;
    over = await ask(rate);
  }
  return { over, rate, inFull };
}

const isFullyAnswered = ({ answered }: MeasuredLoad): boolean =>
  answered.unsent + answered.unanswered === 0 && Object.keys(answered.byStatus).every((status) => Number(status) < 300);

/** Whether all calls succeed and take at most twice as long as before the overload. */
export function hasRecovered(now: LoadResult | undefined, before: LoadResult): boolean {
  if (
    now === undefined ||
    now.unanswered > 0 ||
    successesOf(now) < Object.values(now.byStatus).reduce((a, b) => a + b, 0)
  ) {
    return false;
  }
  return now.perSecond >= before.perSecond / 3 && now.p50 <= 2 * before.p50;
}

/** Returns the violations of the limits. */
export function checkOverload(
  { peak, overload, recoveredMs, lostRecords }: Measurements,
  bounds = LIMITS.long,
): string[] {
  const { byStatus, withoutRetryAfter, unanswered } = overload.answered;
  const others = Object.keys(byStatus).filter((status) => !['200', '201', '503'].includes(status));
  const left = goodputOf(overload) / goodputOf(peak);
  const byClock = overload.answered.perSecond / peak.answered.perSecond;
  const broken: string[] = [];
  if (!(left >= bounds.used)) broken.push(`${percent(left)} of the peak goodput per CPU second`);
  if (!(byClock >= bounds.clock)) broken.push(`${percent(byClock)} of the peak goodput per elapsed second`);
  if (!(sentShare(overload) >= 0.9)) broken.push(`only ${percent(sentShare(overload))} of the intended load was sent`);
  if (!byStatus[503]) broken.push('no request was rejected');
  if (others.length > 0) broken.push(`unexpected status ${others.join(', ')}`);
  if (withoutRetryAfter > 0) broken.push(`${withoutRetryAfter} rejections without Retry-After`);
  if (unanswered > 0) broken.push(`${unanswered} requests without a response`);
  if (recoveredMs > bounds.recoveryMs) broken.push(`recovered only after ${recoveredMs} ms`);
  if (peak.answered.locations.length === 0) broken.push('nothing was acknowledged');
  for (const address of lostRecords.slice(0, 20)) broken.push(`acknowledged and lost: ${address}`);
  return broken;
}

function countsOf(seen: Measurements): Record<string, number | string> {
  const { peak, overload, recoveredMs, lostRecords } = seen;
  return {
    'peak 2xx per second': peak.answered.perSecond,
    requests: overload.asked,
    '2xx': successesOf(overload.answered),
    '503 with Retry-After': rejectionsOf(overload) - overload.answered.withoutRetryAfter,
    'goodput per CPU second, of the peak': percent(goodputOf(overload) / goodputOf(peak)),
    'goodput per second, of the peak': `${percent(overload.answered.perSecond / peak.answered.perSecond)}, on ${availableParallelism()} processors, which whoever asks so much needs a part of: it was not there when the best was measured`,
    'p99 of the 2xx, ms': overload.answered.p99,
    acknowledged: overload.answered.locations.length + peak.answered.locations.length,
    'acknowledged and lost': lostRecords.length,
    'recovered after, ms': recoveredMs,
  };
}

function successesOf({ byStatus }: LoadResult): number {
  return (byStatus[200] ?? 0) + (byStatus[201] ?? 0);
}

const rejectionsOf = ({ answered }: MeasuredLoad): number => answered.byStatus[503] ?? 0;

/** Returns the CPU time per successful request, in microseconds. */
const costPerSuccess = ({ answered, cpuMs }: MeasuredLoad): number => (cpuMs * 1_000) / successesOf(answered);

/**
 * Returns the CPU time per rejected request, in microseconds. It is the CPU time that exceeds the cost of the
 * successful requests at the peak.
 */
export function costPerRejection(peak: MeasuredLoad, over: MeasuredLoad): number {
  return (over.cpuMs * 1_000 - successesOf(over.answered) * costPerSuccess(peak)) / rejectionsOf(over);
}

/** Returns the number of successful requests per CPU second, which is independent of other load on the machine. */
function goodputOf({ answered, cpuMs: used }: MeasuredLoad): number {
  return (successesOf(answered) * 1_000) / used;
}

function sentShare({ answered, asked }: Measurements['overload']): number {
  return (asked - answered.unsent) / asked;
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

/** Fills a month with events, so that every list has the same size. */
async function fillMonth({ carillon }: ServiceProcess): Promise<void> {
  const event = { event_name: 'Of June', start_date: '20260601', due_date: '20260602' };
  for (let made = 0; made < EVENTS_PER_MONTH; made += 50) {
    await Promise.all(Array.from({ length: 50 }, () => carillon.events.create(event)));
  }
}
