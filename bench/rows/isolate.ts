import { setTimeout as wait } from 'node:timers/promises';
import { type Account, makeAccounts } from '../accounts.ts';
import type { Bench, Claim, Run } from '../bench.ts';
import { type Database, databases } from '../environment.ts';
import {
  ask,
  atRate,
  createEvent,
  RESPONSE_TIMEOUT_MS,
  type SentRequest,
  subscribe,
  wired,
} from '../load/load-generator.ts';
import type { Receiver } from '../receiver.ts';
import { type Contender, inRounds, seriesOf } from '../rounds.ts';
import { quantile } from '../statistics.ts';

const ACCOUNTS = 20;
const HOOKS_EACH = 50;

/**
 * A crowd of more hanging targets than a service may have attempts in flight, on one host per account, and the
 * same number of accounts with healthy targets.
 */
const CROWD = { accounts: 5, hooksEach: 500, healthy: 5, healthyEach: 20 } as const;

/** Rate at which events are created. Each event is delivered to all hooks of its account. */
const EVENTS_PER_SECOND = 10;

/** The warm-up has a higher rate and lasts until the code is compiled. */
const WARM = { perSecond: 40, forMs: 4_000 } as const;

/**
 * Length of a measurement with hanging targets. It is longer than the timeout of an attempt (15 s), so that
 * results of hanging attempts are stored and retried during the measurement.
 */
const PAST_DEADLINE_MS = 20_000;

/** The percentages of bad targets that are measured. */
const shares = [10, 50, 90] as const;
/** The behaviors of bad targets: they never respond, send a byte per second, or refuse connections. */
const behaviors = ['hang', 'drip', 'refuse'] as const;

type BadTargets = { readonly share: number; readonly manner: (typeof behaviors)[number] };

const none: BadTargets = { share: 0, manner: 'hang' };
const bad: readonly BadTargets[] = behaviors.flatMap((manner) => shares.map((share) => ({ share, manner })));

const nameOf = ({ share, manner }: BadTargets, database: Database) =>
  `${share === 0 ? 'all healthy' : `${share} % ${manner}`} on ${database}`;

/** The context of one measurement. `slug` is the part of the path that identifies its notifications. */
type Measurement = {
  readonly run: Run;
  readonly receiver: Receiver;
  readonly database: Database;
  readonly slug: string;
};

/** The accounts with healthy hooks that are measured, and a function that subscribes the bad targets. */
type Setup = {
  readonly baseUrl: string;
  readonly healthy: readonly Account[];
  readonly healthyEach: number;
  readonly forMs: number;
  /** Subscribes the bad targets after the first part of the measurement. */
  readonly subscribeBad: () => Promise<void>;
};

/**
 * Measures the time from a request to its arrival at a healthy receiver: first with healthy targets only, then in
 * the same service with the bad targets as well.
 */
