import { createAccounts } from '../accounts.ts';
import type { Bench, PerformanceClaim } from '../bench.ts';
import { type BenchEnvironment, cpuSecondsOf, type DatabaseKind, databaseKinds } from '../environment.ts';
import { CONNECTIONS, callsPerSecond, sendOnce, serializeRequest } from '../load/load-generator.ts';
import { nameOf, startServing } from '../peers.ts';
import { type Contender, measureInRounds, seriesName } from '../rounds.ts';
import { carillonServer, type EventServer, type MonthRange, parsePlatformServer } from '../served.ts';

/** Number of months that contain events before the measurement. */
const MONTHS = 5;
/** Number of events in each month before the measurement. */
const EVENTS_PER_MONTH = 100;
/** Number of concurrent requests that create the events before the measurement. */
const FILL_CONCURRENCY = 8;

/** The month that is listed. */
const MONTH: MonthRange = { first: '20260601', last: '20260630' };
/** The day of the events that are created during the measurement. It lies outside the listed month. */
const CREATED_DAY = '20300101';

const operations = ['created', 'fetched', 'listed'] as const;

const contenderName = (operation: string, who: string) => `${operation}: ${who}`;
const ourName = (database: DatabaseKind) => `carillon on ${database}`;

/** The product that Carillon is compared with. */
const PEER = 'parse-server';
/** The database that the peer supports. */
const PEER_DATABASE = 'PostgreSQL';

async function startOurs(stage: BenchEnvironment, database: DatabaseKind): Promise<EventServer> {
  const where = await stage.newDatabase(database);
  const [account] = await createAccounts(where, 1);
  if (account === undefined) throw new Error('there is an account');
  const { baseUrl, process } = await stage.startService(where);
  return carillonServer(ourName(database), { url: baseUrl, pid: process.pid }, account);
}

async function startPeer(stage: BenchEnvironment): Promise<EventServer> {
  const address = await stage.newDatabase(PEER_DATABASE);
  return parsePlatformServer(nameOf(PEER), await startServing(stage.context, PEER, address));
}

/** Returns the day of an event. Events are spread evenly over the months around the listed month. */
function dayOf(turn: number): string {
  const month = turn % MONTHS;
  const day = 1 + (Math.floor(turn / MONTHS) % 28);
  const two = (number: number) => String(number).padStart(2, '0');
  return `2026${two(4 + month)}${two(day)}`;
}

/** Creates the events, checks the list of the month, and returns the call that fetches one event. */
async function fillMonths(served: EventServer) {
  const all = MONTHS * EVENTS_PER_MONTH;
  let created = '';
  const runWriter = async (_: unknown, first: number) => {
    for (let turn = first; turn < all; turn += FILL_CONCURRENCY) {
      const response = await sendOnce(served.url, served.create(dayOf(turn)));
      if (turn === 0) created = response;
    }
  };
  await Promise.all(Array.from({ length: FILL_CONCURRENCY }, runWriter));
  const listed = served.countListed(await sendOnce(served.url, served.list(MONTH)));
  if (listed !== EVENTS_PER_MONTH) throw new Error(`${served.name} lists ${listed} of ${EVENTS_PER_MONTH}`);
  return served.fetch(created);
}

async function contendersOf(served: EventServer, roundMs: number): Promise<Contender[]> {
  const { url, pid } = served;
  const fetch = await fillMonths(served);
  const callsFor = {
    created: () => [served.create(CREATED_DAY)],
    fetched: () => [fetch],
    listed: () => [served.list(MONTH)],
  };
  return operations.map((operation) => ({
    name: contenderName(operation, served.name),
    side: served.side,
    async measure() {
      const [first, ...more] = callsFor[operation]().map((call) => serializeRequest(url, call));
      if (first === undefined) throw new Error('there are calls');
      const before = cpuSecondsOf(pid);
      const perSecond = await callsPerSecond(url, [first, ...more], { connections: CONNECTIONS, forMs: roundMs });
      const seconds = cpuSecondsOf(pid) - before;
      return { '/s': perSecond, 'µs of CPU per request': (seconds * 1e9) / (perSecond * roundMs) };
    },
  }));
}

export const sideBySide: Bench = {
  id: 'P12',
  name: 'side-by-side',
  title: 'events created, fetched and listed by month',
  target: 'faster than Parse Server',
  async measure({ stage, rounds, roundMs, say }) {
    const contenders: Contender[] = [];
    for (const database of databaseKinds)
      contenders.push(...(await contendersOf(await startOurs(stage, database), roundMs)));
    contenders.push(...(await contendersOf(await startPeer(stage), roundMs)));
    await measureInRounds(contenders, 1, () => undefined);
    const claims = operations.map(
      (operation): PerformanceClaim => ({
        description: `${operation}, compared with ${nameOf(PEER)}`,
        of: seriesName(contenderName(operation, ourName(PEER_DATABASE)), '/s'),
        to: seriesName(contenderName(operation, nameOf(PEER)), '/s'),
        atLeast: 1,
      }),
    );
    return { series: await measureInRounds(contenders, rounds, say), claims };
  },
};
