import { setTimeout as wait } from 'node:timers/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { pino } from 'pino';
import { type Behaviour, outcomeOf } from '../../../packages/chaos-receiver/src/behaviour.ts';
import { atEnd } from '../../kit/cleanup.ts';
import { eventually } from '../../kit/eventually.ts';
import type { ApiUser } from '../../kit/service/service.ts';
import type { ReliabilityTest, RunParameters, RunResult } from '../reliability-test.ts';
import {
  type ConnectionReport,
  countTimers,
  type HealthyTarget,
  type HostileReceiver,
  type MemoryUse,
  measureMemory,
  startHealthyTarget,
  startHostileReceivers,
  watchPeak,
  watchSockets,
} from './receivers.ts';

/**
 * Timeout of an attempt. It is long enough for a busy machine to start all attempts in time, although they start
 * together.
 */
const DEADLINE_MS = 4_000;
/** An attempt may end this long after its deadline. */
const GRACE_MS = 1_000;
/** Time for which the service reads the body after a response. */
const BODY_TIMEOUT_MS = 1_000;
/**
 * Limit for the delay of the healthy target at p95. In a single round all attempts start together, so the median
 * counts instead.
 */
const MAX_HEALTHY_MS = 250;
/** The limit is raised to this multiple of the delay without hostile targets, if the multiple is longer. */
const MAX_SLOWDOWN = 10;
/**
 * A notification that has not arrived within this time counts as lost. All attempts start together, which takes a
 * while on a slow machine.
 */
const ARRIVAL_TIMEOUT_MS = 40_000;
/** Number of notifications to the healthy target before the rounds. They warm up the code. */
const WARM_UP_NOTIFICATIONS = 30;
/** Tolerated growth of the memory in use, for compiled code, pools and caches. */
const MAX_GROWTH_MIB = 16;
/** Tolerated growth of the resident memory. */
const MAX_RESIDENT_GROWTH_MIB = 64;
/**
 * Tolerated number of additional timers. A leak of one timer for each attempt would be hundreds in a round; each
 * idle PostgreSQL connection has one timer.
 */
const MAX_LEFT_TIMERS = 64;
/** Maximum bytes that a receiver can send before the service stops reading: the socket buffers of both sides. */
const MAX_WRITTEN_BYTES = 16 * 2 ** 20;
/** Maximum increase of the resident memory during the rounds. */
const MAX_RESIDENT_MIB = 256;

/** Number of rounds before memory is measured, for compiled code and pools. */
const WARM_UP_ROUNDS = 3;
/** Factor for the tolerated growth in shorter runs, whose measurement includes the warm-up. */
const SHORT_RUN_FACTOR = 3;

/** Number of rounds of the quick run. */
const QUICK_ROUNDS = 1;

export const hostileReceivers: ReliabilityTest = {
  id: 'R9',
  name: 'hostile',
  title: 'receivers hang, drip bytes, flood, reset connections and send false lengths',
  promise: 'every attempt ends within a second of its deadline, memory does not grow, a healthy target is not delayed',
  unit: 'rounds',
  quick: QUICK_ROUNDS,
  full: 60,
  execute,
};

/** One attempt, as the service logs it. */
export type LoggedAttempt = { readonly outcome: string; readonly result: string; readonly ms: number };

/** The `result` in the log for each outcome of a first attempt. */
const RESULT_BY_OUTCOME = { delivered: 'delivered', ended: 'ended', failed: 'wait' } as const;

/** Returns the faults of one attempt to a target with this behavior. */
export function checkAttempt(behaviour: Behaviour, attempted: LoggedAttempt): readonly string[] {
  const { outcome, result, ms } = attempted;
  const expectedResult = RESULT_BY_OUTCOME[outcomeOf(behaviour)];
  return [
    ...(outcome === String(behaviour.senderSees)
      ? []
      : [`${behaviour.slug}: seen as ${outcome}, not ${behaviour.senderSees}`]),
    ...(result === expectedResult ? [] : [`${behaviour.slug}: ${result}, not ${expectedResult}`]),
    ...(ms <= DEADLINE_MS + GRACE_MS ? [] : [`${behaviour.slug}: ended after ${Math.round(ms)} ms`]),
  ];
}

/**
 * Returns the faults of a connection, as the receiver saw it. After a response in time the service reads the body
 * for one more second. A receiver that never reads notices the end late.
 */
export function checkVisit({ slug }: Behaviour, visit: ConnectionReport): readonly string[] {
  const { request, ms, bytesWritten } = visit;
  const path = request?.path ?? '';
  const isExpected =
    request === null || path === '' || (request.method === 'POST' && path.startsWith(`/${slug}?round=`));
  return [
    ...(isExpected ? [] : [`${slug}: requested ${request?.method} ${path}`]),
    ...(ms <= DEADLINE_MS + BODY_TIMEOUT_MS + GRACE_MS || slug === 'hang-unread'
      ? []
      : [`${slug}: the connection was open for ${ms} ms`]),
    ...(bytesWritten <= MAX_WRITTEN_BYTES ? [] : [`${slug}: ${bytesWritten} bytes were read`]),
  ];
}

