import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import type { SeededRandom } from '../../../packages/chaos-receiver/src/random.ts';
import { atEnd, type Cleanup } from '../../kit/cleanup.ts';
import { type PostgresServer, startPostgres } from '../../kit/database/postgres.ts';
import { findFreePort } from '../../kit/network/port.ts';
import { type StartedProcess, spawnService, startProcess } from '../../kit/service/service-process.ts';
import type { TestStore } from '../../kit/service/stores.ts';
import { check, countViolations, formatViolation, type Violation } from '../checker/check.ts';
import { checkDuplicates } from '../checker/duplicate-budget.ts';
import type { Crash, Pause } from '../checker/history.ts';
import type { ReliabilityTest } from '../reliability-test.ts';
import { type PartialResult, runInShards, type Shard } from '../shards.ts';
import {
  type Endpoint,
  HISTORY_BASE_URL,
  MAX_COMMIT_DELAY_MS,
  OBSERVED_SERVICE_OPTIONS,
  type Observers,
  type ReceivedArrival,
  readCrash,
  readDatabase,
  startObservers,
  untilDelivered,
  untilQuiet,
} from '../workload/observers.ts';
import { PAUSE_OPTIONS, pause } from './crash-loop.ts';

export const kills: ReliabilityTest = {
  id: 'R1',
  name: 'kills',
  title: 'C16 C19 C20 under load, the service and PostgreSQL are paused, or killed by kill -9',
  promise:
    'no acknowledged change is lost, every pending delivery is delivered, only deliveries in flight may be sent twice, no hook with a healthy target ends',
  unit: 'kills',
  quick: 5,
  isQuickOnBoth: true,
  full: 1_000,
  execute: (run) => runInShards(run, { maxPerShard: KILLS_PER_DATABASE, postgresShare: 0.3 }, runShard),
};

/** Number of kills before a new database is created, so that the final comparison stays small. */
const KILLS_PER_DATABASE = 50;

/** One cycle in 10 has a pause. */
const CYCLES_PER_PAUSE = 10;
/** Index of the cycle with the pause among each 10 cycles, so that the first pause is early. */
const PAUSE_CYCLE = 4;

/**
 * Minimum and maximum of the random uptime before a kill, in milliseconds. It is longer on PostgreSQL, where a
 * start waits for the leases of the dead process.
 */
const UPTIME_MS = { SQLite: [40, 300], PostgreSQL: [1_200, 1_800] } as const;

/** Number of records that are acknowledged before a service is killed. */
const MIN_ACKNOWLEDGED = 5;

/**
 * Uptime before the last kill of a shard, in milliseconds. Results from the beginning of that uptime must be
 * committed by then.
 */
const LAST_UPTIME_MS = MAX_COMMIT_DELAY_MS + 1_000;

const hooks = [
  ['/events', 'new_event'],
  ['/events-too', 'new_event'],
  ['/clients', 'new_client'],
] as const;

/**
 * The process that is killed: the running service, a starting service, the database server (also by an immediate
 * shutdown), or service and database server together.
 */
type KillTarget = 'service' | 'starting' | 'database' | 'shutdown' | 'both';
/** The targets of successive kills on each database. Repeated targets are killed more often. */
const KILL_TARGETS: Readonly<Record<TestStore['name'], readonly KillTarget[]>> = {
  SQLite: ['service', 'service', 'service', 'starting'],
  PostgreSQL: ['service', 'database', 'service', 'shutdown', 'service', 'both', 'service', 'starting'],
};
const COUNTER_BY_TARGET: Readonly<Record<KillTarget, string>> = {
  service: 'kills of the running service',
  starting: 'kills of the starting service',
  database: 'kills of the database server',
  shutdown: 'immediate shutdowns of the database server',
  both: 'kills of both together',
};

type Counts = Record<string, number>;

/** A service on its own database, with its observers. */
type Fixture = {
  readonly address: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly server: PostgresServer | undefined;
  readonly observers: Observers;
  readonly headers: Endpoint['headers'];
  service: StartedProcess;
};

async function runShard({ context, store, times, random }: Shard): Promise<PartialResult> {
  const fixture = await setUp(context, store, random);
  const counts: Counts = { 'kills with pending deliveries': 0 };
  const crashes: Crash[] = [];
  const pauses: Pause[] = [];
  const killTargets = KILL_TARGETS[store.name];
  for (let cycle = 0; (counts['kills with pending deliveries'] ?? 0) < times; cycle += 1) {
    if (cycle >= times * 2) throw new Error('too many kills found nothing pending');
    if (cycle % CYCLES_PER_PAUSE === PAUSE_CYCLE) pauses.push(await pauseAtWork(fixture));
    const isLast = counts['kills with pending deliveries'] === times - 1;
    const target = isLast ? 'service' : (killTargets[cycle % killTargets.length] ?? 'service');
    const left = await kill(
      fixture,
      target,
      isLast ? [LAST_UPTIME_MS, LAST_UPTIME_MS + 1] : UPTIME_MS[store.name],
      random,
    );
    crashes.push(...left);
    const [death] = left;
    // A service that survives the death of its database leaves nothing to inspect, so these kills are counted
    // separately.
    const isCounted = death !== undefined && death.pending.size > 0;
    if (isCounted || death === undefined)
      counts[COUNTER_BY_TARGET[target]] = (counts[COUNTER_BY_TARGET[target]] ?? 0) + 1;
    if (isCounted) counts['kills with pending deliveries'] = (counts['kills with pending deliveries'] ?? 0) + 1;
  }
  return stopAndCheck(fixture, { crashes, pauses }, counts);
}