async function healthyWaits(
  { run, receiver, slug }: Measurement,
  { baseUrl, healthy, healthyEach, forMs, subscribeBad }: Setup,
) {
  const calls = healthy.map((account) => wired(baseUrl, createEvent(account)));
  const waitsFor = async (forMs: number, perSecond = EVENTS_PER_SECOND) => {
    await receiver.report();
    const requests = await atRate(baseUrl, (event) => calls[event % calls.length] ?? never(), { perSecond, forMs });
    return await waitsOf(requests, (events) => arrivalsAt(receiver, `/ok/${slug}/`, events * healthyEach));
  };
  await waitsFor(WARM.forMs, WARM.perSecond);
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

function never(): never {
  throw new Error('there are accounts');
}

/** Measures a new service in which every account has the same percentage of bad targets. */
async function measureWithShare(scene: Measurement, { share, manner }: BadTargets) {
  const { run, receiver, database, slug } = scene;
  const where = await run.stage.newDatabase(database);
  const healthy = await makeAccounts(where, ACCOUNTS);
  const service = await run.stage.service(where);
  const healthyEach = (HOOKS_EACH * (100 - share)) / 100;
  const subscribeAll = async (target: string, from: number, until: number) => {
    for (const [place, account] of healthy.entries()) {
      for (let hook = from; hook < until; hook += 1)
        await ask(service.baseUrl, subscribe(account, `${target}/${slug}/${place}/${hook}`));
    }
  };
  await subscribeAll(`${receiver.url}/ok`, 0, healthyEach);
  const waits = await healthyWaits(scene, {
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
async function arrivalsAt(receiver: Receiver, prefix: string, wanted: number) {
  const arrived: (readonly [record: string, at: number])[] = [];
  for (const deadline = performance.now() + RESPONSE_TIMEOUT_MS; arrived.length < wanted; await wait(20)) {
    const { arrivals } = await receiver.report();
    for (const [path, record, at] of arrivals) if (path.startsWith(prefix)) arrived.push([record, at]);
    if (performance.now() > deadline) throw new Error(`of ${wanted}, ${arrived.length} arrived at ${prefix}`);
  }
  return arrived;
}

/** Returns the milliseconds from the time at which a request was due to each of its arrivals. */
async function waitsOf(requests: readonly SentRequest[], arrive: (events: number) => ReturnType<typeof arrivalsAt>) {
  const idOf = (body: string | undefined) => {
    if (body === undefined) throw new Error('a request was rejected at this rate');
    return String(JSON.parse(body).data.event_id);
  };
  const dueAt = new Map(requests.map((one) => [idOf(one.body), one.dueAt]));
  return (await arrive(requests.length)).map(([record, at]) => at - (dueAt.get(record) ?? Number.NaN));
}

const crowd = CROWD.accounts * CROWD.hooksEach;
const crowdOn = (database: Database) => `${crowd.toLocaleString('en')} hang on ${database}`;

/** Measures a new service in which many targets of other accounts hang. */
async function measureWithCrowd(scene: Measurement, hosts: readonly Receiver[]) {
  const { run, receiver, database, slug } = scene;
  const where = await run.stage.newDatabase(database);
  const accounts = await makeAccounts(where, CROWD.healthy + CROWD.accounts);
  const [healthy, others] = [accounts.slice(0, CROWD.healthy), accounts.slice(CROWD.healthy)];
  const service = await run.stage.service(where);
  const subscribeAll = async (account: Account, hooks: number, target: string) => {
    for (let hook = 0; hook < hooks; hook += 1) await ask(service.baseUrl, subscribe(account, `${target}/${hook}`));
  };
  for (const [place, account] of healthy.entries())
    await subscribeAll(account, CROWD.healthyEach, `${receiver.url}/ok/${slug}/${place}`);
  const waits = await healthyWaits(scene, {
    baseUrl: service.baseUrl,
    healthy,
    healthyEach: CROWD.healthyEach,
    forMs: run.isQuick ? run.roundMs : PAST_DEADLINE_MS,
    async subscribeBad() {
      for (const [place, account] of others.entries())
        await subscribeAll(account, CROWD.hooksEach, `${hosts[place]?.url}/hang/${slug}`);
      for (const account of others) await ask(service.baseUrl, createEvent(account));
    },
  });
  await service.stop('SIGKILL');
  return waits;
}

export const isolate: Bench = {
  id: 'P7',
  name: 'isolate',
  title: "healthy targets' p95 while 10, 50 or 90% hang, drip or refuse",
  target: '≤ 1.5 × without them',
  aRound: `5 s before and 5 s with bad targets (${PAST_DEADLINE_MS / 1_000} s with hanging ones)`,
  async measure(run) {
    const receiver = await run.stage.receiver();
    const hosts: Receiver[] = [];
    while (hosts.length < CROWD.accounts) hosts.push(await run.stage.receiver());
    let turn = 0;
    const sceneOn = (database: Database): Measurement => {
      turn += 1;
      return { run, receiver, database, slug: `${database}/${turn}` };
    };
    const contenders = databases.flatMap((database): Contender[] => [
      ...[none, ...bad].map((badness) => ({
        name: nameOf(badness, database),
        measure: () => measureWithShare(sceneOn(database), badness),
      })),
      { name: crowdOn(database), measure: () => measureWithCrowd(sceneOn(database), hosts) },
    ]);
    const claims = databases.flatMap((database): Claim[] => [
      ...bad.map((badness) => ({
        description: `${nameOf(badness, database)}, compared with all healthy`,
        of: seriesOf(nameOf(badness, database), 'ms at p95'),
        to: seriesOf(nameOf(none, database), 'ms at p95'),
        atMost: 1.5,
      })),
      ...[...bad.map((badness) => nameOf(badness, database)), crowdOn(database)].map((name) => ({
        description: `${name}, compared with before`,
        of: seriesOf(name, 'ms at p95'),
        to: seriesOf(name, 'ms at p95, before'),
        atMost: 1.5,
      })),
    ]);
    return { series: await inRounds(contenders, run.rounds, run.say), claims };
  },
};
