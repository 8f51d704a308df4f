import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { atEnd, type Cleanup } from '../../kit/cleanup.ts';
import { freePort } from '../../kit/port.ts';
import { type PostgresServer, startPostgres } from '../../kit/postgres.ts';
import type { SeededChance } from '../../kit/random.ts';
import { type Started, spawnService, startProcess } from '../../kit/start-service.ts';
import type { TestStore } from '../../kit/stores.ts';
import { check, countFaults, type Fault, sayFault } from '../checker/check.ts';
import { toldTwice } from '../checker/duplicate-budget.ts';
import type { Crash, Pause } from '../checker/history.ts';
import type { Proof } from '../reliability-test.ts';
import { inStretches, type Part, type Stretch } from '../shards.ts';
import {
  BASE,
  type Door,
  type Heard,
  readCrash,
  readDatabase,
  SETTLES_WITHIN_MS,
  startWitnesses,
  untilQuiet,
  untilTold,
  WATCHED,
  type Witnesses,
} from '../workload/observers.ts';
import { PAUSED, pause } from './pauses.ts';

export const kills: Proof = {
  id: 'R1',
  name: 'kills',
  title: 'C16 C19 C20 kill -9 and pauses under load, of the service and of PostgreSQL',
  promise:
    'nothing acknowledged is lost, everything pending is delivered, duplicates only of what was in flight, no healthy hook ends',
  unit: 'kills',
  quick: 20,
  long: 1_000,
  prove: (run) => inStretches(run, { most: KILLS_PER_RUN, onPostgres: 0.3 }, stretch),
};

/** So many kills, then a new database: what is compared stays small. */
const KILLS_PER_RUN = 50;

/** One pause in so many strikes, the first of them soon. */
const PAUSES_ONE_IN = 10;
const PAUSE_AT = 4;

/** How long a service lives at least and, if something was written by then, at most. On PostgreSQL a start waits for the lanes of the dead. */
const LIVES_MS = { SQLite: [40, 300], PostgreSQL: [1_200, 1_800] } as const;

/** Records that clients are answered 201 for before a service is killed. */
const MIN_PER_RUN = 5;

/** The last life of a stretch is so long that whatever it was answered at its beginning is written down at its end. */
const LONG_LIFE_MS = SETTLES_WITHIN_MS + 1_000;

const hooks = [
  ['/events', 'new_event'],
  ['/events-too', 'new_event'],
  ['/clients', 'new_client'],
] as const;

/** What is killed, and on which databases. The more often it stands here, the more often it is done. */
type Struck = 'service' | 'starting' | 'database' | 'shutdown' | 'both';
const STRIKES: Readonly<Record<TestStore['name'], readonly Struck[]>> = {
  SQLite: ['service', 'service', 'service', 'starting'],
  PostgreSQL: ['service', 'database', 'service', 'shutdown', 'service', 'both', 'service', 'starting'],
};
const CALLED: Readonly<Record<Struck, string>> = {
  service: 'kills of the service at work',
  starting: 'kills of the service as it started',
  database: 'kills of the database server',
  shutdown: 'immediate shutdowns of the database server',
  both: 'kills of both at once',
};

type Counts = Record<string, number>;

/** A service on a database of its own, and everything that is done to both. */
type Stage = {
  readonly address: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly server: PostgresServer | undefined;
  readonly witnesses: Witnesses;
  readonly headers: Door['headers'];
  service: Started;
};

async function stretch({ context, store, times, random }: Stretch): Promise<Part> {
  const stage = await setUp(context, store, random);
  const counts: Counts = { 'kills with something pending': 0 };
  const crashes: Crash[] = [];
  const pauses: Pause[] = [];
  const strikes = STRIKES[store.name];
  for (let tried = 0; (counts['kills with something pending'] ?? 0) < times; tried += 1) {
    if (tried >= times * 2) throw new Error('too many kills found nothing pending');
    if (tried % PAUSES_ONE_IN === PAUSE_AT) pauses.push(await pauseAtWork(stage));
    const isLast = counts['kills with something pending'] === times - 1;
    const struck = isLast ? 'service' : (strikes[tried % strikes.length] ?? 'service');
    const left = await strike(stage, struck, isLast ? [LONG_LIFE_MS, LONG_LIFE_MS + 1] : LIVES_MS[store.name], random);
    crashes.push(...left);
    const [death] = left;
    // Where the service lives on without its database, nobody looks what is pending: that is counted apart.
    const isCounted = death !== undefined && death.pending.size > 0;
    if (isCounted || death === undefined) counts[CALLED[struck]] = (counts[CALLED[struck]] ?? 0) + 1;
    if (isCounted) counts['kills with something pending'] = (counts['kills with something pending'] ?? 0) + 1;
  }
  return compare(stage, { crashes, pauses }, counts);
}