/** Returns the faults in the memory use at the end of each round, in order. */
export function checkMemory(rounds: readonly MemoryUse[], peakMiB: number): readonly string[] {
  const [first, last] = [rounds[Math.min(WARM_UP_ROUNDS, rounds.length - 2)], rounds.at(-1)];
  if (first === undefined || last === undefined) return ['no memory was measured'];
  const above = peakMiB - (rounds[0]?.residentMiB ?? 0);
  const times = rounds.length > WARM_UP_ROUNDS + 1 ? 1 : SHORT_RUN_FACTOR;
  const grown = last.liveMiB - first.liveMiB;
  const resident = last.residentMiB - first.residentMiB;
  return [
    ...(grown <= times * MAX_GROWTH_MIB ? [] : [`the memory in use grew by ${grown.toFixed(1)} MiB`]),
    ...(resident <= times * MAX_RESIDENT_GROWTH_MIB ? [] : [`the resident memory grew by ${resident.toFixed(1)} MiB`]),
    ...(above <= MAX_RESIDENT_MIB ? [] : [`${above.toFixed(0)} MiB of additional resident memory`]),
  ];
}

type Fixture = {
  readonly all: readonly HostileReceiver[];
  readonly owner: ApiUser;
  readonly attempts: Map<string, LoggedAttempt>;
  readonly healthy: HealthyTarget;
  /** Milliseconds from each request to its arrival at the healthy target, before the rounds. */
  readonly calmMs: readonly number[];
  /** Milliseconds from each request to its arrival at the healthy target, during the rounds. */
  readonly busyMs: number[];
};

async function execute(run: RunParameters): Promise<RunResult> {
  const { context, count, log, seed } = run;
  const broken: string[] = [];
  const bySlug = new Map<string, HostileReceiver>();
  let visits = 0;
  const onVisit = (visit: ConnectionReport) => {
    visits += 1;
    const behaviour = bySlug.get(visit.behaviour ?? '');
    if (behaviour === undefined) broken.push(`a connection requested ${visit.request?.path}`);
    else broken.push(...checkVisit(behaviour, visit));
  };
  const { all, certificate } = await startHostileReceivers(context, { deadlineMs: DEADLINE_MS, seed, onVisit });
  for (const one of all) bySlug.set(one.slug, one);
  trustCertificate(run, certificate);
  const fixtures = await Promise.all(run.stores.slice(0, count).map((store) => setUp(run, store, all)));
  const openSockets = watchSockets(context, new Set(all.map(({ port }) => port)));
  const peak = watchPeak(context);
  const timersBefore = countTimers();
  const memory: MemoryUse[] = [measureMemory()];
  for (let round = 0; round < count; round += 1) {
    const fixture = fixtures[round % fixtures.length];
    if (fixture === undefined) throw new Error('there is no database to run on');
    broken.push(...(await runRound(fixture, round)));
    memory.push(measureMemory());
    if (round % 10 === 9) log(`${round + 1} rounds, ${memory.at(-1)?.liveMiB.toFixed(1)} MiB in use`);
  }
  await eventually(
    () => [visits, openSockets()],
    ([seen = 0, open]) => seen >= count * all.length && open === 0,
    5 * DEADLINE_MS,
  ).catch(() => broken.push(`${openSockets()} connections stay open; ${visits} of ${count * all.length} were seen`));
  if (countTimers() > timersBefore + MAX_LEFT_TIMERS) broken.push(`${countTimers() - timersBefore} timers are left`);
  if (visits > count * all.length) broken.push(`${visits} connections for ${count * all.length} attempts`);
  broken.push(...checkMemory(memory, peak()));
  const sorted = (all: readonly number[]) => [...all].sort((a, b) => a - b);
  const lateMs = sorted(fixtures.flatMap((fixture) => fixture.busyMs));
  const calmMs = sorted(fixtures.flatMap((fixture) => fixture.calmMs));
  broken.push(...checkHealthy(calmMs, lateMs, count > QUICK_ROUNDS ? 0.95 : 0.5));
  return { counts: { ...countsOf(all, count, visits), ...formatMeasurements(memory, peak(), calmMs, lateMs) }, broken };
}

/**
 * Returns the faults of the healthy target: `share` of its notifications must arrive within the limit. Both lists
 * are sorted.
 */
export function checkHealthy(calmMs: readonly number[], lateMs: readonly number[], share: number): readonly string[] {
  if (lateMs.at(-1) === Number.POSITIVE_INFINITY) return ['the healthy target received nothing'];
  const limitMs = Math.max(MAX_HEALTHY_MS, MAX_SLOWDOWN * quantile(calmMs, 0.95));
  const ms = quantile(lateMs, share);
  return ms <= limitMs ? [] : [`the healthy target was reached after ${ms} ms at p${share * 100}, not ${limitMs}`];
}

