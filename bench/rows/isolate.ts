import { setTimeout as wait } from 'node:timers/promises';
import { type AccountCredentials, createAccounts } from '../accounts.ts';
import type { Bench, PerformanceClaim, RowSettings } from '../bench.ts';
import { type DatabaseKind, databaseKinds } from '../environment.ts';
import {
  createEventRequest,
  RESPONSE_TIMEOUT_MS,
  type SentRequest,
  sendAtRate,
  sendOnce,
  serializeRequest,
  subscribeRequest,
} from '../load/load-generator.ts';
import type { Receiver } from '../receiver.ts';
import { type Contender, measureInRounds, seriesName } from '../rounds.ts';
import { quantile } from '../statistics.ts';

const ACCOUNTS = 20;
const HOOKS_EACH = 50;

/**
 * A crowd of more hanging targets than a service may have attempts in flight, on one host per account, and the
 * same number of accounts with healthy targets.
 */
const HANGING_CROWD = { accounts: 5, hooksEach: 500, healthy: 5, healthyEach: 20 } as const;

/** Rate at which events are created. Each event is delivered to all hooks of its account. */
const EVENTS_PER_SECOND = 10;

/** The warm-up has a higher rate and lasts until the code is compiled. */
const WARM_UP = { perSecond: 40, forMs: 4_000 } as const;

/**
 * Length of a measurement with hanging targets. It is longer than the timeout of an attempt (15 s), so that
 * results of hanging attempts are stored and retried during the measurement.
 */
const PAST_DEADLINE_MS = 20_000;

/** The percentages of bad targets that are measured. */
const badPercentages = [10, 50, 90] as const;
/** The behaviors of bad targets: they never respond, send a byte per second, or refuse connections. */
const behaviors = ['hang', 'drip', 'refuse'] as const;

type BadTargets = { readonly share: number; readonly manner: (typeof behaviors)[number] };

const noBadTargets: BadTargets = { share: 0, manner: 'hang' };
const badTargetMixes: readonly BadTargets[] = behaviors.flatMap((manner) =>
  badPercentages.map((share) => ({ share, manner })),
);

const nameOf = ({ share, manner }: BadTargets, database: DatabaseKind) =>
  `${share === 0 ? 'all healthy' : `${share} % ${manner}`} on ${database}`;

/** The context of one measurement. `slug` is the part of the path that identifies its notifications. */
type Measurement = {
  readonly run: RowSettings;
  readonly receiver: Receiver;
  readonly database: DatabaseKind;
  readonly slug: string;
};

/** The accounts with healthy hooks that are measured, and a function that subscribes the bad targets. */
type HealthySetup = {
  readonly baseUrl: string;
  readonly healthy: readonly AccountCredentials[];
  readonly healthyEach: number;
  readonly forMs: number;
  /** Subscribes the bad targets after the first part of the measurement. */
  readonly subscribeBad: () => Promise<void>;
};

/**
 * Measures the time from a request to its arrival at a healthy receiver: first with healthy targets only, then in
 * the same service with the bad targets as well.
 */
async function measureHealthyWaits(
  { run, receiver, slug }: Measurement,
  { baseUrl, healthy, healthyEach, forMs, subscribeBad }: HealthySetup,
) {
  const calls = healthy.map((account) => serializeRequest(baseUrl, createEventRequest(account)));
  const waitsFor = async (forMs: number, perSecond = EVENTS_PER_SECOND) => {
    await receiver.report();
    const requests = await sendAtRate(baseUrl, (event) => calls[event % calls.length] ?? unreachable(), {
      perSecond,
      forMs,
    });
    return await waitsUntilArrival(requests, (events) =>
      waitForArrivals(receiver, `/ok/${slug}/`, events * healthyEach),
    );
  };
  await waitsFor(WARM_UP.forMs, WARM_UP.perSecond);
  const before = await waitsFor(run.roundMs);
  await subscribeBad();
  const waits = await waitsFor(forMs);
  return {
    'ms at p50': quantile(waits, 0.5),
    'ms at p95': quantile(waits, 0.95),
    'ms at p99': quantile(waits, 0.99),
    'ms at p95, before': quantile(before, 0.95),
  };
}

function unreachable(): never {
  throw new Error('there are accounts');
}

/** Measures a new service in which every account has the same percentage of bad targets. */
async function measureWithShare(measurement: Measurement, { share, manner }: BadTargets) {
  const { run, receiver, database, slug } = measurement;
  const where = await run.stage.newDatabase(database);
  const healthy = await createAccounts(where, ACCOUNTS);
  const service = await run.stage.startService(where);
  const healthyEach = (HOOKS_EACH * (100 - share)) / 100;
  const subscribeAll = async (target: string, from: number, until: number) => {
    for (const [place, account] of healthy.entries()) {
      for (let hook = from; hook < until; hook += 1)
        await sendOnce(service.baseUrl, subscribeRequest(account, `${target}/${slug}/${place}/${hook}`));
    }
  };
  await subscribeAll(`${receiver.url}/ok`, 0, healthyEach);
  const waits = await measureHealthyWaits(measurement, {
    baseUrl: service.baseUrl,
    healthy,
    healthyEach,
    forMs: manner === 'hang' && share > 0 && !run.isQuick ? PAST_DEADLINE_MS : run.roundMs,
    subscribeBad: () =>
      subscribeAll(manner === 'refuse' ? 'http://127.0.0.1:9' : `${receiver.url}/${manner}`, healthyEach, HOOKS_EACH),
  });
  await service.stop('SIGKILL');
  return waits;
}