async function setUp(context: Cleanup, store: TestStore, random: SeededChance): Promise<Stage> {
  // One of its own, that may be killed.
  const server = store.name === 'PostgreSQL' ? await startPostgres() : undefined;
  if (server !== undefined) atEnd(context, server.stop);
  const address = server?.address ?? (await store.database(context));
  const environment = { CARILLON_DATABASE: address, CARILLON_PORT: '0', ...WATCHED, ...PAUSED };
  const service = await startProcess(environment);
  const { domain = '', key = '' } = service;
  const headers = { domain, key };
  const witnesses = await startWitnesses(context, { random });
  const stage: Stage = { address, environment, server, headers, service, witnesses };
  atEnd(context, () => stage.service.process.kill('SIGKILL'));
  for (const [path, kind] of hooks) await witnesses.subscribe(doorOf(stage), path, kind);
  return stage;
}

const doorOf = ({ service: { baseUrl }, headers }: Stage): Door => ({ baseUrl, headers });

/** One life and its end: what each death of a service has left; none where it went on without its database. */
async function strike(
  stage: Stage,
  struck: Struck,
  lifeMs: readonly [number, number],
  dice: SeededChance,
): Promise<readonly Crash[]> {
  const { witnesses, server, environment } = stage;
  const [least, most] = lifeMs;
  witnesses.through(doorOf(stage));
  await wait(least + dice.below(most - least));
  await witnesses.untilAcknowledged(MIN_PER_RUN);
  // Struck in this very moment: what is not answered is pending, also where nobody can look at what is left.
  await witnesses.whenBusy();
  if (struck === 'database' || struck === 'shutdown') {
    await server?.crash(struck === 'database' ? 'SIGKILL' : 'SIGQUIT');
    await server?.restart();
    await witnesses.untilAcknowledged(1);
    return [];
  }
  const killedAt = performance.now();
  const dying = [stage.service.stop('SIGKILL'), struck === 'both' ? server?.crash('SIGKILL') : undefined];
  witnesses.through();
  await Promise.all(dying);
  if (struck === 'both') await server?.restart();
  const crashes = [await afterCrash(stage, killedAt)];
  if (struck === 'starting') {
    const port = String(await freePort());
    witnesses.expect(`http://127.0.0.1:${port}`);
    const child = spawnService({ ...environment, CARILLON_PORT: port });
    const exited = once(child, 'exit');
    await wait(dice.below(500));
    const startKilledAt = performance.now();
    child.kill('SIGKILL');
    await exited;
    crashes.push(await afterCrash(stage, startKilledAt));
  }
  stage.service = await startProcess(environment);
  return crashes;
}

/** Paused with something in flight; then it works as before. */
async function pauseAtWork(stage: Stage): Promise<Pause> {
  const { witnesses, service } = stage;
  witnesses.through(doorOf(stage));
  await witnesses.untilAcknowledged(MIN_PER_RUN);
  await witnesses.whenBusy();
  const paused = await pause(service.process);
  await witnesses.untilAcknowledged(MIN_PER_RUN);
  return paused;
}

function afterCrash({ witnesses, address }: Stage, killedAt: number): Promise<Crash> {
  return witnesses.crashed(async () => {
    await untilQuiet(address);
    return { ...(await readCrash(address)), killedAt };
  });
}

type Ends = { readonly crashes: readonly Crash[]; readonly pauses: readonly Pause[] };

/** Lets everything be told, stops, and lays the ledgers side by side. */
async function compare(stage: Stage, ends: Ends, counts: Counts): Promise<Part> {
  const { crashes, pauses } = ends;
  const { witnesses, address, service } = stage;
  witnesses.recover();
  witnesses.through(doorOf(stage));
  await witnesses.stop();
  await untilTold(address);
  const exitCode = await service.stop('SIGTERM');
  const database = await readDatabase(address, BASE);
  const faults: readonly Fault[] = check({ ...witnesses.ledgers(database), pauses });
  const removed = database.hooks.filter(({ endedReason }) => endedReason !== null);
  const twice = toldTwice(witnesses.heard, crashes, pauses);
  const { acknowledged, unanswered, refused, others } = witnesses.tally;
  const broken = [
    ...faults.map(sayFault),
    ...removed.map(({ path, endedReason }) => `C19 a hook is removed: ${path} ${endedReason}`),
    ...twice.broken,
    ...others.map((one) => `C20 a client was answered ${one}`),
    ...(exitCode === 0 ? [] : [`exit code ${exitCode} after SIGTERM`]),
  ];
  const found = {
    acknowledged,
    'cut off before the answer': unanswered.length,
    'answered 503': refused,
    told: witnesses.heard.length,
    'failures of the receiver': witnesses.heard.filter(({ answer }) => answer !== 200).length,
    pauses: pauses.length,
    'answered while the service was paused': pauses.flatMap((one) => witnesses.heard.filter(isAnsweredIn(one))).length,
    'given up after a pause': twice.givenUp,
    'in flight at the kills': twice.inFlight,
    'answered and not written down at the kills': twice.unwritten,
    'of these, answered more than 100 ms before': twice.unwrittenLate,
    'told twice': twice.again,
    'hooks removed': removed.length,
    ...countFaults(faults),
  };
  return { counts: { ...counts, ...found }, broken };
}

const isAnsweredIn =
  ({ stoppedAt, to }: Pause) =>
  ({ answer, answeredAt = 0 }: Heard) =>
    answer === 200 && answeredAt >= stoppedAt && answeredAt < to;