/** Returns the quantile of sorted values, in whole milliseconds. */
const quantile = (sorted: readonly number[], share: number): number =>
  Math.round(sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? Number.POSITIVE_INFINITY);

function countsOf(all: readonly HostileReceiver[], rounds: number, visits: number) {
  return { behaviours: all.length, attempts: rounds * all.length, 'connections that receivers saw': visits };
}

function formatMeasurements(
  memory: readonly MemoryUse[],
  peakMiB: number,
  calmMs: readonly number[],
  lateMs: readonly number[],
) {
  const warm = memory[Math.min(WARM_UP_ROUNDS, memory.length - 2)];
  const last = memory.at(-1);
  return {
    'memory in use, first and last (MiB)': `${warm?.liveMiB.toFixed(1)} → ${last?.liveMiB.toFixed(1)}`,
    'resident memory, first, last and peak (MiB)': `${warm?.residentMiB.toFixed(0)} → ${last?.residentMiB.toFixed(0)}, ${peakMiB.toFixed(0)}`,
    'healthy target without hostile ones, request to arrival, median and p95 (ms)': [0.5, 0.95]
      .map((share) => quantile(calmMs, share))
      .join(', '),
    'notifications to the healthy target': lateMs.length,
    'healthy target, request to arrival, median, p95 and maximum (ms)': [0.5, 0.95, 1]
      .map((share) => quantile(lateMs, share))
      .join(', '),
  };
}

/** Trusts the certificate authority of the receivers during the run, so that their TLS handshakes can succeed. */
function trustCertificate({ context }: RunParameters, certificate: string): void {
  const usual = getCACertificates('default');
  setDefaultCACertificates([...usual, certificate]);
  atEnd(context, () => setDefaultCACertificates(usual));
}

async function setUp(
  { context }: RunParameters,
  store: RunParameters['stores'][number],
  all: readonly HostileReceiver[],
): Promise<Fixture> {
  const attempts = new Map<string, LoggedAttempt>();
  const write = (line: string) => {
    const { event, kind, hook_id, outcome, result, ms } = JSON.parse(line);
    if (event === 'delivery.attempted' && kind === 'new_event') attempts.set(String(hook_id), { outcome, result, ms });
  };
  const options = { attemptTimeout: `${DEADLINE_MS}ms`, retryWaits: '1h,1h' };
  const log = pino({ base: null }, { write });
  const service = await store.testService(context, { options, deps: { log } });
  const owner = await service.createAccount('acme.test');
  const healthy = await startHealthyTarget(context);
  await owner.carillon.hooks.create({ target_url: healthy.url, event: 'new_client' });
  const calmMs: number[] = [];
  for (let sent = 0; sent < WARM_UP_NOTIFICATIONS; sent += 1) calmMs.push(await notifyHealthy(owner, healthy));
  return { all, owner, attempts, healthy, calmMs, busyMs: [] };
}

/**
 * Notifies the healthy target. Returns the milliseconds from the request to the arrival of the notification,
 * infinite if it does not arrive.
 */
async function notifyHealthy({ carillon }: ApiUser, healthy: HealthyTarget): Promise<number> {
  const nextArrival = healthy.nextNotification();
  const askedAt = performance.now();
  await carillon.clients.create({ client_name: 'Bell' });
  const arrivedAt = await Promise.race([nextArrival, wait(ARRIVAL_TIMEOUT_MS, undefined, { ref: false })]);
  return (arrivedAt ?? Number.POSITIVE_INFINITY) - askedAt;
}

/**
 * Delivers one event to every hostile target. Meanwhile the healthy target receives notifications, one after the
 * other.
 */
async function runRound({ all, owner, attempts, healthy, busyMs }: Fixture, round: number): Promise<readonly string[]> {
  const { hooks, events } = owner.carillon;
  const subscribed = await Promise.all(
    all.map(async (behaviour) => {
      const { id } = await hooks.create({ target_url: `${behaviour.url}?round=${round}`, event: 'new_event' });
      return { behaviour, id };
    }),
  );
  attempts.clear();
  await events.create({ event_name: 'Launch', start_date: '20270101', due_date: '20270102' });
  const giveUpAt = performance.now() + ARRIVAL_TIMEOUT_MS;
  const isOver = () => attempts.size >= all.length || performance.now() > giveUpAt;
  while (!isOver()) {
    const tookMs = await notifyHealthy(owner, healthy);
    busyMs.push(tookMs);
    // A lost notification would be retried only after an hour.
    if (tookMs === Number.POSITIVE_INFINITY) break;
  }
  while (!isOver()) await wait(20);
  const broken = subscribed.flatMap(({ behaviour, id }) => {
    const attempted = attempts.get(id);
    return attempted === undefined ? [`${behaviour.slug}: no attempt has ended`] : checkAttempt(behaviour, attempted);
  });
  const living = subscribed.filter(({ behaviour }) => outcomeOf(behaviour) !== 'ended');
  await Promise.all(living.map(({ id }) => hooks.delete(id)));
  return broken.map((line) => `round ${round}: ${line}`);
}