/** Waits until `wanted` notifications have arrived below a path. Returns the record and the arrival time of each. */
async function waitForArrivals(receiver: Receiver, prefix: string, wanted: number) {
  const arrived: (readonly [record: string, at: number])[] = [];
  for (const deadline = performance.now() + RESPONSE_TIMEOUT_MS; arrived.length < wanted; await wait(20)) {
    const { arrivals } = await receiver.report();
    for (const [path, record, at] of arrivals) if (path.startsWith(prefix)) arrived.push([record, at]);
    if (performance.now() > deadline) throw new Error(`of ${wanted}, ${arrived.length} arrived at ${prefix}`);
  }
  return arrived;
}

/** Returns the milliseconds from the time at which a request was due to each of its arrivals. */
async function waitsUntilArrival(
  requests: readonly SentRequest[],
  arrive: (events: number) => ReturnType<typeof waitForArrivals>,
) {
  const idOf = (body: string | undefined) => {
    if (body === undefined) throw new Error('a request was rejected at this rate');
    return String(JSON.parse(body).data.event_id);
  };
  const dueAt = new Map(requests.map((one) => [idOf(one.body), one.dueAt]));
  return (await arrive(requests.length)).map(([record, at]) => at - (dueAt.get(record) ?? Number.NaN));
}

const hangingHooks = HANGING_CROWD.accounts * HANGING_CROWD.hooksEach;
const crowdName = (database: DatabaseKind) => `${hangingHooks.toLocaleString('en')} hang on ${database}`;

/** Measures a new service in which many targets of other accounts hang. */
async function measureWithCrowd(measurement: Measurement, hosts: readonly Receiver[]) {
  const { run, receiver, database, slug } = measurement;
  const where = await run.stage.newDatabase(database);
  const accounts = await createAccounts(where, HANGING_CROWD.healthy + HANGING_CROWD.accounts);
  const [healthy, others] = [accounts.slice(0, HANGING_CROWD.healthy), accounts.slice(HANGING_CROWD.healthy)];
  const service = await run.stage.startService(where);
  const subscribeAll = async (account: AccountCredentials, hooks: number, target: string) => {
    for (let hook = 0; hook < hooks; hook += 1)
      await sendOnce(service.baseUrl, subscribeRequest(account, `${target}/${hook}`));
  };
  for (const [place, account] of healthy.entries())
    await subscribeAll(account, HANGING_CROWD.healthyEach, `${receiver.url}/ok/${slug}/${place}`);
  const waits = await measureHealthyWaits(measurement, {
    baseUrl: service.baseUrl,
    healthy,
    healthyEach: HANGING_CROWD.healthyEach,
    forMs: run.isQuick ? run.roundMs : PAST_DEADLINE_MS,
    async subscribeBad() {
      for (const [place, account] of others.entries())
        await subscribeAll(account, HANGING_CROWD.hooksEach, `${hosts[place]?.url}/hang/${slug}`);
      for (const account of others) await sendOnce(service.baseUrl, createEventRequest(account));
    },
  });
  await service.stop('SIGKILL');
  return waits;
}

export const isolate: Bench = {
  id: 'P7',
  name: 'isolate',
  title: 'p95 delivery time to healthy targets while 10, 50 or 90% hang, drip or refuse',
  target: '≤ 1.5 × without bad targets',
  roundDescription: `5 s before and 5 s with bad targets (${PAST_DEADLINE_MS / 1_000} s with hanging ones)`,
  async measure(run) {
    const receiver = await run.stage.startReceiver();
    const hosts: Receiver[] = [];
    while (hosts.length < HANGING_CROWD.accounts) hosts.push(await run.stage.startReceiver());
    let turn = 0;
    const createMeasurement = (database: DatabaseKind): Measurement => {
      turn += 1;
      return { run, receiver, database, slug: `${database}/${turn}` };
    };
    const contenders = databaseKinds.flatMap((database): Contender[] => [
      ...[noBadTargets, ...badTargetMixes].map((badTargets) => ({
        name: nameOf(badTargets, database),
        measure: () => measureWithShare(createMeasurement(database), badTargets),
      })),
      { name: crowdName(database), measure: () => measureWithCrowd(createMeasurement(database), hosts) },
    ]);
    const claims = databaseKinds.flatMap((database): PerformanceClaim[] => [
      ...badTargetMixes.map((badness) => ({
        description: `${nameOf(badness, database)}, compared with all healthy`,
        of: seriesName(nameOf(badness, database), 'ms at p95'),
        to: seriesName(nameOf(noBadTargets, database), 'ms at p95'),
        atMost: 1.5,
      })),
      ...[...badTargetMixes.map((badness) => nameOf(badness, database)), crowdName(database)].map((name) => ({
        description: `${name}, compared with before`,
        of: seriesName(name, 'ms at p95'),
        to: seriesName(name, 'ms at p95, before'),
        atMost: 1.5,
      })),
    ]);
    return { series: await measureInRounds(contenders, run.rounds, run.say), claims };
  },
};
