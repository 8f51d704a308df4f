import { copyFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { type Account, makeAccounts } from '../accounts.ts';
import type { Bench, Claim } from '../bench.ts';
import { type Database, databases, type Stage } from '../environment.ts';
import { fillWithEvents } from '../events.ts';
import { Connection, createEvent, fetchEvent, listEvents, type Wired, wired } from '../load/load-generator.ts';
import { type Contender, inRounds, seriesOf } from '../rounds.ts';
import { quantile } from '../statistics.ts';

/**
 * Numbers of events, and the years over which the events are spread. In each size, a month holds more than one
 * page.
 */
export const sizes = [
  { events: 1_000, years: 0.5 },
  { events: 10_000, years: 5 },
  { events: 100_000, years: 50 },
  { events: 1_000_000, years: 50 },
] as const;
const [SMALL, LARGE] = [sizes[0], sizes[3]];

type Size = (typeof sizes)[number];

export const LIST = 'a month, first page';
export const DEEP = 'a month, last page';
const WHOLE = 'all events, first page';
const LINKED = 'all events, last page by Link';
const ALL = [LIST, DEEP, WHOLE, LINKED];

/** Changes per second while a list with concurrent changes is measured. */
const CHANGES_PER_SECOND = 50;
/** A list without a target: the first page after a start, which counts all events. */
const FIRST = 'all events, first page after a start';
/** A list without a target: the page at a deep offset. */
const OFFSET = 'all events, last page by offset';
/** A list without a target: the first page during concurrent changes. */
const CHANGED = `all events, first page with ${CHANGES_PER_SECOND} changes per second`;

export const pageOf = (what: string, { events }: Size, database: Database) =>
  `${what}, of ${events.toLocaleString('en')} on ${database}`;

/** Returns the query of the last page, from the `Link` header of the page before the last one. */
async function lastLink(baseUrl: string, account: Account, { events }: Size): Promise<string> {
  const { path, headers } = listEvents(account, `limit=100&offset=${events - 200}`);
  const response = await fetch(baseUrl + path, { headers });
  const [, query] = /\?(.*)>; rel="next"/.exec(response.headers.get('link') ?? '') ?? [];
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
  const measurePages = async (query: string, totals: readonly number[]) => {
    const connection = await Connection.open(baseUrl);
    const call = wired(baseUrl, listEvents(account, query));
    const times: number[] = [];
    for (const startedAt = performance.now(); performance.now() - startedAt < roundMs; )
      times.push(await pageMs(connection, call, totals));
    connection.close();
    return { 'ms at p50': quantile(times, 0.5), 'ms at p99': quantile(times, 0.99) };
  };
  const all = lists.map(({ what, query, total }) => ({
    name: pageOf(what, size, database),
    measure: () => measurePages(query, [total]),
  }));
  const { events } = size;
  return [
    ...all,
    {
      name: pageOf(OFFSET, size, database),
      measure: () => measurePages(`limit=100&offset=${events - 100}`, [events]),
    },
    {
      name: pageOf(CHANGED, size, database),
      async measure() {
        const stop = new AbortController();
        const changing = keepChanging(baseUrl, account, stop.signal);
        // The total may include the event that is just being created and deleted.
        const result = await measurePages('limit=100', [events, events + 1]);
        stop.abort();
        await changing;
        return result;
      },
    },
    {
      name: pageOf(FIRST, size, database),
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

/** Returns the milliseconds that one page takes, and checks that its total is exact. */
async function pageMs(connection: Connection, call: Wired, totals: readonly number[]): Promise<number> {
  const startedAt = performance.now();
  const { paging } = JSON.parse(await connection.ask(call));
  const ms = performance.now() - startedAt;
  if (!totals.includes(paging.total_records)) throw new Error(`${paging.total_records} in all, not ${totals}`);
  return ms;
}

/** Copies a SQLite database, because only one service can open the file. A PostgreSQL database is shared. */
function copied(stage: Stage, where: string): string {
  const file = /^sqlite:(.*)/.exec(where)?.[1];
  if (file === undefined) return where;
  const copy = stage.newFile();
  copyFileSync(file, copy);
  return `sqlite:${copy}`;
}

/** Creates and deletes an event repeatedly until the signal aborts. */
async function keepChanging(baseUrl: string, account: Account, signal: AbortSignal): Promise<void> {
  const connection = await Connection.open(baseUrl);
  const create = wired(baseUrl, createEvent(account));
  while (!signal.aborted) {
    const { event_id: id } = JSON.parse(await connection.ask(create)).data;
    await wait(1_000 / CHANGES_PER_SECOND);
    await connection.ask(wired(baseUrl, { ...fetchEvent(account, id), method: 'DELETE' }));
    await wait(1_000 / CHANGES_PER_SECOND);
  }
  connection.close();
}

export const list: Bench = {
  id: 'P4',
  name: 'list',
  title: 'page of 100: 1,000,000 events against 1,000',
  target: '≤ 3 × the time, exact total',
  async measure({ stage, rounds, roundMs, say }) {
    const contenders: Contender[] = [];
    for (const database of databases) {
      for (const size of sizes) contenders.push(...(await ours(stage, database, size, roundMs)));
    }
    await inRounds(contenders, 1, () => undefined);
    const claims = databases.flatMap((database) =>
      ALL.map(
        (what): Claim => ({
          description: `${what}, on ${database}`,
          of: seriesOf(pageOf(what, LARGE, database), 'ms at p50'),
          to: seriesOf(pageOf(what, SMALL, database), 'ms at p50'),
          atMost: 3,
        }),
      ),
    );
    return { series: await inRounds(contenders, rounds, say), claims };
  },
};
