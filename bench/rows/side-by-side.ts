import { makeAccounts } from '../accounts.ts';
import type { Bench, Claim } from '../bench.ts';
import { callsPerSecond } from '../load/closed-loop.ts';
import { ask, wired } from '../load/connection.ts';
import { nameOf, startServing } from '../peers.ts';
import { processorSeconds } from '../processor.ts';
import { type Contender, inRounds, seriesOf } from '../rounds.ts';
import { type Month, ours, parseServer, radicale, radicaleFolders, type Served, soulCli } from '../served.ts';
import { type Database, databases, type Stage } from '../stage.ts';

/** What is there before anything is measured: so many events in each of so many months. */
const MONTHS = 5;
const EVENTS_OF_A_MONTH = 100;
const FILLING = 8;

/** The month that is listed, and a day far from it on which whatever is measured begins. */
const MONTH: Month = { first: '20260601', last: '20260630' };
const LATER = '20300101';

/** So many different events are created one after the other. */
const TURNS = 20_000;

const doings = ['created', 'fetched', 'listed'] as const;

const contenderOf = (doing: string, who: string) => `${doing}: ${who}`;
const oursOn = (database: Database) => `carillon on ${database}`;

/** Everybody who is compared, and with which of ours: whoever keeps files, with ours that keeps one. */
const others = [
  { peer: 'soul-cli', database: 'SQLite' },
  { peer: 'radicale', database: 'SQLite' },
  { peer: 'parse-server', database: 'PostgreSQL' },
] as const;

async function startOurs(stage: Stage, database: Database): Promise<Served> {
  const where = await stage.newDatabase(database);
  const [account] = await makeAccounts(where, 1);
  if (account === undefined) throw new Error('there is an account');
  const { baseUrl, process } = await stage.service(where);
  return ours(oursOn(database), { url: baseUrl, pid: process.pid }, account);
}

async function startPeer(stage: Stage, { peer, database }: (typeof others)[number]): Promise<Served> {
  const address = database === 'SQLite' ? stage.newFile() : await stage.newDatabase(database);
  const found = await startServing(stage.context, peer, address);
  const name = nameOf(peer);
  if (peer === 'soul-cli') return soulCli(name, found);
  if (peer === 'parse-server') return parseServer(name, found);
  const folder = '/bench/events/';
  for (const call of radicaleFolders(folder)) await ask(found.url, call);
  return radicale(name, found, folder);
}

/** A day of the months about the one that is listed: each gets as many. */
function dayOf(turn: number): string {
  const month = turn % MONTHS;
  const day = 1 + (Math.floor(turn / MONTHS) % 28);
  const two = (number: number) => String(number).padStart(2, '0');
  return `2026${two(4 + month)}${two(day)}`;
}

/** Fills it, looks whether a list of the month holds what it should, and answers how one of its events is fetched. */
async function fill(served: Served) {
  const all = MONTHS * EVENTS_OF_A_MONTH;
  let created = '';
  const keepFilling = async (_: unknown, first: number) => {
    for (let turn = first; turn < all; turn += FILLING) {
      const answer = await ask(served.url, served.create(turn, dayOf(turn)));
      if (turn === 0) created = answer;
    }
  };
  await Promise.all(Array.from({ length: FILLING }, keepFilling));
  const listed = served.listed(await ask(served.url, served.list(MONTH)));
  if (listed !== EVENTS_OF_A_MONTH) throw new Error(`${served.name} lists ${listed} of ${EVENTS_OF_A_MONTH}`);
  return served.fetch(created, 0);
}

async function contendersOf(served: Served, roundMs: number): Promise<Contender[]> {
  const { url, pid, over } = served;
  const fetch = await fill(served);
  let turn = MONTHS * EVENTS_OF_A_MONTH;
  const callsFor = {
    created: () => {
      turn += TURNS;
      return Array.from({ length: TURNS }, (_, index) => served.create(turn + index, LATER));
    },
    fetched: () => [fetch],
    listed: () => [served.list(MONTH)],
  };
  return doings.map((doing) => ({
    name: contenderOf(doing, served.name),
    side: served.side,
    async measure() {
      const [first, ...more] = callsFor[doing]().map((call) => wired(url, call));
      if (first === undefined) throw new Error('there are calls');
      const before = processorSeconds(pid);
      const perSecond = await callsPerSecond(url, [first, ...more], { ...over, forMs: roundMs });
      const seconds = processorSeconds(pid) - before;
      return { '/s': perSecond, 'µs of processor a call': (seconds * 1e9) / (perSecond * roundMs) };
    },
  }));
}

export const sideBySide: Bench = {
  id: 'P12',
  name: 'side-by-side',
  title:
    'events created, fetched, and listed by the month, over 64 connections (8 to Radicale, which takes no more), each commit on disk before its answer',
  target: 'ahead of soul-cli, Radicale and Parse Server in each; of those, none was asked to know who calls',
  async measure({ stage, rounds, roundMs, say }) {
    const contenders: Contender[] = [];
    for (const database of databases)
      contenders.push(...(await contendersOf(await startOurs(stage, database), roundMs)));
    for (const other of others) contenders.push(...(await contendersOf(await startPeer(stage, other), roundMs)));
    await inRounds(contenders, 1, () => undefined);
    const claims = others.flatMap(({ peer, database }) =>
      doings.map(
        (doing): Claim => ({
          says: `${doing}, on ${database}, beside ${nameOf(peer)}`,
          of: seriesOf(contenderOf(doing, oursOn(database)), '/s'),
          to: seriesOf(contenderOf(doing, nameOf(peer)), '/s'),
          atLeast: 1,
        }),
      ),
    );
    return { series: await inRounds(contenders, rounds, say), claims };
  },
};
