import { copyFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { type Account, makeAccounts } from '../accounts.ts';
import type { Bench, Claim, Curve } from '../bench.ts';
import { fillWithEvents } from '../events.ts';
import { createEvent, fetchEvent, listEvents } from '../load/calls.ts';
import { Connection, type Wired, wired } from '../load/connection.ts';
import { quantile } from '../measured.ts';
import { type Contender, inRounds, seriesOf } from '../rounds.ts';
import { type Database, databases, type Stage } from '../stage.ts';

/** How many events, spread over so many years: a month holds more than a page in all of them. */
const sizes = [
  { events: 1_000, years: 0.5 },
  { events: 10_000, years: 5 },
  { events: 100_000, years: 50 },
  { events: 1_000_000, years: 50 },
] as const;
const [SMALL, LARGE] = [sizes[0], sizes[3]];

type Size = (typeof sizes)[number];

const LIST = 'a month, page of 100';
const DEEP = 'a month, page of 100, the last';
const WHOLE = 'everything, page of 100';
const LINKED = 'everything, page of 100, the last, by its Link';
const ALL = [LIST, DEEP, WHOLE, LINKED];

/** Nothing has to show of these: what is counted for the first time, what is passed over, and what others change meanwhile. */
const CHANGES_A_SECOND = 50;
const FIRST = 'everything, page of 100, the first after a start';
const OFFSET = 'everything, page of 100, the last, by its offset alone';
const CHANGED = `everything, page of 100, beside ${CHANGES_A_SECOND} changes a second`;
const BESIDE = [FIRST, OFFSET, CHANGED];

const nameOf = (what: string, { events }: Size, database: Database) =>
  `${what}, of ${events.toLocaleString('en')} on ${database}`;

/** What the page before the last one says that the last one is asked for with. */
async function lastLink(baseUrl: string, account: Account, { events }: Size): Promise<string> {
  const { path, headers } = listEvents(account, `limit=100&offset=${events - 200}`);
  const answer = await fetch(baseUrl + path, { headers });
  const [, query] = /\?(.*)>; rel="next"/.exec(answer.headers.get('link') ?? '') ?? [];
  if (query === undefined) throw new Error('a Link leads to the last page');
  return query;
}

async function ours(stage: Stage, database: Database, size: Size, roundMs: number): Promise<Contender[]> {
  const where = await stage.newDatabase(database);
  const [account] = await makeAccounts(where, 1);
  if (account === undefined) throw new Error('there is an account');
  const { from, to, inMonth } = await fillWithEvents(where, size);
  const after = copied(stage, where);
  const { baseUrl } = await stage.service(where);
  const month = `start_from=${from}&start_to=${to}&limit=100`;
  const lists = [
    { what: LIST, query: month, total: inMonth },
    { what: DEEP, query: `${month}&offset=${Math.max(0, inMonth - 100)}`, total: inMonth },
    { what: WHOLE, query: 'limit=100', total: size.events },
    { what: LINKED, query: await lastLink(baseUrl, account, size), total: size.events },
  ];
  const asked = async (query: string, totals: readonly number[]) => {
    const connection = await Connection.open(baseUrl);
    const call = wired(baseUrl, listEvents(account, query));
    const times: number[] = [];
    for (const begun = performance.now(); performance.now() - begun < roundMs; )
      times.push(await pageMs(connection, call, totals));
    connection.close();
    return { 'ms at p50': quantile(times, 0.5), 'ms at p99': quantile(times, 0.99) };
  };
  const all = lists.map(({ what, query, total }) => ({
    name: nameOf(what, size, database),
    measure: () => asked(query, [total]),
  }));
  const { events } = size;
  return [
    ...all,
    {
      name: nameOf(OFFSET, size, database),
      measure: () => asked(`limit=100&offset=${events - 100}`, [events]),
    },
    {
      name: nameOf(CHANGED, size, database),
      async measure() {
        const stop = new AbortController();
        const changing = keepChanging(baseUrl, account, stop.signal);
        // The one that comes and goes is there, or is not.
        const came = await asked('limit=100', [events, events + 1]);
        stop.abort();
        await changing;
        return came;
      },
    },
    {
      name: nameOf(FIRST, size, database),
      async measure() {
        const service = await stage.service(after);
        const connection = await Connection.open(service.baseUrl);
        const call = wired(service.baseUrl, listEvents(account, 'limit=100'));
        const times = [await pageMs(connection, call, [events])];
        connection.close();
        await service.stop('SIGTERM');
        return { 'ms at p50': quantile(times, 0.5) };
      },
    },
  ];
}

/** How long a page takes, which has to say how many there are. */
async function pageMs(connection: Connection, call: Wired, totals: readonly number[]): Promise<number> {
  const asked = performance.now();
  const { paging } = JSON.parse(await connection.ask(call));
  const ms = performance.now() - asked;
  if (!totals.includes(paging.total_records)) throw new Error(`${paging.total_records} in all, not ${totals}`);
  return ms;
}

/** Another one with the same in it: a file of SQLite has one service. */
function copied(stage: Stage, where: string): string {
  const file = /^sqlite:(.*)/.exec(where)?.[1];
  if (file === undefined) return where;
  const copy = stage.newFile();
  copyFileSync(file, copy);
  return `sqlite:${copy}`;
}

/** Creates an event and deletes it again, as often as is said, until it is told to stop. */
async function keepChanging(baseUrl: string, account: Account, signal: AbortSignal): Promise<void> {
  const connection = await Connection.open(baseUrl);
  const create = wired(baseUrl, createEvent(account));
  while (!signal.aborted) {
    const { event_id: id } = JSON.parse(await connection.ask(create)).data;
    await wait(1_000 / CHANGES_A_SECOND);
    await connection.ask(wired(baseUrl, { ...fetchEvent(account, id), method: 'DELETE' }));
    await wait(1_000 / CHANGES_A_SECOND);
  }
  connection.close();
}

export const list: Bench = {
  id: 'P4',
  name: 'list',
  title: 'a page of 100 events of a month, with how many there are, in an account of 1,000 and in one of a million',
  target: 'at most 3 times as long in the account of a million; the number is exact',
  async measure({ stage, rounds, roundMs, say }) {
    const contenders: Contender[] = [];
    for (const database of databases) {
      for (const size of sizes) contenders.push(...(await ours(stage, database, size, roundMs)));
    }
    await inRounds(contenders, 1, () => undefined);
    const claims = databases.flatMap((database) =>
      ALL.map(
        (what): Claim => ({
          says: `${what}, on ${database}`,
          of: seriesOf(nameOf(what, LARGE, database), 'ms at p50'),
          to: seriesOf(nameOf(what, SMALL, database), 'ms at p50'),
          atMost: 3,
        }),
      ),
    );
    const curve = (title: string, whats: readonly string[], database: Database): Curve => ({
      title: `P4, ${title}, on ${database}`,
      along: 'events in the account',
      unit: 'ms at p50',
      lines: whats.map((what) => ({
        name: what,
        points: sizes.map((size) => [size.events, seriesOf(nameOf(what, size, database), 'ms at p50')] as const),
      })),
    });
    const curves = databases.flatMap((database) => [
      curve('cost against size', ALL, database),
      curve('what nothing has to show of', BESIDE, database),
    ]);
    return { series: await inRounds(contenders, rounds, say), claims, curves };
  },
};