async function setUp(context: Cleanup, store: TestStore, random: SeededRandom): Promise<Fixture> {
  // The test starts its own PostgreSQL server, because it kills the server.
  const server = store.name === 'PostgreSQL' ? await startPostgres() : undefined;
  if (server !== undefined) atEnd(context, server.stop);
  const address = server?.url ?? (await store.database(context));
  const environment = { CARILLON_DATABASE: address, CARILLON_PORT: '0', ...OBSERVED_SERVICE_OPTIONS, ...PAUSE_OPTIONS };
  const service = await startProcess(environment);
  const { domain = '', key = '' } = service;
  const headers = { domain, key };
  const observers = await startObservers(context, { random });
  const fixture: Fixture = { address, environment, server, headers, service, observers };
  atEnd(context, () => fixture.service.process.kill('SIGKILL'));
  for (const [path, kind] of hooks) await observers.subscribe(endpointOf(fixture), path, kind);
  return fixture;
}

const endpointOf = ({ service: { baseUrl }, headers }: Fixture): Endpoint => ({ baseUrl, headers });

/**
 * Lets the service run, then kills the target. Returns the state that each death of a service left, and nothing if
 * only the database was killed.
 */
async function kill(
  fixture: Fixture,
  target: KillTarget,
  uptimeMs: readonly [number, number],
  rng: SeededRandom,
): Promise<readonly Crash[]> {
  const { observers, server, environment } = fixture;
  const [min, max] = uptimeMs;
  observers.routeTo(endpointOf(fixture));
  await wait(min + rng.integerBelow(max - min));
  await observers.untilAcknowledged(MIN_ACKNOWLEDGED);
  // The kill follows immediately, so an unanswered delivery is pending even where the database cannot be
  // inspected.
  await observers.whenBusy();
  if (target === 'database' || target === 'shutdown') {
    await server?.crash(target === 'database' ? 'SIGKILL' : 'SIGQUIT');
    await server?.restart();
    await observers.untilAcknowledged(1);
    return [];
  }
  const killedAt = performance.now();
  const exits = [fixture.service.stop('SIGKILL'), target === 'both' ? server?.crash('SIGKILL') : undefined];
  observers.routeTo();
  await Promise.all(exits);
  if (target === 'both') await server?.restart();
  const crashes = [await recordKill(fixture, killedAt)];
  if (target === 'starting') {
    const port = String(await findFreePort());
    observers.expectOrigin(`http://127.0.0.1:${port}`);
    const child = spawnService({ ...environment, CARILLON_PORT: port });
    const exited = once(child, 'exit');
    await wait(rng.integerBelow(500));
    const startKilledAt = performance.now();
    child.kill('SIGKILL');
    await exited;
    crashes.push(await recordKill(fixture, startKilledAt));
  }
  fixture.service = await startProcess(environment);
  return crashes;
}

/** Pauses the process with deliveries in flight and waits until it works again. */
async function pauseAtWork(fixture: Fixture): Promise<Pause> {
  const { observers, service } = fixture;
  observers.routeTo(endpointOf(fixture));
  await observers.untilAcknowledged(MIN_ACKNOWLEDGED);
  await observers.whenBusy();
  const paused = await pause(service.process);
  await observers.untilAcknowledged(MIN_ACKNOWLEDGED);
  return paused;
}

function recordKill({ observers, address }: Fixture, killedAt: number): Promise<Crash> {
  return observers.recordCrash(async () => {
    await untilQuiet(address);
    return { ...(await readCrash(address)), killedAt };
  });
}

type Interruptions = { readonly crashes: readonly Crash[]; readonly pauses: readonly Pause[] };

/** Waits until everything is delivered, stops the service and checks the history. */
async function stopAndCheck(fixture: Fixture, interruptions: Interruptions, counts: Counts): Promise<PartialResult> {
  const { crashes, pauses } = interruptions;
  const { observers, address, service } = fixture;
  observers.recover();
  observers.routeTo(endpointOf(fixture));
  await observers.stop();
  await untilDelivered(address);
  const exitCode = await service.stop('SIGTERM');
  const database = await readDatabase(address, HISTORY_BASE_URL);
  const faults: readonly Violation[] = check({ ...observers.history(database), pauses });
  const endedHooks = database.hooks.filter(({ endedReason }) => endedReason !== null);
  const duplicates = checkDuplicates(observers.arrivals, crashes, pauses);
  const { acknowledged, unanswered, refused, others } = observers.tally;
  const broken = [
    ...faults.map(formatViolation),
    ...endedHooks.map(({ path, endedReason }) => `C19 a hook has ended: ${path} ${endedReason}`),
    ...duplicates.broken,
    ...others.map((one) => `C20 a client got ${one}`),
    ...(exitCode === 0 ? [] : [`exit code ${exitCode} after SIGTERM`]),
  ];
  const found = {
    acknowledged,
    'requests without a response': unanswered.length,
    'answered 503': refused,
    notifications: observers.arrivals.length,
    'failures of the receiver': observers.arrivals.filter(({ answer }) => answer !== 200).length,
    pauses: pauses.length,
    'answered while the service was paused': pauses.flatMap((one) => observers.arrivals.filter(isAnsweredIn(one)))
      .length,
    'timed out after a pause': duplicates.timedOutAfterPause,
    'in flight at the kills': duplicates.inFlight,
    'answered and not committed at the kills': duplicates.uncommitted,
    'of these, answered more than 100 ms before': duplicates.uncommittedLate,
    duplicates: duplicates.duplicateCount,
    'hooks removed': endedHooks.length,
    ...countViolations(faults),
  };
  return { counts: { ...counts, ...found }, broken };
}

const isAnsweredIn =
  ({ stoppedAt, to }: Pause) =>
  ({ answer, answeredAt = 0 }: ReceivedArrival) =>
    answer === 200 && answeredAt >= stoppedAt && answeredAt < to;
