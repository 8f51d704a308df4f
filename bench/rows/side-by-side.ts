import { makeAccounts } from '../accounts.ts';
import type { Bench, Claim } from '../bench.ts';
import { type Database, databases, processorSeconds, type Stage } from '../environment.ts';
import { ask, CONNECTIONS, callsPerSecond, wired } from '../load/load-generator.ts';
import { nameOf, startServing } from '../peers.ts';
import { type Contender, inRounds, seriesOf } from '../rounds.ts';
import { type Month, ours, parseServer, type Served } from '../served.ts';

/** Number of months that contain events before the measurement. */
const MONTHS = 5;
/** Number of events in each month before the measurement. */
const EVENTS_PER_MONTH = 100;
/** Number of concurrent requests that create the events before the measurement. */
const FILLING = 8;

/** The month that is listed. */
const MONTH: Month = { first: '20260601', last: '20260630' };
/** The day of the events that are created during the measurement. It lies outside the listed month. */
const LATER = '20300101';

const operations = ['created', 'fetched', 'listed'] as const;

const contenderOf = (operation: string, who: string) => `${operation}: ${who}`;
const oursOn = (database: Database) => `carillon on ${database}`;

/** The product that Carillon is compared with. */
const PEER = 'parse-server';
/** The database that the peer supports. */
const PEER_DATABASE = 'PostgreSQL';

async function startOurs(stage: Stage, database: Database): Promise<Served> {
  const where = await stage.newDatabase(database);
  const [account] = await makeAccounts(where, 1);
  if (account === undefined) throw new Error('there is an account');
  const { baseUrl, process } = await stage.service(where);
  return ours(oursOn(database), { url: baseUrl, pid: process.pid }, account);
}

async function startPeer(stage: Stage): Promise<Served> {
  const address = await stage.newDatabase(PEER_DATABASE);
  return parseServer(nameOf(PEER), await startServing(stage.context, PEER, address));
}

/** Returns the day of an event. Events are spread evenly over the months around the listed month. */
function dayOf(turn: number): string {
  const month = turn % MONTHS;
  const day = 1 + (Math.floor(turn / MONTHS) % 28);
  const two = (number: number) => String(number).padStart(2, '0');
  return `2026${two(4 + month)}${two(day)}`;
}

/** Creates the events, checks the list of the month, and returns the call that fetches one event. */
async function fill(served: Served) {
  const all = MONTHS * EVENTS_PER_MONTH;
  let created = '';
  const runWriter = async (_: unknown, first: number) => {
    for (let turn = first; turn < all; turn += FILLING) {
      const response = await ask(served.url, served.create(dayOf(turn)));
      if (turn === 0) created = response;
    }
  };
  await Promise.all(Array.from({ length: FILLING }, runWriter));
  const listed = served.listed(await ask(served.url, served.list(MONTH)));
  if (listed !== EVENTS_PER_MONTH) throw new Error(`${served.name} lists ${listed} of ${EVENTS_PER_MONTH}`);
  return served.fetch(created);
}

async function contendersOf(served: Served, roundMs: number): Promise<Contender[]> {
  const { url, pid } = served;
  const fetch = await fill(served);
  const callsFor = {
    created: () => [served.create(LATER)],
    fetched: () => [fetch],
    listed: () => [served.list(MONTH)],
  };
  return operations.map((operation) => ({
    name: contenderOf(operation, served.name),
    side: served.side,
    async measure() {
      const [first, ...more] = callsFor[operation]().map((call) => wired(url, call));
      if (first === undefined) throw new Error('there are calls');
      const before = processorSeconds(pid);
      const perSecond = await callsPerSecond(url, [first, ...more], { connections: CONNECTIONS, forMs: roundMs });
      const seconds = processorSeconds(pid) - before;
      return { '/s': perSecond, 'µs of CPU per request': (seconds * 1e9) / (perSecond * roundMs) };
    },
  }));
}

export const sideBySide: Bench = {
  id: 'P12',
  name: 'side-by-side',
  title: 'events created, fetched and listed by month',
  target: 'ahead of Parse Server',
  async measure({ stage, rounds, roundMs, say }) {
    const contenders: Contender[] = [];
    for (const database of databases)
      contenders.push(...(await contendersOf(await startOurs(stage, database), roundMs)));
    contenders.push(...(await contendersOf(await startPeer(stage), roundMs)));
    await inRounds(contenders, 1, () => undefined);
    const claims = operations.map(
      (operation): Claim => ({
        description: `${operation}, compared with ${nameOf(PEER)}`,
        of: seriesOf(contenderOf(operation, oursOn(PEER_DATABASE)), '/s'),
        to: seriesOf(contenderOf(operation, nameOf(PEER)), '/s'),
        atLeast: 1,
      }),
    );
    return { series: await inRounds(contenders, rounds, say), claims };
  },
};
